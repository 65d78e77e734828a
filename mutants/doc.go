// Package mutants plants known defects and looks which layer of the verification finds each (layer L8).
//
// A defect is data: a file in defects/ that names one place of the engine, its SQL, the schema, the model or a spec, the
// text that stands there exactly once, and what takes its place. It is planted by an overlay of the Go command, so that
// the tree itself is never touched: the program that is built holds the defect, embedded SQL and specs included.
//
// A layer is a command line with a verdict: exit code 1 kills the mutant, 0 lets it survive, anything else, a time-out
// included, shows nothing. A kill counts only when the changed place was reached: the defect's text carries a mark, and
// the mutated program notes when it comes by.
//
// What came out is a matrix of defects and layers. Controls keep it honest: an identity must survive everywhere, a canary
// must die in every layer that can see it, and each layer should have a defect that only it finds.
package mutants
