// Package recrawl tells a web crawler how to spend what it has. It holds no code of its own; each
// package answers one question and can be imported alone:
//
//   - How often to poll each page under a budget of polls? Package knapsack; start with RateFilter.
//   - From which access point to fetch each site? Package partition; start with Assigner.
//   - Which sites go to which node of a fleet? Package binpack; start with Packer, or with Pack and
//     Solve for a fixed set.
//   - In which batches to hand sites to clients of different speed? Package schedule; start with
//     Solve and Dispatcher.
//   - Which of a few actions is the best one? Package automata has learning automata, which
//     knapsack and binpack build on.
//   - How well does all this work on a web whose changes are known? Package webenv; start with Run.
//     Package webenv/serve serves such a web over HTTP, and webenv/live polls the real one.
//
// All algorithms ask and tell: the caller asks what to do next and tells what came of it. They
// never fetch, never read a clock, never start a goroutine and never log, so that a crawler keeps
// its own fetching, storage and queue. Randomness comes from a source that the caller passes in,
// time is an argument, and everything that learns can be saved in the middle of a run.
package recrawl
