// Package explore visits every state that the model reaches in a small world, breadth first, and checks each state
// and each step.
//
// A [Config] is a world as data: what may be asked for, and for whatever never happens in it, the reason. [Run]
// gives a [Report]: how much there was, the shortest story of each violation, and the graph if it is asked for.
// What is never put to the test is a failure too: a configuration whose actions don't fire or whose invariants
// can't fail has shown nothing.
//
// The search is level-synchronous: a level is expanded by all workers, then its new states get their numbers in
// the order of the steps that found them. So states, numbers, stories and counts don't depend on the number of
// workers.
package explore
