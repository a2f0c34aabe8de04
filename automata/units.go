package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// units holds the action probabilities of the discretised schemes as counts of a common unit, so
// that they sum to 1 exactly. A step Δ = 1/(rN) of the scheme is one unit, or several units in a
// scheme that divides its steps.
type units struct {
	count      []int64 // ≥ 0, sum total
	total      int64   // r·N·(units per step)
	resolution int     // N
}

// newUnits gives each action the same probability.
func newUnits(actions, resolution int, perStep int64) (units, error) {
	if err := checkActions(actions); err != nil {
		return units{}, err
	}
	if err := checkResolution(resolution); err != nil {
		return units{}, err
	}
	each := int64(resolution) * perStep
	u := units{make([]int64, actions), int64(actions) * each, resolution}
	for i := range u.count {
		u.count[i] = each
	}
	return u, nil
}

// Actions returns r.
func (u *units) Actions() int { return len(u.count) }

// Probability returns the probability of an action. O(1).
func (u *units) Probability(action int) float64 {
	return float64(u.count[action]) / float64(u.total)
}

// Converged returns the action whose probability is at least threshold. O(r).
func (u *units) Converged(threshold float64) (action int, ok bool) {
	checkThreshold(threshold)
	for i := range u.count {
		if u.Probability(i) >= threshold {
			return i, true
		}
	}
	return 0, false
}

// draw selects an action with its probability. O(r).
func (u *units) draw(src rand.Source) int {
	left := rand.New(src).Int64N(u.total)
	i := 0
	for left >= u.count[i] { // ends: left is less than the sum of count[i:]
		left -= u.count[i]
		i++
	}
	return i
}

// pursue moves one unit from each other action that has one to the given action.
func (u *units) pursue(action int) {
	for j, c := range u.count {
		if c > 0 && j != action {
			u.count[j]--
			u.count[action]++
		}
	}
}

func (u *units) encode(e *codec.Encoder) {
	e.Int(u.resolution)
	e.Int(len(u.count))
	for _, c := range u.count {
		e.Uint64(uint64(c))
	}
}

// decodeUnits reads what encode wrote, for a scheme with perStep units per step.
func decodeUnits(d *codec.Decoder, perStep int64) units {
	resolution, count := d.Int(), d.Uint64s()
	if d.Err() != nil {
		return units{}
	}
	u, err := newUnits(len(count), resolution, perStep)
	if err != nil {
		d.Check(err)
		return units{}
	}
	left := uint64(u.total)
	for i, c := range count {
		if c > left {
			d.Fail("action %d has %d units of %d left", i, c, left)
			return units{}
		}
		left -= c
		u.count[i] = int64(c)
	}
	d.Require(left == 0, "%d units are missing", left)
	return u
}
