// Package awa is the top of a module that holds a job queue on PostgreSQL and everything that earns it trust.
//
// There is no code here to import. What people use is below:
//
//   - engine: the queue's storage operations on pgx, the library that an application imports;
//   - model: the reference model that says what is right, without a database, a clock or a goroutine;
//   - correctness: the TLA+ twins of the model and their checkers;
//   - fuzz, chaos: the layers that hold the engine against the model on a real PostgreSQL;
//   - pgtest: a PostgreSQL for tests, also for those who embed the engine;
//   - cmd/awa-check: the command that runs the verification.
//
// The tests of this package look at the source tree itself and hold the house's rules, which CONTRIBUTING.md tells
// in prose: who may import whom, how long files and functions are, what has a comment, and which words don't belong.
package awa
