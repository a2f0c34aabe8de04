package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Burst describes how the pages of a [Bursty] environment alternate between a
// quiet and an active state.
type Burst struct {
	// Quiet and Active are the rates in the two states, as multiples of the
	// page's own rate.
	Quiet, Active float64
	// QuietStay and ActiveStay are the mean times that a page stays in a
	// state, which are exponentially distributed.
	QuietStay, ActiveStay float64
}

// ActiveShare returns the share of time that a page is active.
func (b Burst) ActiveShare() float64 { return b.ActiveStay / (b.QuietStay + b.ActiveStay) }

// Mean returns the long-run mean rate of a page as a multiple of its own rate.
func (b Burst) Mean() float64 {
	active := b.ActiveShare()
	return float64(b.Quiet*(1-active)) + float64(b.Active*active)
}

func (b Burst) check() error {
	for _, f := range []struct {
		name string
		v    float64
		ok   bool
	}{
		{"quiet rate", b.Quiet, b.Quiet >= 0},
		{"active rate", b.Active, b.Active >= 0},
		{"quiet stay", b.QuietStay, 1/b.QuietStay > 0 && 1/b.QuietStay <= math.MaxFloat64},
		{"active stay", b.ActiveStay, 1/b.ActiveStay > 0 && 1/b.ActiveStay <= math.MaxFloat64},
	} {
		if !f.ok || math.IsInf(f.v, 1) {
			return fmt.Errorf("%w: %s %v", ErrConfig, f.name, f.v)
		}
	}
	return nil
}

// fits tells whether the rates of a page are finite in both states.
func (b Burst) fits(rate float32) bool {
	return rate >= 0 && float64(rate)*max(b.Quiet, b.Active, 1) <= math.MaxFloat64
}

// Bursty is an environment in continuous time whose pages change as two-state
// Markov-modulated Poisson processes, independently of each other: a page that
// is quiet or active changes at a low or a high rate, and moves from one state
// to the other at random. It starts at time 0 in equilibrium.
//
// It is simulated exactly and on demand. It keeps 13 bytes a page. A poll
// allocates nothing and takes O(1 + the number of moves between the states from
// the previous poll of the page to the first change after it).
type Bursty struct {
	burst  Burst
	rates  []float32
	last   []float64 // time of the previous poll
	active []bool    // state at that time
	rng    random
}

// NewBursty returns an environment in which page i changes at rate
// rates[i]·burst.Quiet while it is quiet and rates[i]·burst.Active while it is
// active. The rates are rounded to float32.
func NewBursty(rates []float64, burst Burst, src rand.Source) (*Bursty, error) {
	rng := newRandom(src)
	if err := checkRates(rates); err != nil {
		return nil, err
	}
	if err := burst.check(); err != nil {
		return nil, err
	}
	b := &Bursty{burst, make([]float32, len(rates)), make([]float64, len(rates)), make([]bool, len(rates)), rng}
	for i, r := range rates {
		b.rates[i] = float32(r)
		if !burst.fits(b.rates[i]) {
			return nil, fmt.Errorf("%w: page %d: %v is too great", ErrRate, i, r)
		}
		b.active[i] = rng.Float64() < burst.ActiveShare()
	}
	return b, nil
}

// Len returns the number of pages.
func (b *Bursty) Len() int { return len(b.rates) }

// Poll implements [Env].
func (b *Bursty) Poll(page int, now float64) (since float64, changed bool) {
	t, active := b.last[page], b.active[page]
	checkTime(page, now, t)
	b.last[page] = now
	// Invariant: the page did not change from the previous poll to t, and is
	// in state active at t.
	for {
		rate, leave := b.in(page, active)
		t += b.rng.ExpFloat64() / (rate + leave)
		if !(t <= now) {
			b.active[page] = active
			return 0, false
		}
		if float64(b.rng.Float64()*(rate+leave)) < rate {
			// Only the state at now is still wanted, not how it came about.
			b.active[page] = b.rng.Float64() < b.activeAfter(active, now-t)
			return t, true
		}
		active = !active
	}
}

// Rate implements [Rater]: it is the rate to be expected at time now, which is
// not before the last poll, by the state in which the page was at that poll.
func (b *Bursty) Rate(page int, now float64) float64 {
	active := b.activeAfter(b.active[page], now-b.last[page])
	quiet := float64(b.burst.Quiet * (1 - active))
	return float64(b.rates[page]) * (quiet + float64(b.burst.Active*active))
}

// in returns the rates of changing and of leaving the state.
func (b *Bursty) in(page int, active bool) (rate, leave float64) {
	if active {
		return float64(float64(b.rates[page]) * b.burst.Active), 1 / b.burst.ActiveStay
	}
	return float64(float64(b.rates[page]) * b.burst.Quiet), 1 / b.burst.QuietStay
}

// activeAfter returns the probability of being active a time d after a time at
// which the state is known.
func (b *Bursty) activeAfter(active bool, d float64) float64 {
	share := b.burst.ActiveShare()
	from := 0.0
	if active {
		from = 1
	}
	return share + float64((from-share)*math.Exp(-d*(1/b.burst.QuietStay+1/b.burst.ActiveStay)))
}
