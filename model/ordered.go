package model

import (
	"iter"
	"slices"
)

// ordered is a sorted sequence without duplicates that is mostly appended to at its end and taken from at its
// front, as lanes and open claims are. Both are cheap however long it is; in between, the shorter side moves.
type ordered[T any] struct {
	compare func(a, b T) int
	items   []T // items[front:] are there; what is before them is room
	front   int
}

func (o *ordered[T]) len() int         { return len(o.items) - o.front }
func (o *ordered[T]) all() iter.Seq[T] { return slices.Values(o.items[o.front:]) }

func (o *ordered[T]) find(item T) (at int, found bool) {
	at, found = slices.BinarySearchFunc(o.items[o.front:], item, o.compare)
	return at + o.front, found
}

// set puts an item in or takes it out.
func (o *ordered[T]) set(item T, in bool) {
	if in {
		o.insert(item)
	} else {
		o.remove(item)
	}
}

// insert replaces an item that compares equal.
func (o *ordered[T]) insert(item T) {
	at, found := o.find(item)
	if found {
		o.items[at] = item
		return
	}
	if nearEnd := at-o.front >= len(o.items)-at; nearEnd {
		o.items = slices.Insert(o.items, at, item)
		return
	}
	// Items come to the front when an undo brings back what was taken there, many in a row; room for half as many
	// as there are makes that cheap as well.
	if o.front == 0 {
		o.leaveRoom(o.len()/2 + 32)
		at += o.front
	}
	copy(o.items[o.front-1:], o.items[o.front:at])
	o.front--
	o.items[at-1] = item
}

// remove shifts the side with fewer items over the gap; the front one leaves room behind.
func (o *ordered[T]) remove(item T) {
	at, found := o.find(item)
	if !found {
		return
	}
	if nearEnd := at-o.front >= len(o.items)-at; nearEnd {
		o.items = slices.Delete(o.items, at, at+1)
	} else {
		copy(o.items[o.front+1:], o.items[o.front:at])
		o.front++
	}
	// As many items left the front as are moved here: each pays for one move.
	if o.front > 2*o.len()+64 {
		o.leaveRoom(0)
	}
}

// leaveRoom moves all items, to have exactly this much room before them.
func (o *ordered[T]) leaveRoom(room int) {
	items := make([]T, room, room+o.len())
	o.items, o.front = append(items, o.items[o.front:]...), room
}
