// Package schedule puts sites into batches for clients of different speed so that the last
// client finishes as early as possible, says how far from the optimum a plan can be at
// most, and hands the sites out while the crawl runs.
//
// Start with a [Problem] and [Solve]. A Problem has n sites and m clients; NewIdentical,
// NewUniform and NewUnrelated make one from durations in any unit. Solve returns a [Plan],
// which gives every site its client, with a lower bound and the status of its proof. [LPT]
// returns a good plan at once, [Improve] betters the plan of a problem that is too large
// for proofs, and [Replan] changes few sites of the last plan. [Multifit], [KarmarkarKarp] and
// [LocalSearch] are other heuristics, to compare; [RoundRobin] and [Pull] are what
// crawlers do without a plan.
//
// A [Dispatcher] hands a plan out to clients that turn out faster or slower than predicted, come
// late, fall silent or are lost; [Simulate] tries that out. A [DurationPredictor] learns
// durations from earlier scans.
//
// [FullModel], [ReducedModel] and [Batch] are the models and the heuristic of Pechnikov,
// Chernobrovkin and Nwohiri, "About Crawling Scheduling Problems" (2017).
//
// Nothing here starts a goroutine or reads a clock: a deadline comes in with a context, and
// without one a limit on the work makes every run the same for the same seed. No type is
// safe for concurrent use, but a Problem never changes and can be shared.
package schedule
