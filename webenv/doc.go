// Package webenv is the web as a crawler's algorithms meet it: environments of pages that
// change, simulated or replayed from a record, and the exact account of a run.
//
// Start with [Run]: it lets a learner poll an environment under a budget and reports
// detections, freshness and age, computed from the true times of change. An [Env] answers one
// question: has page i changed since I last looked, and when first? The environments are
//
//   - [NewZipf]: probabilities of change in a Zipf law over a ranking of the pages, static or with
//     ranks that swap (Granmo, Oommen, Myrer and Olsen 2006);
//   - [NewSlots]: any probability of change per slot, static or shifting from page to page, so
//     with [DomainLaw] and [DomainZipfLaw] those of Yazidi (2006);
//   - [NewPoisson]: Poisson processes of any rates;
//   - [NewBursty]: two-state Markov-modulated Poisson processes;
//   - [Replay] of a [History] that [ReadHistory] reads.
//
// [Durations] answers the other question: how long does site i take from access point j?
//
// Package webenv/serve serves an environment over HTTP, so that any crawler can be tried
// against a web whose truth is known. Package webenv/live polls the real web.
//
// Time is a number that is passed in. Its unit is a slot in environments that have slots, and
// otherwise whatever the rates or the record are in. All randomness comes from a source that is
// passed in, so a seed gives the same run with one build on one kind of processor: another may
// round the last bit of a time in another way. The environments are not safe for concurrent use. A
// [Simulated] one can be saved and restored in the middle of a run.
package webenv
