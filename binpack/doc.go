// Package binpack does bin packing: it decides which sites go on which crawler node, so
// that few nodes are needed, none is overloaded, and few sites move while their weights
// drift. (It has nothing to do with packing binary data.)
//
// Start with [Packer] if you run a fleet: tell it the weights as they change, and it returns a
// short list of moves. Start with [Pack] to pack a fixed set of items once.
//
//   - [Pack] packs items by a [Heuristic]: First, Best, Worst and Next Fit, their decreasing forms,
//     and Minimum Bin Slack. Bins may have different capacities; items may be in conflict or
//     pinned.
//   - [Solve] looks for the fewest bins and a proof that fewer are not enough, until a deadline.
//     [LowerBounds] gives quick lower bounds. Both return a [Certificate]. [CheckBound],
//     [CheckPacking] and [CheckProof] verify certificates, packings and proofs and take nothing on
//     trust.
//   - [MaxSubset] and [ApproxSubset] solve the subset sum problem.
//   - [Packer] keeps sites on a fleet of nodes while sites and nodes come and go.
//   - [Scheme] is the two-phase scheme of Yazidi 2006: learning automata find how often to
//     poll each page, and relieve overloaded bins.
//
// # Contract
//
// Nothing here fetches, reads a clock, starts a goroutine or logs. Solvers take a context for their
// deadline. Without a deadline their work is limited by counts, and the same input gives the same
// result. Bad input is refused with an error and changes nothing. A Packer and a Scheme can be
// saved in the middle of a run. Functions are safe for concurrent use; a Packer and a Scheme are
// not.
//
// # Source
//
// A. Yazidi, Solving the bin packing problem, 2006; S. Martello & P. Toth, Knapsack Problems, 1990;
// and the sources named with each algorithm.
package binpack
