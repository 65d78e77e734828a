-- Migration 1: the queue ring, the claim ring, the lease ring and what stands around them.
--
-- .S is the quoted schema; .QueueSlots, .ClaimSlots and .LeaseSlots list the slot numbers chosen at install.
-- Everything runs in one transaction behind an advisory lock: a crash leaves the whole or nothing.

-- Queues and lanes --------------------------------------------------------------------------------

CREATE TABLE {{.S}}.queues (
    queue         text PRIMARY KEY,
    registered_at timestamptz NOT NULL DEFAULT now(),
    dlq           boolean     NOT NULL DEFAULT false, -- jobs that fail are held in dlq_entries and get no failed row
    paused_at     timestamptz, -- since when nothing of it is handed out
    shards        smallint    NOT NULL DEFAULT 1 CHECK (shards BETWEEN 1 AND 64) -- that jobs come into; lanes of others are drained
);

-- Grows with each change of the number of a queue's shards, in that transaction: by it a process knows that what it
-- remembers of lanes is old.
CREATE TABLE {{.S}}.lanes_version (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    version   bigint  NOT NULL DEFAULT 1
);
INSERT INTO {{.S}}.lanes_version DEFAULT VALUES;

-- A lane is (queue, priority, enqueue shard); lane_seq orders it. Each lane has a sequence of its own, since a
-- shared one would scatter the positions of a lane and make the evidence of claims grow with them.
CREATE TABLE {{.S}}.lanes (
    lane_id       integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    queue         text     NOT NULL REFERENCES {{.S}}.queues,
    priority      smallint NOT NULL CHECK (priority BETWEEN 1 AND 4),
    enqueue_shard smallint NOT NULL DEFAULT 0 CHECK (enqueue_shard BETWEEN 0 AND 63),
    seq           regclass NOT NULL,
    UNIQUE (queue, priority, enqueue_shard)
);

-- register_queue makes the lanes and their sequences. It is the installer's (SECURITY DEFINER): running the engine
-- needs no DDL (P12). It runs in a transaction of its own: CREATE SEQUENCE inside a producer's business transaction
-- would make the next producer of the queue wait for that commit (P5).
CREATE FUNCTION {{.S}}.register_queue(p_queue text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    v_lane integer;
BEGIN
    LOCK TABLE {{.S}}.queues IN SHARE ROW EXCLUSIVE MODE;
    PERFORM FROM {{.S}}.queues q WHERE q.queue = p_queue;
    IF FOUND THEN
        RETURN;
    END IF;
    INSERT INTO {{.S}}.queues (queue) VALUES (p_queue);
    FOR v_priority IN 1..4 LOOP
        v_lane := nextval(pg_get_serial_sequence({{.Literal "lanes"}}, 'lane_id'));
        EXECUTE format('CREATE SEQUENCE {{.S}}.%I', 'lane_seq_' || v_lane);
        INSERT INTO {{.S}}.lanes (lane_id, queue, priority, seq) OVERRIDING SYSTEM VALUE
        VALUES (v_lane, p_queue, v_priority, format('{{.S}}.%I', 'lane_seq_' || v_lane)::regclass);
    END LOOP;
END
$body$;

-- set_shards makes the lanes that are missing, of each priority. Lanes are never dropped: what is in one is handed out also when
-- no more comes. As register_queue it is the installer's, and runs in a transaction of its own. Whoever changes a row of queues
-- waits for it, and it for them: a pause, which takes the locks of all lanes, can't overlook new ones.
CREATE FUNCTION {{.S}}.set_shards(p_queue text, p_shards integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    v_lane integer;
BEGIN
    LOCK TABLE {{.S}}.queues IN SHARE ROW EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM {{.S}}.queues q WHERE q.queue = p_queue AND q.shards = p_shards) THEN
        RETURN;
    END IF;
    UPDATE {{.S}}.queues q SET shards = p_shards WHERE q.queue = p_queue;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'queue % is not registered', p_queue;
    END IF;
    FOR v_shard IN 1..p_shards - 1 LOOP
        CONTINUE WHEN EXISTS (SELECT FROM {{.S}}.lanes l WHERE l.queue = p_queue AND l.enqueue_shard = v_shard);
        FOR v_priority IN 1..4 LOOP
            v_lane := nextval(pg_get_serial_sequence({{.Literal "lanes"}}, 'lane_id'));
            EXECUTE format('CREATE SEQUENCE {{.S}}.%I', 'lane_seq_' || v_lane);
            INSERT INTO {{.S}}.lanes (lane_id, queue, priority, enqueue_shard, seq) OVERRIDING SYSTEM VALUE
            VALUES (v_lane, p_queue, v_priority, v_shard, format('{{.S}}.%I', 'lane_seq_' || v_lane)::regclass);
        END LOOP;
    END LOOP;
    UPDATE {{.S}}.lanes_version v SET version = v.version + 1;
END
$body$;
REVOKE EXECUTE ON FUNCTION {{.S}}.set_shards FROM PUBLIC;

CREATE SEQUENCE {{.S}}.job_id_seq;

-- batch_id of a claim; receipt_id = batch_id * 4096 + index, so that the receipts of one batch are one range and a
-- claim takes one value of a sequence, not one per job.
CREATE SEQUENCE {{.S}}.claim_batch_id_seq MAXVALUE 2251799813685247;

-- The rings' control plane ------------------------------------------------------------------------

-- One transaction at a time truncates in this schema; its row is only ever locked.
CREATE TABLE {{.S}}.prune_mutex (singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton));
INSERT INTO {{.S}}.prune_mutex DEFAULT VALUES;
{{range $ring := .Rings}}
-- {{$ring.Name}} ring. The state row is the ring's mutex and is never updated; the cursor is the newest row of the
-- rotation ledger (slot = generation mod slot_count). A generation in the prune ledger is spent: nothing may be written
-- into it any more, and its slot may be used again.
CREATE TABLE {{$.S}}.{{$ring.Name}}_ring_state (
    singleton  boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    slot_count integer NOT NULL CHECK (slot_count >= 2)
);
INSERT INTO {{$.S}}.{{$ring.Name}}_ring_state (slot_count) VALUES ({{len $ring.Slots}});

CREATE TABLE {{$.S}}.{{$ring.Name}}_ring_rotations (
    generation bigint PRIMARY KEY CHECK (generation >= 0),
    slot       smallint    NOT NULL,
    rotated_at timestamptz NOT NULL
);
INSERT INTO {{$.S}}.{{$ring.Name}}_ring_rotations VALUES (0, 0, now());

CREATE TABLE {{$.S}}.{{$ring.Name}}_ring_prunes (
    generation bigint PRIMARY KEY,
    slot       smallint    NOT NULL,
    pruned_at  timestamptz NOT NULL
);
{{end}}
-- The slot's lock row.
CREATE TABLE {{.S}}.queue_ring_slots (slot smallint PRIMARY KEY);
INSERT INTO {{.S}}.queue_ring_slots SELECT generate_series(0, {{len .QueueSlots}} - 1);
CREATE TABLE {{.S}}.lease_ring_slots (slot smallint PRIMARY KEY);
INSERT INTO {{.S}}.lease_ring_slots SELECT generate_series(0, {{len .LeaseSlots}} - 1);

-- The slot's lock row and where the sweeps of its claims, which are cyclic, go on: for stale attempts and for expired
-- deadlines, each in batches and in row-local claims, independent of one another. A cursor passes only what has nothing
-- to close left. Written only when it moved; cleared when the slot is pruned (hazard 9).
CREATE TABLE {{.S}}.claim_ring_slots (
    slot                              smallint PRIMARY KEY,
    batch_rescue_cursor_claimed_at    timestamptz,
    batch_rescue_cursor_batch_id      bigint,
    rescue_cursor_claimed_at          timestamptz,
    rescue_cursor_batch_id            bigint,
    batch_deadline_cursor_deadline_at timestamptz,
    batch_deadline_cursor_batch_id    bigint,
    deadline_cursor_deadline_at       timestamptz,
    deadline_cursor_batch_id          bigint,
    CHECK ((batch_rescue_cursor_claimed_at IS NULL) = (batch_rescue_cursor_batch_id IS NULL)),
    CHECK ((rescue_cursor_claimed_at IS NULL) = (rescue_cursor_batch_id IS NULL)),
    CHECK ((batch_deadline_cursor_deadline_at IS NULL) = (batch_deadline_cursor_batch_id IS NULL)),
    CHECK ((deadline_cursor_deadline_at IS NULL) = (deadline_cursor_batch_id IS NULL))
) WITH (fillfactor = 50);
INSERT INTO {{.S}}.claim_ring_slots SELECT generate_series(0, {{len .ClaimSlots}} - 1);

-- The queue ring: work and its history ------------------------------------------------------------

-- One immutable, wide row per enqueued, promoted or rescued job. run_lease and attempt are the values before its
-- claim: the attempt made from this row is run_lease + 1. A row is handed out at most once. A time_limit makes its claim
-- row-local: 0 for a claim of its own, more for a deadline of its own, too. Everything else is claimed compact.
CREATE TABLE {{.S}}.ready_entries (
    ready_generation bigint      NOT NULL,
    lane_seq         bigint      NOT NULL,
    job_id           bigint      NOT NULL,
    run_lease        bigint      NOT NULL,
    created_at       timestamptz NOT NULL,
    lane_id          integer     NOT NULL,
    attempt          integer     NOT NULL,
    max_attempts     integer     NOT NULL,
    ready_slot       smallint    NOT NULL,
    kind             text        NOT NULL,
    args             jsonb       NOT NULL,
    errors           jsonb,
    time_limit       interval    CHECK (time_limit >= '0'),
    available_at     timestamptz -- since when the job waits to be handed out, where that isn't created_at
) PARTITION BY LIST (ready_slot);

-- Which lane positions were handed out, one row per claim batch, written in the claim's transaction into the ready
-- rows' own slot. It is the only thing that says "claimed" to a claim: no claim table is read for that (P3).
CREATE TABLE {{.S}}.ready_claim_attempt_batches (
    ready_generation bigint         NOT NULL,
    batch_id         bigint         NOT NULL,
    lane_id          integer        NOT NULL,
    claimed_count    integer        NOT NULL CHECK (claimed_count > 0),
    ready_slot       smallint       NOT NULL,
    lane_seqs        int8multirange NOT NULL
) PARTITION BY LIST (ready_slot);

-- Lane positions that were spent although nobody was handed them: their jobs were cancelled. The same positions stand in
-- ready_claim_attempt_batches under the same batch_id, since that is where claims look; here it is said what they were.
CREATE TABLE {{.S}}.ready_tombstones (
    ready_generation bigint         NOT NULL,
    batch_id         bigint         NOT NULL,
    lane_id          integer        NOT NULL,
    tombstone_count  integer        NOT NULL CHECK (tombstone_count > 0),
    ready_slot       smallint       NOT NULL,
    lane_seqs        int8multirange NOT NULL
) PARTITION BY LIST (ready_slot);

-- Compact success history: the lane positions that one completion finished. Everything else about the jobs stands in
-- their ready rows, in the same slot and generation.
CREATE TABLE {{.S}}.receipt_completion_batches (
    ready_generation bigint         NOT NULL,
    batch_id         bigint         NOT NULL,
    completed_at     timestamptz    NOT NULL,
    lane_id          integer        NOT NULL,
    completed_count  integer        NOT NULL CHECK (completed_count > 0),
    ready_slot       smallint       NOT NULL,
    lane_seqs        int8multirange NOT NULL
) PARTITION BY LIST (ready_slot);

-- Ends that an operator took away, so that nobody takes their jobs for lost. With a lane_seq the row also hides a compact
-- success, whose batch can't be changed: it stands in that batch's slot, and is subtracted wherever the batch is counted.
-- Without one, the end's own row is gone. Either way it stands in a slot that is truncated no sooner than that of any ready
-- row of the job.
CREATE TABLE {{.S}}.receipt_completion_tombstones (
    ready_generation bigint   NOT NULL,
    lane_seq         bigint,
    job_id           bigint   NOT NULL,
    lane_id          integer  NOT NULL,
    ready_slot       smallint NOT NULL
) PARTITION BY LIST (ready_slot);

-- Terminal rows that are not a plain success, in two shapes. Narrow: the body columns, kind to created_at, are NULL and
-- hydrated from the ready row of the same slot, generation and lane position, which goes by the same TRUNCATE. Wide: the
-- row has its own body and no ready row: a job cancelled before it was ready, or a failed row that a prune has carried
-- on. Both have a position of the lane's sequence, so that no two rows ever meet in the key.
CREATE TABLE {{.S}}.done_entries (
    ready_generation bigint      NOT NULL,
    lane_seq         bigint      NOT NULL,
    job_id           bigint      NOT NULL,
    run_lease        bigint      NOT NULL,
    finalized_at     timestamptz NOT NULL,
    created_at       timestamptz,
    run_at           timestamptz, -- of a wide row that had one: when the job was due
    lane_id          integer     NOT NULL,
    attempt          integer     NOT NULL,
    max_attempts     integer,
    ready_slot       smallint    NOT NULL,
    state            text        NOT NULL CHECK (state IN ('failed', 'cancelled', 'completed')),
    kind             text,
    args             jsonb,
    errors           jsonb       NOT NULL,
    time_limit       interval,
    CHECK (num_nulls(kind, args, max_attempts, created_at) IN (0, 4))
) PARTITION BY LIST (ready_slot);

-- How many rows of each state done_entries has, kept so that nobody needs to count them: signed changes, in the slot and
-- generation of the rows that they are of, and what FoldCounts has made of those of a sealed slot. Both go with their slot, so
-- that neither has a row which is ever updated or deleted.
CREATE TABLE {{.S}}.queue_terminal_count_deltas (
    ready_generation bigint   NOT NULL,
    delta            bigint   NOT NULL,
    lane_id          integer  NOT NULL,
    ready_slot       smallint NOT NULL,
    state            text     NOT NULL
) PARTITION BY LIST (ready_slot);
CREATE TABLE {{.S}}.queue_terminal_live_counts (
    ready_generation bigint   NOT NULL,
    live_count       bigint   NOT NULL,
    lane_id          integer  NOT NULL,
    ready_slot       smallint NOT NULL,
    state            text     NOT NULL
) PARTITION BY LIST (ready_slot);

-- Whoever writes or deletes terminal rows changes the counts with them, in the same statement: no path can forget it. A
-- statement fires the trigger of the table that it names. A prune's TRUNCATE takes rows and counts alike, and fires nothing.
CREATE FUNCTION {{.S}}.count_terminal_rows() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO {{.S}}.queue_terminal_count_deltas (ready_slot, ready_generation, lane_id, state, delta)
        SELECT ready_slot, ready_generation, lane_id, state, count(*) FROM these GROUP BY 1, 2, 3, 4;
    ELSE
        INSERT INTO {{.S}}.queue_terminal_count_deltas (ready_slot, ready_generation, lane_id, state, delta)
        SELECT ready_slot, ready_generation, lane_id, state, -count(*) FROM these GROUP BY 1, 2, 3, 4;
    END IF;
    RETURN NULL;
END
$body$;
CREATE TRIGGER count_added AFTER INSERT ON {{.S}}.done_entries
    REFERENCING NEW TABLE AS these FOR EACH STATEMENT EXECUTE FUNCTION {{.S}}.count_terminal_rows();
CREATE TRIGGER count_removed AFTER DELETE ON {{.S}}.done_entries
    REFERENCING OLD TABLE AS these FOR EACH STATEMENT EXECUTE FUNCTION {{.S}}.count_terminal_rows();
{{range .QueueSlots}}
CREATE TABLE {{$.S}}.ready_entries_{{.}} PARTITION OF {{$.S}}.ready_entries FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE UNIQUE INDEX ON {{$.S}}.ready_entries_{{.}} (lane_id, lane_seq);
CREATE INDEX ON {{$.S}}.ready_entries_{{.}} USING brin (job_id) WITH (pages_per_range = 32);
CREATE TABLE {{$.S}}.ready_claim_attempt_batches_{{.}} PARTITION OF {{$.S}}.ready_claim_attempt_batches
    FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE UNIQUE INDEX ON {{$.S}}.ready_claim_attempt_batches_{{.}} (lane_id, batch_id);
CREATE TABLE {{$.S}}.ready_tombstones_{{.}} PARTITION OF {{$.S}}.ready_tombstones FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE TABLE {{$.S}}.receipt_completion_batches_{{.}} PARTITION OF {{$.S}}.receipt_completion_batches
    FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE TABLE {{$.S}}.receipt_completion_tombstones_{{.}} PARTITION OF {{$.S}}.receipt_completion_tombstones
    FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE UNIQUE INDEX ON {{$.S}}.receipt_completion_tombstones_{{.}} (lane_id, lane_seq) WHERE lane_seq IS NOT NULL;
CREATE TABLE {{$.S}}.done_entries_{{.}} PARTITION OF {{$.S}}.done_entries FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE UNIQUE INDEX ON {{$.S}}.done_entries_{{.}} (lane_id, lane_seq);
CREATE INDEX ON {{$.S}}.done_entries_{{.}} (job_id);
CREATE TRIGGER count_added AFTER INSERT ON {{$.S}}.done_entries_{{.}}
    REFERENCING NEW TABLE AS these FOR EACH STATEMENT EXECUTE FUNCTION {{$.S}}.count_terminal_rows();
CREATE TRIGGER count_removed AFTER DELETE ON {{$.S}}.done_entries_{{.}}
    REFERENCING OLD TABLE AS these FOR EACH STATEMENT EXECUTE FUNCTION {{$.S}}.count_terminal_rows();
CREATE TABLE {{$.S}}.queue_terminal_count_deltas_{{.}} PARTITION OF {{$.S}}.queue_terminal_count_deltas
    FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE TABLE {{$.S}}.queue_terminal_live_counts_{{.}} PARTITION OF {{$.S}}.queue_terminal_live_counts
    FOR VALUES IN ({{.}}) {{$.NoVacuum}};
{{end}}
-- The claim ring: attempts and their ends ---------------------------------------------------------

-- One row per claim call, lane and ready generation: what was handed out. The i-th member (from 0) has the receipt
-- batch_id * 4096 + i.
CREATE TABLE {{.S}}.lease_claim_batches (
    claim_generation bigint         NOT NULL,
    batch_id         bigint         NOT NULL,
    claimed_at       timestamptz    NOT NULL,
    ready_generation bigint         NOT NULL,
    lane_id          integer        NOT NULL,
    claimed_count    integer        NOT NULL CHECK (claimed_count BETWEEN 1 AND 4096),
    claim_slot       smallint       NOT NULL,
    ready_slot       smallint       NOT NULL,
    receipt_ranges   int8multirange NOT NULL,
    job_ids          bigint[]       NOT NULL,
    run_leases       bigint[]       NOT NULL,
    lane_seqs        bigint[]       NOT NULL,
    deadline_at      timestamptz
) PARTITION BY LIST (claim_slot);

-- A row-local claim: one attempt, of a job that brings its own time limit, so that its deadline differs from its
-- neighbours', or that asks for a claim of its own, so that a lock on it keeps nobody else waiting. Its batch_id is its
-- own, from the same sequence; its receipt is batch_id * 4096.
CREATE TABLE {{.S}}.lease_claims (
    claim_generation bigint      NOT NULL,
    batch_id         bigint      NOT NULL,
    claimed_at       timestamptz NOT NULL,
    deadline_at      timestamptz,
    ready_generation bigint      NOT NULL,
    lane_seq         bigint      NOT NULL,
    job_id           bigint      NOT NULL,
    run_lease        bigint      NOT NULL,
    lane_id          integer     NOT NULL,
    claim_slot       smallint    NOT NULL,
    ready_slot       smallint    NOT NULL
) PARTITION BY LIST (claim_slot);

-- The end of attempts, in their claim's slot, whatever the outcome: an attempt is open while no row here covers its
-- receipt. The ranges of two rows never overlap (P3); PruneClaims and PruneQueue prove that before they truncate.
CREATE TABLE {{.S}}.lease_claim_closure_batches (
    claim_generation bigint         NOT NULL,
    batch_id         bigint         NOT NULL,
    closed_at        timestamptz    NOT NULL,
    ready_generation bigint         NOT NULL,
    lane_id          integer        NOT NULL,
    closed_count     integer        NOT NULL CHECK (closed_count > 0),
    claim_slot       smallint       NOT NULL,
    ready_slot       smallint       NOT NULL,
    outcome          text           NOT NULL CHECK (outcome IN (
                         'completed', 'failed', 'retried', 'snoozed', 'cancelled', 'rescued', 'deadline_expired', 'callback_timeout', 'dlq')),
    receipt_ranges   int8multirange NOT NULL
) PARTITION BY LIST (claim_slot);

-- The end of row-local attempts. A closure follows its claim's shape on every path: the proofs look for it there, and
-- one of the other shape would leave the claim open for ever.
CREATE TABLE {{.S}}.lease_claim_closures (
    claim_generation bigint      NOT NULL,
    receipt_id       bigint      NOT NULL,
    closed_at        timestamptz NOT NULL,
    ready_generation bigint      NOT NULL,
    lane_id          integer     NOT NULL,
    claim_slot       smallint    NOT NULL,
    ready_slot       smallint    NOT NULL,
    outcome          text        NOT NULL CHECK (outcome IN ('completed', 'failed', 'retried', 'snoozed', 'cancelled', 'rescued',
                                                              'deadline_expired', 'callback_timeout', 'dlq'))
) PARTITION BY LIST (claim_slot);

-- The indexes of claims by time are for the sweeps alone. Their expression keeps them so: where statistics call a child
-- empty, every index costs nothing, and a batch would be looked for by going through all of an index on (claimed_at,
-- batch_id). Those by deadline hold nothing where no deadline is set.
{{range .ClaimSlots}}
CREATE TABLE {{$.S}}.lease_claim_batches_{{.}} PARTITION OF {{$.S}}.lease_claim_batches
    FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE UNIQUE INDEX ON {{$.S}}.lease_claim_batches_{{.}} (batch_id);
CREATE INDEX ON {{$.S}}.lease_claim_batches_{{.}} (claimed_at, (batch_id + 0));
CREATE INDEX ON {{$.S}}.lease_claim_batches_{{.}} (deadline_at, (batch_id + 0)) WHERE deadline_at IS NOT NULL;
CREATE TABLE {{$.S}}.lease_claims_{{.}} PARTITION OF {{$.S}}.lease_claims FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE UNIQUE INDEX ON {{$.S}}.lease_claims_{{.}} (batch_id);
CREATE INDEX ON {{$.S}}.lease_claims_{{.}} (claimed_at, (batch_id + 0));
CREATE INDEX ON {{$.S}}.lease_claims_{{.}} (deadline_at, (batch_id + 0)) WHERE deadline_at IS NOT NULL;
CREATE TABLE {{$.S}}.lease_claim_closure_batches_{{.}} PARTITION OF {{$.S}}.lease_claim_closure_batches
    FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE INDEX ON {{$.S}}.lease_claim_closure_batches_{{.}} (batch_id);
CREATE TABLE {{$.S}}.lease_claim_closures_{{.}} PARTITION OF {{$.S}}.lease_claim_closures FOR VALUES IN ({{.}}) {{$.NoVacuum}};
CREATE UNIQUE INDEX ON {{$.S}}.lease_claim_closures_{{.}} (receipt_id);
{{end}}
-- The lease ring: attempts that wait for an answer from outside --------------------------------------

-- One row per parked attempt, there exactly while it waits: its callback, its timeout or whatever closes the attempt
-- takes it away. It goes into the slot that is current at the park, so that the second wait of an attempt may stand
-- elsewhere than the first: nobody remembers where, it is found by (job_id, run_lease) (hazard 6). The place of the claim
-- is for the sweep of timeouts. A slot is truncated when it is empty.
CREATE TABLE {{.S}}.leases (
    lease_generation bigint      NOT NULL,
    job_id           bigint      NOT NULL,
    run_lease        bigint      NOT NULL,
    receipt_id       bigint      NOT NULL,
    claim_generation bigint      NOT NULL,
    ready_generation bigint      NOT NULL,
    parked_at        timestamptz NOT NULL,
    timeout_at       timestamptz,
    lane_id          integer     NOT NULL,
    lease_slot       smallint    NOT NULL,
    local            boolean     NOT NULL, -- the claim's shape
    token            bytea       NOT NULL CHECK (octet_length(token) = 16)
) PARTITION BY LIST (lease_slot);

-- Rows go one by one here, so that these children are vacuumed like any table: an attempt that waits for days keeps its
-- slot, and a ring full of such slots can't turn.
{{range .LeaseSlots}}
CREATE TABLE {{$.S}}.leases_{{.}} PARTITION OF {{$.S}}.leases FOR VALUES IN ({{.}});
CREATE UNIQUE INDEX ON {{$.S}}.leases_{{.}} (job_id, run_lease);
CREATE INDEX ON {{$.S}}.leases_{{.}} (receipt_id);
CREATE INDEX ON {{$.S}}.leases_{{.}} (timeout_at) WHERE timeout_at IS NOT NULL;
{{end}}
-- Outside the rings -------------------------------------------------------------------------------

-- Jobs that may not run yet. A job enqueued in a caller's REPEATABLE READ or SERIALIZABLE transaction waits here, due
-- at once: such a transaction can't see whether its ring slot was pruned meanwhile, and this table is in no ring.
CREATE TABLE {{.S}}.deferred_jobs (
    job_id       bigint PRIMARY KEY,
    run_lease    bigint      NOT NULL,
    run_at       timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    lane_id      integer     NOT NULL,
    attempt      integer     NOT NULL,
    max_attempts integer     NOT NULL,
    state        text        NOT NULL CHECK (state IN ('scheduled', 'retryable')),
    kind         text        NOT NULL,
    args         jsonb       NOT NULL,
    errors       jsonb,
    time_limit   interval    CHECK (time_limit >= '0')
);
CREATE INDEX ON {{.S}}.deferred_jobs (run_at, job_id);

-- Failed jobs that are held for an operator: outside of the rings, so that no prune rewrites them, with bodies of their own,
-- until they are retried or purged. A job that is here has no failed row (P2).
CREATE TABLE {{.S}}.dlq_entries (
    job_id       bigint PRIMARY KEY,
    run_lease    bigint      NOT NULL,
    dlq_at       timestamptz NOT NULL, -- when it came here: what its retention counts from
    finalized_at timestamptz NOT NULL, -- when it failed
    created_at   timestamptz NOT NULL,
    lane_id      integer     NOT NULL,
    attempt      integer     NOT NULL,
    max_attempts integer     NOT NULL,
    kind         text        NOT NULL,
    args         jsonb       NOT NULL,
    errors       jsonb       NOT NULL,
    time_limit   interval    CHECK (time_limit >= '0')
);
CREATE INDEX ON {{.S}}.dlq_entries (dlq_at, job_id);
CREATE INDEX ON {{.S}}.dlq_entries (lane_id, job_id);

-- What a running attempt has told of itself, or was told from outside: made when it first is, deleted by whatever closes the attempt, in the same
-- transaction. So there is no row of an attempt that is over, and few rows at all. The receipt leads from a claim batch
-- to those of its attempts that have one.
CREATE TABLE {{.S}}.attempt_state (
    job_id       bigint      NOT NULL,
    run_lease    bigint      NOT NULL,
    receipt_id   bigint      NOT NULL UNIQUE,
    heartbeat_at timestamptz,
    percent      smallint    CHECK (percent BETWEEN 0 AND 100),
    message      text,
    metadata     jsonb,
    -- leased: the attempt was parked once, so that whoever closes it looks for a lease. callback is the answer that was
    -- delivered last, callback_token whose it is. early are answers that came before their park, by token (hazard 33).
    leased         boolean NOT NULL DEFAULT false,
    callback_token bytea   CHECK (octet_length(callback_token) = 16),
    callback       jsonb,
    early          jsonb   CHECK (jsonb_typeof(early) = 'object'),
    PRIMARY KEY (job_id, run_lease)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

-- Who holds a unique key, and who held it before. Whether the job still does, the job's own rows say: nothing is released
-- when it ends. A key that was taken from a job that had ended leaves its row, no longer active, so that a job which is
-- made live again can ask for its key. held_in has a bit for each terminal state in which the key is kept: completed 1,
-- failed 2, cancelled 4, dlq 8.
CREATE TABLE {{.S}}.unique_claims (
    job_id     bigint   PRIMARY KEY,
    unique_key bytea    NOT NULL CHECK (octet_length(unique_key) = 32),
    held_in    smallint NOT NULL CHECK (held_in BETWEEN 0 AND 15),
    active     boolean  NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX ON {{.S}}.unique_claims (unique_key) WHERE active;

-- What pruning removed, for ever. Written only by PruneQueue, in its transaction; never decreases (P8, P9).
CREATE TABLE {{.S}}.queue_terminal_rollups (
    queue                  text PRIMARY KEY,
    pruned_completed_count bigint NOT NULL CHECK (pruned_completed_count >= 0),
    pruned_failed_count    bigint NOT NULL CHECK (pruned_failed_count >= 0)
) WITH (fillfactor = 50);

-- The public way to read history: every terminal row in its wide shape, whatever shape it is stored in. Like every reader
-- of the rings it is exact in one READ COMMITTED statement; TRUNCATE is not MVCC, so that a REPEATABLE READ transaction
-- may miss rows that a prune took after its snapshot (hazard 10).
CREATE VIEW {{.S}}.terminal_jobs AS
SELECT r.job_id, l.queue, l.priority, l.enqueue_shard, 'completed'::text AS state, c.completed_at AS finalized_at,
       r.run_lease + 1 AS run_lease, r.attempt + 1 AS attempt, r.max_attempts, r.created_at, NULL::timestamptz AS run_at,
       r.time_limit, r.kind, r.args, coalesce(r.errors, '[]') AS errors
  FROM {{.S}}.receipt_completion_batches c
 CROSS JOIN LATERAL unnest(c.lane_seqs) AS s(seqs)
  JOIN {{.S}}.ready_entries r
    ON r.ready_slot = c.ready_slot AND r.ready_generation = c.ready_generation AND r.lane_id = c.lane_id
   AND r.lane_seq >= lower(s.seqs) AND r.lane_seq < upper(s.seqs)
  JOIN {{.S}}.lanes l ON l.lane_id = c.lane_id
 WHERE NOT EXISTS (SELECT FROM {{.S}}.receipt_completion_tombstones t
                    WHERE t.ready_slot = r.ready_slot AND t.ready_generation = r.ready_generation AND t.lane_id = r.lane_id AND t.lane_seq = r.lane_seq)
 UNION ALL
SELECT d.job_id, l.queue, l.priority, l.enqueue_shard, d.state, d.finalized_at,
       d.run_lease, d.attempt, coalesce(d.max_attempts, r.max_attempts), coalesce(d.created_at, r.created_at), d.run_at,
       coalesce(d.time_limit, r.time_limit), coalesce(d.kind, r.kind), coalesce(d.args, r.args), d.errors
  FROM {{.S}}.done_entries d
  JOIN {{.S}}.lanes l ON l.lane_id = d.lane_id
  LEFT JOIN {{.S}}.ready_entries r
    ON d.kind IS NULL AND r.ready_slot = d.ready_slot AND r.ready_generation = d.ready_generation
   AND r.lane_id = d.lane_id AND r.lane_seq = d.lane_seq
 UNION ALL
SELECT d.job_id, l.queue, l.priority, l.enqueue_shard, 'dlq', d.finalized_at,
       d.run_lease, d.attempt, d.max_attempts, d.created_at, NULL, d.time_limit, d.kind, d.args, d.errors
  FROM {{.S}}.dlq_entries d
  JOIN {{.S}}.lanes l ON l.lane_id = d.lane_id;
