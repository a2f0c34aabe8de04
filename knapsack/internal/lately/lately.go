// Package lately estimates how often a page changed of late, in two bytes a page: as a discounted
// Gamma does, which counts the changes found over the time watched, and forgets both alike.
package lately

import (
	"iter"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// What is known of a page's changes begins with prior of them in so many cycles, and is forgotten
// but for 1/e in a memory of cycles. These are the constants of the discounted rule of
// examples/recrawl. Ten recorded histories have as many changes detected with a memory of .35 or
// 1.5, but for chance. With 4 half of the gain is lost.
const prior, memory = 0.3, 0.7

// step is that of the logarithms that are kept. Rates are e^±7.65 at most.
const step = 0.03

// A Rate is how often a page changed of late. Its zero value is that of a page of which nothing is
// known: once in a cycle.
type Rate struct {
	// ln(changes/prior) and ln(cycles/prior), in steps. Both sums have the prior in them, which is
	// not forgotten.
	changes, cycles uint8
}

// Log returns the logarithm of the rate, in changes a cycle.
func (r Rate) Log() float64 { return float64(float64(int(r.changes)-int(r.cycles)) * step) }

// Poll takes in a poll after a gap of so many cycles. One that finds a change counts as v/(1 −
// e^(−v)) changes, the mean number in a gap with at least one where v are expected. A dither is a
// number that differs from poll to poll: logarithms are rounded at random with the right mean, so
// that little adds up.
func (r Rate) Poll(gap float64, changed bool, dither uint64) Rate {
	s := r.open()
	s.pass(gap)
	if v := fast.Exp(r.Log()) * gap; changed {
		s.changes += max(1, v/fast.Chance(max(leastMean, v)))
	}
	return s.close(dither)
}

// leastMean keeps a quotient from being 0/0.
const leastMean = 1e-100

// Times takes in changes whose times are known, by how many cycles after the one before each was.
func (r Rate) Times(gaps iter.Seq[float64], dither uint64) Rate {
	s := r.open()
	for gap := range gaps {
		s.pass(gap)
		s.changes++
	}
	return s.close(dither)
}

// Pass has so many cycles pass of which nothing is known.
func (r Rate) Pass(gap float64, dither uint64) Rate {
	s := r.open()
	s.forget(gap)
	return s.close(dither)
}

// Of returns a rate > 0 that is known otherwise, in changes a cycle: that of a page that was watched all the
// time, or for as long as it takes to find it that slow.
func Of(rate float64, dither uint64) Rate {
	cycles := max(memory, prior/rate-prior)
	return sums{max(0, float64(rate*(prior+cycles))-prior), cycles}.close(dither)
}

// Rescaled returns the rate where a cycle is so many times as long: the page was watched for fewer of them.
func (r Rate) Rescaled(times float64, dither uint64) Rate {
	if times == 1 {
		return r // not rounded anew
	}
	s := r.open()
	s.cycles /= times
	return s.close(dither)
}

// sums are what a Rate keeps the logarithms of, without the prior.
type sums struct{ changes, cycles float64 }

func (r Rate) open() sums {
	return sums{prior * (fast.Exp(float64(r.changes)*step) - 1), prior * (fast.Exp(float64(r.cycles)*step) - 1)}
}

func (s *sums) forget(gap float64) {
	keep := fast.Exp(-gap / memory)
	s.changes = float64(s.changes * keep)
	s.cycles = float64(s.cycles * keep)
}

func (s *sums) pass(gap float64) {
	s.forget(gap)
	s.cycles += gap
}

func (s sums) close(dither uint64) Rate {
	u := (dither + 1) * fast.Golden
	u ^= u >> 32
	return Rate{pack(s.changes, u*fast.Golden), pack(s.cycles, (u+1)*fast.Golden)}
}

// pack rounds the logarithm of a sum down or up at random.
func pack(sum float64, random uint64) uint8 {
	down := float64(random>>11) * (1.0 / (1 << 53))
	return uint8(max(0, min(math.MaxUint8, float64(fast.Log(1+sum/prior)/step)+down)))
}

// Encode writes a rate.
func (r Rate) Encode(e *codec.Encoder) {
	e.Byte(r.changes)
	e.Byte(r.cycles)
}

// Decode reads one: any two bytes are one.
func Decode(d *codec.Decoder) Rate { return Rate{d.Byte(), d.Byte()} }
