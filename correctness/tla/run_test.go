package tla

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shopGraph is the state graph of the shop, made without a checker. The wrong one forgets that numbers are called in
// order.
func shopGraph(wrong bool) Graph {
	type state struct{ drawn, called, ann, bob int }
	text := func(s state) string {
		ticket := func(n int) string {
			if n == 0 {
				return "Nobody"
			}
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("called=%d;desk=(ann:>%s@@bob:>%s);drawn=%d", s.called, ticket(s.ann), ticket(s.bob), s.drawn)
	}
	const tickets = 3
	g := Graph{Init: []int{0}, States: []string{text(state{})}}
	index := map[state]int{{}: 0}
	for queue := []state{{}}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		step := func(action string, to state) {
			if _, ok := index[to]; !ok {
				index[to] = len(g.States)
				g.States = append(g.States, text(to))
				queue = append(queue, to)
			}
			g.Edges = append(g.Edges, Edge{index[from], action, index[to]})
		}
		if from.drawn < tickets {
			to := from
			to.drawn++
			step("Draw", to)
		}
		for _, ann := range []bool{true, false} {
			to := from
			desk := &to.bob
			if ann {
				desk = &to.ann
			}
			switch {
			case *desk != 0:
				*desk = 0
				step("Finish", to)
			case to.called < to.drawn:
				to.called++
				*desk = to.called
				if wrong && to.called == 2 {
					*desk = 1
				}
				step("Call", to)
			}
		}
	}
	return g
}

func runShop(t *testing.T, checker Checker, rows []Row) map[string]Item {
	t.Helper()
	items, err := Run(t.Context(), RunOptions{
		Specs: shop(), Rows: rows, Checker: checker,
		Explore: func(context.Context, string) (Graph, error) { return shopGraph(false), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	byConfig := map[string]Item{}
	for _, item := range items {
		byConfig[item.Config] = item
	}
	return byConfig
}

func shopRows(t *testing.T) []Row {
	t.Helper()
	rows, err := ReadTable(shop())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestTLAChecker: what it can judge agrees with TLC's results in the table, and the rest is said not to have run.
func TestTLAChecker(t *testing.T) {
	t.Parallel()
	rows := shopRows(t)
	items := runShop(t, withTLAChecker(t), rows)
	notRun := map[string]string{
		"ShopFair":    "proves nothing",
		"ShopUnfair":  "needs TLC",
		"ShopGrows":   "no action properties",
		"ShopRestart": "no action properties",
	}
	for _, row := range rows {
		item := items[row.Config]
		why, excused := notRun[row.Config]
		switch {
		case excused && (item.Ran || item.OK || !strings.Contains(item.Why, why)):
			t.Errorf("%s should not have run, since it %s: %+v", row.Config, why, item)
		case !excused && !item.OK:
			t.Errorf("%s: %+v", row.Config, item)
		}
	}
	if item := items["Shop"]; !item.Compared || item.Distinct != 38 || item.Depth != 10 || item.GraphHash == "" {
		t.Errorf("the graph of the shop: %+v", item)
	}
}

func TestTLC(t *testing.T) {
	t.Parallel()
	rows := shopRows(t)
	checker := withTLC(t)
	items := runShop(t, checker, rows)
	for _, row := range rows {
		if item := items[row.Config]; !item.OK {
			t.Errorf("%s: %+v", row.Config, item)
		}
	}
	if item := items["Shop"]; !item.Compared || item.Generated == 0 {
		t.Errorf("the graph of the shop: %+v", item)
	}
	t.Run("refinement", func(t *testing.T) {
		t.Parallel()
		outcome, err := checker.Check(t.Context(), Task{shop(), "ShopRefinement", "ShopRefinement", false})
		if err != nil || outcome.Got != Pass {
			t.Errorf("%+v (%v)", outcome, err)
		}
	})
	t.Run("an action that never happens", func(t *testing.T) {
		t.Parallel()
		testIdle(t, checker)
	})
}

func TestTLACheckerFindsIdleActions(t *testing.T) {
	t.Parallel()
	testIdle(t, withTLAChecker(t))
}

func testIdle(t *testing.T, checker Checker) {
	t.Helper()
	row := Row{Spec: "Shop", Module: "MCShop", Config: "ShopIdle", Expect: Pass, Kind: "safety", Graph: "shop", Distinct: 38}
	item := runShop(t, checker, []Row{row})["ShopIdle"]
	if !item.Failed() || !strings.Contains(item.Why, "[Close]") {
		t.Errorf("the action Close, which nothing enables, isn't noticed: %+v", item)
	}
}

func TestTLACheckerLeavesRefinementToTLC(t *testing.T) {
	t.Parallel()
	_, err := withTLAChecker(t).Check(t.Context(), Task{shop(), "ShopRefinement", "ShopRefinement", false})
	var needs *NeedsTLCError
	if !errors.As(err, &needs) || !strings.Contains(err.Error(), "INSTANCE") {
		t.Errorf("the error is %v", err)
	}
}

func TestDisagreementFails(t *testing.T) {
	t.Parallel()
	checker := withTLAChecker(t)
	good := shopRows(t)[0]
	for want, change := range map[string]func(*Row){
		"TLC found 39":             func(r *Row) { r.Distinct = 39 },
		"TLC's was 11":             func(r *Row) { r.Depth = 11 },
		"TLC's had":                func(r *Row) { r.GraphHash = "0" },
		"the table has no result":  func(r *Row) { r.Distinct = 0 },
		"the verdict is pass":      func(r *Row) { r.Expect = "TypeOK" },
		"no such file":             func(r *Row) { r.Module = "Nowhere" },
		"should violate TypeOK":    func(r *Row) { r.Module, r.Config, r.Expect = "MCShop", "ShopGrab", "TypeOK" },
		"NobodyShares is violated": func(r *Row) { r.Module, r.Config = "MCShop", "ShopGrab" },
	} {
		row := good
		change(&row)
		item := runShop(t, checker, []Row{row})[row.Config]
		if !item.Failed() || !strings.Contains(item.Why, want) {
			t.Errorf("%+v should fail with %q: %+v", row, want, item)
		}
	}
}

func TestAnotherModelFails(t *testing.T) {
	t.Parallel()
	options := RunOptions{
		Specs: shop(), Rows: shopRows(t)[:1], Checker: withTLAChecker(t),
		Explore: func(context.Context, string) (Graph, error) { return shopGraph(true), nil },
	}
	items, err := Run(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if !items[0].Failed() || !items[0].Compared || !strings.Contains(items[0].Why, "edges only in the model") {
		t.Errorf("another graph isn't noticed: %+v", items[0])
	}
	options.Explore = func(context.Context, string) (Graph, error) { return Graph{}, errors.New("no such configuration") }
	if items, err = Run(t.Context(), options); err != nil || !items[0].Failed() || items[0].Compared {
		t.Errorf("an explorer that fails: %+v (%v)", items, err)
	}
	options.Explore = nil
	if items, err = Run(t.Context(), options); err != nil || !items[0].OK || items[0].Compared {
		t.Errorf("without the explorer: %+v (%v)", items, err)
	}
}

func TestRunsAreBounded(t *testing.T) {
	t.Parallel()
	options := RunOptions{Specs: shop(), Rows: shopRows(t)[:1], Checker: withTLAChecker(t), RowLimit: time.Nanosecond}
	items, err := Run(t.Context(), options)
	if err != nil || len(items) != 1 || !items[0].Failed() || !strings.Contains(items[0].Why, "not done after 1ns") {
		t.Errorf("a row over its limit: %+v (%v)", items, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if items, err := Run(ctx, options); !errors.Is(err, enough) || len(items) != 0 {
		t.Errorf("a run that is called off: %+v (%v)", items, err)
	}
}

func TestOnlyTLCUpdatesTheTable(t *testing.T) {
	t.Parallel()
	rows := shopRows(t)[:2]
	found := Item{
		Module: rows[0].Module, Config: rows[0].Config, Expect: Pass, Got: Pass, Ran: true, OK: true,
		Checker: TLAChecker, Distinct: 5, Depth: 4, GraphHash: "ab",
	}
	if got := Update(rows, []Item{found}); got[0] != rows[0] {
		t.Errorf("tla-checker changes the table: %+v", got[0])
	}
	found.Checker = TLC
	updated := Update(rows, []Item{found})
	if updated[0].Distinct != 5 || updated[0].Depth != 4 || updated[0].GraphHash != "ab" || updated[1] != rows[1] {
		t.Errorf("TLC's results give %+v", updated)
	}
	path := filepath.Join(t.TempDir(), TableName)
	if err := WriteTable(path, updated); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) != 0 {
		t.Errorf("writing leaves %v (%v)", left, err)
	}
}

// TestTheTableWithoutTLC judges the real specs as far as tla-checker can; the largest are left to awa-check.
func TestTheTableWithoutTLC(t *testing.T) {
	t.Parallel()
	rows, err := ReadTable(Specs())
	if err != nil {
		t.Fatal(err)
	}
	const enough = 5000 // states
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Distinct > enough })
	items, err := Run(t.Context(), RunOptions{Specs: Specs(), Rows: rows, Checker: withTLAChecker(t)})
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, item := range items {
		switch {
		case item.Failed():
			t.Errorf("%+v", item)
		case !item.Ran:
			t.Logf("%s with %s: %s", item.Module, item.Config, item.Why)
		default:
			passed++
		}
	}
	if passed < 10 {
		t.Errorf("only %d rows ran", passed)
	}
}
