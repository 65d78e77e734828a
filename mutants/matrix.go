package mutants

import (
	"fmt"
	"slices"
	"strings"
)

// A Result is a row of the matrix: one mutant and what each layer said of it.
type Result struct {
	Defect *Defect
	Trials []Trial // one for each of Layers
	Broken string  // the defect's file is wrong: the text isn't there once, or it doesn't compile
}

// by lists the layers whose trial ended so.
func (r Result) by(v Verdict) []string {
	ids := []string{}
	for _, t := range r.Trials {
		if t.Verdict == v {
			ids = append(ids, t.Layer)
		}
	}
	return ids
}

// By lists the layers that killed the mutant.
func (r Result) By() []string { return r.by(Killed) }

// Reached says whether the changed place was passed in any trial.
func (r Result) Reached() bool {
	return slices.ContainsFunc(r.Trials, func(t Trial) bool { return t.Reached })
}

// Seconds is how long the kill took: the named layer's, or the quickest; 0 when there was none.
func (r Result) Seconds() float64 {
	least := 0.0
	for _, t := range r.Trials {
		if t.Verdict != Killed {
			continue
		}
		if t.Layer == r.Defect.Named {
			return t.Seconds
		}
		if least == 0 || t.Seconds < least {
			least = t.Seconds
		}
	}
	return least
}

// A Standing is what a row comes to.
type Standing string

// The standings.
const (
	Good    Standing = "ok"
	Bad     Standing = "FAILED"
	Unknown Standing = "NOT RUN" // who would know didn't run
)

// Judge says what the row comes to, and why.
func (r Result) Judge() (Standing, string) {
	if r.Broken != "" {
		return Bad, r.Broken
	}
	judge := r.judgeDefect
	switch {
	case r.Defect.Control == Canary:
		judge = r.judgeCanary
	case r.Defect.Control == Identity || r.Defect.Invisible != "":
		judge = r.judgeSurvivor
	}
	return judge()
}

// judgeDefect: the named layer must kill, or another one with a note.
func (r Result) judgeDefect() (Standing, string) {
	d, by := r.Defect, r.By()
	named := Skipped
	for _, t := range r.Trials {
		if t.Layer == d.Named {
			named = t.Verdict
		}
	}
	switch {
	case named == Killed:
		return Good, ""
	case len(by) > 0 && d.Note != "":
		return Good, fmt.Sprintf("%s: %s", strings.Join(by, ", "), d.Note)
	case named == Absent || named == Skipped || named == Failed:
		why := fmt.Sprintf("%s should find it: %s", d.Named, named)
		if len(by) > 0 {
			why += "; killed by " + strings.Join(by, ", ")
		}
		return Unknown, why
	case len(by) > 0:
		return Bad, fmt.Sprintf("%s should find it and doesn't, %s does, and no note says why", d.Named, strings.Join(by, ", "))
	case !r.Reached():
		return Bad, "no layer came by the changed place"
	}
	return Bad, fmt.Sprintf("it survives: %s finds nothing wrong with: %s", strings.Join(r.by(Survived), ", "), d.Models)
}

// judgeSurvivor: what changes nothing must be reached and found by nobody.
func (r Result) judgeSurvivor() (Standing, string) {
	switch survived := r.by(Survived); {
	case len(r.By()) > 0:
		return Bad, fmt.Sprintf("it changes nothing, and %s kills it", strings.Join(r.By(), ", "))
	case len(r.by(Failed)) > 0:
		return Unknown, strings.Join(r.by(Failed), ", ") + " could not run"
	case len(survived) == 0:
		return Unknown, "no layer looked"
	case !r.Reached():
		return Bad, "no layer came by the changed place"
	}
	return Good, r.Defect.Invisible
}

// judgeCanary: each layer that looked must have killed.
func (r Result) judgeCanary() (Standing, string) {
	switch survived := r.by(Survived); {
	case len(survived) > 0:
		return Bad, fmt.Sprintf("%s lets the canary live", strings.Join(survived, ", "))
	case len(r.by(Failed)) > 0:
		return Unknown, strings.Join(r.by(Failed), ", ") + " could not run"
	case len(r.By()) == 0:
		return Unknown, "no layer looked"
	}
	return Good, ""
}

// Score counts the defects, controls left out, that some layer kills; without leaves one layer out, "" none.
func Score(results []Result, without string) (killed, all int) {
	for _, r := range results {
		if !r.Defect.counts() {
			continue
		}
		all++
		if slices.ContainsFunc(r.By(), func(id string) bool { return id != without }) {
			killed++
		}
	}
	return killed, all
}

// counts says whether the defect is one that has to be found.
func (d *Defect) counts() bool { return d.Control == "" && d.Invisible == "" }

// OnlyBy lists the defects that only this layer kills, though every other layer that can see them looked.
func OnlyBy(results []Result, layer string) []string {
	var ids []string
	for _, r := range results {
		by := r.By()
		if r.Defect.counts() && len(by) == 1 && by[0] == layer && len(r.by(Skipped)) == 0 {
			ids = append(ids, r.Defect.ID)
		}
	}
	return ids
}

// Needless lists the layers that ran and could be taken away without lowering the score. It means something only when
// all layers looked at every defect.
func Needless(results []Result) []string {
	var ids []string
	all, _ := Score(results, "")
	for _, l := range Layers() {
		ran := slices.ContainsFunc(results, func(r Result) bool {
			return slices.ContainsFunc(r.Trials, func(t Trial) bool {
				return t.Layer == l.ID && (t.Verdict == Killed || t.Verdict == Survived)
			})
		})
		if without, _ := Score(results, l.ID); ran && without == all {
			ids = append(ids, l.ID)
		}
	}
	return ids
}
