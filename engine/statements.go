package engine

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"github.com/jackc/pgx/v5"
)

// Each operation's SQL stands beside its Go, as named templates. Hot statements name the child partitions that they
// need: a parent would lock all children, wait for a prune of any of them, and be planned by statistics that a TRUNCATE
// makes wrong. The text therefore depends on slot numbers; a rendered text is kept, so that it is prepared once.

//go:embed *.sql
var sqlFiles embed.FS

// children says which child partitions a statement names.
type children struct {
	Queue int   // the slot of the queue ring that is written
	Claim int   // the slot of the claim ring that is written or read
	Slots []int // the slots of the queue ring that are read
	Ring  ring  // for statements that serve both rings
	// Local says that the claims are row-local: rows of lease_claims, and closures of the same shape.
	Local bool
	// Merge says that a claim goes by how long jobs have waited.
	Merge bool
	// Deadline says that a sweep goes by deadlines, Timeout by those of waits; neither, by age.
	Deadline, Timeout bool
	Lease             int // the slot of the lease ring that is written
}

// statementData is what a template may refer to.
type statementData struct {
	S string // quoted schema
	children
}

// Incarnation tells one life of the server from the next.
func (statementData) Incarnation() string { return incarnation }

// templates are those of all operations. They are parsed once: a program may open many engines.
var templates = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(sqlFiles, "*.sql")) })

// statements renders templates for one schema. Safe for concurrent use.
type statements struct {
	schema string

	mu   sync.RWMutex
	text map[string]string // by name and children; bounded by the numbers of slots and rings
}

func newStatements(schema string) *statements {
	return &statements{schema: pgx.Identifier{schema}.Sanitize(), text: map[string]string{}}
}

// get returns the text of a statement.
func (s *statements) get(name string, c children) string {
	key := fmt.Sprint(name, c.Queue, c.Claim, c.Slots, c.Ring.name, c.Ring.children, c.Local, c.Merge, c.Deadline, c.Timeout, c.Lease)
	s.mu.RLock()
	text, ok := s.text[key]
	s.mu.RUnlock()
	if ok {
		return text
	}
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, statementData{S: s.schema, children: c}); err != nil {
		panic(fmt.Sprintf("statement %s: %v", name, err)) // our bug: every template is rendered by a test
	}
	text = strings.TrimSpace(b.String())
	s.mu.Lock()
	s.text[key] = text
	s.mu.Unlock()
	return text
}
