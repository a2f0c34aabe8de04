package rates

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// Cho is the bias-reduced estimate of Cho and Garcia-Molina: from k polls at a mean gap ḡ of
// which m found a change,
//
//	λ̂ = −ln((k − m + ½)/(k + ½)) / ḡ
//
// Source: Cho and Garcia-Molina 2003, Estimating frequency of change. To keep the estimate above
// 0, each page begins with half a change found by half a poll, at a gap that makes it the mean
// rate.
type Cho struct {
	polls, changes []uint32
	time           []float64
}

// Add implements Evidence.
func (m *Cho) Add() {
	m.polls, m.changes, m.time = append(m.polls, 0), append(m.changes, 0), append(m.time, 0)
}

// Reset implements Evidence.
func (m *Cho) Reset(slot int) { m.polls[slot], m.changes[slot], m.time[slot] = 0, 0, 0 }

// Observe implements Evidence.
func (m *Cho) Observe(slot int, gap float64, changed bool, _ float64) {
	m.polls[slot]++
	if changed {
		m.changes[slot]++
	}
	m.time[slot] += gap
}

// Rate implements Evidence.
func (m *Cho) Rate(slot int, prior float64) float64 {
	k, c := float64(m.polls[slot])+0.5, float64(m.changes[slot])+0.5
	lent := math.Log(2) / prior / 2 // half a poll, at the gap at which half of all polls find a change
	return math.Log((k+0.5)/(k-c+0.5)) * k / (m.time[slot] + lent)
}

// Encode implements Evidence.
func (m *Cho) Encode(e *codec.Encoder) { e.Uint32s(m.polls); e.Uint32s(m.changes); e.Float64s(m.time) }

// Decode implements Evidence.
func (m *Cho) Decode(d *codec.Decoder, slots int) {
	m.polls, m.changes, m.time = decodeCounts(d, slots), decodeCounts(d, slots), decodeNumbers(d, slots)
	for slot, changes := range m.changes {
		if d.Err() == nil {
			d.Require(changes <= m.polls[slot], "slot %d has %d changes in %d polls", slot, changes, m.polls[slot])
		}
	}
}
