package fuzz

import (
	"slices"

	"pgregory.net/rapid"
)

// A sequence has a theme: with every operation in each of them, those that have to meet seldom would.
const (
	themeAll      = "all"
	themeLife     = "life"      // jobs from enqueue to prune, and nothing beside
	themeWaits    = "waits"     // attempts that wait for a callback
	themeOperator = "operators" // what people do by hand
)

var themes = []string{themeAll, themeLife, themeWaits, themeWaits, themeOperator}

// aside are the operations that a theme may leave out.
var aside = map[string][]string{
	themeWaits:    {"Park", "Resume", "CallbackTimeout", "RotateLeases", "PruneLeases", "SetDLQ"},
	themeOperator: {"SetDLQ", "MoveToDLQ", "RetryFromDLQ", "PurgeDLQ", "DeleteTerminal", "PauseQueue", "ResumeQueue", "SetPriority", "MoveJob"},
}

// maxAttempts are how many attempts a job gets; few where it is to use them up.
func (g *generator) maxAttempts(t *rapid.T) int {
	if g.theme == themeWaits || g.theme == themeOperator {
		return pick(t, "attempts", []int{1, 1, 2})
	}
	return rapid.IntRange(1, 3).Draw(t, "attempts")
}

// emphasis is how much more often, or never, an operation is drawn under a theme.
func emphasis(theme, name string) int {
	switch {
	case theme == themeAll:
		return 1
	case theme == themeOperator && (name == "SetDLQ" || name == "RescueStale"):
		return 3 // an attempt of such a queue that is the job's last, and that a sweep ends, is rare enough
	case theme == themeOperator && name == "RescueDeadline":
		return 5
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
