// Package schedule puts sites into batches for clients of different speed so that the last client
// finishes as early as possible. It bounds how far a plan can be from the optimum, and it hands the
// sites out while the crawl runs.
//
// Start with a [Problem] and [Solve]. A Problem has n sites and m clients; [NewIdentical],
// [NewUniform] and [NewUnrelated] make one from durations in any unit. Solve returns a [Plan],
// which gives every site its client, with a lower bound and the status of its proof.
//
//   - [LPT] returns a good plan at once.
//   - [Improve] improves the plan of a problem that is too large for proofs.
//   - [Replan] changes few sites of the last plan.
//   - [Multifit], [KarmarkarKarp] and [LocalSearch] are other heuristics, for comparison.
//   - [RoundRobin] and [Pull] are what crawlers do without a plan.
//   - [Dispatcher] hands a plan out to clients that turn out faster or slower than predicted, come
//     late, fall silent or are lost. [Simulate] tries that out.
//   - [DurationPredictor] learns durations from earlier scans.
//   - [FullModel], [ReducedModel] and [Batch] are the models and the heuristic of Pechnikov,
//     Chernobrovkin and Nwohiri, "About Crawling Scheduling Problems" (2017).
//
// # Contract
//
// Nothing here starts a goroutine or reads a clock. A context brings the deadline. Without one, the
// work is limited by counts, and the same seed gives the same run. A Problem never changes, so
// goroutines may share it. The other types are not safe for concurrent use.
package schedule
