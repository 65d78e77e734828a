package linearizability

// accepted are histories that fit, by what they show; each says how many jobs completed and failed.
var accepted = map[string]func(*past) (completed, failed int64){
	"a plain life": func(p *past) (int64, int64) {
		p.enqueue(1)
		p.look(1, "available", 0)
		p.claim(5, given(1, 1))
		p.look(1, "running", 1)
		p.complete(1, 1, false)
		p.complete(1, 1, true)
		p.call(call{Client: 100, Op: opPruneQueue, Status: "pruned"})
		p.look(1, "not_found", 0)
		return 1, 0
	},
	"a rescue, and the late worker is told": func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.rescue(1)
		p.complete(1, 1, true)
		p.row(1, 1, 2)
		p.claim(1, given(1, 2))
		p.complete(1, 2, false)
		return 1, 0
	},
	"a completion within the rescue's interval wins": func(p *past) (int64, int64) {
		p.enqueue(1, 2)
		p.claim(2, given(1, 1), given(2, 1))
		p.t += 400 * ms
		p.call(call{Op: opComplete, Call: p.t, Return: p.t + 50*ms, Attempts: []attempt{{Job: 1, Lease: 1}}})
		p.call(call{Client: 100, Op: opRescue, Call: p.t - 40*ms, Return: p.t + 5*ms, Requeued: 1})
		p.row(2, 1, 3)
		p.claim(2, given(2, 2))
		p.complete(2, 2, false)
		return 2, 0
	},
	"a claim whose answer was lost": func(p *past) (int64, int64) {
		p.enqueue(1)
		p.call(call{Op: opClaim, Queue: "mail", Limit: 5, Outcome: outcomeUnknown})
		p.look(1, "running", 1)
		p.rescue(1)
		p.row(1, 1, 2)
		p.claim(1, given(1, 2))
		p.complete(1, 2, false)
		return 1, 0
	},
	"a completion whose answer was lost, and which happened": func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.call(call{Op: opComplete, Outcome: outcomeUnknown, Attempts: []attempt{{Job: 1, Lease: 1}}})
		p.complete(1, 1, true)
		p.look(1, "completed", 1)
		return 1, 0
	},
	"an enqueue whose answer was lost": func(p *past) (int64, int64) {
		p.call(call{Op: opEnqueue, Outcome: outcomeUnknown, Jobs: []job{{Mark: mailJob(1).Mark, Queue: "mail", Priority: 2, Max: 2}}})
		p.row(1, 0, 1)
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		return 1, 0
	},
	"failed by the second of many rescues, and pruned before the last": func(p *past) (int64, int64) {
		p.failByRescue("rescue prune rescue rescue")
		return 0, 1
	},
	"a deferred job": func(p *past) (int64, int64) {
		p.call(call{Op: opEnqueueTx, Deferred: true, Jobs: []job{mailJob(1)}})
		p.look(1, "scheduled", 0)
		p.call(call{Client: 100, Op: opPromote, Limit: 10, Promoted: 1})
		p.row(1, 0, 1)
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		return 1, 0
	},
	"a lower place that became visible during the claim": func(p *past) (int64, int64) {
		p.enqueue(2)
		claim := p.claim(1, given(2, 1))
		p.row(1, 0, 1)
		p.call(call{Op: opEnqueueTx, Jobs: []job{mailJob(1)}, Call: ms, Written: 2 * ms, Return: claim.Call + ms})
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		p.complete(2, 1, false)
		return 2, 0
	},
	"a lane that another claim may have locked": func(p *past) (int64, int64) {
		p.enqueue(1, 2)
		claim := p.claim(5)
		p.call(call{Client: 1, Op: opClaim, Queue: "mail", Limit: 5, Call: claim.Call + ms, Return: claim.Return + ms, Attempts: []attempt{given(1, 1), given(2, 1)}})
		p.complete(1, 1, false)
		p.complete(2, 1, false)
		return 2, 0
	},
}

// rejected are histories with one thing wrong, each of the kind that it must be reported as.
var rejected = map[string]struct {
	want Kind
	make func(*past) (completed, failed int64)
}{
	"one attempt for two": {KindHandedOutTwice, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		return 1, 0
	}},
	"two attempts of a job without a rescue": {KindLife, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.claim(1, given(1, 2))
		p.complete(1, 2, false)
		return 1, 0
	}},
	"a rescue before the attempt was stale": {KindLife, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.call(call{Client: 100, Op: opRescue, Requeued: 1})
		p.claim(1, given(1, 2))
		p.complete(1, 2, false)
		return 1, 0
	}},
	"a completion accepted after the rescue": {KindLife, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.rescue(1)
		p.claim(1, given(1, 2))
		p.complete(1, 1, false)
		return 1, 0
	}},
	"completed twice": {KindLife, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		p.complete(1, 1, false)
		return 1, 0
	}},
	"stale without a reason": {KindLife, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.complete(1, 1, true)
		p.look(1, "running", 1)
		return 1, 0
	}},
	"a lost job": {KindLife, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.look(1, "not_found", 0)
		return 1, 0
	}},
	"gone, though no prune came after a rescue": {KindLife, func(p *past) (int64, int64) {
		p.failByRescue("prune rescue rescue")
		return 0, 1
	}},
	"a lost job, by the counts": {KindCounts, func(p *past) (int64, int64) {
		p.enqueue(1, 2)
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		return 1, 0
	}},
	"a completed job that runs again": {KindLife, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		p.rescue(1)
		p.claim(1, given(1, 2))
		return 1, 0
	}},
	"a job of a transaction that was rolled back": {KindPhantom, func(p *past) (int64, int64) {
		p.call(call{Op: opEnqueueTx, Outcome: outcomeRolledBack, Jobs: []job{mailJob(1)}})
		p.claim(1, given(1, 1))
		return 0, 0
	}},
	"half of a batch": {KindHalf, func(p *past) (int64, int64) {
		p.call(call{Op: opEnqueueMany, Outcome: outcomeUnknown, Jobs: []job{mailJob(1), mailJob(2)}})
		p.row(1, 0, 1)
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		return 2, 0
	}},
	"Settle says aborted, and it is there": {KindSettle, func(p *past) (int64, int64) {
		p.call(call{Op: opEnqueue, Outcome: outcomeAborted, Jobs: []job{mailJob(1)}})
		p.row(1, 0, 1)
		return 0, 0
	}},
	"a later position before an earlier one": {KindLaneOrder, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.enqueue(2)
		p.claim(1, given(2, 1))
		p.claim(1, given(1, 1))
		p.complete(1, 1, false)
		p.complete(2, 1, false)
		return 2, 0
	}},
	"the wrong order in one answer": {KindLaneOrder, func(p *past) (int64, int64) {
		p.enqueue(1, 2)
		p.claim(2, given(2, 1), given(1, 1))
		return 2, 0
	}},
	"a worse priority before a better one": {KindPriority, func(p *past) (int64, int64) {
		p.enqueue(1, 2)
		p.h.rows[1].Priority, p.h.calls[0].Jobs[1].Priority = 3, 3
		later := given(2, 1)
		later.Priority = 3
		p.claim(1, later)
		p.claim(1, given(1, 1))
		return 2, 0
	}},
	"room, and a job left out": {KindLeftOut, func(p *past) (int64, int64) {
		p.enqueue(1, 2)
		p.claim(5, given(1, 1))
		p.claim(5, given(2, 1))
		return 2, 0
	}},
	"a place before one that was there": {KindPlace, func(p *past) (int64, int64) {
		p.enqueue(2)
		p.enqueue(1)
		p.claim(2, given(1, 1), given(2, 1))
		return 2, 0
	}},
	"an attempt of nobody": {KindUnowned, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.h.claims = append(p.h.claims, handed{Job: 1, Lease: 1})
		return 1, 0
	}},
	"two closures": {KindClosedTwice, func(p *past) (int64, int64) {
		p.enqueue(1)
		p.claim(1, given(1, 1))
		p.h.claims = append(p.h.claims, handed{Job: 1, Lease: 1, Outcome: "completed+rescued"})
		return 1, 0
	}},
	"a promotion that passes a job over": {KindLife, func(p *past) (int64, int64) {
		p.call(call{Op: opEnqueueTx, Deferred: true, Jobs: []job{mailJob(1)}})
		p.call(call{Client: 100, Op: opPromote, Limit: 10})
		p.look(1, "scheduled", 0)
		return 1, 0
	}},
	"a deadlock": {KindError, func(p *past) (int64, int64) {
		p.call(call{Op: opComplete, Outcome: outcomeNotDone, Code: "40P01", Attempts: []attempt{{Job: 1, Lease: 1}}})
		return 0, 0
	}},
}
