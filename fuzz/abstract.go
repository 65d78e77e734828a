package fuzz

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/awa-engine/awa/model"
)

// Abstract reads a whole schema into a state of the model. It joins nothing on the server: rows are put together here,
// where what the model has no words for is an error that names it: a closure of nothing, evidence or history without its
// row, a position handed out or a receipt closed twice, stored counts that differ from the ranges beside them, a row in
// another slot than its generation's. It is for a quiet database.
//
// Times become whole seconds since the epoch of the run; ids stay as they are, model.Canonical renames them.
func Abstract(ctx context.Context, db *pgx.Conn, schema string, w World) (*model.Flat, error) {
	t := newTables(w)
	var b pgx.Batch
	for _, r := range t.readers() {
		sql := strings.ReplaceAll(r.sql, "{s}", pgx.Identifier{schema}.Sanitize())
		b.Queue(sql).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				if err := r.row(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	if err := db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	return t.flat, t.check()
}

// A position is a place in a lane, in the generation whose rows stand there.
type position struct {
	lane    int
	ready   int // generation
	laneSeq int
}

// tables collects what the database's tables say, in the order in which readers reads them: each table after those that
// it speaks of.
type tables struct {
	flat  *model.Flat
	world World
	lanes map[int32]int // the model's lane by the database's

	entries    map[position]model.EntryRow
	evidence   map[position]int // batch
	tombstones map[position]bool
	claims     map[int]model.ClaimRow
	ended      map[position]bool
	hidden     map[position]int // the job of a success that is hidden
	keys       map[string]int   // unique keys
	counts     map[counted]int  // done rows less what is kept of their number
}

// counted is what a count is kept of.
type counted struct {
	generation, lane int
	state            string
}

func newTables(w World) *tables {
	return &tables{
		flat: model.NewFlat(w.Config()), world: w, lanes: map[int32]int{}, entries: map[position]model.EntryRow{},
		evidence: map[position]int{}, tombstones: map[position]bool{}, claims: map[int]model.ClaimRow{}, ended: map[position]bool{}, hidden: map[position]int{}, keys: map[string]int{},
		counts: map[counted]int{},
	}
}

// A tableReader is a statement and what each of its rows means.
type tableReader struct {
	sql string
	row func(pgx.Rows) error
}

func (t *tables) readers() []tableReader {
	return []tableReader{
		{`SELECT 'queue', (SELECT max(generation) FROM {s}.queue_ring_rotations),
		         (SELECT min(generation) FROM {s}.queue_ring_rotations WHERE generation NOT IN (SELECT generation FROM {s}.queue_ring_prunes)),
		         coalesce((SELECT max(generation) FROM {s}.queue_ring_prunes), -1)
		   UNION ALL
		  SELECT 'claim', (SELECT max(generation) FROM {s}.claim_ring_rotations),
		         (SELECT min(generation) FROM {s}.claim_ring_rotations WHERE generation NOT IN (SELECT generation FROM {s}.claim_ring_prunes)),
		         coalesce((SELECT max(generation) FROM {s}.claim_ring_prunes), -1)
		   UNION ALL
		  SELECT 'lease', (SELECT max(generation) FROM {s}.lease_ring_rotations),
		         (SELECT min(generation) FROM {s}.lease_ring_rotations WHERE generation NOT IN (SELECT generation FROM {s}.lease_ring_prunes)),
		         coalesce((SELECT max(generation) FROM {s}.lease_ring_prunes), -1)`, t.ring},
		{`SELECT lane_id, queue, priority, enqueue_shard FROM {s}.lanes`, t.lane},
		{`SELECT queue, paused_at IS NOT NULL FROM {s}.queues`, t.paused},
		{`SELECT queue, pruned_completed_count, pruned_failed_count FROM {s}.queue_terminal_rollups`, t.rollup},
		{`SELECT ready_slot, lane_id, ready_generation, batch_id, claimed_count, lane_seqs FROM {s}.ready_claim_attempt_batches`, t.handedOut},
		{`SELECT ready_slot, lane_id, ready_generation, lane_seq, job_id, run_lease, attempt, max_attempts, time_limit, coalesce(available_at, created_at) FROM {s}.ready_entries`, t.ready},
		{`SELECT claim_slot, claim_generation, batch_id, claimed_at, ready_generation, lane_id, claimed_count, receipt_ranges, job_ids, run_leases, lane_seqs,
		         deadline_at FROM {s}.lease_claim_batches`, t.claim},
		{`SELECT claim_slot, claim_generation, batch_id, claimed_at, ready_generation, lane_id, job_id, run_lease, lane_seq, deadline_at FROM {s}.lease_claims`, t.ownClaim},
		{`SELECT claim_slot, claim_generation, batch_id, ready_generation, lane_id, closed_count, outcome, receipt_ranges
		    FROM {s}.lease_claim_closure_batches`, t.closure},
		{`SELECT claim_slot, claim_generation, receipt_id, ready_generation, lane_id, outcome FROM {s}.lease_claim_closures`, t.ownClosure},
		{`SELECT ready_slot, lane_id, ready_generation, batch_id, tombstone_count, lane_seqs FROM {s}.ready_tombstones`, t.tombstone},
		{`SELECT ready_slot, lane_id, ready_generation, coalesce(lane_seq, 0), job_id FROM {s}.receipt_completion_tombstones`, t.removed},
		{`SELECT ready_slot, lane_id, ready_generation, completed_at, completed_count, lane_seqs FROM {s}.receipt_completion_batches`, t.completion},
		{`SELECT ready_slot, lane_id, ready_generation, lane_seq, job_id, run_lease, attempt, state, finalized_at, max_attempts, time_limit FROM {s}.done_entries`, t.done},
		{`SELECT ready_slot, lane_id, ready_generation, state, live_count FROM {s}.queue_terminal_live_counts
		   UNION ALL SELECT ready_slot, lane_id, ready_generation, state, delta FROM {s}.queue_terminal_count_deltas`, t.kept},
		{`SELECT job_id, run_lease, receipt_id, heartbeat_at, coalesce(percent, 0), leased, callback_token, callback::text, early::text FROM {s}.attempt_state`, t.attemptState},
		{`SELECT lease_slot, lease_generation, lane_id, job_id, run_lease, receipt_id, claim_generation, ready_generation, local, token, timeout_at FROM {s}.leases`, t.lease},
		{`SELECT job_id, lane_id, run_lease, attempt, max_attempts, state, run_at, time_limit FROM {s}.deferred_jobs`, t.deferred},
		{`SELECT job_id, lane_id, run_lease, attempt, max_attempts, finalized_at, dlq_at, time_limit FROM {s}.dlq_entries`, t.held},
		{`SELECT queue, dlq::integer, CASE WHEN shards > 1 THEN shards ELSE 0 END FROM {s}.queues`, t.policy},
		{`SELECT job_id, unique_key, held_in, active FROM {s}.unique_claims`, t.unique},
	}
}

type multirange = pgtype.Multirange[pgtype.Range[int64]]

// expand lists the values of a range and compares their number with the count that is stored beside it.
func expand(what string, m multirange, count int) ([]int, error) {
	var values []int
	for _, r := range m {
		for v := r.Lower; v < r.Upper; v++ {
			values = append(values, int(v))
		}
	}
	if len(values) != count {
		return nil, fmt.Errorf("%s counts %d, its range has %d", what, count, len(values))
	}
	return values, nil
}

// logical is a time as the model has it.
func logical(at time.Time) int { return int(at.Sub(epoch) / time.Second) }

// timeLimit is a job's own limit as the model has it.
func timeLimit(d *time.Duration) int {
	switch {
	case d == nil:
		return 0
	case *d == 0:
		return model.OwnClaim
	}
	return int(*d / time.Second)
}

// deadline is an attempt's deadline as the model has it.
func deadline(at *time.Time) int {
	if at == nil {
		return 0
	}
	return logical(*at)
}

// inSlot checks that a row stands in its generation's slot.
func inSlot(what string, slot, generation, slots int) error {
	if slot != generation%slots {
		return fmt.Errorf("%s of generation %d stands in slot %d of %d", what, generation, slot, slots)
	}
	return nil
}

func (t *tables) ring(rows pgx.Rows) error {
	var name string
	var generation, pruned, newest int
	if err := rows.Scan(&name, &generation, &pruned, &newest); err != nil {
		return err
	}
	if newest > pruned {
		return fmt.Errorf("the %s ring pruned generation %d before %d: not oldest first", name, newest, pruned)
	}
	v := t.flat.Vars()
	*map[string]*model.Ring{"queue": &v.Queue, "claim": &v.Claims, "lease": &v.Leases}[name] = model.Ring{Generation: generation, Pruned: pruned}
	t.flat.SetVars(v)
	return nil
}

func (t *tables) lane(rows pgx.Rows) error {
	var id int32
	var queue string
	var priority, shard int
	if err := rows.Scan(&id, &queue, &priority, &shard); err != nil {
		return err
	}
	lane, ok := t.flat.Config().ShardLane(queue, priority, shard)
	if !ok {
		return fmt.Errorf("queue %q priority %d shard %d isn't of this world", queue, priority, shard)
	}
	t.lanes[id] = lane
	return nil
}

func (t *tables) rollup(rows pgx.Rows) error {
	var queue string
	var roll model.Rollup
	if err := rows.Scan(&queue, &roll.Completed, &roll.Failed); err != nil {
		return err
	}
	lane, ok := t.flat.Config().Lane(queue, 1)
	if !ok {
		return fmt.Errorf("queue %q isn't of this world", queue)
	}
	t.flat.SetRollup(t.flat.Config().QueueOf(lane), roll)
	return nil
}

func (t *tables) paused(rows pgx.Rows) error {
	var queue string
	var paused bool
	if err := rows.Scan(&queue, &paused); err != nil || !paused {
		return err
	}
	lane, ok := t.flat.Config().Lane(queue, 1)
	if !ok {
		return fmt.Errorf("queue %q isn't of this world", queue)
	}
	v := t.flat.Vars()
	v.Paused |= 1 << t.flat.Config().QueueOf(lane)
	t.flat.SetVars(v)
	return nil
}

func (t *tables) deferred(rows pgx.Rows) error {
	var lane int32
	var at time.Time
	var limit *time.Duration
	var d model.DeferredRow
	if err := rows.Scan(&d.Job, &lane, &d.Lease, &d.Attempt, &d.MaxAttempts, &d.State, &at, &limit); err != nil {
		return err
	}
	d.Limit = timeLimit(limit)
	d.Lane, d.RunAt = t.lanes[lane], logical(at)
	t.flat.PutDeferred(d)
	return nil
}

func (t *tables) held(rows pgx.Rows) error {
	var lane int32
	var ended, came time.Time
	var limit *time.Duration
	var d model.DLQRow
	if err := rows.Scan(&d.Job, &lane, &d.Lease, &d.Attempt, &d.MaxAttempts, &ended, &came, &limit); err != nil {
		return err
	}
	d.Lane, d.FinalizedAt, d.At, d.Limit = t.lanes[lane], logical(ended), logical(came), timeLimit(limit)
	t.flat.PutDLQ(d)
	return nil
}

func (t *tables) policy(rows pgx.Rows) error {
	var queue string
	var p model.Policy
	if err := rows.Scan(&queue, &p.DLQ, &p.Shards); err != nil {
		return err
	}
	lane, ok := t.flat.Config().Lane(queue, 1)
	if !ok {
		return fmt.Errorf("queue %q isn't of this world", queue)
	}
	t.flat.SetPolicy(t.flat.Config().QueueOf(lane), p)
	return nil
}

// unique numbers the keys as they come: the model compares which jobs have the same.
func (t *tables) unique(rows pgx.Rows) error {
	var key []byte
	var u model.UniqueRow
	if err := rows.Scan(&u.Job, &key, &u.Held, &u.Active); err != nil {
		return err
	}
	if t.keys[string(key)] == 0 {
		t.keys[string(key)] = len(t.keys) + 1
	}
	u.Key = t.keys[string(key)]
	t.flat.PutUnique(u)
	return nil
}

// Comparable is a state as both sides can tell it: a closed claim outlives its ready row, and with it what only that
// row knows.
func Comparable(s model.Store) *model.Flat {
	f := model.Snapshot(s)
	for _, c := range s.Claims() {
		if c.ReadyGen < f.Vars().Queue.Pruned {
			c.Attempt, c.MaxAttempts = 0, 0
			f.PutClaim(c)
		}
	}
	return f
}
