// Package partition decides from which access point (arm) a distributed crawler accesses
// each web site. How long a site takes depends on both and is learned from measured
// durations. The package also finds out which objects belong together from which of them
// are asked for together.
//
// For a crawler, use [Assigner]: ask it with Next, tell it with Observe. To group objects,
// use [NewCoAccess]. The other types are the published schemes that these two are measured
// against: [TWOMA] and [PairTWOMA] of Chen, Wang and Olsen (2006) with their baseline
// [RoundRobin], and [NewOMA], the object migration automata from Oommen & Ma (1988) on.
// TWOMA's advantage is memory: two bytes a site.
//
// Assigner, TWOMA, PairTWOMA and RoundRobin can be driven through one interface:
//
//	Next(site int) (arm int, err error)
//	Observe(site int, duration float64) error
//
// # Where TWOMA fails
//
// TWOMA compares a duration with the average over all sites of the arm.
//
// Under noise on both sides of the mean it never converges, however small the noise. In an
// arm that holds just the sites it is best for, half of the durations are still above the
// average, so half of the sites are penalised. A walk with equal steps in and out leaves
// the boundary again and again. With durations of ±20 % it stalls at about 93 % of the
// sites placed.
//
// With exact durations it can be blind. If every site's fastest arm changes after
// convergence, every duration grows to the same value. So does the average of its arm, and
// a duration not above the average is rewarded. Averages over the history, the default, mend
// this flaw, but not the first one.
//
// With sites of unequal size it stalls, even with exact durations: a large site takes longer than
// the average of any arm and never settles, and a small one is shorter than the average even where
// it is slowest, and never leaves. With sizes whose logarithms have a standard deviation of 0.3,
// 0.5 and 1, it stalls at about 80, 60 and 35 % of the sites placed, whatever its settings. Yet
// that web sites differ is what the papers say of their environment (Chen, Wang and Olsen 2006,
// section 3.1); none of their figures has it.
//
// Assigner compares the arms of one site with each other and has none of these flaws.
//
// # Contract
//
// Nothing here fetches, reads a clock, starts a goroutine or logs. Randomness comes from
// the source passed in; the same source gives the same run. Every type can be saved in the
// middle of a run and continues bit for bit, on any processor, if the source is a PCG or a ChaCha8
// of math/rand/v2. An error changes nothing. No type is safe for concurrent use.
package partition
