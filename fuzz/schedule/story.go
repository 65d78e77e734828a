package schedule

import (
	"fmt"
	"strings"
)

// columnWidth is how much of a statement a column shows.
const columnWidth = 46

// story tells a schedule in columns, one for each session: each statement in the line of its step, with the newest
// commit that it can see, whom it waits for, and the answers where operations end.
func (st *stage) story(o *Outcome) string {
	var b strings.Builder
	names := st.scenario.Sessions
	row := func(n, sees string, session int, text string) {
		fmt.Fprintf(&b, "%4s %5s", n, sees)
		for i := range names {
			cell := ""
			if i == session {
				cell = clip(text, columnWidth)
			}
			fmt.Fprintf(&b, " | %-*s", columnWidth, cell)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%4s %5s", "step", "sees")
	for _, s := range names {
		fmt.Fprintf(&b, " | %-*s", columnWidth, s.Name)
	}
	b.WriteString("\n")
	for i, s := range o.Steps {
		sees := "setup"
		if s.Sees >= 0 {
			sees = fmt.Sprint(s.Sees + 1)
		}
		row(fmt.Sprint(i+1), sees, s.Session, s.Label)
		for _, other := range s.WaitsOn {
			row("", "", s.Session, "… waits for "+names[other].Name)
		}
		for _, other := range s.Resumed {
			row("", "", other, "… goes on")
		}
		for _, d := range s.Ended {
			text := "=> " + d.Operation.name() + ": " + d.Answer.tell(d.Operation, st.names)
			if d.Err != nil {
				text = "=> " + d.Operation.name() + " fails: " + d.Err.Error()
			}
			if d.skipped {
				text = "=> " + d.Operation.name() + ": passed over"
			}
			row("", "", d.Session, text)
		}
	}
	return b.String()
}

// clip shortens a text to a width, in characters.
func clip(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}
