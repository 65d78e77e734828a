package tla

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFlattenPutsOurModulesIntoOne(t *testing.T) {
	t.Parallel()
	specs := fstest.MapFS{
		"A.tla": {Data: []byte("Prose first.\n---- MODULE A ----\n(* (* nested *) EXTENDS Nothing *)\nEXTENDS Naturals,\n  TLC\nA1 == \"\\\\* (* no comment\"\n====\nafterwards")},
		"B.tla": {Data: []byte("---- MODULE B ----\nEXTENDS A, Sequences, TLC\nB1 == A1 \\* yes\n====\n")},
		"C.tla": {Data: []byte("---- MODULE C ----\nEXTENDS A, B\nC1 == 1\n====\n")},
	}
	got, err := flatten(specs, "C")
	if err != nil {
		t.Fatal(err)
	}
	const want = `---- MODULE C ----
EXTENDS Naturals, TLC, Sequences
A1 == "\\* (* no comment"
B1 == A1
C1 == 1
====
`
	tidy := func(text string) string {
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
	}
	if tidy(got) != tidy(want) {
		t.Errorf("got\n%s", got)
	}
	for _, module := range []string{"D", "E"} {
		specs["E.tla"] = &fstest.MapFile{Data: []byte("---- MODULE E ----\nno end\n")}
		if text, err := flatten(specs, module); err == nil {
			t.Errorf("module %s gives %q", module, text)
		}
	}
}

func TestConfigRefusesWhatChangesTheGraph(t *testing.T) {
	t.Parallel()
	c, err := parseConfig("\\* prose\nCONSTANTS N = 3 W = {a, b}\nSPECIFICATION Spec\nINVARIANTS A B\nINVARIANT C\nPROPERTY P\nCHECK_DEADLOCK FALSE\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.specification != "Spec" || !slices.Equal(c.invariants, []string{"A", "B", "C"}) || !slices.Equal(c.properties, []string{"P"}) ||
		!c.allowDeadlock || c.overrides {
		t.Errorf("read as %+v", c)
	}
	if c, err := parseConfig("INIT I\nNEXT N\nCONSTANT A <- B\nCHECK_DEADLOCK TRUE"); err != nil || !c.overrides || c.allowDeadlock || c.next != "N" {
		t.Errorf("read as %+v (%v)", c, err)
	}
	for _, text := range []string{"", "INIT I", "Spec", "SPECIFICATION S\nSYMMETRY Perms", "SPECIFICATION S\nCONSTRAINT Small", "SPECIFICATION S VIEW v"} {
		if c, err := parseConfig(text); err == nil {
			t.Errorf("%q is read as %+v, and should be refused", text, c)
		}
	}
}

func TestActionsOfTheNextStateRelation(t *testing.T) {
	t.Parallel()
	const text = `---- MODULE M ----
VARIABLES x, y
Ready == x > 0
Up(w, n) == /\ Ready
            /\ x' = n
            /\ \/ y' = 1
               \/ y' = 2
Down == \/ x = 1 /\ x' = 0 /\ UNCHANGED y
        \/ Ready /\ x' = 9 /\ y' = x
Keep == UNCHANGED <<x, y>>
Guarded == Ready /\ Down
Clients == \/ \E w \in {1, 2}, n \in 1..3 : Up(w, n)
           \/ (\E w \in {f(1)} : Up(w, Max({1, 2})) \/ Guarded)
Next == \* "quoted \/ text" and a comment \/ here
  \/ Clients
  \/ Keep
Other == Next \/ (x = 3 /\ x' = 4 /\ y' = y)
vars == <<x, y>>
Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec
  /\ WF_vars(Down)
Safe == []Ready
Steps == [][x' > x]_vars
Live == [](Ready => <>(x = 0))
ASSUME 1 > 0
Leads == Ready ~> (x = 0)
====`
	defs := definitionsOf(text)
	for specification, want := range map[string]string{"Spec": "Next", "FairSpec": "Next", "Safe": ""} {
		if got := defs.next(config{specification: specification}); got != want {
			t.Errorf("%s has the next-state action %q, and should have %q", specification, got, want)
		}
	}
	for name, want := range map[string][]string{
		"Next":  {"Guarded", "Keep", "Up"},
		"Other": {"Guarded", "Keep", "Other", "Up"},
		"Down":  {"Down"},
	} {
		if got := defs.actions(name); !slices.Equal(got, want) {
			t.Errorf("%s has the actions %v, and should have %v", name, got, want)
		}
	}
	for name, want := range map[string]bool{"Safe": true, "Steps": true, "Live": false, "Leads": false} {
		if got := defs.safetyProperty(name); got != want {
			t.Errorf("%s is a safety property: %v", name, got)
		}
	}
}
