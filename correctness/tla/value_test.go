package tla

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"TRUE":                      "TRUE",
		"false":                     "FALSE",
		"-12":                       "-12",
		`"a \"b\" \\ c"`:            `"a \"b\" \\ c"`,
		"w1":                        "w1",
		"{}":                        "{}",
		"{3, 1, 2, 1}":              "{1,2,3}",
		"{10, 9}":                   "{10,9}",
		"1..3":                      "{1,2,3}",
		"2..1":                      "{}",
		"<< >>":                     "<<>>",
		`<<1, {b, a}, "x">>`:        `<<1,{a,b},"x">>`,
		"[b |-> 1, a |-> <<2>>]":    "[a|-><<2>>,b|->1]",
		"[ab |-> 1, a |-> 2]":       "[a|->2,ab|->1]",
		"(w2 :> {} @@ w1 :> 0)":     "(w1:>0@@w2:>{})",
		"(10 :> a @@ 1 :> b)":       "(1:>b@@10:>a)",
		"(2 :> b @@ 1 :> a)":        "<<a,b>>",
		"(0 :> <<>> @@ 1 :> {1})":   "(0:><<>>@@1:>{1})",
		`("f" :> 1 @@ "g" :> 2)`:    "[f|->1,g|->2]",
		`("f" :> 1 @@ "b c" :> 2)`:  `("b c":>2@@"f":>1)`,
		"(((1 :> TRUE)) @@ 2 :> x)": "",
		"(<<1, 2>> :> (1 :> w1))":   "(<<1,2>>:><<w1>>)",
		"{[n |-> 1],\n  [n |-> 0]}": "{[n|->0],[n|->1]}",
		"(1 :> a @@ 1 :> b)":        "",
		"[a |-> 1, a |-> 2]":        "",
		"":                          "",
		"{1":                        "",
		"{1 2}":                     "",
		`"open`:                     "",
		"1 2":                       "",
		"[]":                        "",
		"1..x":                      "",
		"0..99999999":               "",
		"99999999999999999999":      "",
		"(a :> 1 @@ b)":             "",
		"[i \\in {1} |-> 2]":        "",
	} {
		got, err := ParseValue(text)
		if want == "" && err == nil {
			t.Errorf("%q is read as %s, and should be refused", text, got)
		}
		if want != "" && (err != nil || got.String() != want) {
			t.Errorf("%q is read as %s (%v), and should be %s", text, got, err, want)
		}
	}
}

func TestParseStateOfBothCheckers(t *testing.T) {
	t.Parallel()
	const want = `desk=(ann:>1@@bob:>Nobody);drawn=2;drawn2={1}`
	for _, label := range []string{
		"/\\ drawn = 2\n/\\ desk = (ann :> 1 @@ bob :> Nobody)\n/\\ drawn2 = {1}",
		"drawn=2\ndesk=(bob :> Nobody @@\n ann :> 1)\ndrawn2={1}",
		"drawn2 = 1..1\n/\\ desk = (ann :> 1 @@ bob :> Nobody)\n/\\ drawn = 2",
	} {
		if got, err := parseState(label); err != nil || got != want {
			t.Errorf("%q is read as %s (%v), and should be %s", label, got, err, want)
		}
	}
	for _, label := range []string{"", "x", "x=", "x = 1 y", "/\\ = 2"} {
		if got, err := parseState(label); err == nil {
			t.Errorf("%q is read as %s, and should be refused", label, got)
		}
	}
}

// TestCanonicalTextIsReadBack also reads each value as a checker may print it: in any order and with spaces.
func TestCanonicalTextIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		canonical, printed := drawValue(t, 3)
		for _, text := range []string{canonical.String(), printed} {
			got, err := ParseValue(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if got != canonical {
				t.Fatalf("%q is read as %s, and should be %s", text, got, canonical)
			}
		}
	})
}

// drawValue draws a value and a text of it.
func drawValue(t *rapid.T, depth int) (Value, string) {
	kinds := 4
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		b := rapid.Bool().Draw(t, "bool")
		return newBool(b), map[bool]string{true: "TRUE", false: "false"}[b]
	case 2:
		v := newInt(rapid.IntRange(-2000, 2000).Draw(t, "int"))
		return v, v.String()
	case 3:
		s := rapid.StringMatching(`([a-z ,{}=:>|@\[\]]|\\"|\\\\){0,6}`).Draw(t, "string")
		return newString(s), `"` + s + `"`
	case 4:
		name := rapid.SampledFrom([]string{"w1", "Nobody", "ann_2", "_x"}).Draw(t, "model value")
		return newModel(name), name
	case 5:
		values, texts := drawValues(t, depth)
		return newSet(values), "{" + strings.Join(texts, ", ") + "}"
	case 6:
		values, texts := drawValues(t, depth)
		return newTuple(values), "<<" + strings.Join(texts, ", ") + ">>"
	case 7:
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c][0-9_]?`), 1, 3, rapid.ID).Draw(t, "fields")
		return drawPairs(t, depth, len(names), "[", " |-> ", ", ", "]", func(i int) (Value, string) {
			return newString(names[i]), names[i]
		})
	default:
		keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 1, 3, rapid.ID).Draw(t, "keys")
		return drawPairs(t, depth, len(keys), "(", " :> ", " @@ ", ")", func(i int) (Value, string) {
			return newInt(keys[i]), newInt(keys[i]).String()
		})
	}
}

func drawValues(t *rapid.T, depth int) (values []Value, texts []string) {
	for range rapid.IntRange(0, 3).Draw(t, "length") {
		v, text := drawValue(t, depth-1)
		values, texts = append(values, v), append(texts, text)
	}
	return values, texts
}

func drawPairs(t *rapid.T, depth, n int, opens, maps, joins, closes string, key func(int) (Value, string)) (Value, string) {
	var pairs []pair
	var texts []string
	for i := range n {
		k, keyText := key(i)
		v, text := drawValue(t, depth-1)
		pairs, texts = append(pairs, pair{k, v}), append(texts, keyText+maps+text)
	}
	return newFunction(pairs), opens + strings.Join(texts, joins) + closes
}
