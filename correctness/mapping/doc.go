// Package mapping makes correctness/MAPPING.md: which names of the engine, the model, the specs and the tests mean the
// same thing.
//
// The names are read from the tree: Go by its syntax, statements by their templates, specs by their outline. What can't
// be read, such as why a side has no counterpart, stands in notes.txt beside this file. A name without a row, a row
// without its name, and a note on either of them that isn't true any more are problems, and a test fails on each.
package mapping

//go:generate go run ../../cmd/awa-check mapping --write
