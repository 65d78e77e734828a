// Package linearizability records what many concurrent clients were told by the engine, on a real PostgreSQL with
// maintenance running, and decides whether those answers fit some order of the model's actions.
//
// [Run] makes a history, a file of JSON lines, and judges it; [Judge] judges such a file again, also years later: it
// reads the file and nothing else. Three judges look at a history:
//
//   - porcupine, job by job: a job's calls, each somewhere between its call and its return, must fit one life of the job
//     under the rules of package model (life.go);
//   - a monitor of the lanes: who was handed out before whom (lanes.go);
//   - sums: what the database counts in the end is what happened, and no attempt had two owners (totals.go).
//
// The per-job judgement sees one job at a time, which is what keeps it fast; what relates jobs to each other is the
// monitors' part.
package linearizability
