// Package fuzz drives the engine and the reference model in lockstep (layer L3): random operation sequences run on
// both, and after every step the results and the whole state must be equal. The state of the database is read back into
// a state of the model by [Abstract].
//
// A failure is shrunk and saved as a seed file: a world and the operations as text, which [Replay] runs again.
package fuzz
