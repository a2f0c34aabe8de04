// Package webenv is a web to try crawling algorithms on: environments of pages that change,
// simulated or replayed from a record, with the exact account of a run.
//
// Start with [Run]: it lets a learner poll an environment under a budget and reports detections,
// freshness and age, computed from the true times of change. An [Env] answers one question: has
// page i changed since I last looked, and when did it first change? The environments are
//
//   - [NewZipf]: probabilities of change follow a Zipf law over a ranking of the pages, which is
//     static or swaps ranks (Granmo, Oommen, Myrer and Olsen 2006);
//   - [NewSlots]: any probabilities of change per slot, static or shifting from page to page; with
//     [DomainLaw] and [DomainZipfLaw] these are the environments of Yazidi (2006);
//   - [NewPoisson]: Poisson processes of any rates;
//   - [NewBursty]: two-state Markov-modulated Poisson processes;
//   - [Replay]: a [History] that [ReadHistory] reads.
//
// [Durations] answers another question: how long does site i take from access point j?
//
// Package webenv/serve serves an environment over HTTP, so that any crawler can be tried on a web
// whose truth is known. Package webenv/live polls the real web.
//
// # Contract
//
// Time is a number that is passed in. In environments that have slots its unit is a slot. In others
// it is the unit of the rates or of the record. All randomness comes from a source that is passed
// in. A seed gives the same run with one build on one kind of processor; another processor may
// round the last bit of a time differently. The environments are not safe for concurrent use. A
// [Simulated] environment can be saved and restored in the middle of a run.
package webenv
