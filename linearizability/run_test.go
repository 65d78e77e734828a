package linearizability

import (
	"testing"
)

func TestRun(t *testing.T) {
	v, err := Run(t.Context(), Config{Plan: Plan{Clients: 8, Ops: 2500, Seed: 7}, Server: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", v.Summary())
	if !v.OK {
		t.Fatalf("%s", v.Form())
	}
}
