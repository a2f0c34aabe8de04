// Package schedule puts sites into batches for clients of different speed so
// that the last client finishes as early as possible, says how far from the
// optimum a plan can be at most, and hands the sites out while the crawl runs.
//
// A [Problem] has n sites and m clients. Clients are identical, uniform (each
// has a time per unit of size) or unrelated (each pair has its own duration);
// in the scheduling literature P||Cmax, Q||Cmax and R||Cmax. Durations are real
// numbers in whatever unit the caller uses, and each client has a start time
// and a fixed cost. A [Plan] gives every site its client. [Solve] returns a
// plan with a lower bound and the status of its proof; the constructors
// ([LPT], [Multifit], [KarmarkarKarp], [Batch], [RoundRobin], [Pull]) and
// [LocalSearch] are the parts it is made of. [Replan] starts from the last
// plan and moves few sites. [Estimator] learns durations from earlier scans,
// and [Dispatcher] hands a plan out to clients that are faster or slower than
// was thought.
//
// The models and the batch heuristic are those of Pechnikov, Chernobrovkin and
// Nwohiri, "About Crawling Scheduling Problems" (2017).
//
// Nothing here starts a goroutine or reads a clock: a deadline comes in with a
// context, and without one a limit on the work makes every run the same for
// the same seed. No type is safe for concurrent use, except that a Problem is
// never changed after it was made.
package schedule
