package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// units holds the action probabilities of the discretised schemes as counts of a
// common unit, so that they sum to 1 exactly.
type units struct {
	count []int64 // ≥ 0, sum total
	total int64
}

// newUnits gives each action the same number of units.
func newUnits(actions int, each int64) units {
	u := units{make([]int64, actions), int64(actions) * each}
	for i := range u.count {
		u.count[i] = each
	}
	return u
}

// Actions returns r.
func (u *units) Actions() int { return len(u.count) }

// Probability returns the probability of an action, in O(1).
func (u *units) Probability(action int) float64 {
	return float64(u.count[action]) / float64(u.total)
}

// Converged returns the action of probability threshold or more, in O(r).
func (u *units) Converged(threshold float64) (action int, ok bool) {
	checkThreshold(threshold)
	for i := range u.count {
		if u.Probability(i) >= threshold {
			return i, true
		}
	}
	return 0, false
}

// draw selects an action with its probability, in O(r).
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
	e.Int(len(u.count))
	for _, c := range u.count {
		e.Uint64(uint64(c))
	}
}

// decodeUnits reads counts that must sum to actions·each.
func decodeUnits(d *codec.Decoder, each int64) units {
	raw := d.Uint64s()
	if err := checkActions(len(raw)); err != nil {
		d.Fail("%v", err)
		return units{}
	}
	u := units{make([]int64, len(raw)), int64(len(raw)) * each}
	left := uint64(u.total)
	for i, c := range raw {
		if c > left {
			d.Fail("action %d has %d units of %d left", i, c, left)
			return units{}
		}
		left -= c
		u.count[i] = int64(c)
	}
	if left != 0 {
		d.Fail("%d units are missing", left)
	}
	return u
}
