package explore

import (
	"fmt"
	"strings"

	"github.com/awa-engine/awa/model"
)

// Report is what an exploration did and found. Its JSON keys are stable: keys are added, never renamed.
type Report struct {
	Config string `json:"config"`
	// Grain is "lifecycle": each operation is one step.
	Grain string `json:"grain"`
	// States are distinct; Transitions are all steps that were applied, those that change nothing included.
	States      int `json:"states"`
	Transitions int `json:"transitions"`
	// Depth is the number of states on the longest of the shortest ways to a state.
	Depth   int     `json:"depth"`
	Seconds float64 `json:"seconds"`
	// GraphHash identifies the view's graph; "" without a view.
	GraphHash string `json:"graph_hash"`
	// ViewStates, ViewEdges and ViewDepth count that graph, self loops left out.
	ViewStates int `json:"view_states,omitempty"`
	ViewEdges  int `json:"view_edges,omitempty"`
	ViewDepth  int `json:"view_depth,omitempty"`
	// Actions counts how often each action changed a state; of reads, Reopen and TrimLedger, how often they were asked.
	Actions map[string]int `json:"actions"`
	// Tested counts how often each invariant and property could have failed.
	Tested     map[string]int `json:"tested"`
	Violations []Violation    `json:"violations"`
	// Vacuous says what never happened, in sentences.
	Vacuous []string `json:"vacuous"`
	// Graph is there when it was asked for.
	Graph *Graph `json:"-"`
}

// OK says whether everything held and everything was put to the test.
func (r *Report) OK() bool { return len(r.Violations) == 0 && len(r.Vacuous) == 0 }

// Violation is a property that failed, with the shortest story that makes it fail.
type Violation struct {
	// Name and Promise are those of the invariant or the property; Why is what it says of the state or the step.
	Name    string `json:"name"`
	Promise string `json:"promise"`
	Why     string `json:"why"`
	// Story begins with the empty state; Text is the same for JSON.
	Text  string      `json:"story"`
	Story model.Story `json:"-"`
	// State is the state at the story's end, as text.
	State string `json:"state"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s (%s) fails: %s\n%s", v.Name, v.Promise, v.Why, v.Story)
}

// String is the report for people, without its counts of actions.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d states, %d transitions, depth %d, %.1f s\n", r.Config, r.States, r.Transitions, r.Depth, r.Seconds)
	for _, v := range r.Violations {
		b.WriteString(v.String())
	}
	for _, sentence := range r.Vacuous {
		fmt.Fprintln(&b, sentence)
	}
	return b.String()
}
