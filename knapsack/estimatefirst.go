package knapsack

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
)

// EstimateFirstConfig holds the settings of EstimateFirst.
type EstimateFirstConfig struct {
	// Phase is the number of answers, over all pages, that the estimates are made from: at least 1.
	// The default is 10 for each page that there is at the beginning, but 10 in all if there is
	// none, as in a Keyed. That is too few: set it there.
	Phase int
	// Slot is the length of the paper's time step: pages are polled in proportion to the estimated
	// probability of a change in a slot, û = 1 − e^(−λ̂·Slot). It is 1e-100 to 1e100; the default
	// is 1, the unit of time. Negative polls in proportion to the estimated rates λ̂, which is the
	// optimum if they are right.
	Slot float64
	// Spacing is that of the polls, in both phases.
	Spacing Spacing
}

// EstimateFirst is the estimating policy of Granmo et al. 2006, section III.C. It polls all pages
// equally often for a number of polls, estimates how often they change, and then polls in
// proportion to the estimates. It is a baseline that shows what estimating first costs: it learns
// only in that phase, and a page without a change by its end is never polled again. For a crawler use
// RateFilter.
//
// The estimates saturate. In the phase each of n pages waits n polls for its next one. Pages that
// change at nearly every such poll cannot be told apart, however different their rates: with Even
// spacing no estimate from k polls exceeds ln(2k + 1) over the gap. With 500 pages, one poll a slot
// and 10 polls a page that is û = 0.006. With Random spacing some gaps are short, and estimates
// reach the order of k over the mean gap: û = 0.02 from the same polls.
//
// If no page changed, it goes on to poll all pages equally often. A page added after the phase is
// polled at the mean frequency of the others.
//
// # Cost
//
// Time and memory are those of Fixed, and 24 bytes a page more. Random spacing needs further memory
// until the phase ends: 32 bytes a page, and 16 for each change found, but no more than eight times
// that for each factor of 2 between the gaps of a page. The answer that ends the phase takes
// O(n log n), and with Random spacing some 60 times as long as it takes to read that memory. Add
// takes O(n) from then on.
//
// # How it works
//
// The estimate from k polls of a page, m of which found a change, is 0 for m = 0. With Even spacing
// it is the bias-reduced one of Cho and Garcia-Molina 2003:
//
//	λ̂ = −ln((k − m + ½)/(k + ½)) / (mean gap between the polls)
//
// With Random spacing gaps differ, and that formula would not come to the rate however long the
// phase is. λ̂ then is the maximum-likelihood estimate, the root of
//
//	Σ_changed g/(e^(λg) − 1) = Σ_unchanged g + ½·(shortest gap with a change)
//
// where g are the gaps of the polls that found a change, or none. The last term keeps the estimate
// finite, and makes it the one above where all gaps are equal. Gaps with a change are put together
// if they differ by less than an eighth, which moves the estimate by less than 0.3 %.
//
// The paper does not say how it estimates.
//
// # Source
//
// Granmo et al. 2006; its curves in figures 2 to 6: go run ./examples/papers -only granmo.
type EstimateFirst struct {
	scheduled
	period  float64   // Slot; −1: polls are in proportion to rates
	left    int       // answers that the phase still waits for
	polls   []uint32  // answers per slot
	changes []uint32  // of those, with a change
	since   []float64 // time from which on the slot is observed, but not before the first Next
	until   []float64 // time of the last answer
	gaps    []gaps    // of the phase, with Random spacing; nil after it
}

// gaps are those between the polls of a page.
type gaps struct {
	unchanged float64 // sum of those without a change
	changed   []alike // in ascending order
}

// alike are gaps with a change that are put together.
type alike struct {
	count uint32
	mean  float64 // of the same class
}

// gapClass has eight classes for each factor of 2: the exponent and three bits of the mantissa.
func gapClass(gap float64) uint16 { return uint16(math.Float64bits(gap) >> 49) }

// add adds a gap > 0.
func (g *gaps) add(gap float64, changed bool) {
	if !changed {
		g.unchanged += gap
		return
	}
	k, found := slices.BinarySearchFunc(g.changed, gap, func(a alike, gap float64) int {
		return cmp.Compare(gapClass(a.mean), gapClass(gap))
	})
	if !found {
		g.changed = slices.Insert(g.changed, k, alike{})
	}
	a := &g.changed[k]
	a.count++
	a.mean += (gap - a.mean) / float64(a.count)
}

// rate returns the estimate: see EstimateFirst.
func (g *gaps) rate() float64 {
	if len(g.changed) == 0 {
		return 0
	}
	rest := g.unchanged + g.changed[0].mean/2
	count, sum := 0.0, 0.0
	for _, a := range g.changed {
		count += float64(a.count)
		sum += float64(float64(a.count) * a.mean)
	}
	// g/(e^(λg) − 1) lies between 1/λ − g/2 and 1/λ, and with it the root between these. They are
	// halved as the words that hold them, so that 64 steps are enough at every scale.
	low, high := math.Float64bits(count/(rest+sum/2)), math.Float64bits(min(count/rest, math.MaxFloat64))
	for low+1 < high {
		middle := low + (high-low)/2
		excess := -rest
		for _, a := range g.changed {
			excess += float64(float64(a.count) * a.mean / math.Expm1(math.Float64frombits(middle)*a.mean))
		}
		if excess > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Float64frombits(low)
}

var _ Learner = (*EstimateFirst)(nil)

// phasePerPage is the best of 2, 5, 10, 20 and 40 in two of the three environments of Granmo et
// al. 2006 and 1 % below it in the other (go test ./knapsack -v -run Sweep -sweep).
const phasePerPage = 10

// NewEstimateFirst returns an EstimateFirst of the pages 0..n−1. src is used for Random spacing
// only and may be nil for Even. It returns ErrConfig for a setting out of its range; n may be 0 to
// 2^30.
func NewEstimateFirst(n int, cfg EstimateFirstConfig, src rand.Source) (*EstimateFirst, error) {
	if err := checkPages(n); err != nil {
		return nil, err
	}
	if cfg.Phase == 0 {
		cfg.Phase = phasePerPage * max(n, 1)
	}
	if cfg.Phase < 1 {
		return nil, fmt.Errorf("%w: a phase of %d polls", ErrConfig, cfg.Phase)
	}
	if err := spacingNames.Check(cfg.Spacing); err != nil {
		return nil, err
	}
	switch {
	case cfg.Slot == 0:
		cfg.Slot = 1
	case cfg.Slot < 0:
		cfg.Slot = -1
	case !optimum.InRange(cfg.Slot):
		return nil, fmt.Errorf("%w: a slot of %v", ErrConfig, cfg.Slot)
	}
	e := &EstimateFirst{
		scheduled: newScheduled(n, cfg.Spacing, src),
		period:    cfg.Slot,
		left:      cfg.Phase,
		polls:     make([]uint32, n),
		changes:   make([]uint32, n),
		since:     make([]float64, n),
		until:     make([]float64, n),
	}
	for slot := range n {
		e.roster.Set(slot, 1)
		e.since[slot] = math.Inf(-1)
	}
	if e.spacing == Random {
		e.gaps = make([]gaps, n)
	}
	return e, nil
}

// Observe implements Scheduler. An answer after the phase teaches nothing.
func (e *EstimateFirst) Observe(page int, now float64, changed bool) error {
	slot, err := e.land(page, now)
	if err != nil || e.left == 0 {
		return err
	}
	if e.polls[slot] < math.MaxUint32 { // more are not counted
		if e.gaps != nil {
			before := e.until[slot]
			if e.polls[slot] == 0 {
				before = max(e.since[slot], e.start)
			}
			if now > before {
				e.gaps[slot].add(now-before, changed)
			}
		}
		e.polls[slot]++
		if changed {
			e.changes[slot]++
		}
		e.until[slot] = now
	}
	if e.left--; e.left == 0 {
		e.settle()
	}
	return nil
}

// settle gives all pages the frequencies of their estimates.
func (e *EstimateFirst) settle() {
	estimates := make([]float64, len(e.polls))
	for slot := range estimates {
		estimates[slot] = e.estimate(slot)
	}
	e.gaps = nil
	if slices.Max(estimates) == 0 {
		return
	}
	for slot, x := range estimates {
		if e.ids.Live(slot) {
			e.roster.Set(slot, x)
		}
	}
}

func (e *EstimateFirst) estimate(slot int) float64 {
	if !e.ids.Live(slot) {
		return 0
	}
	rate := e.rate(slot)
	if rate == 0 {
		return 0
	}
	rate = optimum.Clamp(rate)
	if e.period < 0 {
		return rate
	}
	return -math.Expm1(-rate * e.period)
}

// rate returns the estimate of a rate, 0 if no change was found.
func (e *EstimateFirst) rate(slot int) float64 {
	if e.gaps != nil {
		return e.gaps[slot].rate()
	}
	k, m := float64(e.polls[slot]), float64(e.changes[slot])
	span := e.until[slot] - max(e.since[slot], e.start)
	if m == 0 || !(span > 0) {
		return 0
	}
	return -math.Log((k-m+0.5)/(k+0.5)) * k / span
}

// Add implements Learner.
func (e *EstimateFirst) Add() (page int) {
	x := 1.0
	if n := e.Len(); e.left == 0 && n > 0 {
		x = 0
		for slot := range e.polls {
			x += e.roster.Frequency(slot) / float64(n)
		}
	}
	e.newcomer = x
	page = e.scheduled.Add()
	slot := Slot(page)
	if slot == len(e.polls) {
		e.polls, e.changes = append(e.polls, 0), append(e.changes, 0)
		e.since, e.until = append(e.since, 0), append(e.until, 0)
		if e.gaps != nil {
			e.gaps = append(e.gaps, gaps{})
		}
	}
	e.polls[slot], e.changes[slot], e.since[slot], e.until[slot] = 0, 0, e.now, 0
	if e.gaps != nil {
		e.gaps[slot] = gaps{}
	}
	return page
}

var estimateFirstFormat = codec.Format{Magic: "recrawl/knapsack.EstimateFirst", Version: 3}

// MarshalBinary returns the state, source included.
func (e *EstimateFirst) MarshalBinary() ([]byte, error) { return estimateFirstFormat.Save(e.encode) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (e *EstimateFirst) UnmarshalBinary(data []byte) error {
	return codec.Load(e, estimateFirstFormat, data, (*EstimateFirst).decode)
}

func (e *EstimateFirst) encode(enc *codec.Encoder) {
	e.scheduled.encode(enc)
	enc.Float64(e.period)
	enc.Int(e.left)
	enc.Uint32s(e.polls)
	enc.Uint32s(e.changes)
	enc.Float64s(e.since)
	enc.Float64s(e.until)
	for _, g := range e.gaps {
		enc.Float64(g.unchanged)
		enc.Int(len(g.changed))
		for _, a := range g.changed {
			enc.Uint32(a.count)
			enc.Float64(a.mean)
		}
	}
}

func (e *EstimateFirst) decode(d *codec.Decoder) {
	e.scheduled.decode(d)
	n := e.ids.Slots()
	e.period = d.Float64In(-1, optimum.MostInput)
	d.Require(e.period == -1 || e.period >= optimum.LeastInput, "a slot of %v", e.period)
	e.left = d.IntIn(0, math.MaxInt) // it only falls
	e.polls, e.changes = d.Uint32sIn(n, math.MaxUint32), d.Uint32sIn(n, math.MaxUint32)
	e.since, e.until = d.Float64sIn(n, math.Inf(-1), math.MaxFloat64), d.Float64sIn(n, -math.MaxFloat64, math.MaxFloat64)
	for slot, changes := range e.changes {
		d.Require(changes <= e.polls[slot], "slot %d has %d changes in %d polls", slot, changes, e.polls[slot])
	}
	if e.spacing != Random || e.left == 0 {
		return
	}
	e.gaps = make([]gaps, n)
	for slot := range e.gaps {
		g := &e.gaps[slot]
		g.unchanged = d.NonNegative()
		class := uint16(0)
		for range d.Count(4 + 8) {
			a := alike{d.Uint32(), d.NonNegative()}
			d.Require(a.count > 0 && a.mean > 0, "slot %d has %d gaps of %v", slot, a.count, a.mean)
			d.Require(len(g.changed) == 0 || gapClass(a.mean) > class, "slot %d has gaps of %v twice", slot, a.mean)
			class = gapClass(a.mean)
			g.changed = append(g.changed, a)
		}
	}
}
