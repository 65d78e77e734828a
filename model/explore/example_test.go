package explore_test

import (
	"context"
	"fmt"

	"github.com/awa-engine/awa/model"
	"github.com/awa-engine/awa/model/explore"
)

// pruneOpenClaims is wrong in one place: it truncates a sealed claim generation without asking whether its claims
// are closed.
func pruneOpenClaims(s model.Store, a model.Action) (model.Result, error) {
	v := s.Vars()
	if _, ok := a.(model.PruneClaims); !ok || !v.Claims.Sealed(v.Claims.Pruned) {
		return model.Apply(s, a)
	}
	s.DropClaimGeneration(v.Claims.Pruned)
	v.Claims.Pruned++
	s.SetVars(v)
	return model.Pruned, nil
}

// A prune that doesn't wait for rescue is found, and told by the shortest story that loses a job.
func ExampleRun_brokenPrune() {
	config, err := explore.Find("claimring-small")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := explore.Run(context.Background(), config, explore.Options{Apply: pruneOpenClaims})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, violation := range report.Violations {
		if violation.Name == "NoJobIsLost" {
			fmt.Print(violation)
		}
	}
	// Output:
	// NoJobIsLost (P2) fails: job 1 was handed out, and is neither running nor ended nor waiting
	//   1. Enqueue queue=a priority=1 count=1 attempts=2 now=1  -> jobs=1
	//   2. Claim queue=a limit=1 now=1                          -> claimed=1/1/1
	//   3. RotateClaims now=2                                   -> rotated
	//   4. PruneClaims now=2                                    -> pruned
}
