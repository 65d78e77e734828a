package schedule

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Catalog is what the footprints need to know of the schema: its tables, which are partitions of which, and its
// sequences.
type Catalog struct {
	schema    string
	children  map[string][]string // by table; none for a plain one
	sequences map[string]bool
	lanes     []string // the lanes' sequences, which statements name by oid or by another table's column

	texts map[string]*parsed // by text; bounded by what the engine says
}

// A transaction is what a connection holds until it commits or rolls back, as far as other sessions can tell.
type transaction struct {
	open     bool
	snapshot bool      // one for all statements
	taken    bool      // that snapshot
	sees     int       // the step of the newest commit in it
	locks    Footprint // held
	written  []string  // tables with rows that a commit shows
	wait     time.Duration
}

var (
	qualified = regexp.MustCompile(`(?:"([A-Za-z0-9_$]+)"|\b([A-Za-z_][A-Za-z0-9_$]*))\.(?:"([A-Za-z0-9_$]+)"|([A-Za-z_][A-Za-z0-9_$]*))`)
	comment   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	lockTable = regexp.MustCompile(`(?is)^LOCK TABLE (.*) IN ([A-Z ]+?) MODE( NOWAIT)?$`)
	changing  = regexp.MustCompile(`(?i)\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(?:ONLY\s+)?("?[A-Za-z0-9_$]+"?\."?[A-Za-z0-9_$]+"?)`)
	definite  = regexp.MustCompile(`(?i)^(CREATE|ALTER|DROP|GRANT|REVOKE|DO|CALL)\b`)
	own       = regexp.MustCompile(`(?i)/\* awa:(\w+) \*/`)
	// sequenceKeyed are tables into which two transactions can insert without meeting: their keys come from sequences,
	// or they have none.
	sequenceKeyed = regexp.MustCompile(`^(ready_entries|ready_claim_attempt_batches|ready_tombstones|receipt_completion_batches|lease_claim_batches|lease_claims|lease_claim_closure_batches|queue_terminal_count_deltas|queue_terminal_live_counts)(_\d+)?$`)
)

var modeNames = map[string]use{
	"ACCESS SHARE": accessShare, "ROW SHARE": rowShare, "ROW EXCLUSIVE": rowExclusive, "SHARE UPDATE EXCLUSIVE": shareUpdateExclusive,
	"SHARE": shareLock, "SHARE ROW EXCLUSIVE": shareRowExclusive, "EXCLUSIVE": exclusiveLock, "ACCESS EXCLUSIVE": accessExclusive,
}

// A parsed statement is what its text says, whatever its parameters are.
type parsed struct {
	kind      statementKind
	footprint Footprint
	written   []string // tables, with their children
	emptied   []string // by TRUNCATE, with their children
	advisory  bool     // takes keys
	lockWait  bool     // sets lock_timeout to its first parameter
	snapshot  bool     // begins a transaction with one snapshot for all statements
	label     string
}

type statementKind int

const (
	ordinary statementKind = iota
	begins
	commits
	rollsBack
)

// parse reads a statement's text, once.
func (c *Catalog) parse(sql string) *parsed {
	if p, known := c.texts[sql]; known {
		return p
	}
	text := strings.TrimSpace(comment.ReplaceAllString(sql, ""))
	lower := strings.ToLower(text)
	p := &parsed{label: c.labelOf(sql)}
	switch {
	case strings.HasPrefix(lower, "begin"):
		p.kind, p.snapshot = begins, strings.Contains(lower, "repeatable") || strings.Contains(lower, "serializable")
	case strings.HasPrefix(lower, "commit"):
		p.kind = commits
	case strings.HasPrefix(lower, "rollback to"):
		p.footprint = everything() // it gives back what was locked since the savepoint, which nobody here has counted
	case strings.HasPrefix(lower, "rollback"):
		p.kind = rollsBack
	case definite.MatchString(text), strings.Contains(text, "to_regclass"):
		p.footprint = everything()
	default:
		p.footprint = c.statement(text)
		p.advisory = strings.Contains(text, "advisory")
		p.lockWait = strings.Contains(text, "set_config('lock_timeout'")
	}
	for _, table := range append(c.writtenBy(text), c.triggered(text)...) {
		p.written = append(p.written, c.withChildren(table)...)
	}
	if strings.HasPrefix(text, "TRUNCATE") {
		for _, table := range c.named(text) {
			p.emptied = append(p.emptied, c.withChildren(table)...)
		}
	}
	if c.texts == nil {
		c.texts = map[string]*parsed{}
	}
	c.texts[sql] = p
	return p
}

// footprint is what a statement touches when it runs in the transaction.
func (c *Catalog) footprint(u unit, tx *transaction) Footprint {
	p := c.parse(u.sql)
	switch p.kind {
	case begins:
		return Footprint{} // the snapshot of a transaction is taken by its first statement
	case commits:
		f := tx.locks.clone()
		for _, table := range tx.written {
			f.add("data:"+table, changes)
		}
		return f
	case rollsBack:
		return tx.locks.clone()
	case ordinary:
	}
	f := p.footprint.clone()
	if p.advisory {
		keys := advisoryKeys(u)
		for _, key := range keys {
			f.add("key:"+key, changes)
		}
		f.all = f.all || len(keys) == 0
	}
	if tx.snapshot && !tx.taken {
		f.add(anyData, reads)
	}
	if !tx.open { // it commits by itself
		for _, table := range p.written {
			f.add("data:"+table, changes)
		}
	}
	return f
}

// statement is what any other statement touches, wherever it runs.
func (c *Catalog) statement(text string) Footprint {
	var f Footprint
	if m := lockTable.FindStringSubmatch(text); m != nil {
		for _, table := range c.named(m[1]) {
			for _, each := range c.withChildren(table) {
				f.add("lock:"+each, modeNames[m[2]]|holds)
			}
		}
		return f
	}
	if strings.Contains(text, "pg_locks") {
		for _, name := range c.named(text) {
			f.add("lock:"+name, watches)
		}
		return f
	}
	truncate := strings.HasPrefix(text, "TRUNCATE")
	written := c.writtenBy(text)
	for _, name := range c.named(text) {
		switch {
		case c.sequences[name]:
			f.add("seq:"+name, changes)
			continue
		case !c.known(name):
			return everything()
		}
		for _, each := range c.withChildren(name) {
			switch {
			case truncate:
				f.add("lock:"+each, accessExclusive|holds)
			case slices.Contains(written, name):
				f.add("lock:"+each, rowExclusive|holds)
				if !c.onlyInserts(text, name) {
					f.add("data:"+each, reads)
				}
				if !sequenceKeyed.MatchString(each) {
					f.add("row:"+each, changes)
				}
			default:
				f.add("lock:"+each, accessShare|holds)
				f.add("data:"+each, reads)
			}
			if strings.Contains(text, "FOR UPDATE") {
				f.add("lock:"+each, rowShare|holds)
				f.add("row:"+each, changes)
			}
		}
	}
	for _, name := range c.triggered(text) {
		for _, each := range c.withChildren(name) {
			f.add("lock:"+each, rowExclusive|holds)
		}
	}
	c.functions(&f, text, len(written) > 0)
	return f
}

// functions adds what the server's functions touch.
func (c *Catalog) functions(f *Footprint, text string, writes bool) {
	if strings.Contains(text, "nextval(") {
		for _, name := range c.lanes {
			f.add("seq:"+name, changes)
		}
	}
	if strings.Contains(text, "pg_current_xact_id()") || writes {
		f.add("xid", holds)
	}
	if strings.Contains(text, "pg_current_snapshot()") || strings.Contains(text, "pg_stat_activity") {
		f.add("xid", watches)
	}
}

// advisoryKeys reads the keys out of the first parameter: one, or an array of them, in the binary format.
func advisoryKeys(u unit) []string {
	if len(u.args) == 0 {
		return nil
	}
	b := u.args[0]
	if len(b) == 8 {
		return []string{fmt.Sprintf("%x", b)}
	}
	if len(b) < 12 || binary.BigEndian.Uint32(b[8:]) != 20 { // int8
		return nil
	}
	if binary.BigEndian.Uint32(b) == 0 {
		return []string{"none"}
	}
	var keys []string
	for at := 20; at+12 <= len(b); at += 12 {
		keys = append(keys, fmt.Sprintf("%x", b[at+4:at+12]))
	}
	return keys
}

// named lists what of the schema a text names, each once.
func (c *Catalog) named(text string) []string {
	var names []string
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		if m[1]+m[2] == c.schema {
			names = append(names, m[3]+m[4])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// onlyInserts says whether the text names the table for nothing but to insert into it.
func (c *Catalog) onlyInserts(text, table string) bool {
	mentions, inserts := 0, 0
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		if m[1]+m[2] == c.schema && m[3]+m[4] == table {
			mentions++
		}
	}
	for _, m := range changing.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(strings.ToUpper(m[1]), "INSERT") && slices.Contains(c.named(m[2]), table) {
			inserts++
		}
	}
	return mentions == inserts
}

// writtenBy lists the tables that a statement inserts into, updates or deletes from.
func (c *Catalog) writtenBy(text string) []string {
	var names []string
	for _, m := range changing.FindAllStringSubmatch(text, -1) {
		names = append(names, c.named(m[2])...)
	}
	if m := copyInto.FindStringSubmatch(text); m != nil {
		names = append(names, c.named(m[1])...)
	}
	return names
}

// triggered lists the tables into which triggers insert: the counts of terminal rows stand in the slot of those rows.
func (c *Catalog) triggered(text string) []string {
	var names []string
	for _, name := range c.writtenBy(text) {
		if slot, counted := strings.CutPrefix(name, "done_entries"); counted {
			names = append(names, "queue_terminal_count_deltas"+slot)
		}
	}
	return names
}

var copyInto = regexp.MustCompile(`(?i)^copy ("?[A-Za-z0-9_$]+"?\."?[A-Za-z0-9_$]+"?)`)

func (c *Catalog) known(name string) bool {
	_, ok := c.children[name]
	return ok
}

func (c *Catalog) withChildren(table string) []string {
	return append([]string{table}, c.children[table]...)
}

func (f Footprint) clone() Footprint {
	g := Footprint{all: f.all}
	g.join(f)
	return g
}

// let notes in the transaction that a statement was let go.
func (tx *transaction) let(c *Catalog, u unit, f Footprint) {
	p := c.parse(u.sql)
	switch {
	case p.kind == begins:
		*tx = transaction{open: true, snapshot: p.snapshot}
		return
	case p.kind == commits, p.kind == rollsBack:
		*tx = transaction{}
		return
	case !tx.open:
		return
	}
	if p.lockWait && len(u.args) > 0 {
		tx.wait = parseWait(string(u.args[0]))
	}
	tx.taken = true
	tx.locks.all = tx.locks.all || f.all
	for r, use := range f.uses {
		switch {
		case strings.HasPrefix(r, "lock:"):
			tx.locks.add(r, use&(tableModes|holds))
		case strings.HasPrefix(r, "row:"), strings.HasPrefix(r, "key:"):
			tx.locks.add(r, use)
		case r == "xid" && use&holds != 0:
			tx.locks.add(r, holds)
		}
	}
	tx.written = append(append(tx.written, p.written...), p.emptied...)
}

// parseWait reads a value of lock_timeout; 0 is none.
func parseWait(text string) time.Duration {
	if text == "0" {
		return 0
	}
	d, err := time.ParseDuration(strings.ReplaceAll(text, "min", "m"))
	if err != nil {
		return 0
	}
	return d
}

// label tells a statement in a few words.
func (c *Catalog) label(u unit) string { return c.parse(u.sql).label }

func (c *Catalog) labelOf(sql string) string {
	text := strings.Join(strings.Fields(comment.ReplaceAllString(sql, "")), " ")
	text = strings.ReplaceAll(text, `"`+c.schema+`".`, "")
	name := ""
	if m := own.FindStringSubmatch(sql); m != nil {
		name = m[1] + ": "
	}
	if len(text) > 64 {
		text = text[:61] + "..."
	}
	return name + text
}
