package rates

import "github.com/recrawl/recrawl/internal/codec"

// Avrachenkov is the stochastic approximation of Avrachenkov, Patil and Thoppe. A poll of a page
// that is polled at random times with rate p finds a change with probability λ/(λ+p). Let I be 1
// if it does and 0 if not: then I·(λ+p) − λ has mean 0. The k-th poll moves
//
//	λ̂ ← λ̂ + η_k·(I·(λ̂ + p) − λ̂),  η_k = 1/(k+1)
//
// Source: Avrachenkov, Patil and Thoppe 2020, Change rate estimation and optimal freshness in web
// page crawling. p is the page's own number of polls per time so far; the first estimate is the
// mean rate of all pages.
type Avrachenkov struct {
	polls        []uint32
	lambda, time []float64
}

// Add implements Evidence.
func (m *Avrachenkov) Add() {
	m.polls, m.lambda, m.time = append(m.polls, 0), append(m.lambda, 0), append(m.time, 0)
}

// Reset implements Evidence.
func (m *Avrachenkov) Reset(slot int) { m.polls[slot], m.lambda[slot], m.time[slot] = 0, 0, 0 }

// Observe implements Evidence.
func (m *Avrachenkov) Observe(slot int, gap float64, changed bool, prior float64) {
	if m.polls[slot] == 0 {
		m.lambda[slot] = prior
	}
	m.polls[slot]++
	m.time[slot] += gap
	k := float64(m.polls[slot])
	step := -m.lambda[slot]
	if changed {
		step = k / m.time[slot] // λ̂ + p − λ̂
	}
	m.lambda[slot] = Within(m.lambda[slot] + step/(k+1))
}

// Rate implements Evidence.
func (m *Avrachenkov) Rate(slot int, prior float64) float64 {
	if m.polls[slot] == 0 {
		return prior
	}
	return m.lambda[slot]
}

// Encode implements Evidence.
func (m *Avrachenkov) Encode(e *codec.Encoder) {
	e.Uint32s(m.polls)
	e.Float64s(m.lambda)
	e.Float64s(m.time)
}

// Decode implements Evidence.
func (m *Avrachenkov) Decode(d *codec.Decoder, slots int) {
	m.polls, m.lambda, m.time = decodeCounts(d, slots), decodeNumbers(d, slots), decodeNumbers(d, slots)
	for slot, polls := range m.polls {
		if d.Err() == nil && polls > 0 {
			d.Require(m.lambda[slot] > 0 && m.time[slot] > 0, "slot %d has the rate %v after %d polls", slot, m.lambda[slot], polls)
		}
	}
}
