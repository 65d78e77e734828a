// Package tla runs the TLA+ specs of this folder and judges them by a table of expectations.
//
// TLC is the authority. Where it can't be had, tla-checker, a checker in WebAssembly, runs inside this process; what
// it can't judge is reported as not run. The state graph of a spec can be compared with the one that the explorer
// makes of the Go model: both are brought to the same canonical text first.
package tla
