package model

// journal remembers how to undo each write since the first mark. Before it, nothing is remembered: a run that never
// goes back pays nothing for it.
type journal struct {
	recording bool
	undos     []func() // in the order of the writes; each is right when all after it were undone
}

// Mark is a moment of a [Mutable] that [Mutable.Undo] can go back to.
type Mark int

// Mark makes every write from now on undoable. Marks nest: undoing to an earlier one makes the later ones void.
func (m *Mutable) Mark() Mark {
	m.journal.recording = true
	return Mark(len(m.journal.undos))
}

// Undo takes every write since the mark back, the last one first.
func (m *Mutable) Undo(to Mark) {
	m.journal.pause(func() {
		for i := len(m.journal.undos) - 1; i >= int(to); i-- {
			m.journal.undos[i]()
		}
	})
	clear(m.journal.undos[to:])
	m.journal.undos = m.journal.undos[:to]
}

// Keep makes all writes since the first mark final, and every mark void. What a long run doesn't keep, it
// remembers for ever.
func (m *Mutable) Keep() { m.journal = journal{} }

func (j *journal) log(undo func()) {
	if j.recording {
		j.undos = append(j.undos, undo)
	}
}

// pause does what is undone as a whole, or what is an undo itself.
func (j *journal) pause(do func()) {
	recording := j.recording
	j.recording = false
	do()
	j.recording = recording
}
