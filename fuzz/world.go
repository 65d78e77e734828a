package fuzz

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/model"
)

// A World is what is drawn once per run: sizes that must make no difference to what is right.
type World struct {
	QueueSlots, ClaimSlots int
	LeaseSlots             int // 2 where a world doesn't say
	Engines                int // processes; operation i runs on engine i mod Engines
	Pool                   int // connections of each engine
	Queues                 []string
	Deadlines              []int // of each queue's attempts, in seconds; 0 is none
	Shards                 int   // how many a queue may have, at most; 1 where a world doesn't say
	Agings                 []int // how long a job of each queue waits for a step of priority, in seconds; 0: waiting gains none
}

// drawWorld draws a world. Small rings turn often; one connection shows who asks for a second one.
func drawWorld(t *rapid.T) World {
	return World{
		QueueSlots: rapid.IntRange(4, 5).Draw(t, "queue slots"),
		ClaimSlots: rapid.IntRange(2, 3).Draw(t, "claim slots"),
		LeaseSlots: rapid.IntRange(2, 3).Draw(t, "lease slots"),
		Engines:    rapid.IntRange(1, 2).Draw(t, "engines"),
		Pool:       rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "pool"),
		Queues:     []string{"a", "b"},
		Deadlines:  pick(t, "deadlines", [][]int{nil, {2, 4}, {0, 4}, {2, 0}}),
		Shards:     pick(t, "shards", []int{1, 1, 2, 3}),
		Agings:     pick(t, "agings", [][]int{nil, {3}, {5, 1}}),
	}
}

// Config is the world as the model takes it.
func (w World) Config() *model.Config {
	return &model.Config{QueueSlots: w.QueueSlots, ClaimSlots: w.ClaimSlots, LeaseSlots: w.LeaseSlots, Queues: w.Queues, Shards: w.Shards, Deadlines: w.Deadlines, Agings: w.Agings}
}

// String is the world as it stands in a seed file.
func (w World) String() string {
	text := fmt.Sprintf("queue_slots=%d claim_slots=%d engines=%d pool=%d queues=%s",
		w.QueueSlots, w.ClaimSlots, w.Engines, w.Pool, strings.Join(w.Queues, ","))
	if w.LeaseSlots != 2 {
		text += fmt.Sprintf(" lease_slots=%d", w.LeaseSlots)
	}
	if w.Shards > 1 {
		text += fmt.Sprintf(" shards=%d", w.Shards)
	}
	for _, of := range []struct {
		name    string
		seconds []int
	}{{"deadlines", w.Deadlines}, {"agings", w.Agings}} {
		if len(of.seconds) > 0 {
			text += " " + of.name + "=" + strings.Trim(strings.ReplaceAll(fmt.Sprint(of.seconds), " ", ","), "[]")
		}
	}
	return text
}

// policies are the queues' as an engine takes them.
func (w World) policies() map[string]engine.QueueConfig {
	queues := map[string]engine.QueueConfig{}
	for i, name := range w.Queues {
		var q engine.QueueConfig
		if i < len(w.Deadlines) {
			q.DeadlineDuration = seconds(w.Deadlines[i])
		}
		if i < len(w.Agings) {
			q.Aging = seconds(w.Agings[i])
		}
		queues[name] = q
	}
	return queues
}

// ParseWorld reads what String wrote.
func ParseWorld(text string) (World, error) {
	w := World{LeaseSlots: 2, Shards: 1}
	numbers := map[string]*int{"queue_slots": &w.QueueSlots, "claim_slots": &w.ClaimSlots, "lease_slots": &w.LeaseSlots, "shards": &w.Shards, "engines": &w.Engines, "pool": &w.Pool}
	for _, field := range strings.Fields(text) {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return w, fmt.Errorf("world %q: %q is not key=value", text, field)
		}
		if name == "queues" {
			w.Queues = strings.Split(value, ",")
			continue
		}
		if list := map[string]*[]int{"deadlines": &w.Deadlines, "agings": &w.Agings}[name]; list != nil {
			for item := range strings.SplitSeq(value, ",") {
				n, err := strconv.Atoi(item)
				if err != nil || n < 0 {
					return w, fmt.Errorf("world %q: %s: %q is no number of seconds", text, name, item)
				}
				*list = append(*list, n)
			}
			continue
		}
		to, known := numbers[name]
		if !known {
			return w, fmt.Errorf("world %q: unknown key %q", text, name)
		}
		var err error
		if *to, err = strconv.Atoi(value); err != nil {
			return w, fmt.Errorf("world %q: %w", text, err)
		}
	}
	if w.QueueSlots < 4 || w.ClaimSlots < 2 || w.LeaseSlots < 2 || w.Shards < 1 || w.Engines < 1 || w.Pool < 1 || len(w.Queues) == 0 || max(len(w.Deadlines), len(w.Agings)) > len(w.Queues) || slices.Contains(w.Queues, "") {
		return w, fmt.Errorf("world %q: a key is missing or too small", text)
	}
	return w, nil
}
