package fuzz

import "github.com/awa-engine/awa/model"

// A piece is something that an operation may take away or turn into something else: a place where a job waits, an attempt
// that is open, an end. Each comes in several shapes, and every shape has statements of its own.
type piece struct{ job, lease, lane, seq int }

// pieces are all there are, with their shapes. Who looks before and after an operation sees which shapes it met.
func pieces(s model.Store) map[piece]string {
	all := map[piece]string{}
	for lane := range s.Config().Lanes() {
		for e := range s.Waiting(lane) {
			all[piece{job: e.Job, lane: lane, seq: e.Seq}] = "available"
		}
	}
	for _, d := range s.DeferredRows() {
		if d.Tx == 0 {
			all[piece{job: d.Job, lane: d.Lane}] = "deferred"
		}
	}
	for c := range s.OpenClaims() {
		shape := "compact"
		if _, waits := s.Lease(c.ID()); waits {
			shape = "leased"
		} else if c.Local != 0 {
			shape = "row-local"
		}
		all[piece{job: c.Job, lease: c.Lease}] = shape
	}
	for _, t := range s.Terminals() {
		all[piece{job: t.Job}] = end(t)
	}
	return all
}

func end(t model.TerminalRow) string {
	switch {
	case t.State == model.Completed && !t.Leased:
		return "batched"
	case t.Wide:
		return "wide"
	}
	return "narrow"
}
