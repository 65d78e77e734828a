package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// A world makes small evidence by hand: one call takes one microsecond, and the clock stands where it was left.
type world struct {
	ev  evidence
	now int64
}

// small is a whole run of four jobs. Jobs 1 and 2 come from a business transaction, 3 and 4 from a COPY. Each is handed
// out; job 1 completes, 2 fails, 3 is rescued and completes at its second attempt, 4 may be tried only once and is
// failed by a rescue. The server is killed once.
func small() *world {
	w := &world{}
	w.ev.journals = map[string][]line{}
	w.ev.run.Plan, _ = Plan{Rounds: 1, MinRate: 1, Rate: 10, QueueSlots: 4, ClaimSlots: 2}.withDefaults()
	w.tell(event{What: eventServer})
	w.call("p", line{Op: opEnqueueTx, Batch: "p.1", Queue: "mail", Count: 2, Max: 25}, line{IDs: []int64{1, 2}})
	w.call("p", line{Op: opEnqueueMany, Batch: "p.2", Queue: "mail", Count: 1, Max: 25}, line{IDs: []int64{3}})
	w.call("p", line{Op: opEnqueueTx, Batch: "p.3", Queue: "mail", Count: 1, Max: 1}, line{IDs: []int64{4}})
	w.call("p", line{Op: opEnqueueTx, Batch: "p.4", Queue: "mail", Count: 1, Max: 25}, line{Outcome: outcomeRolledBack, IDs: []int64{5}})
	w.claim("a", "1/1 p.1.0", "2/1 p.1.1", "3/1 p.2.0", "4/1 p.3.0")
	w.close("a", opComplete, outcomeOK, "1/1")
	w.close("a", opFail, outcomeOK, "2/1")
	w.tell(event{What: eventFault, Fault: ServerKill, At: w.now, Over: w.now})
	w.call("m", line{Op: opRescue, Count: 1000}, line{Requeued: 1, Failed: 1})
	w.claim("b", "3/2 p.2.0")
	w.close("b", opComplete, outcomeOK, "3/2")
	w.call("a", line{Op: opComplete, Attempts: []attempt{{job: 3, lease: 1}}}, line{Stale: []attempt{{job: 3, lease: 1}}})
	for range 4 {
		w.call("m", line{Op: opRotateQueue}, line{Status: string(engine.Rotated)})
		w.call("m", line{Op: opRotateClaim}, line{Status: string(engine.Rotated)})
		w.call("m", line{Op: opPruneQueue}, line{Status: string(engine.Pruned)})
		w.call("m", line{Op: opPruneClaim}, line{Status: string(engine.Pruned)})
	}
	w.tell(event{What: eventEnd})
	end := map[string]engine.Counts{"mail": {PrunedCompleted: 2, PrunedFailed: 2}, "invoices": {}}
	w.ev.state = &state{
		Orders:  []order{{"p.1.0", 1}, {"p.1.1", 2}, {"p.3.0", 4}},
		Drained: map[string]engine.Counts{"mail": {Completed: 2, Failed: 1, PrunedFailed: 1}, "invoices": {}},
		Jobs:    []seenJob{{1, "completed", 1}, {2, "failed", 1}, {4, "not_found", 0}},
		Final:   end, Rows: map[string]int64{"ready_entries": 0},
	}
	return w
}

func (w *world) tell(e event) {
	w.now += int64(time.Microsecond)
	if e.At == 0 {
		e.At = w.now
	}
	w.ev.story = append(w.ev.story, e)
}

// call appends both lines of a call.
func (w *world) call(who string, begin, end line) {
	begin.Call = int64(len(w.ev.journals[who])/2 + 1)
	w.now += int64(time.Microsecond)
	begin.At = w.now
	end.Call, end.Op, end.At = begin.Call, begin.Op, w.now+500
	if end.Outcome == "" {
		end.Outcome = outcomeOK
	}
	w.ev.journals[who] = append(w.ev.journals[who], begin, end)
}

func (w *world) claim(who string, attempts ...string) {
	w.call(who, line{Op: opClaim, Queue: "mail", Count: 10}, line{Attempts: parse(attempts)})
}

func (w *world) close(who string, as op, got outcome, attempts ...string) {
	w.call(who, line{Op: as, Attempts: parse(attempts)}, line{Outcome: got})
}

func parse(texts []string) []attempt {
	some := make([]attempt, len(texts))
	for i, text := range texts {
		if err := some[i].UnmarshalText([]byte(text)); err != nil {
			panic(err)
		}
	}
	return some
}

// find returns the nth line (from 0) of a worker that good accepts.
func (w *world) find(who string, nth int, good func(line) bool) *line {
	for i := range w.ev.journals[who] {
		if l := &w.ev.journals[who][i]; good(*l) {
			if nth == 0 {
				return l
			}
			nth--
		}
	}
	panic("no such line")
}

func returned(as op) func(line) bool {
	return func(l line) bool { return l.Op == as && l.Outcome != "" }
}

func begun(as op) func(line) bool {
	return func(l line) bool { return l.Op == as && l.Outcome == "" }
}

// count changes the counts of the mail queue, both times.
func (w *world) count(change func(*engine.Counts)) {
	for _, m := range []map[string]engine.Counts{w.ev.state.Drained, w.ev.state.Final} {
		c := m["mail"]
		change(&c)
		m["mail"] = c
	}
}

func TestJudgeAccepts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"a whole run": func(*world) {},
		"a completion without an answer that happened": func(w *world) {
			w.find("b", 0, returned(opComplete)).Outcome = outcomeCommitted
		},
		"a completion without an answer that didn't happen, and was repeated": func(w *world) {
			w.find("b", 0, returned(opComplete)).Outcome = outcomeUnknown
			w.close("b", opComplete, outcomeOK, "3/2")
		},
		"a completion without an answer, of an attempt that was rescued": func(w *world) {
			w.find("a", 1, returned(opComplete)).Outcome = outcomeUnknown
		},
		"a completion or a rescue ended the last attempt": func(w *world) {
			w.close("a", opComplete, outcomeUnknown, "4/1")
			w.count(func(c *engine.Counts) { c.PrunedCompleted++; c.PrunedFailed-- })
			w.find("m", 0, returned(opRescue)).Failed = 0
		},
		"a COPY without an answer that happened": func(w *world) {
			*w.find("p", 0, returned(opEnqueueMany)) = line{Call: 2, Op: opEnqueueMany, Outcome: outcomeUnknown, At: w.now}
		},
		"a COPY without an answer that didn't happen": func(w *world) {
			w.call("p", line{Op: opEnqueueMany, Batch: "p.5", Queue: "mail", Count: 7, Max: 25}, line{Outcome: outcomeUnknown})
		},
		"a business transaction without an answer": func(w *world) {
			w.find("p", 0, returned(opEnqueueTx)).Outcome = outcomeUnknown
		},
		"an id given to another job after a crash took the first": func(w *world) {
			w.find("p", 2, returned(opEnqueueTx)).IDs = []int64{4}
		},
		"an attempt lost in a claim without an answer": func(w *world) {
			l := w.find("a", 0, returned(opClaim))
			l.Attempts = l.Attempts[:3]
			w.call("b", line{Op: opClaim, Queue: "mail", Count: 10}, line{Outcome: outcomeCommitted})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := small()
			change(w)
			if v := judge(w.ev); !v.OK || len(v.short) > 0 {
				t.Errorf("rejected: %v\n%s", v.short, v.Form())
			}
		})
	}
}

// A rejection is a change of the small run, and the violation that it must come out as.
type rejection struct {
	change func(*world)
	kind   Kind
}

// What can go wrong with jobs and attempts.
var jobRejections = map[string]rejection{
	"a job that nobody ended": {func(w *world) {
		w.find("b", 0, returned(opComplete)).Outcome = outcomeNotDone
	}, KindLost},
	"a job that nobody was given": {func(w *world) {
		w.ev.state.Orders = append(w.ev.state.Orders, order{"p.5.0", 6})
		w.call("p", line{Op: opEnqueueTx, Batch: "p.5", Queue: "mail", Count: 1, Max: 25}, line{IDs: []int64{6}})
	}, KindLost},
	"an acknowledged transaction that isn't there": {func(w *world) {
		w.call("p", line{Op: opEnqueueTx, Batch: "p.5", Queue: "mail", Count: 1, Max: 25}, line{IDs: []int64{6}})
	}, KindLost},
	"a job that is still there after draining": {func(w *world) {
		w.ev.state.Jobs[0].State = "running"
	}, KindLost},
	"a job ended twice": {func(w *world) {
		w.close("b", opComplete, outcomeOK, "1/1")
	}, KindTwice},
	"an attempt closed after it was reported over": {func(w *world) {
		l := w.find("b", 0, returned(opComplete))
		l.Stale = parse([]string{"3/2"})
		w.close("b", opComplete, outcomeOK, "3/2")
	}, KindTwice},
	"a job handed out after its end": {func(w *world) {
		w.claim("b", "1/2 p.1.0")
	}, KindRevived},
	"an attempt given to two": {func(w *world) {
		w.claim("b", "2/1 p.1.1")
	}, KindHandedOutTwice},
	"a later attempt handed out first": {func(w *world) {
		w.find("b", 0, returned(opClaim)).At = 1
	}, KindOrder},
	"a job of a transaction that was rolled back": {func(w *world) {
		w.claim("b", "5/1 p.4.0")
		w.close("b", opComplete, outcomeOK, "5/1")
	}, KindPhantom},
	"a job that nobody enqueued": {func(w *world) {
		w.claim("b", "9/1 x.1.0")
	}, KindPhantom},
	"a job with another's id": {func(w *world) {
		w.find("b", 0, returned(opClaim)).Attempts[0].mark = "p.1.0"
	}, KindPhantom},
	"a business row for another job": {func(w *world) {
		w.ev.state.Orders[0].Job = 7
	}, KindPhantom},
	"a half of a business transaction": {func(w *world) {
		w.ev.state.Orders = w.ev.state.Orders[1:]
	}, KindHalf},
	"a half of a COPY": {func(w *world) {
		w.find("p", 0, begun(opEnqueueMany)).Count = 2
		*w.find("p", 0, returned(opEnqueueMany)) = line{Call: 2, Op: opEnqueueMany, Outcome: outcomeUnknown, At: w.now}
	}, KindHalf},
	"an end that nobody was given": {func(w *world) {
		w.close("b", opComplete, outcomeOK, "3/3")
	}, KindUnowned},
	"an attempt that passed by everybody": {func(w *world) {
		w.find("b", 0, returned(opClaim)).Attempts[0].lease = 3
		w.find("b", 0, begun(opComplete)).Attempts[0].lease = 3
		w.find("m", 0, returned(opRescue)).Requeued = 2
	}, KindUnowned},
}

// What can go wrong with what the engine, the server and the evidence say.
var otherRejections = map[string]rejection{
	"Settle vouches for a COPY that isn't there": {func(w *world) {
		w.call("p", line{Op: opEnqueueMany, Batch: "p.5", Queue: "mail", Count: 7, Max: 25}, line{Outcome: outcomeCommitted})
	}, KindSettle},
	"Settle denies a COPY that is there": {func(w *world) {
		*w.find("p", 0, returned(opEnqueueMany)) = line{Call: 2, Op: opEnqueueMany, Outcome: outcomeAborted, At: w.now}
	}, KindSettle},
	"Settle vouches for a completion that closed nothing": {func(w *world) {
		w.find("b", 0, returned(opComplete)).Outcome = outcomeCommitted
		w.close("b", opComplete, outcomeOK, "3/2")
	}, KindSettle},
	"Settle vouches for a claim that gave nothing": {func(w *world) {
		w.call("b", line{Op: opClaim, Queue: "mail", Count: 10}, line{Outcome: outcomeCommitted})
	}, KindSettle},
	"one completion too many in the counts":  {func(w *world) { w.count(func(c *engine.Counts) { c.PrunedCompleted++ }) }, KindCounts},
	"one failure too few in the counts":      {func(w *world) { w.count(func(c *engine.Counts) { c.PrunedFailed-- }) }, KindCounts},
	"a failure counted as a completion":      {func(w *world) { w.count(func(c *engine.Counts) { c.PrunedFailed--; c.PrunedCompleted++ }) }, KindCounts},
	"an audit that finds something":          {func(w *world) { w.ev.state.Audit = []string{"NoJobIsLost: job 3: gone"} }, KindAudit},
	"one rescue too many":                    {func(w *world) { w.find("m", 0, returned(opRescue)).Requeued++ }, KindCounts},
	"one failing rescue too few":             {func(w *world) { w.find("m", 0, returned(opRescue)).Failed-- }, KindCounts},
	"something is left waiting":              {func(w *world) { w.count(func(c *engine.Counts) { c.Available = 1 }) }, KindRecovery},
	"Job says something else":                {func(w *world) { w.ev.state.Jobs[0].State = "failed" }, KindJobState},
	"Job says another attempt":               {func(w *world) { w.ev.state.Jobs[0].Lease = 2 }, KindJobState},
	"rows left in a ring":                    {func(w *world) { w.ev.state.Rows["ready_entries"] = 1 }, KindRings},
	"a deadlock":                             {func(w *world) { w.find("m", 0, returned(opRescue)).Code = "40P01" }, KindError},
	"a ring that can't be turned":            {func(w *world) { w.ev.state.Trouble = "stored rows contradict each other" }, KindError},
	"a worker that died":                     {func(w *world) { w.tell(event{What: eventDied, Who: "a"}) }, KindDied},
	"no claim after the fault":               {func(w *world) { w.ev.story[1].Over = w.now }, KindRecovery},
	"a claim long after the fault":           {func(w *world) { w.ev.run.Plan.RecoverWithin = 1 }, KindRecovery},
	"a ring that doesn't turn any more":      {func(w *world) { w.tell(event{What: eventFault, At: w.now, Over: w.now}) }, KindRings},
	"a line that is missing":                 {func(w *world) { w.ev.journals["a"] = slices.Delete(w.ev.journals["a"], 2, 3) }, KindJournal},
	"a line that is there twice":             {func(w *world) { w.ev.journals["a"] = slices.Insert(w.ev.journals["a"], 1, w.ev.journals["a"][1]) }, KindJournal},
	"a call that is missing":                 {func(w *world) { w.ev.journals["a"] = slices.Delete(w.ev.journals["a"], 2, 4) }, KindJournal},
	"a journal that ends before its process": {func(w *world) { w.ev.journals["b"] = w.ev.journals["b"][:3] }, KindJournal},
	"no final state":                         {func(w *world) { w.ev.state = nil }, KindJournal},
}

func TestJudgeRejects(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]rejection{jobRejections, otherRejections} {
		for name, r := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := small()
				r.change(w)
				v := judge(w.ev)
				if v.OK || !v.Has(r.kind) {
					t.Errorf("no violation of the kind %s: %v\n%s", r.kind, v.short, v.Form())
				}
			})
		}
	}
}

// What shows too little must not pass, though nothing is wrong.
func TestJudgeWantsEnough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*world)
		want   string
	}{
		"under the wanted load": {func(w *world) { w.ev.run.Plan.MinRate = 5 }, "4 jobs/s were enqueued before a fault, 5 were wanted"},
		"a fault too few":       {func(w *world) { w.ev.run.Plan.Rounds = 2 }, "1 faults were injected, 2 were wanted"},
		"nothing injected":      {func(w *world) { w.ev.story = w.ev.story[:1] }, "0 faults were injected"},
		"not once round":        {func(w *world) { w.ev.run.Plan.QueueSlots = 5 }, "the queue ring turned 4 times"},
		"no look into the end":  {func(w *world) { w.ev.state.Rows = nil }, "no tables looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := small()
			c.change(w)
			v := judge(w.ev)
			if v.OK || len(v.Violations) > 0 || !strings.Contains(strings.Join(v.short, "\n"), c.want) {
				t.Errorf("%v\n%s", v.short, v.Form())
			}
		})
	}
	empty := judge(evidence{state: &state{}})
	if empty.OK {
		t.Error("a run in which nothing happened passes")
	}
}
