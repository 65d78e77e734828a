package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
)

// app is what all commands share.
type app struct {
	term   *term.Terminal
	getenv func(string) string
	json   string // --json
	dsn    string // --dsn, of the commands that use a server
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "awa-check",
		Short: "Runs the verification of the awa engine",
		Long: `awa-check holds the engine against its model, by every layer that there is, and shows how much it did.

Exit codes: 0 all is well, 1 a property failed, 2 could not run (so nothing is known).
NO_COLOR turns colour off. Progress goes to standard error, results to standard output.`,
		Example: `  awa-check doctor
  awa-check verify --profile quick --json result.json`,
		Version:       report.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&a.json, "json", "", "write the result to this `file` as well, as JSON")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nsee: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(a.doctor(), a.verify(), a.explore(), a.tla(), a.lockstep(), a.schedules(), a.shrink(), a.lin(), a.soak(), a.chaos(), a.chaosWorker(), a.replay(), a.seeds(), a.mapping(), a.mutants(), a.audit())
	return root
}

// wantsServer gives a command the flag that names a server.
func (a *app) wantsServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.dsn, "dsn", "", "use this PostgreSQL `server`, in a scratch schema (default: AWA_DATABASE_URL, then a private server)")
}

// does makes a command of a function that fills a report. The files that the user asked for are opened before any work
// is done, so that an hour's result isn't lost to a wrong path.
func (a *app) does(work func(context.Context, *report.Report, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		out, err := create("--json", a.json)
		if err != nil {
			return err
		}
		r, start := report.New(cmd.Name()), time.Now()
		err = work(cmd.Context(), r, args)
		r.End(err, time.Since(start))
		return errors.Join(err, save(out, r.Write))
	}
}

// create opens a file that a flag names; nil when the flag wasn't given.
func create(flag, name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return f, nil
}

// save writes to a file of create and closes it.
func save(f *os.File, write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	return errors.Join(write(f), f.Close())
}
