package tla

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Bounds of one run of tla-checker. Reaching one is an error, not a verdict.
const (
	mostStates = 4_000_000
	mostDepth  = 1_000_000
)

// wasmChecker runs tla-checker, compiled once, in a fresh instance per call, so that no run sees the memory of another.
type wasmChecker struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
	version string
}

func newWasmChecker(ctx context.Context, wasm []byte, version string) (*wasmChecker, error) {
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	module, err := runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("compiling tla-checker: %w", err), runtime.Close(ctx))
	}
	return &wasmChecker{runtime, module, version}, nil
}

func (w *wasmChecker) Name() string                    { return TLAChecker }
func (w *wasmChecker) Version() string                 { return w.version }
func (w *wasmChecker) Close(ctx context.Context) error { return w.runtime.Close(ctx) }

// Check leaves out what tla-checker is known to misjudge. It takes a step that changes nothing for no step, so that
// deadlocks are looked for in the graph. It only looks at the parts of the graph that can't be left again, so that it
// finds some violations of P ~> Q and []<>P and proves none absent; <>P it confuses with []<>P.
func (w *wasmChecker) Check(ctx context.Context, task Task) (Outcome, error) {
	cfg, err := readConfig(task.Specs, task.Config)
	if err != nil {
		return Outcome{}, err
	}
	text, err := flatten(task.Specs, task.Module)
	if err != nil {
		return Outcome{}, err
	}
	defs := definitionsOf(text)
	if why := beyondTLAChecker(text, cfg, defs); why != "" {
		return Outcome{}, &NeedsTLCError{task.Module, task.Config, why}
	}
	wantsGraph := task.Graph || !cfg.allowDeadlock
	answer, err := w.explore(ctx, text, cfg, wantsGraph)
	if err != nil {
		return Outcome{}, fmt.Errorf("tla-checker on %s with %s: %w", task.Module, task.Config, err)
	}
	outcome, err := answer.verdict(cfg)
	if err != nil {
		return Outcome{}, fmt.Errorf("tla-checker on %s with %s: %w", task.Module, task.Config, err)
	}
	if outcome.Got != Pass {
		return outcome, nil
	}
	if len(cfg.properties) > 0 {
		return Outcome{}, &NeedsTLCError{task.Module, task.Config, "tla-checker finds no counterexample to " + strings.Join(cfg.properties, ", ") + ", which proves nothing"}
	}
	if !wantsGraph {
		return outcome, nil
	}
	graph, err := w.graph(ctx, text, cfg, answer.Dot)
	if err != nil {
		return Outcome{}, fmt.Errorf("tla-checker on %s with %s: %w", task.Module, task.Config, err)
	}
	if stuck := graph.stuck(); stuck != "" && !cfg.allowDeadlock {
		outcome.Got, outcome.Trace = Deadlock, stuck
		return outcome, nil
	}
	outcome.Depth = graph.depth()
	if task.Graph {
		outcome.Graph = &graph
		outcome.Unfired = unfired(defs.actions(defs.next(cfg)), graph.fired())
	}
	return outcome, nil
}

// beyondTLAChecker says why a spec can't be judged by tla-checker at all, "" when it can.
func beyondTLAChecker(text string, cfg config, defs definitions) string {
	if instanceWord.MatchString(text) {
		return "tla-checker takes one module and knows no INSTANCE of another"
	}
	if cfg.overrides {
		return "tla-checker knows no replacement of definitions (<-)"
	}
	for _, p := range cfg.properties {
		if defs.safetyProperty(p) {
			return "tla-checker knows no action properties, and " + p + " is one"
		}
		if strings.HasPrefix(strings.TrimSpace(defs[p]), "<>") {
			return "tla-checker takes <>P for []<>P, and " + p + " is such a property"
		}
	}
	if len(cfg.properties) > 1 {
		return "tla-checker doesn't say which of several properties is violated"
	}
	return ""
}

var instanceWord = regexp.MustCompile(`\bINSTANCE\b`)

func unfired(actions []string, fired map[string]int) []string {
	return slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return fired[a] > 0 })
}

// wasmAnswer is what check_spec_with_options returns.
type wasmAnswer struct {
	Success  bool     `json:"success"`
	Kind     string   `json:"error_type"`
	Message  string   `json:"error_message"`
	States   int      `json:"states_explored"`
	Trace    []string `json:"trace"`
	Dot      string   `json:"dot"`
	Warnings []string `json:"warnings"`
}

func (w *wasmChecker) explore(ctx context.Context, text string, cfg config, dot bool) (wasmAnswer, error) {
	options, err := json.Marshal(map[string]any{
		"cfg_source": cfg.text, "max_states": mostStates, "max_depth": mostDepth,
		"allow_deadlock": true, "export_dot": dot, "dot_mode": "full",
	})
	if err != nil {
		return wasmAnswer{}, err
	}
	var answer wasmAnswer
	err = w.call(ctx, "check_spec_with_options", &answer, text, string(options))
	return answer, err
}

var invariantNumber = regexp.MustCompile(`^Invariant (\d+) violated$`)

func (a wasmAnswer) verdict(cfg config) (Outcome, error) {
	outcome := Outcome{Got: Pass, Distinct: a.States, Trace: strings.Join(a.Trace, "\n")}
	if len(a.Warnings) > 0 {
		return Outcome{}, fmt.Errorf("warnings are errors here: %s", strings.Join(a.Warnings, "; "))
	}
	if a.Success {
		return outcome, nil
	}
	switch a.Kind {
	case "InvariantViolation":
		m := invariantNumber.FindStringSubmatch(a.Message)
		if m == nil {
			break
		}
		if n, err := strconv.Atoi(m[1]); err == nil && n < len(cfg.invariants) {
			outcome.Got = cfg.invariants[n]
			return outcome, nil
		}
	case "LivenessViolation":
		if len(cfg.properties) == 1 {
			outcome.Got = cfg.properties[0]
			return outcome, nil
		}
	case "Deadlock":
		outcome.Got = Deadlock
		return outcome, nil
	case "AssumeViolation":
		outcome.Got = Assumption
		return outcome, nil
	}
	return Outcome{}, fmt.Errorf("%s: %s", a.Kind, a.Message)
}

// graph reads the graph and counts its initial states, which come first in it.
func (w *wasmChecker) graph(ctx context.Context, text string, cfg config, dot string) (Graph, error) {
	graph, err := readDot(strings.NewReader(dot))
	if err != nil {
		return Graph{}, err
	}
	var initial struct {
		OK     bool              `json:"ok"`
		Error  string            `json:"error"`
		States []json.RawMessage `json:"states"`
	}
	if err := w.call(ctx, "explore_init", &initial, text, cfg.text, "{}"); err != nil {
		return Graph{}, err
	}
	if !initial.OK || len(initial.States) == 0 || len(initial.States) > len(graph.States) {
		return Graph{}, fmt.Errorf("%d initial states of %d: %s", len(initial.States), len(graph.States), initial.Error)
	}
	for i := range initial.States {
		graph.Init = append(graph.Init, i)
	}
	return graph, nil
}

// call runs an exported function that takes strings and returns JSON. A string is passed as address and length in
// memory that the callee frees; the result's address and length are stored where the first argument points.
func (w *wasmChecker) call(ctx context.Context, function string, result any, arguments ...string) (err error) {
	instance, err := w.runtime.InstantiateModule(ctx, w.module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return fmt.Errorf("starting tla-checker: %w", err)
	}
	// Closing must work when the context of the call is over.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	defer func() { err = errors.Join(err, instance.Close(closing)) }()

	slot, err := number32(ctx, instance, "__wbindgen_add_to_stack_pointer", api.EncodeI32(-16))
	if err != nil {
		return err
	}
	words := []uint64{slot}
	for _, text := range arguments {
		size := uint64(len(text))
		address, err := number32(ctx, instance, "__wbindgen_export", size, 1)
		if err != nil {
			return err
		}
		if !instance.Memory().WriteString(uint32(address), text) {
			return errors.New("tla-checker gave memory outside of its own")
		}
		words = append(words, address, size)
	}
	if _, err := callExport(ctx, instance, function, words...); err != nil {
		return err
	}
	address, ok1 := instance.Memory().ReadUint32Le(uint32(slot))
	size, ok2 := instance.Memory().ReadUint32Le(uint32(slot) + 4)
	text, ok3 := instance.Memory().Read(address, size)
	if !ok1 || !ok2 || !ok3 {
		return errors.New("tla-checker answered from outside of its memory")
	}
	return json.Unmarshal(text, result)
}

// callExport tells the end of the context, which stops the callee, from a crash.
func callExport(ctx context.Context, instance api.Module, function string, words ...uint64) ([]uint64, error) {
	exported := instance.ExportedFunction(function)
	if exported == nil {
		return nil, fmt.Errorf("tla-checker has no function %s", function)
	}
	results, err := exported.Call(ctx, words...)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("tla-checker crashed: %w", err)
	}
	return results, nil
}

// number32 calls a function that returns an address.
func number32(ctx context.Context, instance api.Module, function string, words ...uint64) (uint64, error) {
	results, err := callExport(ctx, instance, function, words...)
	if err == nil && len(results) != 1 {
		err = fmt.Errorf("tla-checker's %s returned %d results", function, len(results))
	}
	if err != nil {
		return 0, err
	}
	return results[0], nil
}
