// Package recrawl tells a web crawler how to spend what it has. It holds no code
// of its own; each package answers one question and can be imported alone:
//
//   - knapsack: how often to poll each page under a budget of polls.
//   - partition: from which access point to fetch each site.
//   - binpack: which sites go to which node of a fleet.
//   - schedule: in which batches to hand sites to clients of different speed.
//   - automata: the learning automata that the others are built on.
//   - webenv: pages and sites that change, simulated, replayed, served over HTTP
//     or live, to try all of it on.
//
// All of them ask and tell: the caller asks what to do next and tells what came of
// it. They never fetch, never read a clock, never start a goroutine and never log,
// so that a crawler keeps its own fetching, storage and queue. Randomness comes in
// as a source, time is an argument, and what learns can be saved in the middle of
// a run.
package recrawl
