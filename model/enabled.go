package model

import "slices"

// Bounds make a small world: [Enabled] offers only what stays inside them. They bound what is asked for, never
// what a state may be, so they stand in guards, in a spec as here.
type Bounds struct {
	// Actions are the names that are offered; none means all.
	Actions []string

	// Jobs are how many are enqueued in all, one at a time. Ids that a rollback lost count too: they are what
	// keeps a world of producers finite.
	Jobs int
	// QueueGenerations and ClaimGenerations are the highest generation of each ring. To see a slot used again,
	// it takes as many as the ring has slots.
	QueueGenerations, ClaimGenerations, LeaseGenerations int

	// Each kind of job that is enqueued: every queue with every priority with every max_attempts.
	Queues                  []string
	Priorities, MaxAttempts []int
	// RunAts are 0 or Infinite; none means 0 alone. Infinite is later than now, and than any other such time; a
	// promotion is tried before and after all of them.
	RunAts []int
	// TimeLimits are those that jobs come with, as in [Enqueue]; none means jobs without one. All that aren't 0 must be
	// equal, see Normalize.
	TimeLimits []int
	// The limits that are tried of each operation that has one. 1 leaves something behind, a large one nothing.
	ClaimLimits, RescueLimits, PromoteLimits []int
	// Ages are how long each Enqueue and Claim comes after the newest job that waits; none means at once. Nothing that goes by
	// the age of a claim may be offered beside it.
	Ages []int
	// Orderings are the ordering keys that jobs come with; none means jobs without one. ShardCounts are the numbers of shards that
	// are set.
	Orderings, ShardCounts []int
	// Retentions of PruneQueue are 0 or Infinite: see Normalize.
	Retentions []int

	// RetryBelow is the run_lease from which a failed job isn't retried any more: it keeps a world finite.
	RetryBelow int
	// Tokens are how many callbacks each attempt may wait for, Timeout how long a wait may take; every park is tried without
	// one, too.
	Tokens, Timeout int
	// KeyHeld are the terminal states in which a job keeps the one unique key that all jobs have then. None: no job has a key.
	KeyHeld []int
	// Moves is the run_lease from which a job that is available isn't moved any more, since each move makes it one more.
	Moves int
	// PutOffs is the run_lease from which an attempt is neither retried nor snoozed any more.
	PutOffs int

	// Transactions are the levels that callers come with, OpenTransactions how many are open at once. Their
	// numbers are used again.
	Transactions     []Isolation
	OpenTransactions int

	// Batches also closes all known attempts in one call, open ones and others, the newest mentioned twice.
	Batches bool
}

// completesInTransactions: a batch of claims can be a transaction's.
func (b *Bounds) completesInTransactions() bool {
	return b.OpenTransactions > 0 && (len(b.Actions) == 0 || slices.Contains(b.Actions, "CompleteTx"))
}

// Enabled lists what may be tried next, always in the same order. Each action can be applied; one that is
// answered with "stale" or "skipped" counts as much as any other, since that it changes nothing is a promise.
//
// Time moves on with each claim: now is later than every claim before, and not before anything is due. A rescue is
// tried with its cutoff behind each of the times at which an open claim was made.
func Enabled(s Store, b *Bounds) []Action {
	o := offer{store: s, bounds: b, vars: s.Vars(), now: 1, later: Infinite}
	if b.Ages != nil {
		o.now = max(o.now, newestWait(s))
	} else {
		for _, c := range s.Claims() {
			o.now = max(o.now, c.ClaimedAt+1)
		}
	}
	for _, a := range s.AttemptStates() {
		o.now = max(o.now, a.Heartbeat+1)
	}
	for _, d := range s.DeferredRows() {
		if d.RunAt < Infinite {
			o.now = max(o.now, d.RunAt)
		} else {
			o.later = max(o.later, d.RunAt+1)
		}
	}
	o.producers()
	o.workers()
	o.maintenance()
	o.readers()
	return o.actions
}

// offer collects the actions of one state. What it leaves out is what the bounds end, what would be refused as
// disabled, and names that nothing could be found under.
type offer struct {
	store   Store
	bounds  *Bounds
	vars    Vars
	now     int
	later   int // after everything that isn't due
	actions []Action
}

// add leaves out what would wait for a transaction.
func (o *offer) add(a Action) {
	if waitsFor(o.store, a) == 0 {
		o.actions = append(o.actions, a)
	}
}

// allows says whether a name is offered at all.
func (o *offer) allows(name string) bool {
	return len(o.bounds.Actions) == 0 || slices.Contains(o.bounds.Actions, name)
}

// producers: an enqueue, and the steps of callers' transactions. Every open one may go on, commit or roll back at any
// time, or stay open for as long as the others do something.
func (o *offer) producers() {
	if o.allows("Enqueue") {
		o.eachJob(func(e Enqueue) {
			for _, age := range o.ages() {
				e.Now = o.now + age
				o.add(e)
			}
		})
	}
	if o.allows("Begin") && len(o.store.Txs()) < o.bounds.OpenTransactions {
		for _, isolation := range o.bounds.Transactions {
			o.add(Begin{Tx: o.freeTx(), Isolation: isolation})
		}
	}
	for _, tx := range o.store.Txs() {
		if o.allows("EnqueueTx") {
			o.eachJob(func(e Enqueue) {
				o.add(EnqueueTx{
					Tx: tx.ID, Queue: e.Queue, Priority: e.Priority, Count: e.Count, Attempts: e.Attempts, RunAt: e.RunAt, Now: e.Now, Limit: e.Limit,
					Unique: e.Unique, Held: e.Held, Ordering: e.Ordering,
				})
			})
		}
		if o.allows("CompleteTx") && tx.Isolation == ReadCommitted {
			for _, c := range o.store.Claims() {
				o.add(CompleteTx{Tx: tx.ID, Attempts: []AttemptID{c.ID()}, Now: o.now})
			}
		}
		if o.allows("Commit") {
			o.add(Commit{tx.ID})
		}
		if o.allows("Rollback") {
			o.add(Rollback{tx.ID})
		}
	}
}

// eachJob visits each kind of job that may still be enqueued.
func (o *offer) eachJob(visit func(Enqueue)) {
	if o.vars.NextJob > o.bounds.Jobs {
		return
	}
	runAts := o.bounds.RunAts
	if len(runAts) == 0 {
		runAts = []int{0}
	}
	for _, queue := range o.bounds.Queues {
		for _, priority := range o.bounds.Priorities {
			for _, attempts := range o.bounds.MaxAttempts {
				for _, at := range runAts {
					if at == Infinite {
						at = o.later
					}
					for _, limit := range o.limits() {
						for _, ordering := range o.orderings() {
							o.eachKey(Enqueue{Queue: queue, Priority: priority, Count: 1, Attempts: attempts, RunAt: at, Now: o.now, Limit: limit, Ordering: ordering}, visit)
						}
					}
				}
			}
		}
	}
}

// eachKey visits a job without a key, or with the one key and each way of keeping it.
func (o *offer) eachKey(e Enqueue, visit func(Enqueue)) {
	if len(o.bounds.KeyHeld) == 0 {
		visit(e)
		return
	}
	for _, held := range o.bounds.KeyHeld {
		e.Unique, e.Held = 1, held
		visit(e)
	}
}

func (o *offer) limits() []int {
	if len(o.bounds.TimeLimits) == 0 {
		return []int{0}
	}
	return o.bounds.TimeLimits
}

func (o *offer) orderings() []int {
	if len(o.bounds.Orderings) == 0 {
		return []int{0}
	}
	return o.bounds.Orderings
}

func (o *offer) ages() []int {
	if o.bounds.Ages == nil {
		return []int{0}
	}
	return o.bounds.Ages
}

// freeTx is the lowest number that no open transaction has.
func (o *offer) freeTx() int {
	id := 1
	for _, tx := range o.store.Txs() {
		if tx.ID == id {
			id++
		}
	}
	return id
}

// workers claim, and close every attempt that a claim row still tells of, whether it is open or not: a worker whose
// attempt was superseded doesn't know it (P3). Whoever dies simply never comes back.
func (o *offer) workers() {
	if o.allows("Claim") {
		for _, queue := range o.bounds.Queues {
			for _, limit := range o.bounds.ClaimLimits {
				for _, age := range o.ages() {
					o.add(Claim{Queue: queue, Limit: limit, Now: o.now + age})
				}
			}
		}
	}
	var known []AttemptID
	for _, c := range o.store.Claims() {
		known = append(known, c.ID())
		o.closes(c.ID())
		o.waits(c.ID())
	}
	if o.bounds.Batches && len(known) > 1 {
		o.closes(append(known, known[len(known)-1])...)
	}
}

func (o *offer) closes(attempts ...AttemptID) {
	if o.allows("Complete") {
		o.add(Complete{Attempts: attempts, Now: o.now})
	}
	if o.allows("Fail") {
		o.add(Fail{Attempts: attempts, Now: o.now})
	}
	if o.allows("Retry") && !o.reopened(attempts) {
		o.add(Retry{Attempts: attempts, Delay: o.later - o.now, Now: o.now})
	}
	if o.allows("Snooze") && !o.reopened(attempts) {
		o.add(Snooze{Attempts: attempts, Delay: o.later - o.now, Now: o.now})
	}
	if o.allows("Heartbeat") {
		o.add(Heartbeat{Attempts: attempts, Now: o.now})
	}
	if o.allows("Progress") {
		o.add(Progress{Attempts: attempts, Percent: 50, Now: o.now})
	}
}

// waits: an attempt parks for each of its callbacks, and each comes at any time: before the park, twice, or too late.
func (o *offer) waits(id AttemptID) {
	for token := 1; token <= o.bounds.Tokens; token++ {
		if o.allows("Park") {
			o.add(Park{Attempt: id, Token: token, Now: o.now})
			if o.bounds.Timeout > 0 {
				o.add(Park{Attempt: id, Token: token, Timeout: o.bounds.Timeout, Now: o.now})
			}
		}
		if o.allows("Resume") {
			o.add(Resume{Attempt: id, Token: token, Now: o.now})
		}
	}
}

// reopened says whether the bounds allow none of these jobs to wait once more. A snooze gives its attempt back, so that
// without a bound there would be no end of it.
func (o *offer) reopened(attempts []AttemptID) bool {
	return slices.ContainsFunc(attempts, func(id AttemptID) bool { return id.Lease >= o.bounds.PutOffs })
}

// maintenance may run at any time and in any order; nothing is assumed of who leads it.
func (o *offer) maintenance() {
	if o.allows("Promote") {
		for _, limit := range o.bounds.PromoteLimits {
			o.add(Promote{Limit: limit, Now: o.now})
			if o.later > Infinite {
				o.add(Promote{Limit: limit, Now: 2 * Infinite})
			}
		}
	}
	if o.allows("RescueStale") {
		o.rescues()
	}
	if o.allows("RescueDeadline") {
		o.lateRescues()
	}
	if o.allows("RotateQueue") && o.vars.Queue.Generation < o.bounds.QueueGenerations {
		o.add(RotateQueue{Now: o.now})
	}
	if o.allows("RotateClaims") && o.vars.Claims.Generation < o.bounds.ClaimGenerations {
		o.add(RotateClaims{Now: o.now})
	}
	o.leases()
	if o.allows("PruneQueue") {
		for _, retention := range o.bounds.Retentions {
			o.add(PruneQueue{Retention: retention, Now: o.now})
		}
	}
	if o.allows("PruneClaims") {
		o.add(PruneClaims{Now: o.now})
	}
	o.operator()
	if o.allows("Cancel") {
		for job := 1; job < o.vars.NextJob; job++ {
			o.add(Cancel{Jobs: []int{job}, Now: o.now})
		}
	}
}

// leases: what maintenance does for those who wait. A sweep is tried at each time at which a wait times out.
func (o *offer) leases() {
	if o.allows("RotateLeases") && o.vars.Leases.Generation < o.bounds.LeaseGenerations {
		o.add(RotateLeases{Now: o.now})
	}
	if o.allows("PruneLeases") {
		o.add(PruneLeases{Now: o.now})
	}
	if !o.allows("CallbackTimeout") {
		return
	}
	var times ranking
	for _, l := range o.store.Leases() {
		if l.Timeout != 0 {
			times.add(l.Timeout)
		}
	}
	times.sort()
	for _, time := range times {
		for _, limit := range o.bounds.RescueLimits {
			o.add(CallbackTimeout{Limit: limit, Now: time})
		}
	}
}

// operator retries what has failed, one at a time or all: as long as the bounds have leases for it, since each retry
// makes room for another failure.
func (o *offer) operator() {
	for _, t := range o.store.Terminals() {
		if o.allows("RetryFailed") && t.State == Failed && t.Lease < o.bounds.RetryBelow {
			o.add(RetryFailed{Jobs: []int{t.Job}, Limit: 1, Now: o.now})
		}
		if o.allows("MoveToDLQ") && t.State == Failed {
			o.add(MoveToDLQ{Jobs: []int{t.Job}, Limit: 1, Now: o.now})
		}
	}
	for _, d := range o.store.DLQRows() {
		if o.allows("RetryFromDLQ") && d.Lease < o.bounds.RetryBelow {
			o.add(RetryFromDLQ{Jobs: []int{d.Job}, Limit: 1, Now: o.now})
		}
		if o.allows("PurgeDLQ") {
			o.add(PurgeDLQ{Jobs: []int{d.Job}, Limit: 1, Now: o.now})
		}
	}
	if o.allows("PurgeDLQ") {
		// After all that ever happens, so that it takes all: which job comes first, a normal form has forgotten.
		o.add(PurgeDLQ{Older: 1, Limit: 2 * o.bounds.Jobs, Now: 2 * Infinite})
	}
	for _, queue := range o.bounds.Queues {
		if lane, ok := o.store.Config().Lane(queue, 1); ok && o.allows("SetDLQ") {
			o.add(SetDLQ{Queue: queue, On: 1 - o.store.Policy(o.store.Config().QueueOf(lane)).DLQ})
		}
	}
	for _, queue := range o.bounds.Queues {
		for _, shards := range o.bounds.ShardCounts {
			if o.allows("SetShards") {
				o.add(SetShards{queue, shards})
			}
		}
	}
	for job := 1; job < o.vars.NextJob && o.allows("DeleteTerminal"); job++ {
		o.add(DeleteTerminal{Jobs: []int{job}})
	}
	o.moves()
}

// moves: every job to every lane.
func (o *offer) moves() {
	for job := 1; job < o.vars.NextJob; job++ {
		if e, ok := o.store.NewestEntry(job); ok && e.Waiting() && e.Lease >= o.bounds.Moves {
			continue
		}
		for _, priority := range o.bounds.Priorities {
			if o.allows("SetPriority") {
				o.add(SetPriority{[]int{job}, priority})
			}
		}
		for _, queue := range o.bounds.Queues {
			if o.allows("MoveJob") {
				o.add(MoveJob{[]int{job}, queue})
			}
		}
	}
}

// rescues: a cutoff matters by which open claims are older than it, so one behind each of their times is every cutoff
// that there is, but for those that find nothing.
func (o *offer) rescues() {
	var times ranking
	for c := range o.store.OpenClaims() {
		times.add(signOfLife(o.store, c))
	}
	times.sort()
	for _, time := range times {
		for _, limit := range o.bounds.RescueLimits {
			o.add(RescueStale{Older: o.now - time - 1, Limit: limit, Now: o.now})
		}
	}
}

// lateRescues: at each of the open claims' deadlines. A sweep before the first finds nothing.
func (o *offer) lateRescues() {
	var times ranking
	for c := range o.store.Expiring() {
		times.add(c.Deadline)
	}
	times.sort()
	for _, time := range times {
		for _, limit := range o.bounds.RescueLimits {
			o.add(RescueDeadline{Limit: limit, Now: time})
		}
	}
}

// readers ask, and a process starts anew; none of it may change anything.
func (o *offer) readers() {
	for _, queue := range o.bounds.Queues {
		if o.allows("Counts") {
			o.add(CountsOf{queue})
		}
	}
	if o.allows("Job") {
		for job := 1; job < o.vars.NextJob; job++ {
			o.add(JobOf{job})
		}
	}
	if o.allows("JobAttempts") {
		for job := 1; job < o.vars.NextJob; job++ {
			o.add(JobAttempts{job})
		}
	}
	if o.allows("ListJobs") {
		o.add(ListJobs{Limit: 2 * o.bounds.Jobs})
	}
	for _, queue := range o.bounds.Queues {
		if o.allows("PauseQueue") {
			o.add(PauseQueue{queue, o.now})
		}
		if o.allows("ResumeQueue") {
			o.add(ResumeQueue{queue})
		}
	}
	if o.allows("TrimLedger") {
		o.add(TrimLedger{})
	}
	if o.allows("FoldCounts") {
		o.add(FoldCounts{})
	}
	if o.allows("TrimKeys") {
		o.add(TrimKeys{})
	}
	if o.allows("Reopen") {
		o.add(Reopen{})
	}
}
