package chaos

// commits finds the jobs whose transactions committed. For those of a business transaction the business table is the
// truth; those of EnqueueMany are known by the ids that it returned, and where the answer was lost by their marks, once
// they are handed out.
func (j *judging) commits() {
	for _, c := range j.calls {
		if c.Op != opEnqueueTx && c.Op != opEnqueueMany {
			continue
		}
		if j.batches[c.Batch] != nil {
			j.v.wrong(KindJournal, "batch %s was enqueued twice", c.Batch)
			continue
		}
		b := &batch{call: c}
		j.batches[c.Batch] = b
		if c.ret.Outcome != outcomeOK {
			continue
		}
		if len(c.ret.IDs) != c.Count {
			j.v.wrong(KindHalf, "%s: %d ids for the %d jobs of batch %s", c, len(c.ret.IDs), c.Count, c.Batch)
		}
		for i, id := range c.ret.IDs {
			if c.Op == opEnqueueMany {
				j.commit(b, mark(c.Batch, i), id)
			}
		}
	}
	for _, o := range j.ev.state.Orders {
		name, i, ok := parseMark(o.Mark)
		b := j.batches[name]
		switch {
		case !ok || b == nil || b.Op != opEnqueueTx || i >= b.Count:
			j.v.wrong(KindPhantom, "order %s is of no business transaction in the journals", o.Mark)
		case b.ret.Outcome == outcomeOK && (i >= len(b.ret.IDs) || b.ret.IDs[i] != o.Job):
			j.v.wrong(KindPhantom, "order %s is for job %d, which isn't the one that EnqueueTx returned", o.Mark, o.Job)
		default:
			j.commit(b, o.Mark, o.Job)
		}
	}
}

// commit notes a committed job. An id names one job for ever.
func (j *judging) commit(b *batch, m string, id int64) *jobFacts {
	if other := j.byID[id]; other != nil {
		j.v.wrong(KindPhantom, "id %d is that of two committed jobs, %s and %s", id, other.mark, m)
		return other
	}
	if other := j.byMark[m]; other != nil {
		j.v.wrong(KindPhantom, "job %s has two ids, %d and %d", m, other.id, id)
		return other
	}
	f := &jobFacts{id: id, mark: m, of: b, handed: map[int64]*call{}, toldStale: map[int64]int64{}}
	j.jobs = append(j.jobs, f)
	j.byID[id], j.byMark[m] = f, f
	b.there++
	return f
}

// handOuts goes through the claims: what was handed out must have been committed, and each attempt goes to one.
func (j *judging) handOuts() {
	for _, c := range j.calls {
		if c.Op != opClaim || c.ret.Outcome != outcomeOK {
			continue
		}
		for _, a := range c.ret.Attempts {
			j.v.Did.Handed++
			f := j.jobOf(c, a)
			if f == nil {
				continue
			}
			if other := f.handed[a.lease]; other != nil {
				j.v.wrong(KindHandedOutTwice, "attempt %s was handed out by %s and by %s", a, other, c)
				continue
			}
			f.handed[a.lease] = c
			f.last = max(f.last, a.lease)
		}
	}
}

// jobOf finds the committed job of a hand-out by its mark; nil when there is none, which was reported then.
func (j *judging) jobOf(c *call, a attempt) *jobFacts {
	name, i, ok := parseMark(a.mark)
	b := j.batches[name]
	if !ok || b == nil || i >= b.Count {
		j.v.wrong(KindPhantom, "%s handed out %s with the mark %q, which nobody enqueued", c, a, a.mark)
		return nil
	}
	f := j.byMark[a.mark]
	switch {
	case f != nil && f.id != a.job:
		j.v.wrong(KindPhantom, "%s handed out %s as %s, which is job %d", c, a, a.mark, f.id)
		return nil
	case f != nil:
		return f
	case b.Op == opEnqueueMany && b.open():
		return j.commit(b, a.mark, a.job)
	}
	kind := KindPhantom
	if b.ret.Outcome == outcomeAborted {
		kind = KindSettle
	}
	j.v.wrong(kind, "%s handed out %s, but its transaction did not commit (%s: %s)", c, a, b, b.ret.Outcome)
	return nil
}

// wholeBatches holds each transaction to all or nothing, and to what its caller was told.
func (j *judging) wholeBatches() {
	for _, b := range j.batches {
		told := b.ret.Outcome
		switch {
		case b.there == b.Count && (told == outcomeOK || b.open()):
		case b.there == 0 && told == outcomeCommitted:
			j.v.wrong(KindSettle, "%s: Settle said that batch %s committed, but none of its %d jobs was ever handed out", b, b.Batch, b.Count)
		case b.there == 0 && told != outcomeOK:
		case b.there == 0:
			j.v.wrong(KindLost, "%s: batch %s of %d jobs was acknowledged and isn't there", b, b.Batch, b.Count)
		case b.there == b.Count:
			j.v.wrong(KindPhantom, "%s: batch %s is there, though its caller was told %s", b, b.Batch, told)
		default:
			j.v.wrong(KindHalf, "%s: %d of the %d jobs of batch %s are there (the caller was told %s)", b, b.there, b.Count, b.Batch, told)
		}
	}
}
