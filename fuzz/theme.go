package fuzz

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/awa-engine/awa/model"
)

// A sequence has a theme: with every operation in each of them, those that have to meet seldom would.
const (
	themeAll      = "all"
	themeLife     = "life"      // jobs from enqueue to prune, and nothing beside
	themeWaits    = "waits"     // attempts that wait for a callback
	themeOperator = "operators" // what people do by hand
	themeKeys     = "keys"      // jobs that share unique keys
)

var themes = []string{themeAll, themeLife, themeWaits, themeWaits, themeWaits, themeWaits, themeOperator, themeOperator, themeOperator, themeKeys}

// aside are the operations that a theme may leave out.
var aside = map[string][]string{
	themeWaits:    {"Park", "Resume", "CallbackTimeout", "RotateLeases", "PruneLeases", "SetDLQ"},
	themeOperator: {"SetDLQ", "RetryFromDLQ", "PurgeDLQ", "DeleteTerminal", "PauseQueue", "ResumeQueue", "SetPriority", "MoveJob"},
	themeKeys:     {"TrimKeys", "SetDLQ", "RetryFromDLQ", "DeleteTerminal"},
}

// maxAttempts are how many attempts a job gets; few where it is to use them up.
func (g *generator) maxAttempts(t *rapid.T) int {
	if g.theme != themeAll && g.theme != themeLife {
		return pick(t, "attempts", []int{1, 1, 2})
	}
	return rapid.IntRange(1, 3).Draw(t, "attempts")
}

// key draws a unique key now and then, of so few that they meet, and the terminal states in which it is held. A key that
// another transaction has taken is drawn more often than chance would.
func (g *generator) key(t *rapid.T, s model.Store, tx int) (key, held int) {
	keys := []int{0, 0, 0, 0, 0, 1, 2}
	if g.theme == themeKeys {
		keys = []int{0, 1, 1, 2}
	}
	if key = pick(t, "unique", keys); key != 0 {
		held = pick(t, "held", []int{0, model.HeldCompleted, model.HeldFailed, model.HeldDLQ, 3, 9, 10, 11})
	}
	for _, u := range s.Uniques() {
		if u.Tx != 0 && u.Tx != tx && rapid.Bool().Draw(t, "same key") {
			return u.Key, u.Held
		}
	}
	return key, held
}

// emphasis is how much more often, or never, an operation is drawn under a theme.
func emphasis(theme, name string) int {
	switch {
	case theme == themeAll:
		return 1
	case theme == themeOperator && (name == "SetDLQ" || name == "RescueStale"):
		return 2 // an attempt of such a queue that is the job's last, and that a sweep ends, is rare enough
	case theme == themeOperator && name == "RescueDeadline":
		return 5
	case theme == themeOperator && name == "Fail":
		return 3
	case theme == themeKeys && (name == "RetryFailed" || name == "Fail" || name == "Enqueue" || name == "EnqueueTx"):
		return 2
	}
	if slices.Contains(aside[theme], name) {
		return 2
	}
	for _, names := range aside {
		if slices.Contains(names, name) {
			return 0
		}
	}
	return 1
}
