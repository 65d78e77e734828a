package tla

import (
	"slices"
	"strconv"
	"strings"
)

// Value is a TLA+ value in its canonical form: two values are equal when their texts are. The zero Value isn't one.
type Value struct {
	kind kind
	text string
}

// String is the canonical text: no spaces, sets sorted by the text of their elements, fields and keys sorted too, a
// function over 1..n as a tuple and one over names as a record, as in {1,2} <<a,b>> [f|->1,g|->"x"] (3:>TRUE@@5:>w1).
func (v Value) String() string { return v.text }

type kind uint8

const (
	boolValue kind = iota + 1
	intValue
	stringValue
	modelValue
	setValue
	tupleValue
	recordValue
	functionValue
)

type pair struct{ key, value Value }

func newBool(b bool) Value {
	return Value{boolValue, strings.ToUpper(strconv.FormatBool(b))}
}

func newInt(n int) Value { return Value{intValue, strconv.Itoa(n)} }

// newString takes the text between the quotes as TLA+ writes it, with its backslashes.
func newString(escaped string) Value { return Value{stringValue, `"` + escaped + `"`} }

func newModel(name string) Value { return Value{modelValue, name} }

func newSet(elems []Value) Value {
	texts := textsOf(elems)
	slices.Sort(texts)
	return Value{setValue, "{" + strings.Join(slices.Compact(texts), ",") + "}"}
}

func newTuple(elems []Value) Value {
	return Value{tupleValue, "<<" + strings.Join(textsOf(elems), ",") + ">>"}
}

// newFunction takes pairs with distinct keys. Tuples and records are functions too in TLA+, however they were written.
func newFunction(pairs []pair) Value {
	if elems, ok := asTuple(pairs); ok {
		return newTuple(elems)
	}
	pairs = slices.SortedFunc(slices.Values(pairs), func(a, b pair) int { return strings.Compare(a.key.text, b.key.text) })
	names, record := asRecord(pairs)
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		if record {
			parts[i] = names[i] + "|->" + p.value.text
		} else {
			parts[i] = p.key.text + ":>" + p.value.text
		}
	}
	if record {
		return Value{recordValue, "[" + strings.Join(parts, ",") + "]"}
	}
	return Value{functionValue, "(" + strings.Join(parts, "@@") + ")"}
}

func asTuple(pairs []pair) ([]Value, bool) {
	elems := make([]Value, len(pairs))
	for _, p := range pairs {
		n, err := strconv.Atoi(p.key.text)
		if p.key.kind != intValue || err != nil || n < 1 || n > len(pairs) {
			return nil, false
		}
		elems[n-1] = p.value
	}
	return elems, true
}

func asRecord(pairs []pair) ([]string, bool) {
	names := make([]string, len(pairs))
	for i, p := range pairs {
		if p.key.kind != stringValue {
			return nil, false
		}
		names[i] = p.key.text[1 : len(p.key.text)-1]
		if !isName(names[i]) {
			return nil, false
		}
	}
	return names, true
}

func textsOf(values []Value) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.text
	}
	return texts
}

// isName says whether a text is a TLA+ identifier.
func isName(s string) bool {
	letter := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letter = true
		case c == '_' || c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return letter
}
