package explore

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/awa-engine/awa/model"
)

// violations tells the shortest story of each check that failed, once for each name. Findings are in the order of the
// states and steps that they were found at, so the first of a name is always the same one.
func (s *search) violations() []Violation {
	violations := []Violation{}
	for _, f := range s.found {
		v := Violation{Why: f.err.Error()}
		if f.at.action == afterState {
			v.Name, v.Promise = s.invariants[f.check].Name, s.invariants[f.check].Promise
		} else {
			v.Name, v.Promise = s.properties[f.check].Name, s.properties[f.check].Promise
		}
		told := slices.ContainsFunc(violations, func(other Violation) bool { return other.Name == v.Name })
		if told {
			continue
		}
		story, state := s.story(int(f.at.parent))
		if f.at.action != afterState {
			state = s.tellStep(&story, state, s.properties[f.check])
		}
		v.tell(story, state)
		violations = append(violations, v)
	}
	return violations
}

// tell puts the story and its end into a violation.
func (v *Violation) tell(story model.Story, state *model.Flat) {
	v.Story, v.Text, v.State = story, story.String(), model.Canonical(state)
}

// story tells how a state was reached: from the empty state, without the abstractions of the search, so with times
// that go on and names that stay. That a real step can be found for each step of the search is a check of the
// abstractions, made for every story that is told.
func (s *search) story(number int) (model.Story, *model.Flat) {
	var path []int
	for n := number; n >= 0; n = int(s.visited.foundBy(n).parent) {
		path = append(path, n)
	}
	slices.Reverse(path)
	var story model.Story
	state := s.empty()
	for _, next := range path[1:] {
		code := s.visited.state(next)
		leadsThere := func(step model.Step) bool {
			reduced := model.Snapshot(step.Post)
			s.config.reduce(reduced)
			return bytes.Equal(reduced.Encode(nil), code)
		}
		state = s.tellFirst(&story, state, leadsThere)
	}
	return story, state
}

// tellStep tells the step that violates a property in the state that was reached.
func (s *search) tellStep(story *model.Story, state *model.Flat, property model.Property) *model.Flat {
	return s.tellFirst(story, state, func(step model.Step) bool { return property.Check(step) != nil })
}

// tellFirst applies the first offered action whose step is as asked, and tells it. There is one: the search made such a
// step from a state that has the same normal form as pre.
func (s *search) tellFirst(story *model.Story, pre *model.Flat, asked func(model.Step) bool) *model.Flat {
	for _, action := range model.Enabled(pre, &s.config.Bounds) {
		post := model.Snapshot(pre)
		result, err := s.apply(post, action)
		if err == nil && asked(model.Step{Pre: pre, Action: action, Result: result, Post: post, Rules: s.apply}) {
			*story = append(*story, model.Told{Action: action, Result: result})
			return post
		}
	}
	panic(fmt.Sprintf("explore: no real step goes on after\n%sThe search's abstraction is wrong.", story))
}
