// Package schema installs the engine's tables. It holds the migrations as embedded SQL and the installer that applies
// them; package engine calls it from Migrate and users need not import it.
package schema

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/jackc/pgx/v5"
)

// Version is the schema version that this binary installs and runs on.
const Version = 1

//go:embed *.sql
var files embed.FS

// migrations lists the files by the version that they bring the schema to; migrations[0] makes version 1.
var migrations = []string{"001_claim_ring.sql"}

// The slot counts of an installation that doesn't choose.
const (
	DefaultQueueSlots = 16
	DefaultClaimSlots = 8
	DefaultLeaseSlots = 8
)

// Layout is what an installation chooses once, for good: the number of child partitions of a ring can't be changed
// while rows stand in them.
type Layout struct {
	// Schema is the PostgreSQL schema that holds every object of the engine. It must be an identifier (see engine.Config).
	Schema string
	// QueueSlots, ClaimSlots and LeaseSlots are the numbers of child partitions of the three rings. Zero means what is
	// installed, and the default where nothing is.
	QueueSlots, ClaimSlots, LeaseSlots int
}

// A NewerError says that the database was migrated by a newer binary. Nothing was changed.
type NewerError struct {
	Schema           string
	Database, Binary int // schema versions
}

// Error names both versions, so that the reader knows which side to upgrade.
func (e *NewerError) Error() string {
	return fmt.Sprintf("schema %q has version %d, this binary knows versions up to %d: use a newer binary", e.Schema, e.Database, e.Binary)
}

// A LegacyRowsError says that the retired table open_receipt_claims still has rows. Nothing was changed: an operator
// has to drain them with the binary that wrote them.
type LegacyRowsError struct {
	Table string
	Rows  int64
}

// Error names the table and how many rows stand in the way.
func (e *LegacyRowsError) Error() string {
	return fmt.Sprintf("table %s is retired but has %d rows: drain them with the version that wrote them, then migrate again", e.Table, e.Rows)
}

// A LayoutError says that the schema is installed with other slot counts than asked for.
type LayoutError struct {
	Schema         string
	Ring           string
	Installed, Got int
}

// Error names the ring and both counts.
func (e *LayoutError) Error() string {
	return fmt.Sprintf("schema %q is installed with %d slots in the %s ring, not %d: slot counts are fixed at install", e.Schema, e.Installed, e.Ring, e.Got)
}

// An EncodingError says that the database doesn't store UTF-8. Nothing was changed.
type EncodingError struct{ Encoding string }

// Error names the encoding.
func (e *EncodingError) Error() string {
	return fmt.Sprintf("the database is encoded in %s and must be in UTF8", e.Encoding)
}

// Install brings the schema to Version inside tx, which the caller commits. It is idempotent, and safe against any
// number of concurrent installers: they queue on a transaction-level advisory lock, so that a cancelled or killed one
// leaves nothing behind.
func Install(ctx context.Context, tx pgx.Tx, lay Layout, lockKey int64) error {
	quoted := pgx.Identifier{lay.Schema}.Sanitize()
	if err := CheckEncoding(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `/* awa:Migrate */ SELECT pg_advisory_xact_lock($1)`, lockKey); err != nil {
		return fmt.Errorf("take the installers' lock: %w", err)
	}
	installed, err := InstalledVersion(ctx, tx, lay.Schema)
	if err != nil {
		return err
	}
	if installed > Version {
		return &NewerError{Schema: lay.Schema, Database: installed, Binary: Version}
	}
	if err := dropOpenReceiptClaims(ctx, tx, lay.Schema); err != nil {
		return err
	}
	if installed == 0 {
		lay = lay.or(Layout{QueueSlots: DefaultQueueSlots, ClaimSlots: DefaultClaimSlots, LeaseSlots: DefaultLeaseSlots})
		create := fmt.Sprintf(`/* awa:Migrate */ CREATE SCHEMA IF NOT EXISTS %[1]s;
			CREATE TABLE %[1]s.schema_version (version integer PRIMARY KEY, installed_at timestamptz NOT NULL DEFAULT now())`, quoted)
		if _, err := tx.Exec(ctx, create); err != nil {
			return fmt.Errorf("create schema %s: %w", quoted, err)
		}
	} else if err := checkLayout(ctx, tx, lay); err != nil {
		return err
	}
	for v := installed; v < Version; v++ {
		text, err := render(migrations[v], lay)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, text); err != nil {
			return fmt.Errorf("migration %s: %w", migrations[v], err)
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(`/* awa:Migrate */ INSERT INTO %s.schema_version (version) VALUES ($1)`, quoted), v+1); err != nil {
			return fmt.Errorf("record version %d: %w", v+1, err)
		}
	}
	return nil
}

// A Querier is what the readers of this package need: a pool, a connection or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// InstalledVersion returns the version of the installed schema, 0 when there is none.
func InstalledVersion(ctx context.Context, db Querier, schema string) (int, error) {
	var there bool
	err := db.QueryRow(ctx, `/* awa:Migrate */ SELECT to_regclass($1) IS NOT NULL`, qualified(schema, "schema_version")).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	var version int
	err = db.QueryRow(ctx, fmt.Sprintf(`/* awa:Migrate */ SELECT coalesce(max(version), 0) FROM %s`, qualified(schema, "schema_version"))).Scan(&version)
	return version, err
}

// SlotCounts reads the layout that was chosen at install.
func SlotCounts(ctx context.Context, db Querier, schema string) (Layout, error) {
	lay := Layout{Schema: schema}
	err := db.QueryRow(ctx, fmt.Sprintf(`/* awa:Open */ SELECT (SELECT slot_count FROM %s), (SELECT slot_count FROM %s), (SELECT slot_count FROM %s)`,
		qualified(schema, "queue_ring_state"), qualified(schema, "claim_ring_state"), qualified(schema, "lease_ring_state"),
	)).Scan(&lay.QueueSlots, &lay.ClaimSlots, &lay.LeaseSlots)
	return lay, err
}

// CheckEncoding refuses a database that can't store every text a caller may bring: an *EncodingError.
func CheckEncoding(ctx context.Context, db Querier) error {
	var encoding string
	if err := db.QueryRow(ctx, `/* awa:Open */ SELECT current_setting('server_encoding')`).Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return &EncodingError{encoding}
	}
	return nil
}

// or fills in the counts that were left open.
func (lay Layout) or(other Layout) Layout {
	lay.QueueSlots = cmp.Or(lay.QueueSlots, other.QueueSlots)
	lay.ClaimSlots = cmp.Or(lay.ClaimSlots, other.ClaimSlots)
	lay.LeaseSlots = cmp.Or(lay.LeaseSlots, other.LeaseSlots)
	return lay
}

// checkLayout reads what is installed under the installers' lock: counts that were left open mean whatever another
// installer chose a moment ago.
func checkLayout(ctx context.Context, tx pgx.Tx, lay Layout) error {
	there, err := SlotCounts(ctx, tx, lay.Schema)
	if err != nil {
		return fmt.Errorf("read the slot counts: %w", err)
	}
	lay = lay.or(there)
	for _, ring := range []struct {
		name           string
		installed, got int
	}{
		{"queue", there.QueueSlots, lay.QueueSlots}, {"claim", there.ClaimSlots, lay.ClaimSlots}, {"lease", there.LeaseSlots, lay.LeaseSlots},
	} {
		if ring.installed != ring.got {
			return &LayoutError{Schema: lay.Schema, Ring: ring.name, Installed: ring.installed, Got: ring.got}
		}
	}
	return nil
}

// dropOpenReceiptClaims retires the mutable frontier of the older design (ADR-023): an empty table is dropped under its
// lock, one with rows stops the migration.
func dropOpenReceiptClaims(ctx context.Context, tx pgx.Tx, schema string) error {
	table := qualified(schema, "open_receipt_claims")
	var there bool
	if err := tx.QueryRow(ctx, `/* awa:Migrate */ SELECT to_regclass($1) IS NOT NULL`, table).Scan(&there); err != nil || !there {
		return err
	}
	// The count is a statement of its own: it must see what committed while the lock waited.
	if _, err := tx.Exec(ctx, `/* awa:Migrate */ LOCK TABLE `+table+` IN ACCESS EXCLUSIVE MODE`); err != nil {
		return fmt.Errorf("lock %s: %w", table, err)
	}
	var rows int64
	if err := tx.QueryRow(ctx, `/* awa:Migrate */ SELECT count(*) FROM `+table).Scan(&rows); err != nil {
		return err
	}
	if rows > 0 {
		return &LegacyRowsError{Table: table, Rows: rows}
	}
	_, err := tx.Exec(ctx, `/* awa:Migrate */ DROP TABLE `+table)
	return err
}

// ringLayout is a ring as the migration template sees it.
type ringLayout struct {
	Name  string
	Slots []int
}

// templateData is what the migrations may refer to.
type templateData struct {
	S                                  string // quoted schema
	QueueSlots, ClaimSlots, LeaseSlots []int
	Rings                              []ringLayout
	NoVacuum                           string // storage parameters of ring children: TRUNCATE reclaims them, not vacuum (P6)
	schema                             string
}

// Literal returns the qualified name of a table as an SQL string literal.
func (d templateData) Literal(table string) string {
	return "'" + strings.ReplaceAll(qualified(d.schema, table), "'", "''") + "'"
}

func render(file string, lay Layout) (string, error) {
	t, err := template.ParseFS(files, file)
	if err != nil {
		return "", fmt.Errorf("parse %s: %w", file, err)
	}
	data := templateData{
		S:          pgx.Identifier{lay.Schema}.Sanitize(),
		QueueSlots: upTo(lay.QueueSlots),
		ClaimSlots: upTo(lay.ClaimSlots),
		LeaseSlots: upTo(lay.LeaseSlots),
		NoVacuum:   "WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)",
		schema:     lay.Schema,
	}
	data.Rings = []ringLayout{{"queue", data.QueueSlots}, {"claim", data.ClaimSlots}, {"lease", data.LeaseSlots}}
	var text strings.Builder
	if err := t.Execute(&text, data); err != nil {
		return "", fmt.Errorf("render %s: %w", file, err)
	}
	return text.String(), nil
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func qualified(schema, table string) string { return pgx.Identifier{schema, table}.Sanitize() }
