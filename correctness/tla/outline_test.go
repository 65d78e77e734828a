package tla

import (
	"maps"
	"slices"
	"testing"
	"testing/fstest"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	specs := fstest.MapFS{
		"Door.tla": {Data: []byte(`---- MODULE Door ----
VARIABLES
    open,   \* whether it is

    locked  \* VARIABLES nobody
vars == <<open, locked>>
Init == open = FALSE /\ locked = FALSE
Open == ~locked /\ open' = TRUE /\ UNCHANGED locked
Lock == ~open /\ locked' = TRUE /\ UNCHANGED open
Next == Lock \/ Open
Spec == Init /\ [][Next]_vars
\* P2: what is locked
\* stays shut.
LockedIsShut == ~(open /\ locked)
TypeOK == open \in BOOLEAN
====
`)},
		"Broken.tla": {Data: []byte(`---- MODULE Broken ----
EXTENDS Door
Force == open' = TRUE /\ UNCHANGED locked
ForceNext == Lock \/ Force
ForceSpec == Init /\ [][ForceNext]_vars
====
`)},
		"Door.cfg":   {Data: []byte("SPECIFICATION Spec\nINVARIANTS TypeOK LockedIsShut\n")},
		"Broken.cfg": {Data: []byte("SPECIFICATION ForceSpec\nINVARIANT LockedIsShut\n")},
		TableName: {Data: []byte(`[
			{"spec":"Door","module":"Door","config":"Door","expect":"pass","kind":"safety","graph":"","distinct":3,"depth":2,"graph_hash":"","needs":""},
			{"spec":"Door","module":"Broken","config":"Broken","expect":"LockedIsShut","kind":"safety","graph":"","distinct":0,"depth":0,"graph_hash":"","needs":""}
		]`)},
	}
	all, err := Outlines(specs)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d outlines, %v", len(all), err)
	}
	got := all[0]
	for what, names := range map[string][2][]string{
		"variables":  {got.Variables, {"open", "locked"}},
		"actions":    {got.Actions, {"Open", "Lock"}},
		"invariants": {got.Invariants, {"LockedIsShut", "TypeOK"}},
		"properties": {got.Properties, nil},
	} {
		if !slices.Equal(names[0], names[1]) {
			t.Errorf("%s %v, want %v", what, names[0], names[1])
		}
	}
	if want := map[string]string{"LockedIsShut": "P2"}; !maps.Equal(got.Promises, want) {
		t.Errorf("promises %v, want %v", got.Promises, want)
	}
	if !slices.Contains(got.Definitions, "Force") || len(got.Failing) != 1 {
		t.Fatalf("definitions %v, failing %+v", got.Definitions, got.Failing)
	}
	if f := got.Failing[0]; f.Expect != "LockedIsShut" || !slices.Equal(f.Replaced, []string{"Open"}) {
		t.Errorf("failing %+v", f)
	}
	delete(specs, "Door.tla")
	if _, err := Outlines(specs); err == nil {
		t.Error("a spec without its module has an outline")
	}
}
