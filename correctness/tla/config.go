package tla

import (
	"fmt"
	"io/fs"
	"strings"
)

// config is what a model's .cfg says, as far as the judges need to know it.
type config struct {
	text          string
	specification string
	init, next    string
	invariants    []string
	properties    []string
	overrides     bool // a constant or a definition is replaced: Name <- Other
	allowDeadlock bool
}

func readConfig(specs fs.FS, name string) (config, error) {
	text, err := fs.ReadFile(specs, name+".cfg")
	if err != nil {
		return config{}, fmt.Errorf("configuration %s: %w", name, err)
	}
	c, err := parseConfig(string(text))
	if err != nil {
		return config{}, fmt.Errorf("configuration %s: %w", name, err)
	}
	return c, nil
}

// parseConfig knows the sections that our configurations may have. Those that change the state space behind the spec's
// back aren't among them: bounds stand in guards, and graphs are compared as they are.
func parseConfig(text string) (config, error) {
	c := config{text: text}
	section := ""
	for _, word := range strings.Fields(withoutComments(text)) {
		switch word {
		case "SPECIFICATION", "INIT", "NEXT", "CHECK_DEADLOCK":
			section = word
			continue
		case "INVARIANT", "INVARIANTS":
			section = "INVARIANT"
			continue
		case "PROPERTY", "PROPERTIES":
			section = "PROPERTY"
			continue
		case "CONSTANT", "CONSTANTS":
			section = "CONSTANT"
			continue
		case "SYMMETRY", "VIEW", "CONSTRAINT", "CONSTRAINTS", "ACTION_CONSTRAINT", "ACTION_CONSTRAINTS", "ALIAS", "POSTCONDITION":
			return config{}, fmt.Errorf("%s is not allowed here: write bounds as guards, and keep the graph whole", word)
		}
		switch section {
		case "SPECIFICATION":
			c.specification = word
		case "INIT":
			c.init = word
		case "NEXT":
			c.next = word
		case "CHECK_DEADLOCK":
			c.allowDeadlock = word == "FALSE"
		case "INVARIANT":
			c.invariants = append(c.invariants, word)
		case "PROPERTY":
			c.properties = append(c.properties, word)
		case "CONSTANT":
			c.overrides = c.overrides || strings.Contains(word, "<-")
		default:
			return config{}, fmt.Errorf("%q stands in no section", word)
		}
	}
	if c.specification == "" && (c.init == "" || c.next == "") {
		return config{}, fmt.Errorf("it should name a SPECIFICATION, or INIT and NEXT")
	}
	return c, nil
}
