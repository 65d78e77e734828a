package model

import (
	"fmt"
	"strings"
)

// Canonical is what a state and a database must agree on, as text: one row a line, table by table, in the order
// of their keys, made to be compared with diff.
//
// Rows that are not committed are left out: nobody else can see them. Numbers that sequences gave are replaced by
// their rank, since a sequence may leave holes: seqs in their lane, jobs, batches, receipts. Generations and
// times stay. That a row was handed out is said; which batch did it, the claim's own line says.
//
// A job that waits and one that runs look like this, shortened at the dots:
//
//	queue_ring generation=0 pruned=0
//	claim_ring generation=1 pruned=0
//	lease_ring generation=0 pruned=0
//	rollup queue=a completed=0 failed=0
//	ready lane=a/1 seq=1 generation=0 job=1 lease=0 … handed_out=true
//	ready lane=a/1 seq=2 generation=0 job=2 lease=0 … handed_out=false
//	claim receipt=1 batch=1 generation=1 lane=a/1 seq=1 ready_generation=0 job=1 lease=1 … outcome=open
func Canonical(s Store) string {
	f := Snapshot(s)
	f.entries = keep(f.entries, EntryRow.Visible)
	f.deferred = keep(f.deferred, func(d DeferredRow) bool { return d.Tx == 0 })
	f.uniques = keep(f.uniques, func(u UniqueRow) bool { return u.Tx == 0 })
	f.rankSeqs()
	f.rankJobs()
	f.rankBatches()
	f.rankReceipts()
	f.rankKeys()

	var b strings.Builder
	ring := func(name string, r Ring) {
		fmt.Fprintf(&b, "%s generation=%d pruned=%d\n", name, r.Generation, r.Pruned)
	}
	ring("queue_ring", f.vars.Queue)
	ring("claim_ring", f.vars.Claims)
	ring("lease_ring", f.vars.Leases)
	for queue, name := range f.config.Queues {
		if f.vars.paused(queue) {
			fmt.Fprintf(&b, "paused queue=%s\n", name)
		}
	}
	for queue, r := range f.rollups {
		fmt.Fprintf(&b, "rollup queue=%s completed=%d failed=%d\n", f.config.Queues[queue], r.Completed, r.Failed)
	}
	for _, e := range f.entries {
		fmt.Fprintf(&b, "ready lane=%s seq=%d generation=%d job=%d lease=%d attempt=%d max_attempts=%d handed_out=%t%s\n",
			f.config.LaneName(e.Lane), e.Seq, e.Gen, e.Job, e.Lease, e.Attempt, e.MaxAttempts, e.Batch != 0, given("limit", e.Limit)+given("since", e.Since))
	}
	for _, c := range f.claims {
		fmt.Fprintf(&b, "claim receipt=%d batch=%d generation=%d lane=%s seq=%d ready_generation=%d job=%d lease=%d "+
			"attempt=%d max_attempts=%d claimed_at=%d outcome=%s%s%s\n",
			c.Receipt, c.Batch, c.Gen, f.config.LaneName(c.Lane), c.Seq, c.ReadyGen, c.Job, c.Lease,
			c.Attempt, c.MaxAttempts, c.ClaimedAt, c.Outcome, given("local", c.Local), given("deadline", c.Deadline))
	}
	for _, t := range f.terminals {
		shape := given("limit", t.Limit)
		if t.Leased {
			shape += " leased=true"
		}
		if t.Wide {
			shape += " wide=true"
		}
		fmt.Fprintf(&b, "terminal lane=%s seq=%d generation=%d job=%d lease=%d attempt=%d max_attempts=%d state=%s "+
			"finalized_at=%d%s\n",
			f.config.LaneName(t.Lane), t.Seq, t.Gen, t.Job, t.Lease, t.Attempt, t.MaxAttempts, t.State, t.FinalizedAt, shape)
	}
	for _, a := range f.states {
		fmt.Fprintf(&b, "attempt job=%d lease=%d heartbeat=%d percent=%d%s%s%s\n", a.Job, a.Lease, a.Heartbeat, a.Percent,
			given("leased", one(a.Leased)), given("early", a.Early), given("callback", a.Callback))
	}
	for _, l := range f.leases {
		fmt.Fprintf(&b, "lease generation=%d lane=%s job=%d lease=%d token=%d%s\n",
			l.Gen, f.config.LaneName(l.Lane), l.Job, l.Lease, l.Token, given("timeout", l.Timeout))
	}
	for _, d := range f.deferred {
		fmt.Fprintf(&b, "deferred job=%d lane=%s lease=%d attempt=%d max_attempts=%d state=%s run_at=%d%s\n",
			d.Job, f.config.LaneName(d.Lane), d.Lease, d.Attempt, d.MaxAttempts, d.State, d.RunAt, given("limit", d.Limit))
	}
	f.tellOperators(&b)
	for _, u := range f.uniques {
		fmt.Fprintf(&b, "unique job=%d key=%d held=%d active=%t\n", u.Job, u.Key, u.Held, u.Active)
	}
	return b.String()
}

// given is a column that most rows don't use.
func given(name string, value int) string {
	if value == 0 {
		return ""
	}
	return fmt.Sprintf(" %s=%d", name, value)
}

// tellOperators tells what operators have decided, what is held for them, and what they took away.
func (f *Flat) tellOperators(b *strings.Builder) {
	for queue, p := range f.policies {
		if p != (Policy{}) {
			fmt.Fprintf(b, "policy queue=%s dlq=%d%s\n", f.config.Queues[queue], p.DLQ, given("shards", p.Shards))
		}
	}
	for _, d := range f.dlq {
		fmt.Fprintf(b, "dlq job=%d lane=%s lease=%d attempt=%d max_attempts=%d finalized_at=%d at=%d%s\n",
			d.Job, f.config.LaneName(d.Lane), d.Lease, d.Attempt, d.MaxAttempts, d.FinalizedAt, d.At, given("limit", d.Limit))
	}
	for _, r := range f.removed {
		fmt.Fprintf(b, "removed job=%d lane=%s generation=%d\n", r.Job, f.config.LaneName(r.Lane), r.Gen)
	}
}
