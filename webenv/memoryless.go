package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// Memoryless is an environment whose pages change independently of each other and of their
// past: in slots ([NewSlots]) or as Poisson processes ([NewPoisson]). Take it for pages of any
// given probabilities or rates. It starts at time 0. Nothing happens until a page is polled;
// then the time of its first change since the previous poll is drawn.
//
// # Cost
//
// Time: a poll takes O(1), plus O(1) for each shift since the previous poll of the page.
// Memory: 16 bytes a page; a poll allocates nothing.
type Memoryless struct {
	rates []float64
	last  []float64 // time of the previous poll
	law   SlotLaw
	shift float64 // time between two shifts, 0: never
	rng   random
}

// NewSlots returns an environment in which page i changes with probability u[i] per slot, in
// the sense of law. If shiftEvery is positive, each page takes the probability of the next
// page, and the last page that of the first, after every shiftEvery slots (Yazidi 2006, the
// dynamic environment).
func NewSlots(u []float64, law SlotLaw, shiftEvery int, src rand.Source) (*Memoryless, error) {
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

const magicMemoryless = "webenv.Memoryless"

// AppendBinary appends the state to b; see MarshalBinary.
func (m *Memoryless) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicMemoryless, 1)
	e.Float64s(m.rates)
	e.Float64s(m.last)
	e.Byte(byte(m.law))
	e.Float64(m.shift)
	e.Source(m.rng.src)
	return e.Finish()
}

// MarshalBinary returns the state, with that of the source of randomness, which
// must be *rand.PCG or *rand.ChaCha8, else the error is [ErrSource].
func (m *Memoryless) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary returned. The environment then
// continues bit for bit. On an error it is left as it was.
func (m *Memoryless) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicMemoryless, 1)
	if err != nil {
		return err
	}
	s := Memoryless{rates: d.Float64s(), last: d.Float64s(), law: SlotLaw(d.Byte()), shift: d.Float64()}
	s.rng = restored(d)
	if len(s.rates) == 0 || len(s.rates) != len(s.last) {
		d.Fail("%d rates and %d times", len(s.rates), len(s.last))
	}
	for i := range min(len(s.rates), len(s.last)) {
		if !(s.rates[i] >= 0) || !isTime(s.last[i]) {
			d.Fail("page %d has rate %v and time %v", i, s.rates[i], s.last[i])
		}
	}
	if slotLaws.Check(s.law) != nil || !isTime(s.shift) || s.shift != math.Floor(s.shift) {
		d.Fail("law %d, shift %v", s.law, s.shift)
	}
	if err := d.Done(); err != nil {
		return err
	}
	*m = s
	return nil
}
