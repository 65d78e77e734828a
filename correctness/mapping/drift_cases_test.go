package mapping

import "maps"

const spec = "correctness/tla/ClaimRing.tla"

// A driftCase changes one name in one place, and tells the problem that has to come of it.
type driftCase struct {
	edit
	want string
}

// driftCases has every kind of drift, by what it is.
func driftCases() map[string]driftCase {
	all := map[string]driftCase{}
	for _, some := range []map[string]driftCase{operationDrift, statementDrift, stateDrift, invariantDrift, notesDrift} {
		maps.Copy(all, some)
	}
	return all
}

var operationDrift = map[string]driftCase{
	"a new operation of the engine": {
		edit{"engine/drift.go", "", "package engine\n\nimport \"context\"\n\nfunc (e *Engine) Postpone(ctx context.Context) error { return nil }\n"},
		`operation Postpone: nothing on the side "model"`,
	},
	"an operation without statements": {
		edit{"engine/drift.go", "", "package engine\n\nimport \"context\"\n\nfunc Postpone(ctx context.Context) error { return nil }\n"},
		`operation Postpone: nothing on the side "statements"`,
	},
	"an operation that the engine lost": {
		edit{"engine/promote.go", "func (e *Engine) Promote(", "func (e *Engine) promote("}, `operation Promote: nothing on the side "engine"`,
	},
	"a new action of the model": {
		edit{"model/snooze.go", "", "package model\n\ntype Snooze struct{}\n\nfunc (Snooze) Name() string { return \"Snooze\" }\n\nfunc (Snooze) apply(Store) (Result, error) { return nil, nil }\n"},
		`operation Snooze: nothing on the side "engine"`,
	},
	"a renamed action of the model": {
		edit{"model/format.go", `return "RotateClaims"`, `return "TurnClaims"`}, `operation RotateClaims: nothing on the side "model"`,
	},
	"an action that lockstep doesn't run": {
		edit{"fuzz/system.go", "case model.Reopen:", "case model.Begin:"}, `operation Reopen: nothing on the side "lockstep"`,
	},
	"a new action of the spec": {
		edit{spec, "\nNext ==\n", "\nConjure == lane' = <<1>> /\\ UNCHANGED <<lease, ended, claims, ringVars>>\n\nNext ==\n    \\/ Conjure\n"},
		`operation Conjure: nothing on the side "model"`,
	},
	"an action that the spec lost": {
		edit{spec, "    \\/ RescueStale\n", ""}, `operation RescueStale: nothing on the side "tla"`,
	},
}

var statementDrift = map[string]driftCase{
	"a statement that nobody asks for": {
		edit{"engine/orphan.sql", "", "{{define \"orphan\"}}\n/* awa:Orphan */\nSELECT 1\n{{end}}\n"},
		"statement `orphan` of orphan.sql is used by no operation",
	},
	"a statement that is gone": {
		edit{"engine/promote.sql", `{{define "promote"}}`, `{{define "promoted"}}`}, "asks for the statement `promote`, which isn't there",
	},
	"a statement whose name can't be followed": {
		edit{"engine/vague.go", "", "package engine\n\nfunc (e *Engine) vague(name string) string { return e.sql.get(name, children{}) }\n"},
		"can't be followed",
	},
	"a part that is gone": {
		edit{"engine/close.sql", `{{define "closed"}}`, `{{define "close"}}`}, "contains `closed`, which isn't there",
	},
}

var stateDrift = map[string]driftCase{
	"a new column": {
		edit{"engine/schema/002_weight.sql", "", "ALTER TABLE {{.S}}.lanes ADD COLUMN weight integer;\n"},
		"table lanes: no field of the model names its column `weight`",
	},
	"a new table": {
		edit{"engine/schema/002_archive.sql", "", "CREATE TABLE {{.S}}.archived_jobs (\n    job_id bigint PRIMARY KEY\n);\n"},
		"table archived_jobs: no field of the model names its column `job_id`",
	},
	"a new field of the model": {
		edit{"model/state.go", "type TxRow struct {", "type TxRow struct {\n\tAge int"}, `field TxRow.Age: nothing on the side "engine"`,
	},
	"a field that is gone": {
		edit{"model/state.go", "type TxRow struct {\n\tID ", "type TxRow struct {\n\tNumber "}, "the field TxRow.ID is gone",
	},
	"a new variable of the spec": {
		edit{spec, "VARIABLES\n", "VARIABLES\n    spare,\n"}, `variable ClaimRing.spare: nothing on the side "model"`,
	},
	"a variable that the view lacks": {
		edit{spec, "VARIABLES\n", "VARIABLES\n    spare,\n"}, "its variable `spare` isn't in the model's view",
	},
	"a variable that the spec lacks": {
		edit{"model/view_claimring.go", "pruned=%d", "cut=%d"}, "the model's view prints `cut`, which is no variable",
	},
}

var invariantDrift = map[string]driftCase{
	"a new invariant of the spec": {
		edit{"correctness/tla/MCClaimRingSmall.cfg", "    TypeOK\n", "    TypeOK\n    Fresh\n"}, `invariant Fresh: nothing on the side "model"`,
	},
	"a new invariant of the model": {
		edit{"model/invariants.go", `{"NoJobIsLost", "P2",`, `{"Fresh", "P2", noJobIsLost, nil}, {"NoJobIsLost", "P2",`},
		`invariant Fresh: nothing on the side "spec"`,
	},
	"a new property of the model": {
		edit{"model/properties.go", `{"JobsAreConserved", "P2",`, `{"Fresh", "P2", jobsAreConserved, nil}, {"JobsAreConserved", "P2",`},
		`invariant Fresh: nothing on the side "engine"`,
	},
	"an invariant that is gone": {
		edit{"model/invariants.go", `{"CountsAreExact",`, `{"CountsAreRight",`}, "the invariant CountsAreExact is gone",
	},
	"an invariant of two promises": {
		edit{"model/invariants.go", `{"NoJobIsLost", "P2",`, `{"NoJobIsLost", "P4",`}, "it guards P4 in the model and P2 in the spec",
	},
	"a seed without a place": {
		edit{"fuzz/seeds/somewhere.txt", "", "# awa seed, format 1\n# Found with a lock taken out: it broke.\nCounts queue=a\n"}, "seed somewhere:",
	},
	"a wrong rule of nothing": {
		edit{"model/explore/broken_test.go", "wrong(rotateAlways)", "nil"}, `wrong rule "a rotation onto a slot that was not pruned": it is of no operation`,
	},
	"no wrong rules": {
		edit{"model/explore/broken_test.go", "[]string{", "[]any{"}, "no table of wrong rules",
	},
}

var notesDrift = map[string]driftCase{
	"a note on what is gone": {
		edit{notesFile, "", "\n[operation Teleport]\nnote: far\n"}, "the operation Teleport is gone",
	},
	"a note that names what is gone": {
		edit{notesFile, "`wholeSeconds`", "`halfSeconds`"}, "nothing is called `halfSeconds`",
	},
	"a reason for what isn't so": {
		edit{notesFile, "", "\n[operation Claim]\ntla: – left out\n"}, `operation Claim: notes.txt has something for the side "tla", which is derived`,
	},
	"a side that isn't one": {
		edit{notesFile, "", "\n[operation Claim]\ncolour: red\n"}, `"colour" is no side`,
	},
	"a table that isn't one": {
		edit{notesFile, "", "\n[planet Mars]\n"}, "there is no table of planet",
	},
	"a second section": {
		edit{notesFile, "", "\n[operation Begin]\n"}, "a second section for operation Begin",
	},
}
