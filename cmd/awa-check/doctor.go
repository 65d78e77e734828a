package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/correctness/tla"
	"github.com/awa-engine/awa/pgtest"
)

// found is what the doctor says of one thing: an item of its report.
type found struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
	Use   string `json:"use"`           // what will be used, or what its absence means
	How   string `json:"how,omitempty"` // to get it
}

// The names that the diagnosis looks for.
const (
	namePostgres   = "PostgreSQL"
	nameTLC        = "TLC"
	nameTLAChecker = "tla-checker"
)

// probeLimit bounds each look at the machine.
const probeLimit = 20 * time.Second

func (a *app) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what was found on this machine and will be used",
		Long: `Looks for PostgreSQL, Docker, Java, TLC, npm and tla-checker, says which of them will be used, and how to get
what is missing. Exit code 2 when a layer of the verification could not run here.`,
		Example: `  awa-check doctor
  awa-check doctor --dsn postgres://localhost/scratch`,
		Args: cobra.NoArgs,
	}
	a.wantsServer(cmd)
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		probes := []func(context.Context) found{
			a.probePostgres, probeDocker, probeJava, probeChecker(nameTLC, tla.FindTLC),
			probeNPM, probeChecker(nameTLAChecker, tla.FindTLAChecker),
		}
		var all []found
		for _, probe := range probes {
			limited, cancel := context.WithTimeout(ctx, probeLimit)
			all = append(all, probe(limited))
			cancel()
		}
		for _, one := range all {
			r.Items = append(r.Items, one)
		}
		a.printFound(all)
		return diagnosis(all)
	})
	return cmd
}

// diagnosis says whether all layers can run with what was found.
func diagnosis(all []found) error {
	has := map[string]bool{}
	for _, one := range all {
		has[one.Name] = one.Found
	}
	switch {
	case !has[namePostgres]:
		return fmt.Errorf("without PostgreSQL %d or later the layers that use the engine can't run", pgtest.MinMajor)
	case !has[nameTLC] && !has[nameTLAChecker]:
		return errors.New("without TLC or tla-checker the specs can't be judged")
	}
	return nil
}

func (a *app) printFound(all []found) {
	table := term.NewTable(term.Column{Title: "name"}, term.Column{Title: "found"}, term.Column{Title: "what will be used"})
	for _, one := range all {
		cell := term.Cell{Text: "yes", Style: term.Good}
		if !one.Found {
			cell = term.Cell{Text: "no", Style: term.Warn}
		}
		table.Row(term.Text(one.Name), cell, term.Text(one.Use))
	}
	a.term.PrintTable(table)
	for _, one := range all {
		if one.How != "" {
			a.term.Printf("\n%s\n  %s\n", a.term.Paint(term.Bold, "To get "+one.Name), strings.ReplaceAll(one.How, "\n", "\n  "))
		}
	}
}

func (a *app) probePostgres(ctx context.Context) found {
	source, err := pgtest.Find(ctx, pgtest.Options{DSN: a.dsn})
	if err != nil {
		return found{Name: namePostgres, Use: "none", How: err.Error()}
	}
	use := source.Describe()
	if !source.HasProcess() {
		use += "; its process isn't ours, so faults that kill the server start a private one"
	}
	return found{Name: namePostgres, Found: true, Use: use}
}

func probeDocker(ctx context.Context) found {
	version, err := output(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	if err != nil {
		return found{Name: "Docker", Use: "a container is used where this machine has no PostgreSQL; nothing else needs it"}
	}
	return found{Name: "Docker", Found: true, Use: "version " + version + "; a container is used where this machine has no PostgreSQL"}
}

func probeJava(ctx context.Context) found {
	text, err := output(ctx, "java", "-version")
	if err != nil {
		return found{Name: "Java", Use: "TLC can't run", How: "apt-get install default-jre-headless (Debian, Ubuntu), or any Java that TLC takes"}
	}
	first, _, _ := strings.Cut(text, "\n")
	return found{Name: "Java", Found: true, Use: first}
}

// probeChecker looks for a TLA+ checker without downloading or installing one.
func probeChecker(name string, find func(context.Context, tla.Options) (tla.Checker, error)) func(context.Context) found {
	return func(ctx context.Context) found {
		checker, err := find(ctx, tla.Options{Offline: true})
		if err != nil {
			return found{Name: name, Use: "not here; awa-check tla and verify try to get it, unless --offline", How: err.Error()}
		}
		defer func() { _ = checker.Close(ctx) }() // it judged nothing, so nothing can be lost
		return found{Name: name, Found: true, Use: checker.Version()}
	}
}

func probeNPM(ctx context.Context) found {
	version, err := output(ctx, "npm", "--version")
	if err != nil {
		return found{Name: "npm", Use: "tla-checker can't be installed", How: "apt-get install npm (Debian, Ubuntu), or nodejs.org"}
	}
	return found{Name: "npm", Found: true, Use: "version " + version + ", to install tla-checker"}
}

// output is what a program prints on both of its streams, trimmed.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
