package engine

import (
	"fmt"
	"testing"
	"time"
)

// life is the only life of the server in tests of pure hints.
var life = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A producer that took its id late and its position early may be at or above the xmax of every snapshot so far: 105 is at
// work on position 1 while 103 has committed position 2, and nothing newer has ended.
func TestHoleStaysWhileItsTransactionIsAtWork(t *testing.T) {
	t.Parallel()
	none := map[int64]int64{0: 2}
	h := newHint().advance(sight{window: window{0}, next: 106, xmin: 105, seen: 1, own: []int64{2}, last: none, upTo: endless})
	h = h.advance(sight{window: window{0}, next: 107, xmin: 105, seen: 1, spent: spans{{2, 3}}, last: none, upTo: endless})
	h = h.advance(sight{window: window{0}, next: 108, xmin: 105, last: none, upTo: endless})
	if !h.open.contains(1) {
		t.Fatalf("transaction 105 may still fill position 1, but open is %s", h.open)
	}
	h = h.advance(sight{window: window{0}, next: 109, xmin: 109, last: none, upTo: endless})
	h = h.advance(sight{window: window{0}, next: 110, xmin: 110, last: none, upTo: endless})
	if h.open.contains(1) {
		t.Errorf("nobody can fill position 1 any more, but open is %s", h.open)
	}
}

// What a claim hands out while it closes a generation is spent for good, also when another lane's claim makes this one
// look into that generation again.
func TestClosingAGenerationForgetsWhatWasHandedOut(t *testing.T) {
	t.Parallel()
	h := newHint().advance(sight{window: window{0, 1}, next: 10, xmin: 10, last: map[int64]int64{0: 5, 1: 0}, upTo: 1})
	h = h.advance(sight{window: window{0, 1}, next: 11, xmin: 11, last: map[int64]int64{0: 5, 1: 0}, upTo: endless, seen: 7, own: []int64{4, 5}})
	if !h.closed[0] {
		t.Fatalf("generation 0 was looked at twice since it was sealed: %+v", h)
	}
	if h.open.contains(4) || h.open.contains(5) || h.seen != 7 {
		t.Errorf("handed out 4 and 5 as batch 7, but the hint is %+v", h)
	}
}

// A process that restarts knows nothing, and looks everywhere.
func TestNewHintLooksEverywhere(t *testing.T) {
	t.Parallel()
	var h hints
	got := h.get(7, life)
	if fmt.Sprint(got.open) != fmt.Sprint(spans{{0, endless}}) || len(got.generations(window{3, 4, 5})) != 3 {
		t.Errorf("a new hint is %+v", got)
	}
}

// Two claims of one process may finish in the other order than they ran.
func TestOlderHintDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	var h hints
	h.put(1, life, hint{seen: 5, open: spans{{9, endless}}})
	h.put(1, life, hint{seen: 4, open: spans{{7, endless}}})
	if got := h.get(1, life); got.seen != 5 {
		t.Errorf("the hint of batch %d replaced the one of batch 5", got.seen)
	}
}

// After a crash that lost commits, and after a failover, positions are given again that a hint believes spent.
func TestHintsEndWithTheServersLife(t *testing.T) {
	t.Parallel()
	var h hints
	h.put(1, life, newHint().advance(sight{window: window{0}, next: 9, xmin: 9, seen: 7, own: []int64{3}, last: map[int64]int64{0: 3}, upTo: endless}))
	if h.get(1, life).open.contains(3) {
		t.Fatal("position 3 was handed out")
	}
	next := life.Add(time.Minute)
	if !h.get(1, next).open.contains(3) {
		t.Error("position 3 may be another row's in the next life of the server")
	}
	h.put(1, next, newHint())
	h.put(1, life, newHint().advance(sight{window: window{0}, next: 9, xmin: 9, seen: 9, own: []int64{4}, last: map[int64]int64{0: 4}, upTo: endless}))
	if !h.get(1, next).open.contains(4) {
		t.Error("a claim of the life before told the next one about its positions")
	}
}
