// Package partition decides which web sites a distributed crawler accesses from
// which access point (arm), when how long a site takes depends on both and has to be
// learned from measured durations; and which objects belong together, when all
// that is known is which are asked for together.
//
// For a crawler, use [Assigner]: ask it with Arm, tell it with Observe. The other types
// are the published schemes that it is measured against: [TWOMA] and [PairTWOMA]
// of Chen, Wang and Olsen (2006), with the [Uniform] baseline, and [Partitioner], the
// object migration automata from Oommen & Ma (1988) on. TWOMA's advantage is
// memory: two bytes a site.
//
// # Where TWOMA fails
//
// Its rule compares a duration with the average of the other sites of the arm.
//
// With noise on both sides of the mean it never converges, however small the noise: in an
// arm that holds just the sites it is best for, half of the durations are still above
// the average, and half of the sites are penalised. A walk with equal steps in and out
// leaves the boundary again and again. With durations of ±20 % it stalls at about
// 93 % of the sites placed.
//
// With exact durations it can be blind: if every site's perfect arm changes after
// convergence, every duration grows to the same value, the average of its arm
// with it, and a duration not above the average is rewarded. Averages over the
// history ([History]) mend this flaw and not the other.
//
// Assigner compares the arms of one site with each other instead, and has neither flaw.
//
// # Contract
//
// Nothing here fetches, reads a clock, starts a goroutine or logs. Randomness comes from
// the source passed in, and the same source gives the same run. Every type can be
// saved in the middle of a run and continues bit for bit if the source is a PCG or a
// ChaCha8 of math/rand/v2. Errors change nothing. No type is safe for concurrent
// use.
package partition
