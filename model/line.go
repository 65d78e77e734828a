package model

import (
	"fmt"
	"strconv"
	"strings"
)

// lineWriter prints an operation's values, as they are: a line can say what no state allows, and Apply refuses it.
type lineWriter struct{ strings.Builder }

// line prints the name, then each key as the operation lists it.
func line(name string, walk func(keys)) string {
	var w lineWriter
	w.WriteString(name)
	walk(&w)
	return w.String()
}

func (w *lineWriter) word(key string, value *string) { fmt.Fprintf(w, " %s=%s", key, *value) }

func (w *lineWriter) number(key string, value *int) { fmt.Fprintf(w, " %s=%d", key, *value) }

// An optional value that is zero isn't printed: the same action then has one text only, and old lines keep theirs.
func (w *lineWriter) optionalNumber(key string, value *int) {
	if *value != 0 {
		w.number(key, value)
	}
}

func (w *lineWriter) optionalWord(key string, value *string) {
	if *value != "" {
		w.word(key, value)
	}
}

func (w *lineWriter) isolation(key string, value *Isolation) { fmt.Fprintf(w, " %s=%s", key, *value) }

func (w *lineWriter) attempts(key string, value *[]AttemptID) {
	texts := make([]string, len(*value))
	for i, id := range *value {
		texts[i] = id.String()
	}
	fmt.Fprintf(w, " %s=%s", key, strings.Join(texts, ","))
}

func (w *lineWriter) attempt(key string, value *AttemptID) { fmt.Fprintf(w, " %s=%s", key, *value) }

// An empty list isn't printed: it is no choice of jobs.
func (w *lineWriter) optionalJobs(key string, value *[]int) {
	if len(*value) > 0 {
		fmt.Fprintf(w, " %s=%s", key, list(*value, strconv.Itoa))
	}
}

// lineReader reads an operation's values; each key that was read is taken out, so that what is left is unknown. It goes
// on after an error, and keeps the first: that is the one to be told.
type lineReader struct {
	values map[string]string
	err    error // the first thing that was wrong
}

func (r *lineReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// take gives a key's value once: what nobody takes is unknown to the operation.
func (r *lineReader) take(key string) (string, bool) {
	value, ok := r.values[key]
	delete(r.values, key)
	if !ok {
		r.fail("key %q is missing", key)
	}
	return value, ok
}

// word is a value that only must not be empty: a queue that doesn't exist is the operation's to refuse.
func (r *lineReader) word(key string, value *string) {
	text, ok := r.take(key)
	if ok && text == "" {
		r.fail("key %q has no value", key)
	}
	*value = text
}

func (r *lineReader) number(key string, value *int) {
	if text, ok := r.take(key); ok {
		*value = r.integer(key, text)
	}
}

func (r *lineReader) optionalNumber(key string, value *int) {
	if _, there := r.values[key]; there {
		r.number(key, value)
	}
}

// optionalWord, too, must not be empty where it stands: a line that means none leaves the key out.
func (r *lineReader) optionalWord(key string, value *string) {
	if _, there := r.values[key]; there {
		r.word(key, value)
	}
}

func (r *lineReader) integer(key, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		r.fail("key %q: %q is not a number", key, text)
	}
	return n
}

func (r *lineReader) isolation(key string, value *Isolation) {
	text, ok := r.take(key)
	*value = Isolation(text)
	switch {
	case !ok, *value == ReadCommitted, *value == RepeatableRead, *value == Serializable:
	default:
		r.fail("key %q: %q is not one of rc, rr, ser", key, text)
	}
}

// attempts reads a list of job/run_lease; an empty list is allowed.
func (r *lineReader) attempts(key string, value *[]AttemptID) {
	text, ok := r.take(key)
	if !ok || text == "" {
		return
	}
	for item := range strings.SplitSeq(text, ",") {
		*value = append(*value, r.attemptID(key, item))
	}
}

func (r *lineReader) attemptID(key, text string) AttemptID {
	job, lease, ok := strings.Cut(text, "/")
	if !ok {
		r.fail("key %q: %q is not job/run_lease", key, text)
	}
	return AttemptID{r.integer(key, job), r.integer(key, lease)}
}

// attempt reads one job/run_lease.
func (r *lineReader) attempt(key string, value *AttemptID) {
	if text, ok := r.take(key); ok {
		*value = r.attemptID(key, text)
	}
}

// optionalJobs reads a list of job ids.
func (r *lineReader) optionalJobs(key string, value *[]int) {
	if _, there := r.values[key]; !there {
		return
	}
	text, _ := r.take(key)
	for item := range strings.SplitSeq(text, ",") {
		*value = append(*value, r.integer(key, item))
	}
}
