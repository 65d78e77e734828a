package fuzz

import (
	"context"
	"testing"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/model"
)

// unseen are the model's invariants that no session can ask of a database, with the reason.
var unseen = map[string]string{
	"UncommittedIsUnseen":          "rows that aren't committed show to nobody",
	"ClosingIsOpen":                "a closure that isn't committed shows to nobody",
	"OldSnapshotStaysOutOfTheRing": "a committed row doesn't tell its transaction's isolation level",
	"OpenProducerKeepsItsSlot":     "rows that aren't committed show to nobody",
}

// Every invariant of the model is a check of the audit, under the same name and promise, or can't be seen.
func TestAuditCoversTheModel(t *testing.T) {
	t.Parallel()
	b, err := newBench(t.Context(), server, "audit_covers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s, err := b.system(t.Context(), World{QueueSlots: 4, ClaimSlots: 2, LeaseSlots: 2, Engines: 1, Pool: 1, Queues: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.engines[0].Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]engine.AuditCheck{}
	for _, c := range report.Checks {
		checks[c.Invariant] = c
	}
	for _, i := range model.Invariants() {
		c, ok := checks[i.Name]
		switch {
		case unseen[i.Name] != "":
			if ok {
				t.Errorf("%s is said to be unseen, and is a check", i.Name)
			}
		case !ok:
			t.Errorf("the audit doesn't check %s", i.Name)
		case c.Promise != i.Promise:
			t.Errorf("%s guards %s in the model and %s in the audit", i.Name, i.Promise, c.Promise)
		}
	}
}
