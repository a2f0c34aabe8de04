// Package binpack does bin packing: it decides which sites go on which crawler
// node, so that few nodes are needed, none is overloaded, and few sites move while
// their weights drift. (It has nothing to do with packing binary data.)
//
//   - [Pack] packs items by First, Best, Worst and Next Fit, their decreasing
//     forms and Minimum Bin Slack; bins may differ, items may be in conflict or
//     pinned.
//   - [LowerBounds] bounds the number of bins from below; [Solve] closes the gap by
//     column generation and search, until a deadline. Both return a
//     [Certificate], and [CheckPacking] and [CheckBound] take nothing on trust.
//   - [MaxSubset] and [ApproxSubset] solve the subset sum problem.
//   - [Packer] keeps sites on a fleet of nodes that both come and go: told of
//     weights as they change, it answers with a short list of moves.
//   - [Scheme] is the two-phase scheme of Yazidi 2006: learning automata find how
//     often to poll each page, and their bins relieve overload.
//
// # Weights
//
// Weights are integers or floats ([Weight]). Sums are computed in whole units, so
// they do not depend on an order of addition and no bin is ever overfilled; see
// [FloatBits] for what floats cost.
//
// # Contract
//
// Nothing here fetches, reads a clock, starts a goroutine or logs. Solvers take a context for
// their deadline; without one their work is limited by counts, and the same input
// gives the same result. Bad input is refused with an error and changes nothing. A
// Packer and a Scheme can be saved in the middle of a run. They are not safe for
// concurrent use; the functions are.
//
// # Where the page walk of a Scheme settles
//
// At x = P/(1−P) and not at the probability P with which the page changes; see
// [SchemeConfig.MeanFrequency] for the derivation, the exact means, and walks that
// settle at P.
//
// Sources: A. Yazidi, Solving the bin packing problem, 2006; S. Martello & P.
// Toth, Knapsack Problems, 1990; and those named with each algorithm.
package binpack
