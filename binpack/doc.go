// Package binpack does bin packing: it decides which sites go on which crawler node, so
// that few nodes are needed, none is overloaded, and few sites move while their weights
// drift. (It has nothing to do with packing binary data.)
//
// Start with [Packer] if you run a fleet: tell it the weights as they change, and it answers
// with a short list of moves. Start with [Pack] to pack a fixed set of items once.
//
//   - [Pack] packs items by a [Heuristic]: First, Best, Worst and Next Fit, their decreasing
//     forms, and Minimum Bin Slack. Bins may differ, items may be in conflict or pinned.
//   - [Solve] finds the fewest bins and proves it, until a deadline. [LowerBounds] is the
//     quick bound. Both return a [Certificate]; [CheckBound], [CheckPacking] and [CheckProof] verify
//     what they are given and take nothing on trust.
//   - [MaxSubset] and [ApproxSubset] solve the subset sum problem.
//   - [Packer] keeps sites on a fleet of nodes while both come and go.
//   - [Scheme] is the two-phase scheme of Yazidi 2006: learning automata find how often to
//     poll each page, and relieve overloaded bins.
//
// # Contract
//
// Nothing here fetches, reads a clock, starts a goroutine or logs. Solvers take a context for
// their deadline. Without one their work is limited by counts, and the same input gives the
// same result. Bad input is refused with an error and changes nothing. A Packer and a Scheme
// can be saved in the middle of a run. They are not safe for concurrent use; the functions
// are.
//
// # Source
//
// A. Yazidi, Solving the bin packing problem, 2006; S. Martello & P. Toth, Knapsack Problems,
// 1990; and those named with each algorithm.
package binpack
