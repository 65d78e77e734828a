package model

import (
	"fmt"
	"strings"
)

// ClaimRingView is the state as the variables of the spec ClaimRing, in canonical TLA+ text:
//
//	lane     jobs of the waiting rows of the first lane, by seq
//	lease    for each job, how often it was handed out: its newest row's lease, and one more if that row was
//	ended    for each job, "no" or the state of its terminal row
//	claims   the claim rows by receipt: job, lease, gen, outcome
//	gen      the claim ring's generation
//	pruned   the claim ring's pruned
//
// The spec knows one lane, no ring of ready rows and no caller's transactions, so the view is for a world that offers
// none of them: there jobs are numbered from 1 without a hole, and their rows are never pruned. What else the state
// holds (batches, evidence, places in the lane) the spec has no variable for, and several states have one view.
func ClaimRingView(s Store) string {
	v := s.Vars()
	var lane, lease, ended, claims []string
	for e := range s.Waiting(0) {
		lane = append(lane, fmt.Sprint(e.Job))
	}
	for job := 1; job < v.NextJob; job++ {
		e, _ := s.NewestEntry(job)
		lease = append(lease, fmt.Sprint(e.Lease+one(e.Batch != 0)))
		end := "no"
		if t, ok := s.Terminal(job); ok {
			end = t.State.String()
		}
		ended = append(ended, fmt.Sprintf("%q", end))
	}
	for _, c := range s.Claims() {
		claims = append(claims, fmt.Sprintf("[gen|->%d,job|->%d,lease|->%d,outcome|->%q]", c.Gen, c.Job, c.Lease, c.Outcome))
	}
	return fmt.Sprintf("claims=%s;ended=%s;gen=%d;lane=%s;lease=%s;pruned=%d",
		tuple(claims), tuple(ended), v.Claims.Generation, tuple(lane), tuple(lease), v.Claims.Pruned)
}

// tuple is a sequence in canonical TLA+ text.
func tuple(items []string) string { return "<<" + strings.Join(items, ",") + ">>" }
