package main

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/chaos"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/fuzz/schedule"
	"github.com/awa-engine/awa/linearizability"
	"github.com/awa-engine/awa/pgtest"
)

// replayItem is an item of the replay command's JSON.
type replayItem struct {
	File       string `json:"file"`
	Property   string `json:"property"`
	Operations int    `json:"operations"`
	Fails      string `json:"fails,omitempty"` // what differs, when it still does
	OK         bool   `json:"ok"`
}

func (a *app) replay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay FILE|FOLDER",
		Short: "Run saved failures again and say whether they still fail",
		Long: `Runs a seed file, or every seed file of a folder, again: exit code 1 says that one still fails. Operations that
have no place any more are passed over. What a chaos run or a run of lin left is judged again, from its files.`,
		Example: `  awa-check replay awa-failures/lockstep-42.txt
  awa-check replay fuzz/seeds
  awa-check replay awa-chaos-42`,
		Args: cobra.ExactArgs(1),
	}
	a.wantsServer(cmd)
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, args []string) error {
		if chaos.IsRun(args[0]) {
			verdict, err := chaos.Judge(args[0])
			r.Items = append(r.Items, verdict)
			a.term.Printf("%s\n", verdict.Summary())
			return chaosError(verdict, err)
		}
		if linearizability.IsHistory(args[0]) {
			verdict, err := linearizability.Judge(args[0])
			r.Items = append(r.Items, verdict)
			a.term.Printf("%s\n", verdict.Summary())
			return linError(verdict, err)
		}
		files, err := seedFiles(args[0])
		if err != nil {
			return err
		}
		server, err := pgtest.Start(ctx, pgtest.Options{DSN: a.dsn})
		if err != nil {
			return err
		}
		items, err := a.replayAll(ctx, server, files)
		if closeErr := server.Close(); err == nil {
			err = closeErr
		}
		failing := 0
		for _, item := range items {
			r.Items = append(r.Items, item)
			if !item.OK {
				failing++
			}
		}
		if err == nil && failing > 0 {
			err = report.Failed("%d of %d seeds fail", failing, len(items))
		}
		return err
	})
	return cmd
}

// seedFiles lists a file, or the .txt files of a folder.
func seedFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := fs.Glob(os.DirFS(path), "*.txt")
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no .txt file in this folder", path)
	}
	for i := range files {
		files[i] = filepath.Join(path, files[i])
	}
	return files, err
}

func (a *app) replayAll(ctx context.Context, server *pgtest.Server, files []string) ([]replayItem, error) {
	var items []replayItem
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && schedule.IsSeed(string(text)) {
			item, err := a.replaySchedule(ctx, file)
			if err != nil {
				return items, err
			}
			items = append(items, item)
			continue
		}
		seed, err := fuzz.Load(file)
		if err != nil {
			return items, err
		}
		difference, err := fuzz.Replay(ctx, server, seed)
		if err != nil {
			return items, fmt.Errorf("%s: %w", file, err)
		}
		item := replayItem{File: file, Property: seed.Property, Operations: len(seed.Actions), OK: difference == nil}
		if difference == nil {
			a.term.Printf("%s: %s\n", file, a.term.Paint(term.Good, "passes"))
		} else {
			item.Fails = difference.What
			a.term.Printf("%s: %s\n%s", file, a.term.Paint(term.Bad, "FAILS"), difference)
		}
		items = append(items, item)
	}
	return items, nil
}

// seedItem is an item of the seeds command's JSON.
type seedItem struct {
	Name       string `json:"name"`
	Property   string `json:"property"`
	Operations int    `json:"operations"`
	World      string `json:"world"`
	Note       string `json:"note"`
}

func (a *app) seeds() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seeds",
		Short: "List the failures that the project keeps and replays in its tests",
		Long: `Lists the seed files that are built in: for each the property that failed once, how many operations it takes,
and what it shows. The tests replay all of them, so that none comes back.`,
		Example: `  awa-check seeds
  awa-check seeds --json seeds.json`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = a.does(func(_ context.Context, r *report.Report, _ []string) error {
		kept, err := fuzz.Kept()
		if err != nil {
			return err
		}
		table := term.NewTable(term.Column{Title: "seed"}, term.Column{Title: "property"}, term.Column{Title: "operations", Right: true}, term.Column{Title: "what it shows"})
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			s := kept[name]
			note := strings.Join(strings.Fields(s.Note), " ")
			r.Items = append(r.Items, seedItem{Name: name, Property: s.Property, Operations: len(s.Actions), World: s.World.String(), Note: note})
			sentence, _, _ := strings.Cut(note, ". ")
			table.Row(term.Text(name), term.Text(s.Property), term.Text(fmt.Sprint(len(s.Actions))), term.Text(strings.TrimSuffix(sentence, ".")))
		}
		schedules, err := schedule.Kept()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(schedules)) {
			s := schedules[name]
			note := strings.Join(strings.Fields(s.Scenario.Prose), " ")
			r.Items = append(r.Items, seedItem{Name: name, Property: schedule.Property, Operations: s.Steps(), World: s.Scenario.World.String(), Note: note})
			sentence, _, _ := strings.Cut(note, ". ")
			table.Row(term.Text(name), term.Text(schedule.Property), term.Text(fmt.Sprint(s.Steps())), term.Text(strings.TrimSuffix(sentence, ".")))
		}
		a.term.PrintTable(table)
		return nil
	})
	return cmd
}
