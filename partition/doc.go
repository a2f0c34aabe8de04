// Package partition decides from which access point (arm) a distributed crawler accesses each web
// site. How long an access takes depends on the site and on the arm, and is learned from measured
// durations. The package also groups objects that are often asked for together.
//
// For a crawler, use [Assigner]: call Next for the arm of a site, and report the duration with
// Observe. To group objects, use [NewCoAccess]. The other types are published schemes for
// comparison:
//
//   - [TWOMA] is that of Chen, Wang and Olsen (2006), and [PairTWOMA] that of the report behind it,
//     Chen & Wang (2006). [RoundRobin] is their baseline. TWOMA's advantage is memory: two bytes a
//     site.
//   - [NewOMA] makes the object migration automata, from Oommen & Ma (1988) on.
//
// Assigner, TWOMA, PairTWOMA and RoundRobin have these two methods in common:
//
//	Next(site int) (arm int, err error)
//	Observe(site int, duration float64) error
//
// # Where TWOMA fails
//
// TWOMA compares a duration with the average over all sites of the arm.
//
// Under noise on both sides of the mean it never converges, however small the noise. Take an arm
// that holds exactly the sites it is best for. Half of the durations are still above the average,
// so half of the sites are penalised. A walk with equal steps in and out leaves the boundary again
// and again. With durations of ±20 % and the default settings it stalls at about 97 % of the sites
// placed with two arms, 95 % with four and 94 % with eight.
//
// With exact durations it can be blind. If every site's fastest arm changes after convergence,
// every duration grows to the same value. So does the average of its arm, and a duration not above
// the average is rewarded. Averages over the history, which are the default, mend this flaw, but
// not the first one.
//
// With sites of unequal size it stalls, even with exact durations. A large site takes longer than
// the average of any arm and never settles. A small site takes less than the average even in its
// slowest arm and never leaves. If the logarithms of the sizes have a standard deviation of 0.3,
// 0.5 or 1, it stalls at about 83, 67 or 45 % of the sites placed with four arms, and at 81, 61 or
// 35 % with eight, whatever its settings. The papers say that web sites differ in size (Chen, Wang
// and Olsen 2006, section 3.1), but none of their figures uses such sites.
//
// Assigner compares the arms of one site with each other and has none of these flaws.
//
// # Contract
//
// Nothing here fetches, reads a clock, starts a goroutine or logs. Randomness comes from the source
// passed in, and the same source gives the same run. Every type can be saved in the middle of a
// run. It then continues bit for bit, on any processor, if the source is a PCG or a ChaCha8 of
// math/rand/v2. Save with MarshalBinary or encoding/gob; encoding/json writes {} and no error. An
// error changes nothing. No type is safe for concurrent use.
package partition
