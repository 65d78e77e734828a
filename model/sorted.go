package model

import (
	"iter"
	"slices"
)

// Sorted slices as tables: what the flat store does to each of its own.

// put inserts a row, or replaces the one with its key.
func put[T any](rows []T, row T, compare func(a, b T) int) []T {
	i, found := slices.BinarySearchFunc(rows, row, compare)
	if found {
		rows[i] = row
		return rows
	}
	return slices.Insert(rows, i, row)
}

// drop takes the row with this row's key out.
func drop[T any](rows []T, row T, compare func(a, b T) int) []T {
	if i, found := slices.BinarySearchFunc(rows, row, compare); found {
		return slices.Delete(rows, i, i+1)
	}
	return rows
}

// keep drops the rows that don't match, in place.
func keep[T any](rows []T, matches func(T) bool) []T {
	return slices.DeleteFunc(rows, func(row T) bool { return !matches(row) })
}

// where visits the rows that match, in their order.
func where[T any](rows []T, matches func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, row := range rows {
			if matches(row) && !yield(row) {
				return
			}
		}
	}
}

// last is the last row that matches: rows are in the order of their writing, or there is only one.
func last[T any](rows []T, matches func(T) bool) (row T, ok bool) {
	for _, row := range slices.Backward(rows) {
		if matches(row) {
			return row, true
		}
	}
	return row, false
}

// one counts a condition.
func one(condition bool) int {
	if condition {
		return 1
	}
	return 0
}
