package mutants

import (
	"slices"
	"testing"
)

// row makes a result of made-up trials, in the order of layer and verdict.
func row(d Defect, trials ...any) Result {
	r := Result{Defect: &d}
	for i := 0; i < len(trials); i += 2 {
		v := trials[i+1].(Verdict)
		r.Trials = append(r.Trials, Trial{Layer: trials[i].(string), Verdict: v, Reached: v == Killed || v == Survived, Seconds: float64(i + 1)})
	}
	return r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	named, noted := Defect{ID: "d", Named: "L4"}, Defect{ID: "d", Named: "L4", Note: "a reason"}
	invisible := Defect{ID: "d", Invisible: "a reason"}
	identity, canary := Defect{ID: "d", Control: Identity}, Defect{ID: "d", Control: Canary}
	unreached := row(named, "L3", Survived, "L4", Survived)
	unreached.Trials[0].Reached, unreached.Trials[1].Reached = false, false
	for name, c := range map[string]struct {
		r    Result
		want Standing
	}{
		"the named layer kills":                  {row(named, "L3", Survived, "L4", Killed), Good},
		"and another one too":                    {row(named, "L3", Killed, "L4", Killed), Good},
		"only another one":                       {row(named, "L3", Killed, "L4", Survived), Bad},
		"only another one, with a note":          {row(noted, "L3", Killed, "L4", Survived), Good},
		"nobody":                                 {row(named, "L3", Survived, "L4", Survived), Bad},
		"nobody, with a note":                    {row(noted, "L3", Survived, "L4", Survived), Bad},
		"nobody came by":                         {unreached, Bad},
		"a time-out is no kill":                  {row(named, "L3", Survived, "L4", Failed), Unknown},
		"the named layer isn't there":            {row(named, "L3", Survived, "L4", Absent), Unknown},
		"another one while the named isn't":      {row(named, "L3", Killed, "L4", Absent), Unknown},
		"it doesn't compile":                     {Result{Defect: &named, Broken: "why"}, Bad},
		"an identity survives":                   {row(identity, "L3", Survived, "L4", Absent), Good},
		"an identity dies":                       {row(identity, "L3", Survived, "L4", Killed), Bad},
		"an identity that nobody looks at":       {row(identity, "L3", Skipped, "L4", Absent), Unknown},
		"an identity beside a time-out":          {row(identity, "L3", Survived, "L4", Failed), Unknown},
		"a canary dies everywhere":               {row(canary, "L3", Killed, "L4", Killed), Good},
		"a canary lives in one":                  {row(canary, "L3", Killed, "L4", Survived), Bad},
		"a canary beside a time-out":             {row(canary, "L3", Killed, "L4", Failed), Unknown},
		"a canary that nobody looks at":          {row(canary, "L3", Absent), Unknown},
		"what is invisible survives":             {row(invisible, "L3", Survived), Good},
		"what is invisible is found: the reason": {row(invisible, "L3", Killed), Bad},
	} {
		if got, why := c.r.Judge(); got != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

func TestTrialVerdicts(t *testing.T) {
	t.Parallel()
	engine, spec := Defect{File: "engine/a.go"}, Defect{File: "correctness/tla/A.tla"}
	for name, c := range map[string]struct {
		d       Defect
		layer   string
		reached bool
		code    exitCode
		text    string
		want    Verdict
	}{
		"failed and reached":              {engine, "L3", true, 1, "", Killed},
		"failed, never came by":           {engine, "L3", false, 1, "", Failed},
		"passed":                          {engine, "L3", true, 0, "", Survived},
		"could not run":                   {engine, "L3", true, 2, "", Failed},
		"a time-out":                      {engine, "L3", true, exitTimeout, "", Failed},
		"killed by a signal":              {engine, "L3", true, 137, "", Failed},
		"a test fails":                    {engine, Tests, true, 1, "--- FAIL: TestA", Killed},
		"the test program fails":          {engine, Tests, true, 1, "no server", Failed},
		"a spec is judged":                {spec, "L2", false, 1, "", Killed},
		"a spec is judged and passes":     {spec, "L2", false, 0, "", Survived},
		"a spec that no checker judges":   {spec, "L2", false, 2, "", Failed},
		"a spec that takes far too long ": {spec, "L2", false, exitTimeout, "", Failed},
	} {
		trial := Trial{Layer: c.layer, Reached: c.reached}
		trial.judge(&c.d, c.code, c.text)
		if trial.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, trial.Verdict, c.want)
		}
	}
}

func TestTakingALayerAway(t *testing.T) {
	t.Parallel()
	results := []Result{
		row(Defect{ID: "a", Named: "L3"}, "L3", Killed, "L4", Killed, "L6", Killed),
		row(Defect{ID: "b", Named: "L4"}, "L3", Survived, "L4", Killed, "L6", Survived),
		row(Defect{ID: "c", Named: "L3"}, "L3", Killed, "L4", Skipped, "L6", Skipped),
		row(Defect{ID: "d", Named: "L3"}, "L3", Survived, "L4", Survived, "L6", Survived),
		row(Defect{ID: "e", Control: Canary}, "L3", Survived, "L4", Survived, "L6", Killed),
		row(Defect{ID: "f", Invisible: "why"}, "L3", Survived, "L4", Survived, "L6", Survived),
	}
	for without, want := range map[string]int{"": 3, "L3": 2, "L4": 2, "L6": 3, "L1": 3} {
		if killed, all := Score(results, without); killed != want || all != 4 {
			t.Errorf("without %q: %d of %d, want %d of 4", without, killed, all, want)
		}
	}
	if got := OnlyBy(results, "L4"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("only L4 finds %v", got)
	}
	if got := OnlyBy(results, "L3"); len(got) != 0 {
		t.Errorf("only L3 finds %v, though others didn't look", got)
	}
	if got := Needless(results); !slices.Equal(got, []string{"L6"}) {
		t.Errorf("needless are %v", got)
	}
}

func TestSecondsAreTheNamedLayers(t *testing.T) {
	t.Parallel()
	d := Defect{Named: "L4"}
	if got := row(d, "L3", Killed, "L4", Killed).Seconds(); got != 3 {
		t.Errorf("%v, want the named layer's 3", got)
	}
	if got := row(d, "L3", Killed, "L4", Survived).Seconds(); got != 1 {
		t.Errorf("%v, want the only killer's 1", got)
	}
	if got := row(d, "L3", Survived).Seconds(); got != 0 {
		t.Errorf("%v, want none", got)
	}
}
