package tla

import (
	"strings"
	"testing"
)

var triangle = Graph{
	Init:   []int{0},
	States: []string{"x=0;y={}", "x=1;y={}", "x=1;y={a}"},
	Edges:  []Edge{{0, "Up", 1}, {1, "Add", 2}, {2, "Reset", 0}, {2, "Idle", 2}},
}

func TestHashLooksThroughOrderAndSelfLoops(t *testing.T) {
	t.Parallel()
	same := Graph{
		Init:   []int{1},
		States: []string{"x=1;y={a}", "x=0;y={}", "x=1;y={}"},
		Edges:  []Edge{{0, "Reset", 1}, {2, "Add", 0}, {1, "Up", 2}, {1, "Up", 2}},
	}
	if triangle.Hash() != same.Hash() {
		t.Error("the same graph in another order has another hash")
	}
	if d := Compare(triangle, same); !d.Empty() {
		t.Error(d)
	}
	same.Edges[0].Action = "Back"
	if triangle.Hash() == same.Hash() {
		t.Error("another action leaves the hash as it was")
	}
}

func TestCompareTellsBothSides(t *testing.T) {
	t.Parallel()
	model := Graph{
		Init:   []int{0, 1},
		States: []string{"x=0;y={}", "x=1;y={}", "x=2;y={}"},
		Edges:  []Edge{{0, "Up", 1}, {1, "Up", 2}},
	}
	d := Compare(triangle, model)
	if d.Empty() {
		t.Fatal("different graphs compare equal")
	}
	for _, want := range []string{
		"1 initial states only in the model\n  x=1;y={}",
		"1 states only in the spec\n  x=1;y={a}",
		"1 states only in the model\n  x=2;y={}",
		"2 edges only in the spec\n  Reset from x=1;y={a}\n    to x=0\n    to y={}\n  Add from x=1;y={}\n    to y={a}",
		"1 edges only in the model\n  Up from x=1;y={}\n    to x=2",
	} {
		if !strings.Contains(d.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, d)
		}
	}
	if text := Compare(model, model).String(); text != "the graphs are equal" {
		t.Error(text)
	}
}

func TestDepthAndStuckStates(t *testing.T) {
	t.Parallel()
	if n := triangle.depth(); n != 3 {
		t.Errorf("depth %d", n)
	}
	if s := triangle.stuck(); s != "" {
		t.Errorf("%s is said to be stuck", s)
	}
	stopped := Graph{Init: []int{0}, States: triangle.States[:2], Edges: triangle.Edges[:1]}
	if s := stopped.stuck(); s != "x=1;y={}" {
		t.Errorf("the stuck state is %q", s)
	}
}

func TestReadDotOfBothCheckers(t *testing.T) {
	t.Parallel()
	const tlcText = `strict digraph DiskGraph {
nodesep=0.35;
subgraph cluster_graph {
color="white";
-75 [label="/\\ x = 0\n/\\ s = \"a\"",style = filled]
-75 -> 12 [label="Up(w1,2)",color="black",fontcolor="black"];
12 [label="/\\ x = 1\n/\\ s = \"a [b] -> \\\"c\\\"\""];
12 -> 12 [label="Idle",color="black",fontcolor="black"];
{rank = same; -75;}
}
}`
	const other = `digraph StateGraph {
  rankdir=TB;
  node [shape=box, fontname="monospace"];
  s0 [label="s=\"a\"\nx=0", color=red, penwidth=2];
  s1 [label="s=\"a [b] -> \\\"c\\\"\"\nx=1"];
  s0 -> s1 [label="Up", color=red, penwidth=2];
}`
	first, err := readDot(strings.NewReader(tlcText))
	if err != nil {
		t.Fatal(err)
	}
	second, err := readDot(strings.NewReader(other))
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Init) != 1 || len(second.Init) != 0 {
		t.Errorf("initial states: %v and %v", first.Init, second.Init)
	}
	second.Init = []int{0}
	if d := Compare(first, second); !d.Empty() {
		t.Error(d)
	}
	if first.States[1] != `s="a [b] -> \"c\"";x=1` {
		t.Error(first.States[1])
	}
}

func TestReadDotRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"s0",
		`s0 [shape=box]`,
		`s0 [label="x=0]`,
		`s0 [label="no state"];`,
		"s0 [label=\"x=0\"];\ns0 -> s1 [label=\"Up\"];",
		"s0 [label=\"x=0\"];\ns1 [label=\"x=0\"];",
	} {
		if g, err := readDot(strings.NewReader(text)); err == nil {
			t.Errorf("%q is read as %+v, and should be refused", text, g)
		}
	}
}
