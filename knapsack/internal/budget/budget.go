// Package budget measures how often a crawler asks for a page to poll.
package budget

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Meter measures the time between polls over one block of polls after another, so that
// bursts of polls at one time do no harm.
type Meter struct {
	start      float64 // of the first poll; −Inf before
	polls      uint64
	block      float64 // beginning of the present block
	blockPolls uint64  // polls before it
}

// New returns a meter before the first poll.
func New() Meter { return Meter{start: math.Inf(-1), block: math.Inf(-1)} }

// Start returns the time of the first poll, −Inf before it.
func (m *Meter) Start() float64 { return m.start }

// Polls returns the number of polls.
func (m *Meter) Polls() uint64 { return m.polls }

// Poll counts a poll. When a block of as many as block is full and has taken some time, it
// returns the time between polls, and begins another.
func (m *Meter) Poll(now float64, block uint64) (period float64, ok bool) {
	if m.polls == 0 {
		m.start, m.block = now, now
	}
	m.polls++
	polls := m.polls - 1 - m.blockPolls // since the first of the block
	if polls < block || now <= m.block {
		return 0, false
	}
	period = (now - m.block) / float64(polls)
	m.block, m.blockPolls = now, m.polls-1
	return period, true
}

// Encode writes the meter.
func (m *Meter) Encode(e *codec.Encoder) {
	e.Float64(m.start)
	e.Uint64(m.polls)
	e.Float64(m.block)
	e.Uint64(m.blockPolls)
}

// Decode reads what Encode wrote at a time not before the latest poll.
func Decode(d *codec.Decoder, now float64) Meter {
	m := Meter{start: d.Float64In(math.Inf(-1), now), polls: d.Uint64()}
	m.block, m.blockPolls = d.Float64In(m.start, now), d.Uint64In(m.polls)
	d.Require(math.IsInf(m.start, -1) == (m.polls == 0), "%d polls since %v", m.polls, m.start)
	return m
}
