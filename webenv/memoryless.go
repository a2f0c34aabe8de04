package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Memoryless is an environment whose pages change independently of each other
// and of their past: in slots ([NewSlots]) or as Poisson processes
// ([NewPoisson]). It starts at time 0.
//
// Nothing happens until a page is polled; then the time of its first change
// since the previous poll is drawn. It keeps 16 bytes a page. A poll takes
// O(1), plus O(1) for each shift since the previous poll of the page, and
// allocates nothing.
type Memoryless struct {
	rates []float64
	last  []float64 // time of the previous poll
	law   SlotLaw
	shift float64 // time between two shifts, 0: never
	rng   random
}

// NewSlots returns an environment in which page i changes with probability
// u[i] per slot, in the sense of law. If shiftEvery is positive, each page takes
// the probability of the next page, and the last page that of the first,
// after every shiftEvery slots (Yazidi 2006, the dynamic environment).
func NewSlots(u []float64, law SlotLaw, shiftEvery int, src rand.Source) (*Memoryless, error) {
	rng := newRandom(src)
	if err := checkProbabilities(u); err != nil {
		return nil, err
	}
	if err := law.check(); err != nil {
		return nil, err
	}
	if shiftEvery < 0 {
		return nil, fmt.Errorf("%w: shift every %d slots", ErrConfig, shiftEvery)
	}
	rates := make([]float64, len(u))
	for i, p := range u {
		rates[i] = slotRate(p)
	}
	return &Memoryless{rates, make([]float64, len(u)), law, float64(shiftEvery), rng}, nil
}

// NewPoisson returns an environment in which page i changes as a Poisson
// process with rates[i] changes per unit of time.
func NewPoisson(rates []float64, src rand.Source) (*Memoryless, error) {
	rng := newRandom(src)
	if err := checkRates(rates); err != nil {
		return nil, err
	}
	return &Memoryless{slices.Clone(rates), make([]float64, len(rates)), PoissonInSlot, 0, rng}, nil
}

// Len returns the number of pages.
func (m *Memoryless) Len() int { return len(m.rates) }

// Poll implements [Env].
func (m *Memoryless) Poll(page int, now float64) (since float64, changed bool) {
	t := m.last[page]
	checkTime(page, now, t)
	m.last[page] = now
	// Invariant: the page did not change in (last, t].
	for t < now {
		rate, end := m.rates[page], now
		if m.shift > 0 {
			epoch := math.Floor(t / m.shift)
			rate = m.rates[m.lender(page, epoch)]
			end = min(now, (epoch+1)*m.shift)
		}
		if first := m.law.first(t, rate, m.rng.Rand); first <= end {
			return first, true
		}
		t = end
	}
	return 0, false
}

// Rate implements [Rater]; for a page that changes with probability u per slot
// it is −ln(1−u).
func (m *Memoryless) Rate(page int, now float64) float64 {
	if m.shift > 0 {
		page = m.lender(page, math.Floor(now/m.shift))
	}
	return m.rates[page]
}

// lender returns the page whose first probability a page has in an epoch.
func (m *Memoryless) lender(page int, epoch float64) int {
	n := len(m.rates)
	return (page + int(math.Mod(epoch, float64(n)))) % n
}
