package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/awa-engine/awa/engine"
)

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cases := map[string]struct {
		change func(*engine.Config)
		names  string
	}{
		"starts with a digit": {func(c *engine.Config) { c.Schema = "1a" }, `"1a"`},
		"a hyphen":            {func(c *engine.Config) { c.Schema = "a-b" }, `"a-b"`},
		"a space":             {func(c *engine.Config) { c.Schema = "a b" }, `"a b"`},
		"a quote":             {func(c *engine.Config) { c.Schema = `a"b` }, `"a\"b"`},
		"a semicolon":         {func(c *engine.Config) { c.Schema = "a;drop" }, `"a;drop"`},
		"a NUL":               {func(c *engine.Config) { c.Schema = "a\x00" }, `"a\x00"`},
		"a line break":        {func(c *engine.Config) { c.Schema = "a\n" }, `"a\n"`},
		"not ASCII":           {func(c *engine.Config) { c.Schema = "schön" }, `"schön"`},
		"not UTF-8":           {func(c *engine.Config) { c.Schema = "a\xff" }, `"a\xff"`},
		"the server's own":    {func(c *engine.Config) { c.Schema = "pg_awa" }, `"pg_awa"`},
		"64 bytes":            {func(c *engine.Config) { c.Schema = strings.Repeat("a", 64) }, "aaaa"},
		"no queue ring":       {slots(-1, 2), "QueueSlots -1"},
		"one queue slot":      {slots(1, 2), "QueueSlots 1"},
		"three queue slots":   {slots(3, 2), "QueueSlots 3"},
		"65 queue slots":      {slots(65, 2), "QueueSlots 65"},
		"one claim slot":      {slots(4, 1), "ClaimSlots 1"},
		"65 claim slots":      {slots(4, 65), "ClaimSlots 65"},
		"negative args":       {func(c *engine.Config) { c.MaxArgsBytes = -1 }, "MaxArgsBytes -1"},
		"args of a gigabyte":  {func(c *engine.Config) { c.MaxArgsBytes = 1 << 30 }, "MaxArgsBytes 1073741824"},
		"negative wait":       {func(c *engine.Config) { c.MaintenanceLockTimeout = -time.Second }, "-1s"},
		"a wait of nothing":   {func(c *engine.Config) { c.MaintenanceLockTimeout = time.Microsecond }, "1µs"},
		"an endless wait":     {func(c *engine.Config) { c.MaintenanceLockTimeout = math.MaxInt64 }, "MaintenanceLockTimeout"},
		"a bad queue":         {func(c *engine.Config) { c.Queues = map[string]engine.QueueConfig{"": {}} }, `queue ""`},
		"a negative aging":    {func(c *engine.Config) { c.Queues = map[string]engine.QueueConfig{"q": {Aging: -1}} }, `"q" Aging -1ns`},
		"a tiny aging":        {func(c *engine.Config) { c.Queues = map[string]engine.QueueConfig{"q": {Aging: 1}} }, `"q" Aging 1ns`},
		"negative attempts":   {func(c *engine.Config) { c.Queues = map[string]engine.QueueConfig{"q": {MaxAttempts: -1}} }, `"q" MaxAttempts -1`},
	}
	for name, c := range cases {
		cfg := smallRings("never_made")
		c.change(&cfg)
		wantError(t, engine.Migrate(t.Context(), b.pool, cfg), engine.ErrInvalid, "Migrate", c.names)
		if _, err := engine.Open(t.Context(), b.pool, cfg); err == nil {
			t.Errorf("%s: Open takes it", name)
		} else {
			wantError(t, err, engine.ErrInvalid, "Open", c.names)
		}
	}
	if n := one[int](t, b, `SELECT count(*) FROM pg_namespace WHERE nspname IN ('never_made', '1a', 'a-b', 'a b', 'a"b', 'a;drop', 'schön')`); n > 0 {
		t.Errorf("%d schemas were made", n)
	}
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 1)
	before := b.rowCounts(t)
	for name, want := range map[string]string{
		"":                              `""`,
		strings.Repeat("n", 129):        "129 bytes",
		"nul\x00":                       `"nul\x00"`,
		"broken \xc3(":                  `"broken \xc3("`,
		"half a surrogate \xed\xa0\x80": "not valid UTF-8",
	} {
		_, err := b.Enqueue(t.Context(), engine.JobParams{Queue: name, Kind: "k"})
		wantError(t, err, engine.ErrInvalid, "Enqueue", "queue", want)
		_, err = b.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: name})
		wantError(t, err, engine.ErrInvalid, "Enqueue", "kind", want)
		_, err = b.EnqueueMany(t.Context(), []engine.JobParams{{Queue: "q", Kind: "k"}, {Queue: name, Kind: "k"}})
		wantError(t, err, engine.ErrInvalid, "EnqueueMany", "queue", want)
		wantError(t, b.RegisterQueue(t.Context(), name), engine.ErrInvalid, "RegisterQueue", want)
		_, err = b.Claim(t.Context(), name, 1)
		wantError(t, err, engine.ErrInvalid, "Claim", want)
		_, err = b.Counts(t.Context(), name)
		wantError(t, err, engine.ErrInvalid, "Counts", want)
	}
	b.wantUnchanged(t, before)
}

// Names are any text: what looks like SQL, a path or a format is only a name.
func TestOddNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{
		`'; DROP SCHEMA public; --`, `"`, "%s %d", "a\nb\tc", "💥", strings.Repeat("é", 64), " ", "\u200b", "\U0010FFFF", "{}", "$1",
	} {
		id, err := b.Enqueue(t.Context(), engine.JobParams{Queue: name, Kind: name})
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if a := b.claim(t, name, 1)[0]; a.Queue != name || a.Kind != name || a.Receipt.JobID() != id {
			t.Errorf("%q came out as %+v", name, a)
		}
	}
}

func TestBadArgs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 1)
	before := b.rowCounts(t)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	for args, want := range map[string]string{
		``:                          "not JSON",
		` `:                         "not JSON",
		`{`:                         "not JSON",
		`{} {}`:                     "not JSON",
		`'a'`:                       "not JSON",
		`NaN`:                       "not JSON",
		`[Infinity]`:                "not JSON",
		"\"a\x00\"":                 "not JSON",
		"\"\xff\"":                  "not valid UTF-8",
		`"\u0000"`:                  "U+0000",
		`{"a\u0000b": 1}`:           "U+0000",
		`{"a": ["\\\u0000"]}`:       "U+0000",
		`"\ud83d"`:                  "surrogate",
		`"\ude00"`:                  "surrogate",
		`"\ud83d\ud83d"`:            "surrogate",
		`"\ud83d x \ude00"`:         "surrogate",
		`"\ud83d\\ude00"`:           "surrogate",
		`1e1001`:                    "exponent",
		`-1e-1001`:                  "exponent",
		`[1E+99999999999999999999]`: "exponent",
		strings.Repeat("9", 1001):   "digits",
		strings.Repeat("[", 513) + strings.Repeat("]", 513): "nested",
		`"` + strings.Repeat("a", 1<<20) + `"`:              "1048578 bytes, at most 1048576",
	} {
		job := engine.JobParams{Queue: "q", Kind: "k", Args: json.RawMessage(args)}
		_, err := b.Enqueue(t.Context(), job)
		wantError(t, err, engine.ErrInvalid, "Enqueue", "args", want)
		_, err = b.EnqueueMany(t.Context(), []engine.JobParams{{Queue: "q", Kind: "k"}, job})
		wantError(t, err, engine.ErrInvalid, "EnqueueMany", "args", want)
		_, err = b.EnqueueTx(t.Context(), tx, engine.JobParams{Queue: "q", Kind: "k"}, job)
		wantError(t, err, engine.ErrInvalid, "EnqueueTx", "args", want)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("the caller's transaction isn't usable any more: %v", err)
	}
	b.wantUnchanged(t, before)
}

// The limit of the configuration counts, and the last byte still fits.
func TestArgsUpToTheLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := smallRings(b.schema)
	cfg.MaxArgsBytes = 10
	e, err := engine.Open(t.Context(), b.pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", Args: []byte(`"12345678"`)}); err != nil {
		t.Error(err)
	}
	_, err = e.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", Args: []byte(`"123456789"`)})
	wantError(t, err, engine.ErrInvalid, "11 bytes, at most 10")
}

func TestBadNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 1)
	good := b.claim(t, "q", 1)[0].Receipt
	before := b.rowCounts(t)
	ctx := t.Context()
	enqueue := func(j engine.JobParams) func() error {
		return func() error {
			j.Queue, j.Kind = "q", "k"
			_, err := b.Enqueue(ctx, j)
			return err
		}
	}
	claim := func(n int) func() error { return func() error { _, err := b.Claim(ctx, "q", n); return err } }
	promote := func(n int) func() error { return func() error { _, err := b.Promote(ctx, n); return err } }
	rescue := func(d time.Duration, n int) func() error {
		return func() error { _, err := b.RescueStale(ctx, d, n); return err }
	}
	prune := func(d time.Duration) func() error { return func() error { _, err := b.PruneQueue(ctx, d); return err } }
	for _, c := range []struct {
		call func() error
		want string
	}{
		{enqueue(engine.JobParams{Priority: -1}), "priority -1"},
		{enqueue(engine.JobParams{Priority: 5}), "priority 5"},
		{enqueue(engine.JobParams{MaxAttempts: -1}), "MaxAttempts -1"},
		{enqueue(engine.JobParams{MaxAttempts: math.MaxInt}), "MaxAttempts 9223372036854775807"},
		{func() error { _, err := b.EnqueueMany(ctx, make([]engine.JobParams, 100_001)); return err }, "jobs 100001"},
		{claim(0), "limit 0"},
		{claim(-1), "limit -1"},
		{claim(4097), "limit 4097"},
		{promote(0), "limit 0"},
		{promote(-7), "limit -7"},
		{promote(10_001), "limit 10001"},
		{rescue(-1, 1), "staleAfter -1ns"},
		{rescue(math.MaxInt64, 1), "staleAfter 2562047h"},
		{rescue(time.Second, 0), "budget 0"},
		{rescue(time.Second, -1), "budget -1"},
		{rescue(time.Second, 10_001), "budget 10001"},
		{prune(-time.Hour), "failedRetention -1h"},
		{prune(math.MaxInt64), "failedRetention 2562047h"},
		{prune(math.MinInt64), "failedRetention -2562047h"},
		{func() error { _, err := b.Complete(ctx, []engine.Receipt{good, {}}); return err }, "receipt 1 of the call"},
		{func() error { _, err := b.Complete(ctx, make([]engine.Receipt, 10_001)); return err }, "10001 receipts"},
		{func() error { _, err := b.Fail(ctx, []engine.Failure{{Message: "m"}}); return err }, "receipt 0 of the call"},
	} {
		wantError(t, c.call(), engine.ErrInvalid, c.want)
	}
	b.wantUnchanged(t, before)
}

func TestEmptyCallsDoNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	before := b.rowCounts(t)
	if ids, err := b.EnqueueMany(ctx, nil); err != nil || ids != nil {
		t.Error(ids, err)
	}
	if ids, err := b.EnqueueTx(ctx, begin(t, b.pool, pgx.ReadCommitted)); err != nil || ids != nil {
		t.Error(ids, err)
	}
	if results, err := b.Complete(ctx, nil); err != nil || results != nil {
		t.Error(results, err)
	}
	if results, err := b.Fail(ctx, nil); err != nil || results != nil {
		t.Error(results, err)
	}
	b.wantUnchanged(t, before)
}

// Whatever passes the check can be stored: the server never has to refuse it, which would abort a caller's transaction.
func TestAcceptedArgsAreStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := server.TestPool(t, 2)
	rapid.Check(t, func(t *rapid.T) {
		var jobs []engine.JobParams
		for range 20 {
			args := jsonText(3).Draw(t, "args")
			jobs = append(jobs, engine.JobParams{Queue: "q", Kind: "k", Args: json.RawMessage(args)})
		}
		err := pgx.BeginFunc(context.Background(), pool, func(tx pgx.Tx) error {
			accepted := 0
			for _, j := range jobs {
				switch _, err := b.EnqueueTx(context.Background(), tx, j); {
				case err == nil:
					accepted++
				case strings.Contains(err.Error(), "SQLSTATE"):
					return fmt.Errorf("args %s passed the check: %w", j.Args, err)
				}
			}
			if n := len(jobs); accepted == 0 {
				t.Logf("all of %d were refused", n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// jsonText is JSON, or nearly: with escapes and numbers that JSON takes and the server may not.
func jsonText(depth int) *rapid.Generator[string] {
	escape := rapid.OneOf(
		rapid.StringMatching(`\\u[0-9a-fA-F]{4}`),
		rapid.StringMatching(`\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`),
		rapid.SampledFrom([]string{`\u0000`, `\uffff`, `\ud800`, `\udfff`, `\n`, `\\`, `\"`, `\/`, `\\u0000`, `\x`, "\x7f", "\u2028"}),
	)
	text := rapid.Custom(func(t *rapid.T) string {
		pieces := rapid.SliceOfN(rapid.OneOf(rapid.StringN(0, 4, 12), escape), 0, 4).Draw(t, "pieces")
		return `"` + strings.NewReplacer("\n", "", "\r", "").Replace(strings.Join(pieces, "")) + `"`
	})
	number := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,6})?`),
		rapid.Map(rapid.IntRange(990, 1010), func(n int) string { return strings.Repeat("7", n) }),
		rapid.SampledFrom([]string{"-0", "1e1000", "1e-1000", "0.000", "1e01", "-1.5E+0"}),
	)
	leaf := rapid.OneOf(text, number, rapid.SampledFrom([]string{"null", "true", "false", "{}", "[]"}))
	if depth == 0 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[string] { return jsonText(depth - 1) })
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(s []string) string { return "[" + strings.Join(s, ", ") + "]" }),
		rapid.Custom(func(t *rapid.T) string {
			var members []string
			for range rapid.IntRange(0, 3).Draw(t, "members") {
				members = append(members, text.Draw(t, "key")+":"+inner.Draw(t, "value"))
			}
			return "{" + strings.Join(members, ",") + "}"
		}),
		rapid.Map(rapid.IntRange(500, 520), func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }),
	)
}

// What a worker reports of its failure is always stored, in a form that keeps what can be kept: an attempt must not stay
// open because of the text.
func TestFailureMessagesAreAlwaysStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		message := string(rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 40),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
			rapid.Map(rapid.IntRange(8100, 8300), func(n int) []byte { return []byte("x" + strings.Repeat("é", n/2)) }),
		).Draw(rt, "message"))
		id, err := b.Enqueue(context.Background(), engine.JobParams{Queue: "q", Kind: "k"})
		if err != nil {
			rt.Fatal(err)
		}
		attempts, err := b.Claim(context.Background(), "q", 1)
		if err != nil || len(attempts) != 1 {
			rt.Fatal(attempts, err)
		}
		results, err := b.Fail(context.Background(), []engine.Failure{{Receipt: attempts[0].Receipt, Message: message}})
		if err != nil || results[0].Err != nil {
			rt.Fatalf("message %q: %v %v", message, results, err)
		}
		job, err := b.Job(context.Background(), id)
		if err != nil || len(job.Errors) != 1 {
			rt.Fatal(job, err)
		}
		stored := job.Errors[0].Error
		if !utf8.ValidString(stored) || strings.Contains(stored, "\x00") || len(stored) > 8<<10 {
			rt.Fatalf("message %q was stored as %q", message, stored)
		}
		if utf8.ValidString(message) && !strings.Contains(message, "\x00") && !strings.HasPrefix(message, stored) {
			rt.Fatalf("message %q could be stored, but became %q", message, stored)
		}
	})
}
