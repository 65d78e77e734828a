// Package explore visits every state that the model reaches in a small world, breadth first, and checks each state
// and each step.
//
// A [Config] is a world as data: what may be asked for, and for whatever never happens in it, the reason. [Run]
// gives a [Report]: how much there was, the shortest story of each violation, and the graph if it is asked for.
// What is never put to the test is a failure too: a configuration whose actions don't fire or whose invariants
// can't fail has shown nothing.
//
// A state is kept in its normal form ([model.Flat.Normalize]): what no rule can tell apart is one state. A story is
// told of real states, and that a real step is found for each step of the search is checked on the way.
//
// After a search without violations, one question is left that no single state answers: can the system still drain?
// The graph is walked backwards from all states in which nothing is left to do; a state that isn't met is a
// violation too, with its story.
//
// The search is level-synchronous: a level is expanded by all workers, then its new states get their numbers in
// the order of the steps that found them. So states, numbers, stories and counts don't depend on the number of
// workers.
package explore
