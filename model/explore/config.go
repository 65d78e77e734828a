package explore

import (
	"fmt"
	"slices"

	"github.com/awa-engine/awa/model"
)

// Config is one small world to explore.
type Config struct {
	Name  string
	About string // what it is there to show, in one sentence for people
	Model model.Config
	// Bounds say what is offered; Bounds.Actions must name every action, since each that is named must fire.
	Bounds model.Bounds
	// View projects a state onto a spec's variables, in canonical TLA+ text. The graph is then that of the view.
	View func(model.Store) string
	// RenameJobs and RenameQueues keep one state of those that differ in names only. Not together with a View.
	RenameJobs, RenameQueues bool
	// Untested gives the reason for each action that never fires here, and for each invariant and property that
	// is never put to the test. A reason that turns out to be wrong is an error as well.
	Untested map[string]string
}

// Find gives the configuration of that name.
func Find(name string) (Config, error) {
	configs := Configs()
	at := slices.IndexFunc(configs, func(c Config) bool { return c.Name == name })
	if at < 0 {
		var names []string
		for _, c := range configs {
			names = append(names, c.Name)
		}
		return Config{}, fmt.Errorf("no configuration %q; there are %q", name, names)
	}
	return configs[at], nil
}

func (c *Config) check() error {
	if c.View != nil && (c.RenameJobs || c.RenameQueues) {
		return fmt.Errorf("configuration %s: a graph for comparison must not be reduced by symmetry", c.Name)
	}
	for _, name := range c.Bounds.Actions {
		if !slices.Contains(model.ActionNames(), name) {
			return fmt.Errorf("configuration %s: no action %q", c.Name, name)
		}
	}
	if len(c.Bounds.Actions) == 0 {
		return fmt.Errorf("configuration %s names no actions", c.Name)
	}
	return nil
}

// reduce makes a state the one that stands for it and for all that only look different.
func (c *Config) reduce(f *model.Flat) {
	f.Normalize(&c.Bounds)
	switch {
	case c.RenameQueues:
		f.RenameQueues()
	case c.RenameJobs:
		f.RenameJobs()
	}
}
