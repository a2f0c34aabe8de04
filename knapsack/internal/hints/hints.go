// Package hints keeps hints that pages have changed, and learns how good they are.
package hints

import "github.com/recrawl/recrawl/internal/codec"

// Hints holds the hints that came since the last answer of each page, and what answers
// with and without one found. A hint may be wrong, and a change may come without one. The
// zero value is empty, off, and takes no memory; Add turns it on.
type Hints struct {
	pending []uint64 // bit per slot: a hint came since the last answer
	// counts[s][c] counts answers with (s = 1) and without a hint before them
	// that found a change (c = 1) or none.
	counts [2][2]float64
}

// On reports whether there has been a hint.
func (h *Hints) On() bool { return h.pending != nil }

// Grow makes room for slots.
func (h *Hints) Grow(slots int) {
	if h.On() && len(h.pending)*64 < slots {
		h.pending = append(h.pending, 0)
	}
}

// Add takes in a hint about one of so many slots.
func (h *Hints) Add(slot, slots int) {
	if !h.On() {
		h.pending = make([]uint64, slots/64+1)
	}
	h.pending[slot/64] |= 1 << (slot % 64)
}

// Clear forgets the hint about a slot.
func (h *Hints) Clear(slot int) {
	if h.On() {
		h.pending[slot/64] &^= 1 << (slot % 64)
	}
}

func (h *Hints) has(slot int) int { return int(h.pending[slot/64] >> (slot % 64) & 1) }

// Score takes in the answer of a poll, and clears the slot.
func (h *Hints) Score(slot int, changed bool) {
	if !h.On() {
		return
	}
	c := 0
	if changed {
		c = 1
	}
	h.counts[h.has(slot)][c]++
	h.Clear(slot)
}

// The priors of recall and of false alarms, worth two answers each, have the means 1/2 and
// 1/20: a hint is worth something before anything is known.
const (
	priorHit   = 1.0
	priorAlarm = 0.1
	priorCount = 2.0
)

// recall is the probability of a hint before an answer that finds a change.
func (h *Hints) recall() float64 {
	return (h.counts[1][1] + priorHit) / (h.counts[1][1] + h.counts[0][1] + priorCount)
}

// falseAlarm is the probability of a hint before an answer that finds none.
func (h *Hints) falseAlarm() float64 {
	return (h.counts[1][0] + priorAlarm) / (h.counts[1][0] + h.counts[0][0] + priorCount)
}

// Telling reports whether hints tell pages apart.
func (h *Hints) Telling() bool { return h.On() && h.recall() > 2*h.falseAlarm() }

// Correct corrects the value of a poll of a page that has changed with probability p, by
// Bayes's rule for the hint about it or the absence of one. Hints are On.
func (h *Hints) Correct(slot int, p, value float64) float64 {
	p = min(p, 1)
	if !(p > 0) {
		return value
	}
	yes, no := h.recall(), h.falseAlarm()
	if h.has(slot) == 0 {
		yes, no = 1-yes, 1-no
	}
	return value * yes / (p*yes + (1-p)*no)
}

// Quality returns the share of answers with a hint that found a change, and of answers
// that found a change that had a hint; NaN where there were none.
func (h *Hints) Quality() (precision, recall float64) {
	c := &h.counts
	return c[1][1] / (c[1][0] + c[1][1]), c[1][1] / (c[0][1] + c[1][1])
}

// Encode writes the hints.
func (h *Hints) Encode(e *codec.Encoder) {
	e.Uint64s(h.pending)
	for _, c := range h.counts {
		e.Float64(c[0])
		e.Float64(c[1])
	}
}

// Decode reads what Encode wrote, of so many slots.
func (h *Hints) Decode(d *codec.Decoder, slots int) {
	h.pending = d.Uint64s()
	n := len(h.pending) * 64
	d.Require(n == 0 || n >= slots, "hints for %d of %d slots", n, slots)
	for s := range h.counts {
		for c := range h.counts[s] {
			h.counts[s][c] = d.NonNegative()
		}
	}
}
