package tla

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// intervalLimit bounds the sets that a text like 1..n may stand for.
const intervalLimit = 1 << 16

// ParseValue reads a value as TLC or tla-checker prints it, or in canonical text.
func ParseValue(text string) (Value, error) {
	p := valueParser{src: text}
	v, err := p.value()
	if err != nil {
		return Value{}, err
	}
	if p.skipSpace(); p.pos != len(p.src) {
		return Value{}, p.errorf("something follows the value")
	}
	return v, nil
}

// parseState reads a state as `/\ x = 1 /\ y = {}` (TLC) or as lines `x=1` (tla-checker), and gives its canonical text:
// the variables sorted by name, as in x=1;y={}.
func parseState(label string) (string, error) {
	p := valueParser{src: label}
	var vars []pair
	for p.skipSpace(); p.pos < len(p.src); p.skipSpace() {
		p.accept(`/\`)
		name := p.name()
		if name == "" {
			return "", p.errorf("the name of a variable should be here")
		}
		if err := p.expect("="); err != nil {
			return "", err
		}
		v, err := p.value()
		if err != nil {
			return "", err
		}
		vars = append(vars, pair{newModel(name), v})
	}
	if len(vars) == 0 {
		return "", p.errorf("a state without variables")
	}
	slices.SortFunc(vars, func(a, b pair) int { return strings.Compare(a.key.text, b.key.text) })
	texts := make([]string, len(vars))
	for i, v := range vars {
		texts[i] = v.key.text + "=" + v.value.text
	}
	return strings.Join(texts, ";"), nil
}

type valueParser struct {
	src string
	pos int
}

func (p *valueParser) value() (Value, error) {
	switch p.skipSpace(); {
	case p.accept("{"):
		elems, err := p.list("}")
		return newSet(elems), err
	case p.accept("<<"):
		elems, err := p.list(">>")
		return newTuple(elems), err
	case p.accept("["):
		return p.record()
	case p.accept("("):
		return p.function()
	case p.accept(`"`):
		return p.quoted()
	}
	start := p.pos
	p.accept("-")
	for p.pos < len(p.src) && isWordByte(p.src[p.pos]) {
		p.pos++
	}
	switch word := p.src[start:p.pos]; {
	case strings.EqualFold(word, "true"), strings.EqualFold(word, "false"):
		return newBool(strings.EqualFold(word, "true")), nil
	case isName(word):
		return newModel(word), nil
	default:
		n, err := strconv.Atoi(word)
		if err != nil {
			p.pos = start
			return Value{}, p.errorf("no value")
		}
		return p.interval(n)
	}
}

// interval reads the rest of a..b, which TLC prints for some sets of integers; without it, a stands for itself.
func (p *valueParser) interval(from int) (Value, error) {
	if !p.accept("..") {
		return newInt(from), nil
	}
	end, err := p.value()
	if err != nil {
		return Value{}, err
	}
	to, err := strconv.Atoi(end.text)
	if err != nil || to-from > intervalLimit {
		return Value{}, p.errorf("%d..%s is no interval that fits", from, end)
	}
	var elems []Value
	for n := from; n <= to; n++ {
		elems = append(elems, newInt(n))
	}
	return newSet(elems), nil
}

func (p *valueParser) list(closing string) ([]Value, error) {
	var elems []Value
	if p.accept(closing) {
		return elems, nil
	}
	for {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		elems = append(elems, v)
		if p.accept(closing) {
			return elems, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

func (p *valueParser) record() (Value, error) {
	var fields []pair
	for {
		name := p.name()
		if name == "" {
			return Value{}, p.errorf("the name of a field should be here")
		}
		if err := p.expect("|->"); err != nil {
			return Value{}, err
		}
		v, err := p.value()
		if err != nil {
			return Value{}, err
		}
		fields = append(fields, pair{newString(name), v})
		if p.accept("]") {
			return p.distinct(fields)
		}
		if err := p.expect(","); err != nil {
			return Value{}, err
		}
	}
}

// function reads what follows an opening parenthesis: the pairs of a function, or just a value in parentheses.
func (p *valueParser) function() (Value, error) {
	var pairs []pair
	for {
		key, err := p.value()
		if err != nil {
			return Value{}, err
		}
		if len(pairs) == 0 && p.accept(")") {
			return key, nil
		}
		if err := p.expect(":>"); err != nil {
			return Value{}, err
		}
		v, err := p.value()
		if err != nil {
			return Value{}, err
		}
		pairs = append(pairs, pair{key, v})
		if p.accept(")") {
			return p.distinct(pairs)
		}
		if err := p.expect("@@"); err != nil {
			return Value{}, err
		}
	}
}

func (p *valueParser) distinct(pairs []pair) (Value, error) {
	seen := make(map[string]bool, len(pairs))
	for _, one := range pairs {
		if seen[one.key.text] {
			return Value{}, p.errorf("%s is a key twice", one.key)
		}
		seen[one.key.text] = true
	}
	return newFunction(pairs), nil
}

func (p *valueParser) quoted() (Value, error) {
	for start := p.pos; p.pos < len(p.src); p.pos++ {
		switch p.src[p.pos] {
		case '\\':
			p.pos++
		case '"':
			p.pos++
			return newString(p.src[start : p.pos-1]), nil
		}
	}
	return Value{}, p.errorf("a string without end")
}

func (p *valueParser) name() string {
	p.skipSpace()
	start := p.pos
	for p.pos < len(p.src) && isWordByte(p.src[p.pos]) {
		p.pos++
	}
	if !isName(p.src[start:p.pos]) {
		p.pos = start
	}
	return p.src[start:p.pos]
}

func (p *valueParser) accept(token string) bool {
	p.skipSpace()
	ok := strings.HasPrefix(p.src[p.pos:], token)
	if ok {
		p.pos += len(token)
	}
	return ok
}

func (p *valueParser) expect(token string) error {
	if !p.accept(token) {
		return p.errorf("%s should be here", token)
	}
	return nil
}

func (p *valueParser) skipSpace() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *valueParser) errorf(format string, args ...any) error {
	rest := p.src[min(p.pos, len(p.src)):]
	return fmt.Errorf("TLA+ value, byte %d, before %.20q: %s", p.pos, rest, fmt.Sprintf(format, args...))
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
