package rates

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// octaves is how many ranges of a factor 2 an MLE tells gaps with a change apart by. The middle
// one holds the page's first gap with a change: gaps from 1/4096 of it to 1024 times as long have
// ranges of their own, longer ones share the last, and shorter ones the first. The first gap of all
// pages would not do: the first answers come within a small part of the time in which all pages are
// polled.
const octaves = 24

// MLE is the maximum-likelihood estimate: the rate at which the gaps g after which polls found a
// change or none are likeliest, the root of
//
//	Σ_changed g/(e^(λg) − 1) = Σ_unchanged g
//
// (Cho and Garcia-Molina 2003). The gaps without a change matter by their sum only. Those with
// one are summed by octave, and each octave counts as that many gaps of its mean length:
// g/(e^(λg) − 1) bends little within an octave while λg is small, and the root moves by a percent
// or so. Where nearly every poll finds a change it may move by a tenth, less than the estimate is
// uncertain by. Half a change and half as long without one, both at the mean rate of all pages,
// smooth the estimate and keep it above 0, as in LambdaCrawl's learner (Kolobov et al. 2019,
// section 6).
type MLE struct {
	page []mlePage
}

type mlePage struct {
	unchanged float64
	sum       [octaves]float32 // of the gaps with a change in this octave
	count     [octaves]uint32
	unit      float64 // gap in the middle octave: the first one with a change; 0 before
	last      float64 // latest root, where the next search begins; 0: none
}

// Add implements Evidence.
func (m *MLE) Add() { m.page = append(m.page, mlePage{}) }

// Reset implements Evidence.
func (m *MLE) Reset(slot int) { m.page[slot] = mlePage{} }

// Observe implements Evidence.
func (m *MLE) Observe(slot int, gap float64, changed bool, prior float64) {
	p := &m.page[slot]
	if changed {
		if p.unit == 0 {
			p.unit = gap
		}
		o := octave(gap / p.unit)
		p.sum[o] += inUnits(gap / p.unit)
		p.count[o]++
	} else {
		p.unchanged += gap
	}
	p.last = p.root(prior)
}

// inUnits returns gaps, in units, within bounds: no sum of such float32s is 0 or infinite.
func inUnits(gaps float64) float32 { return float32(min(max(gaps, 1e-30), 1e30)) }

// octave returns the range of a gap, in units.
func octave(gap float64) int {
	_, octave := math.Frexp(gap)
	return min(max(octave+octaves/2, 0), octaves-1)
}

// rootPrecision is how near to the root a search ends: far nearer than what the octaves leave open.
const rootPrecision = 1e-6

// root solves for λ between least and most, by bisection of a bracket around the previous root.
func (p *mlePage) root(prior float64) float64 {
	// f falls in λ, from ∞ to −(unchanged time).
	f := func(lambda float64) float64 {
		v := float64(0.5*excess(1/prior, lambda)) - (p.unchanged + 0.5/prior)
		for o, k := range p.count {
			if k > 0 {
				v += float64(float64(k) * excess(float64(p.sum[o])*p.unit/float64(k), lambda))
			}
		}
		return v
	}
	lo := p.last
	if lo == 0 {
		lo = prior
	}
	lo = Within(lo)
	hi := lo
	for f(lo) < 0 && lo > least {
		lo = Within(lo / 2)
	}
	for f(hi) > 0 && hi < most {
		hi = Within(hi * 2)
	}
	// Invariant: f(lo) ≥ 0 ≥ f(hi), but at least and most.
	for hi > lo*(1+rootPrecision) {
		mid := math.Sqrt(lo * hi)
		if !(mid > lo && mid < hi) {
			mid = lo + (hi-lo)/2 // the product was out of range
		}
		if f(mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// excess is g/(e^(λg) − 1).
func excess(g, lambda float64) float64 { return g / math.Expm1(lambda*g) }

// Rate implements Evidence.
func (m *MLE) Rate(slot int, prior float64) float64 {
	if m.page[slot].last == 0 {
		return prior
	}
	return m.page[slot].last
}

// Encode implements Evidence.
func (m *MLE) Encode(e *codec.Encoder) {
	for i := range m.page {
		p := &m.page[i]
		e.Float64(p.unchanged)
		e.Float64(p.unit)
		e.Float64(p.last)
		for o, k := range p.count {
			e.Uint32(k)
			e.Uint32(math.Float32bits(p.sum[o]))
		}
	}
}

// Decode implements Evidence.
func (m *MLE) Decode(d *codec.Decoder, slots int) {
	for slot := 0; slot < slots && d.Err() == nil; slot++ {
		p := mlePage{unchanged: d.NonNegative(), unit: d.NonNegative(), last: d.NonNegative()}
		changes := uint64(0)
		for o := range p.count {
			p.count[o], p.sum[o] = d.Uint32(), math.Float32frombits(d.Uint32())
			s := float64(p.sum[o])
			d.Require(s >= 0 && s <= math.MaxFloat32 && (s > 0) == (p.count[o] > 0), "slot %d has %d gaps of %v in all", slot, p.count[o], s)
			changes += uint64(p.count[o])
		}
		d.Require((changes > 0) == (p.unit > 0), "slot %d has %d gaps in units of %v", slot, changes, p.unit)
		m.page = append(m.page, p)
	}
}
