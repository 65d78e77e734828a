package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/fuzz/schedule"
	"github.com/awa-engine/awa/pgtest"
)

// shrinkItem is an item of the shrink command's JSON.
type shrinkItem struct {
	File      string `json:"file"`
	Smaller   string `json:"smaller"` // the file that was written
	Sessions  int    `json:"sessions"`
	Turns     int    `json:"turns"`      // of the smaller schedule
	TurnsThen int    `json:"turns_then"` // of the one that was given
	OK        bool   `json:"ok"`
}

func (a *app) shrink() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "shrink FILE",
		Short: "Make a saved schedule smaller while it still fails in the same way",
		Long: `Takes sessions, operations and turns out of a seed file of a schedule while it fails in the same way, and writes the
smaller one beside it. (Seeds of lockstep runs are shrunk when they are found.) Exit code 1 says that the seed doesn't
fail any more.`,
		Example: `  awa-check shrink awa-failures/schedule-enqueue-rotate-prune.txt`,
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&out, "out", "", "write the smaller seed to this `file` (default: FILE with -small in its name)")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, args []string) error {
		file := args[0]
		seed, err := schedule.Load(file)
		if err != nil {
			return err
		}
		if out == "" {
			out = strings.TrimSuffix(file, ".txt") + "-small.txt"
		}
		server, err := pgtest.Start(ctx, schedule.ServerOptions())
		if err != nil {
			return err
		}
		small, err := schedule.Shrink(ctx, server, "shrink", seed, func(line string) { a.term.Progress.Say("shrink: %s", line) })
		if closeErr := server.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
		if small == nil {
			return report.Failed("%s doesn't fail any more", file)
		}
		if err := os.WriteFile(out, []byte(small.String()), 0o644); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		r.Items = append(r.Items, shrinkItem{
			File: file, Smaller: out, Sessions: len(small.Scenario.Sessions), Turns: small.Steps(), TurnsThen: seed.Steps(), OK: true,
		})
		a.term.Printf("%s\n%d turns of %d\nagain: awa-check replay %s\n", small, small.Steps(), seed.Steps(), out)
		return nil
	})
	return cmd
}
