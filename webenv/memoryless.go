package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// memorylessEnv is an environment whose pages change independently of each other and of their past.
// Only a poll draws the time of a page's first change since its previous poll.
type memorylessEnv struct {
	rates []float64
	last  []float64 // time of the previous poll
	law   SlotLaw
	shift float64 // time between two shifts, 0: never
	rng   random
	still bool // no page ever changes, so there is no need to look at the shifts
}

// NewSlots returns an environment in which page i changes with probability u[i] per slot, in the
// sense of law. Pages change independently of each other and of their past. If shiftEvery is
// positive, probabilities shift after every shiftEvery slots: each page takes the probability of
// the next page, and the last page that of the first (the dynamic environment of Yazidi 2006; go
// run ./examples/papers -only yazidi).
//
// # Cost
//
// Time: a poll takes O(1), plus O(1) for each shift since the previous poll of the page if any page
// ever changes.
//
// Memory: 16 bytes a page; a poll allocates nothing.
func NewSlots(u []float64, law SlotLaw, shiftEvery int, src rand.Source) (Simulated, error) {
	rng := newRandom(src)
	if err := checkProbabilities(u); err != nil {
		return nil, err
	}
	if err := slotLaws.Check(law); err != nil {
		return nil, err
	}
	if shiftEvery < 0 {
		return nil, fmt.Errorf("%w: shift every %d slots", ErrConfig, shiftEvery)
	}
	rates := make([]float64, len(u))
	for i, p := range u {
		rates[i] = slotRate(p)
	}
	return &memorylessEnv{rates, make([]float64, len(u)), law, float64(shiftEvery), rng, slices.Max(rates) == 0}, nil
}

// NewPoisson returns an environment in which page i changes as a Poisson process with rates[i]
// changes per unit of time. The cost is that of [NewSlots] without shifts.
func NewPoisson(rates []float64, src rand.Source) (Simulated, error) {
	rng := newRandom(src)
	if err := checkRates(rates); err != nil {
		return nil, err
	}
	return &memorylessEnv{slices.Clone(rates), make([]float64, len(rates)), PoissonInSlot, 0, rng, slices.Max(rates) == 0}, nil
}

// Len returns the number of pages.
func (m *memorylessEnv) Len() int { return len(m.rates) }

// Poll implements [Env].
func (m *memorylessEnv) Poll(page int, now float64) (since float64, changed bool) {
	t := m.last[page]
	checkTime(page, now, t)
	m.last[page] = now
	// Invariant: the page did not change in (last, t].
	for t < now && !m.still {
		rate, end := m.stretch(page, t, now)
		if first := m.law.first(t, rate, m.rng.Rand); first <= end {
			return first, true
		}
		t = end
	}
	return 0, false
}

// Rate returns the rate of a page (see [Env]): −ln(1−u) if it changes with probability u per slot.
func (m *memorylessEnv) Rate(page int, now float64) float64 {
	if m.shift > 0 {
		page = m.lender(page, math.Floor(now/m.shift))
	}
	return m.rates[page]
}

// stretch returns the rate of a page at time t, and the time until which it lasts, at most now.
func (m *memorylessEnv) stretch(page int, t, now float64) (rate, end float64) {
	if m.shift == 0 {
		return m.rates[page], now
	}
	return m.borrowed(page, t, now)
}

// borrowed is stretch for rates that shift. It is a function of its own so that stretch can be
// inlined.
func (m *memorylessEnv) borrowed(page int, t, now float64) (rate, end float64) {
	epoch := math.Floor(t / m.shift)
	end = min(now, (epoch+1)*m.shift)
	if !(end > t) {
		end = now // times are so large that a shift is less than the spacing of floats
	}
	return m.rates[m.lender(page, epoch)], end
}

// Delays returns the expected number of changes and their expected delays (see [Env]), given the
// first change.
func (m *memorylessEnv) Delays(page int, since, now float64) (changes, delay float64) {
	changes, delay = 1, now-since
	for t := since; t < now; {
		rate, end := m.stretch(page, t, now)
		c, d := m.law.delays(rate, t, end, now)
		changes, delay, t = changes+c, delay+d, end
	}
	return changes, delay
}

// lender returns the page whose original probability the given page has in an epoch.
func (m *memorylessEnv) lender(page int, epoch float64) int {
	n := len(m.rates)
	return (page + int(math.Mod(epoch, float64(n)))) % n
}

var memorylessFormat = codec.Format{Magic: "recrawl/webenv.Memoryless", Version: 1}

// MarshalBinary and UnmarshalBinary are described with Simulated.

func (m *memorylessEnv) MarshalBinary() ([]byte, error) { return memorylessFormat.Save(m.encode) }

func (m *memorylessEnv) UnmarshalBinary(data []byte) error {
	return codec.Load(m, memorylessFormat, data, (*memorylessEnv).decode)
}

func (m *memorylessEnv) encode(e *codec.Encoder) {
	e.Float64s(m.rates)
	e.Float64s(m.last)
	e.Byte(byte(m.law))
	e.Float64(m.shift)
	e.Source(m.rng.src)
}

func (m *memorylessEnv) decode(d *codec.Decoder) {
	m.rates = d.Float64sIn(codec.AnyLen, 0, math.Inf(1))
	m.last = d.Float64sIn(len(m.rates), 0, math.MaxFloat64)
	m.law = codec.Enum[SlotLaw](d, slotLaws.Len())
	m.shift = d.NonNegative()
	m.rng = restored(d)
	d.Require(len(m.rates) > 0, "no pages")
	m.still = len(m.rates) > 0 && slices.Max(m.rates) == 0
	d.Require(m.shift == math.Floor(m.shift), "a shift after %v slots", m.shift)
}
