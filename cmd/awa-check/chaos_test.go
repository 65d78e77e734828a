package main

import (
	"testing"
	"time"
)

func TestChaosFlags(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*chaosFlags){
		"a profile of verify":    func(f *chaosFlags) { f.profile = "full" },
		"an unknown fault":       func(f *chaosFlags) { f.faults = "fire" },
		"one worker":             func(f *chaosFlags) { f.workers = 1 },
		"a share of nothing":     func(f *chaosFlags) { f.shard = "1/0" },
		"a share after the last": func(f *chaosFlags) { f.shard = "3/2" },
		"a share and more":       func(f *chaosFlags) { f.shard = "1/2/3" },
	} {
		f := chaosFlags{profile: "quick", workers: 4, shard: "1/1"}
		change(&f)
		if _, err := f.plan(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	f := chaosFlags{profile: "soak", workers: 5, shard: "2/4", seed: 10, duration: time.Hour, faults: "server-kill"}
	plan, err := f.plan()
	if err != nil {
		t.Fatal(err)
	}
	if plan.Producers != 2 || plan.Claimers != 3 || plan.Rounds != 3 || plan.Duration != 15*time.Minute || plan.Seed != 11 || len(plan.Faults) != 1 {
		t.Errorf("%+v", plan)
	}
}
