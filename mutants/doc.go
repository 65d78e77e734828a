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
// The file of a defect has lines of "key: value", of which models, which says what the defect stands for, may go on in
// lines that begin with a space, and then the text and its replacement:
//
//	area: complete
//	place: sql
//	file: engine/close.sql
//	models: the receipt check left out of Complete and Fail (B35)
//	named: L3
//	run L3: --runs 60 --seed 3
//	--- text
//	- closed AS closing
//	--- replacement
//	/* reached */ AS closing
//
// named is the layer that should find it, and "run" gives a layer's command other arguments. A note says why another layer
// finds it instead; invisible gives the reason why nobody can, and then nobody may.
//
// What came out is a matrix of defects and layers. Controls keep it honest: an identity must survive everywhere, a canary
// must die in every layer that can see it, and each layer should have a defect that only it finds.
package mutants
