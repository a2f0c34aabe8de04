package rates

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// Gamma keeps a Gamma posterior of each rate, with the density ∝ λ^(a−1)·e^(−bλ). A poll that
// finds nothing after a gap g multiplies it by e^(−λg), which gives b + g. One that finds a
// change multiplies it by 1 − e^(−λg), which leaves the family; the Gamma density with the same
// mean and variance takes its place. A page begins with the weight of a single change at the mean
// rate of all pages: a = 1, b = 1/prior.
type Gamma struct{ a, b []float64 } // b = 0: no observation yet

// Add implements Evidence.
func (m *Gamma) Add() { m.a, m.b = append(m.a, 0), append(m.b, 0) }

// Reset implements Evidence.
func (m *Gamma) Reset(slot int) { m.a[slot], m.b[slot] = 0, 0 }

// Observe implements Evidence.
func (m *Gamma) Observe(slot int, gap float64, changed bool, prior float64) {
	a, b := m.a[slot], m.b[slot]
	if b == 0 {
		a, b = 1, 1/prior
	}
	if !changed {
		m.a[slot], m.b[slot] = a, b+gap
		return
	}
	// Moments under density·(1 − e^(−λg)): with r = b/(b+g), E[λ^k] is the old one times (1 −
	// r^(a+k))/(1 − r^a).
	l := -math.Log1p(gap / b) // ln r
	z := -math.Expm1(a * l)
	if z == 0 { // where the gap is too short beside b for a number, 1 − e^(−λg) is λg
		m.a[slot], m.b[slot] = a+1, b
		return
	}
	mean := a / b * (-math.Expm1((a+1)*l) / z)
	square := a * (a + 1) / (b * b) * (-math.Expm1((a+2)*l) / z)
	variance := square - float64(mean*mean)
	if !(variance > 1e-12*square) { // rounding: let the evidence grow by one change
		m.a[slot], m.b[slot] = a+1, (a+1)/mean
		return
	}
	m.a[slot], m.b[slot] = mean*mean/variance, mean/variance
}

// Rate implements Evidence.
func (m *Gamma) Rate(slot int, prior float64) float64 {
	if m.b[slot] == 0 {
		return prior
	}
	return m.a[slot] / m.b[slot]
}

// Encode implements Evidence.
func (m *Gamma) Encode(e *codec.Encoder) { e.Float64s(m.a); e.Float64s(m.b) }

// Decode implements Evidence.
func (m *Gamma) Decode(d *codec.Decoder, slots int) {
	m.a, m.b = decodeNumbers(d, slots), decodeNumbers(d, slots)
	for slot, b := range m.b {
		if d.Err() == nil {
			d.Require((m.a[slot] > 0) == (b > 0), "slot %d has a posterior of %v changes in %v", slot, m.a[slot], b)
		}
	}
}
