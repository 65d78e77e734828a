package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxNameBytes  = 128  // of a queue or kind
	maxJSONDepth  = 512  // the server's parser recurses; its stack is the limit we stay under
	maxJSONDigits = 1000 // jsonb numbers are numeric: 1e200000 is JSON but can't be stored
	maxJSONExp    = 1000
	maxErrorBytes = 8 << 10
	maxEnqueue    = 100_000
)

// checkName accepts any non-empty UTF-8 text without NUL, up to 128 bytes (hazard 19).
func checkName(op, what, name string) error {
	shown := fmt.Sprintf("%s %q", what, truncate(name, 40))
	switch {
	case name == "":
		return invalid(op, shown, "empty")
	case len(name) > maxNameBytes:
		return invalid(op, shown, "%d bytes, at most %d", len(name), maxNameBytes)
	case !utf8.ValidString(name):
		return invalid(op, shown, "not valid UTF-8")
	case strings.ContainsRune(name, 0):
		return invalid(op, shown, "contains U+0000")
	}
	return nil
}

// checkCount accepts 1 to most.
func checkCount(op, what string, n, most int) error {
	if n < 1 || n > most {
		return invalid(op, fmt.Sprintf("%s %d", what, n), "outside 1..%d", most)
	}
	return nil
}

// checkDuration accepts zero and positive durations of at most a century, so that no server interval overflows.
func checkDuration(op, what string, d time.Duration) error {
	const century = 100 * 366 * 24 * time.Hour
	if d < 0 || d > century {
		return invalid(op, fmt.Sprintf("%s %s", what, d), "outside 0..%s", century)
	}
	return nil
}

// storableText makes text that a worker reports fit to be stored: never an error, since a failure report that can't be
// written would leave its attempt open (hazard 19). NUL and broken UTF-8 become U+FFFD, the length is bounded.
func storableText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	return truncate(s, maxErrorBytes)
}

// truncate cuts at a rune boundary, so that the result is at most n bytes of valid UTF-8 when s was valid.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// checkArgs accepts what jsonb can store. encoding/json accepts more: \u0000, lone surrogates, numbers with huge
// exponents, deep nesting. The server would refuse those only inside the transaction, and break a caller's.
func checkArgs(op string, args json.RawMessage, most int) error {
	shown := fmt.Sprintf("args %q", truncate(string(args), 40))
	switch {
	case len(args) > most:
		return invalid(op, shown, "%d bytes, at most %d", len(args), most)
	case !utf8.Valid(args):
		return invalid(op, shown, "not valid UTF-8")
	case !json.Valid(args):
		return invalid(op, shown, "not JSON")
	}
	if why := notJSONB(args); why != "" {
		return invalid(op, shown, "%s", why)
	}
	return nil
}

// notJSONB walks valid JSON once and says why jsonb would refuse it; empty when it wouldn't.
func notJSONB(b []byte) string {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '{' || c == '[':
			if depth++; depth > maxJSONDepth {
				return fmt.Sprintf("nested deeper than %d", maxJSONDepth)
			}
		case c == '}' || c == ']':
			depth--
		case c == '"':
			end, why := stringEnd(b, i)
			if why != "" {
				return why
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := i
			for end < len(b) && strings.IndexByte("+-.0123456789eE", b[end]) >= 0 {
				end++
			}
			if why := bigNumber(string(b[i:end])); why != "" {
				return why
			}
			i = end - 1
		}
	}
	return ""
}

// stringEnd returns the index of the closing quote of the string that opens at i.
func stringEnd(b []byte, i int) (end int, why string) {
	for i++; b[i] != '"'; i++ {
		if b[i] != '\\' {
			continue
		}
		if i++; b[i] != 'u' {
			continue
		}
		unit := hex4(b[i+1:])
		i += 4
		switch {
		case unit == 0:
			return 0, "contains U+0000"
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return 0, "contains half of a surrogate pair"
		case unit >= 0xD800 && unit <= 0xDBFF:
			if b[i+1] != '\\' || b[i+2] != 'u' || hex4(b[i+3:]) < 0xDC00 || hex4(b[i+3:]) > 0xDFFF {
				return 0, "contains half of a surrogate pair"
			}
			i += 6
		}
	}
	return i, ""
}

func hex4(b []byte) uint64 {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 32) // valid JSON has four hex digits here
	return n
}

// bigNumber says why a JSON number is no numeric of the server.
func bigNumber(token string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(token), "e")
	if len(mantissa) > maxJSONDigits {
		return fmt.Sprintf("has a number of more than %d digits", maxJSONDigits)
	}
	if exponent == "" {
		return ""
	}
	if n, err := strconv.Atoi(exponent); err != nil || n > maxJSONExp || n < -maxJSONExp {
		return fmt.Sprintf("has a number with an exponent outside ±%d", maxJSONExp)
	}
	return ""
}
