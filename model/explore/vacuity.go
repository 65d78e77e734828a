package explore

import (
	"fmt"
	"maps"
	"slices"
)

// vacuous says of what was never put to the test without a reason, and of each reason that turned out to be wrong. An
// action that never fires makes every invariant true that it could break; so a green result counts only with this
// list empty.
func vacuous(config Config, r *Report) []string {
	sentences := []string{}
	complain := func(format string, args ...any) {
		sentences = append(sentences, fmt.Sprintf(format, args...))
	}
	look := func(times map[string]int, never string) {
		for _, name := range slices.Sorted(maps.Keys(times)) {
			reason, excused := config.Untested[name]
			switch {
			case times[name] == 0 && !excused:
				complain("%s %s, and the configuration gives no reason", name, never)
			case times[name] > 0 && excused:
				complain("%s should be untested (%s), and is not", name, reason)
			}
		}
	}
	look(r.Actions, "never fires")
	look(r.Tested, "is never put to the test")
	for _, name := range slices.Sorted(maps.Keys(config.Untested)) {
		_, action := r.Actions[name]
		_, checked := r.Tested[name]
		if !action && !checked {
			complain("%s has a reason to be untested, but there is no such action, invariant or property here", name)
		}
	}
	return sentences
}
