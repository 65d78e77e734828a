package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// "Is this receipt closed?" costs the same beside ten million closed receipts as beside none: the closures of a claim
// batch are found by the batch (ADR 0003). The worst case is a batch that was closed one attempt at a time.
func TestClosingCostsTheSameBesideTenMillionClosedReceipts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 500)
	batch := b.claim(t, "q", 500)[0].Receipt.Batch()
	alone := b.completeBuffers(t, batch)

	// 20,000 batches of 500, each closed at once, in the same slots.
	b.exec(t, `INSERT INTO %s.lease_claim_batches (claim_slot, claim_generation, batch_id, claimed_at, ready_slot, ready_generation, lane_id,
	               claimed_count, receipt_ranges, job_ids, run_leases, lane_seqs)
	           SELECT 0, 0, n, now(), 0, 0, 1, 500, int8multirange(int8range(n * 4096, n * 4096 + 500)), '{}', '{}', '{}'
	             FROM generate_series(1000000::bigint, 1019999) n`)
	b.exec(t, `INSERT INTO %s.lease_claim_closure_batches (claim_slot, claim_generation, batch_id, closed_at, ready_slot, ready_generation, lane_id,
	               closed_count, outcome, receipt_ranges)
	           SELECT 0, 0, batch_id, now(), 0, 0, 1, 500, 'completed', receipt_ranges FROM %s.lease_claim_batches WHERE batch_id >= 1000000`)
	crowded := b.completeBuffers(t, batch)

	b.exec(t, `INSERT INTO %s.lease_claim_closure_batches (claim_slot, claim_generation, batch_id, closed_at, ready_slot, ready_generation, lane_id,
	               closed_count, outcome, receipt_ranges)
	           SELECT 0, 0, $1::bigint, now(), 0, 0, 1, 1, 'completed', int8multirange(int8range($1::bigint * 4096 + i, $1::bigint * 4096 + i + 1))
	             FROM generate_series(0, 498) i`, batch)
	piecemeal := b.completeBuffers(t, batch)

	t.Logf("buffers to close one attempt of a batch of 500: %d alone, %d beside 10,000,000 closed receipts, %d when the other 499 were closed one by one",
		alone, crowded, piecemeal)
	if crowded > alone+10 {
		t.Errorf("%d buffers, %d without the others: the cost grows with what was ever closed", crowded, alone)
	}
	if piecemeal > crowded+500 {
		t.Errorf("%d buffers for a batch closed in 499 parts", piecemeal)
	}
}

var errRollBack = errors.New("roll back")

// completeBuffers counts the buffers that completing the last attempt of a batch touches, and rolls it back.
func (b *bundle) completeBuffers(t *testing.T, batch int64) int {
	t.Helper()
	ctx := t.Context()
	settings, statement := b.CompleteSQL()
	var text string
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, settings); err != nil {
			return err
		}
		last := batch*4096 + 499
		var job int64
		if err := tx.QueryRow(ctx, `SELECT job_ids[500] FROM `+pgx.Identifier{b.schema, "lease_claim_batches_0"}.Sanitize()+` WHERE batch_id = $1`, batch).Scan(&job); err != nil {
			return err
		}
		asked := fmt.Sprintf("{499,%d,1}", job)
		args := []any{int64(0), []int64{0}, []int64{batch}, []string{asked}, nil}
		for range 2 { // the first one also fills the caches of the connection
			if err := tx.QueryRow(ctx, `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+statement, args...).Scan(&text); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `DELETE FROM `+pgx.Identifier{b.schema, "lease_claim_closure_batches_0"}.Sanitize()+` WHERE batch_id = $1 AND receipt_ranges @> $2::bigint`, batch, last); err != nil {
				return err
			}
		}
		return errRollBack
	})
	if !errors.Is(err, errRollBack) {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
