// Package budget measures how often a crawler asks for a page to poll.
package budget

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Meter measures the time between polls over one block of polls after another, so that
// bursts of polls at one time do no harm. Neither do runs of up to window blocks or so with long
// pauses between them, as of a crawler that is started once a day: it is averaged over about so many
// blocks.
type Meter struct {
	start      float64 // of the first poll; −Inf before
	polls      uint64
	block      float64 // beginning of the present block
	blockPolls uint64  // polls before it
	spent      float64 // cost of those since
	period     float64 // for a cost of 1, in the blocks before, those longer ago counting less
	cost       float64 // of those blocks, so counted
	long       float64 // period of the longest block of late, also as far as it did not count
}

// window is over how many blocks the time for a cost of 1 is averaged. A block counts as at most window times as long
// as those before it: a crawler that was down for a month is not taken for a slow one. But it counts as long as one of
// late did that was longer, which is forgotten within about forget blocks: pauses between runs come again.
const window, forget = 16, 32

// New returns a meter before the first poll.
func New() Meter { return Meter{start: math.Inf(-1), block: math.Inf(-1)} }

// Start returns the time of the first poll, −Inf before it.
func (m *Meter) Start() float64 { return m.start }

// Polls returns the number of polls.
func (m *Meter) Polls() uint64 { return m.polls }

// Poll counts a poll of some cost. When a block of as many as block is full and has taken some
// time, it returns the time that the budget takes to pay for a cost of 1, and begins another.
func (m *Meter) Poll(now, cost float64, block uint64) (period float64, ok bool) {
	if m.polls == 0 {
		m.start, m.block = now, now
	}
	m.polls++
	polls := m.polls - 1 - m.blockPolls // since the first of the block
	if polls < block || now <= m.block {
		m.spent += cost
		return 0, false
	}
	period = m.window(now-m.block, m.spent)
	m.block, m.blockPolls, m.spent = now, m.polls-1, cost
	return period, true
}

// window takes a block in, and returns the time for a cost of 1 over those of late. What no number holds, and
// costs of nothing, begin anew with the next block.
func (m *Meter) window(time, cost float64) (period float64) {
	period = time / cost
	if m.cost > 0 {
		long := min(period, mostPeriod)
		period = min(period, max(window*m.period, m.long))
		m.long = max(m.long*(1-1.0/forget), long)
	}
	m.cost = float64(m.cost*(1-1.0/window)) + cost
	m.period += float64((period - m.period) * (cost / m.cost)) // evenly spaced polls leave it as it is
	period = m.period
	if !(m.period > 0 && m.period <= mostPeriod && m.cost > 0 && m.cost <= mostCost) {
		m.period, m.cost, m.long = 0, 0, 0
	}
	return period
}

// mostPeriod and mostCost bound what is kept, so that nothing overflows.
const mostPeriod, mostCost = math.MaxFloat64 / 64, math.MaxFloat64 / 64

// Skip leaves a span of the time since the latest poll out, before the poll of now is counted.
func (m *Meter) Skip(span, now float64) { m.block = min(m.block+span, now) }

// Encode writes the meter.
func (m *Meter) Encode(e *codec.Encoder) {
	e.Float64(m.start)
	e.Uint64(m.polls)
	e.Float64(m.block)
	e.Uint64(m.blockPolls)
	e.Float64(m.spent)
	e.Float64(m.period)
	e.Float64(m.cost)
	e.Float64(m.long)
}

// Decode reads what Encode wrote at a time not before the latest poll.
func Decode(d *codec.Decoder, now float64) Meter {
	m := Meter{start: d.Float64In(math.Inf(-1), now), polls: d.Uint64()}
	m.block, m.blockPolls, m.spent = d.Float64In(m.start, now), d.Uint64In(m.polls), d.NonNegative()
	m.period, m.cost, m.long = d.Float64In(0, mostPeriod), d.Float64In(0, mostCost), d.Float64In(0, mostPeriod)
	d.Require((m.period > 0) == (m.cost > 0), "a period of %v for a cost of %v", m.period, m.cost)
	d.Require(math.IsInf(m.start, -1) == (m.polls == 0), "%d polls since %v", m.polls, m.start)
	return m
}
