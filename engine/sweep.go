package engine

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// sweepBatches bounds how many claims of a shape one sweep of a slot looks at.
const sweepBatches = 1_000

// beginning is before any claim.
var beginning = time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)

// A track is what a sweep has to do with the claims of one shape in its slot. Each has its own cursor: what is stuck in
// one delays nothing in the other.
type track struct {
	local  bool
	cursor *mark       // saved; nil: the start of the slot
	found  []candidate // in cyclic order from the cursor
}

// A mark is a position of the sweep's order.
type mark struct {
	at    time.Time // of the claim, or its deadline
	batch int64
}

// before compares two positions.
func (m mark) before(other mark) bool {
	return m.at.Before(other.at) || m.at.Equal(other.at) && m.batch < other.batch
}

// A candidate is a claim whose time has come: one batch, or a row-local claim as a batch of one.
type candidate struct {
	mark
	ready  int64 // generation of the ready rows
	open   spans // receipts that may be closed when it was read
	wanted spans // those that this sweep closes
	done   spans // those that it did close
}

func (tr *track) readCursor(row pgx.Row) error {
	var at *time.Time
	var batch *int64
	err := row.Scan(&at, &batch)
	if at != nil {
		tr.cursor = &mark{*at, *batch}
	}
	return err
}

// parts are the stretches to scan, each after one mark and before another: from the cursor to the end, then from the
// start of the slot up to and with the cursor.
func (tr *track) parts(end mark) [][2]mark {
	start := mark{at: beginning}
	if tr.cursor == nil {
		return [][2]mark{{start, end}}
	}
	upTo := mark{tr.cursor.at, tr.cursor.batch + 1}
	if end.before(upTo) {
		upTo = end
	}
	return [][2]mark{{*tr.cursor, end}, {start, upTo}}
}

func (tr *track) readCandidates(rows pgx.Rows) error {
	var c candidate
	var text string
	_, err := pgx.ForEachRow(rows, []any{&c.at, &c.batch, &c.ready, &text}, func() error {
		var err error
		c.open, err = parseSpans(text)
		tr.found = append(tr.found, c)
		return err
	})
	return err
}

// nextCursor is the rule: pass what has nothing to close, in the order of the sweep, and stop before the first candidate
// that has. It returns the saved cursor itself when nothing was passed.
func nextCursor(saved *mark, found []candidate) *mark {
	to := saved
	for i := range found {
		c := &found[i]
		if len(c.open.minus(c.done)) > 0 {
			break
		}
		if to == nil || *to != c.mark {
			to = &c.mark
		}
	}
	if saved != nil && to != nil && to.batch == saved.batch {
		return saved // all the way round
	}
	return to
}
