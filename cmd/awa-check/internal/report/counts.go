package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Count is how much of one thing was done.
type Count struct {
	Name string
	N    int64
}

// Counts says how much was done, most telling first; as JSON it is one object in that order.
type Counts []Count

// Nothing tells whether no work was done at all, which is a failure of whatever claims to have run.
func (c Counts) Nothing() bool {
	for _, one := range c {
		if one.N != 0 {
			return false
		}
	}
	return true
}

// String is for people: "11,720 states, 25,173 transitions".
func (c Counts) String() string {
	parts := make([]string, len(c))
	for i, one := range c {
		parts[i] = fmt.Sprintf("%s %s", Grouped(one.N), strings.ReplaceAll(one.Name, "_", " "))
	}
	return strings.Join(parts, ", ")
}

// MarshalJSON keeps the order.
func (c Counts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.WriteString(strconv.FormatInt(one.N, 10))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Grouped writes a number with commas between its thousands.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
