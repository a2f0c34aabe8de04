// Package webenv is the web as a crawler's algorithms meet it: pages that
// change, simulated, replayed from a record, served over HTTP or live, and the
// exact account of a run.
//
// An [Env] answers one question: has page i changed since I last looked, and
// when first? The environments are
//
//   - [Zipf]: probabilities of change in a Zipf law over a ranking of the pages,
//     static or with ranks that swap (Granmo, Oommen, Myrer and Olsen 2006);
//   - [Memoryless]: any probability of change per slot ([NewSlots]), static or
//     shifting from page to page, so with [DomainLaw] and [DomainZipfLaw] those
//     of Yazidi (2006); or Poisson processes of any rates ([NewPoisson]);
//   - [Bursty]: two-state Markov-modulated Poisson processes;
//   - [Replay] of a [History] that [ReadHistory] reads;
//   - [Live], which polls real URLs.
//
// [Run] lets a [Scheduler] poll an environment under a budget and reports
// detections, freshness and age, computed from the true times of change. A
// [Server] serves the pages of an environment over HTTP, so that any crawler can
// be tried against a web whose truth is known, and a [Transport] tells which of
// the responses to an HTTP client are changes.
//
// [Durations] answers the other question: how long did site i take from access
// point j?
//
// Time is a number that is passed in; its unit is a slot in environments that
// have slots, and otherwise whatever the rates or the record are in. All
// randomness comes from a source that is passed in, so a seed gives the same run
// everywhere. A simulated page takes at most 16 bytes, a simulated poll
// allocates nothing, and the simulated environments of pages can be saved and
// restored in the middle of a run.
//
// Nothing here is safe for concurrent use unless it says so.
package webenv
