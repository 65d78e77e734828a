package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// audited is one invariant: an item of the report.
type audited struct {
	Invariant  string   `json:"invariant"`
	Promise    string   `json:"promise"`
	Looked     int64    `json:"looked"`
	Violations []string `json:"violations"`
	OK         bool     `json:"ok"`
}

func (a *app) audit() *cobra.Command {
	var schema string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check every invariant on a live database, read-only",
		Long: `Asks a live database, whatever else goes on in it, whether its rows keep the engine's invariants, and says in plain
words what is wrong and where. It only reads: each invariant is one SELECT in a READ ONLY transaction of its own, so that
no prune is held back for longer than that. It reads all rows of the rings: how long it takes grows with what they hold.

The role needs SELECT on the tables and on the sequences of the schema.`,
		Example: `  awa-check audit --dsn postgres://localhost/app
  awa-check audit --dsn postgres://localhost/app --schema jobs --json audit.json`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&a.dsn, "dsn", "", "the `server` and database (default: "+pgtest.EnvDSN+")")
	cmd.Flags().StringVar(&schema, "schema", "awa", "the engine's `schema`")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		dsn := a.dsn
		if dsn == "" {
			dsn = a.getenv(pgtest.EnvDSN)
		}
		if dsn == "" {
			return errors.New("no database: give --dsn or set " + pgtest.EnvDSN)
		}
		began := time.Now()
		found, err := auditOf(ctx, dsn, schema)
		if err != nil {
			return err
		}
		return a.showAudit(r, schema, found, time.Since(began))
	})
	return cmd
}

// auditOf opens the schema and audits it.
func auditOf(ctx context.Context, dsn, schema string) (engine.AuditReport, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return engine.AuditReport{}, err
	}
	defer pool.Close()
	e, err := engine.Open(ctx, pool, engine.Config{Schema: schema})
	if err != nil {
		return engine.AuditReport{}, err
	}
	return e.Audit(ctx)
}

// showAudit fills the report and prints the table, what is wrong below it.
func (a *app) showAudit(r *report.Report, schema string, found engine.AuditReport, took time.Duration) error {
	table := term.NewTable(
		term.Column{Title: "invariant"}, term.Column{Title: "promise"}, term.Column{Title: "rows", Right: true},
		term.Column{Title: "result"}, term.Column{Title: "what must be so"})
	wrong := 0
	for _, c := range found.Checks {
		item := audited{Invariant: c.Invariant, Promise: c.Promise, Looked: c.Looked, Violations: []string{}, OK: len(c.Violations) == 0}
		cell := term.Cell{Text: "ok", Style: term.Good}
		if !item.OK {
			cell = term.Cell{Text: "violated", Style: term.Bad}
			wrong++
		}
		for _, v := range c.Violations {
			item.Violations = append(item.Violations, v.Where+": "+v.What)
		}
		r.Items = append(r.Items, item)
		table.Row(term.Text(c.Invariant), term.Text(c.Promise), term.Text(fmt.Sprint(c.Looked)), cell, term.Text(c.Says))
	}
	a.term.PrintTable(table)
	a.term.Printf("\n%d invariants of schema %q, %d rows looked at, in %.1f s\n", len(found.Checks), schema, found.Looked(), took.Seconds())
	if wrong == 0 {
		return nil
	}
	var lines []string
	for _, v := range found.Violations() {
		lines = append(lines, v.String())
	}
	return report.Failed("%d of %d invariants are violated:\n%s", wrong, len(found.Checks), strings.Join(lines, "\n"))
}
