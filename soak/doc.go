// Package soak lets everything that the engine does happen at once for minutes, on a server with its default settings, and
// looks at what that leaves behind: rows, dead tuples, sizes, errors, and whether the first and the last minute are alike
// (P6). The rings turn all the time; the engine's audit looks at the live tables each second; in the end every job must be
// accounted for.
//
// With a pinned snapshot, another session keeps a REPEATABLE READ transaction open from before the load to its end, as a
// forgotten report or a replica does: dead tuples can't go then, so nothing that is hot may make any.
//
// What is judged is in judge.go and is pure: it takes the numbers and returns what is wrong with them.
package soak
