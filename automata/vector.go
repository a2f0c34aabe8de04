package automata

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// vector is the vector of action probabilities of the continuous schemes. Its sum is 1 up to
// rounding errors. These do not build up: every update shrinks the deviation of the sum by the same
// factor as the vector.
type vector []float64

func newVector(actions int) vector {
	v := make(vector, actions)
	for i := range v {
		v[i] = 1 / float64(actions)
	}
	return v
}

// Actions returns r.
func (p vector) Actions() int { return len(p) }

// Probability returns the probability of an action. O(1).
func (p vector) Probability(action int) float64 { return p[action] }

// Converged returns the action whose probability is at least threshold. O(r).
func (p vector) Converged(threshold float64) (action int, ok bool) {
	checkThreshold(threshold)
	for i, x := range p {
		if x >= threshold {
			return i, true
		}
	}
	return 0, false
}

// draw selects an action with its probability. O(r).
func (p vector) draw(src rand.Source) int {
	u := uniform(src)
	last := 0
	for i, x := range p {
		if x > 0 {
			if u < x {
				return i
			}
			u -= x
			last = i
		}
	}
	return last // rounding left a little over
}

// pursue moves the vector towards the unit vector of an action: the probabilities
// of the others shrink by the factor 1 − rate.
func (p vector) pursue(action int, rate float64) {
	for j, x := range p {
		if j == action {
			p[j] = x + float64(rate*(1-x))
		} else {
			p[j] = float64((1 - rate) * x)
		}
	}
}

// decodeVector reads a vector of probabilities.
func decodeVector(d *codec.Decoder) vector {
	p := vector(d.Float64sIn(codec.AnyLen, 0, 1))
	if d.Err() != nil {
		return nil
	}
	d.Check(checkActions(len(p)))
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	d.Require(math.Abs(sum-1) <= 1e-6, "the probabilities sum to %v", sum)
	return p
}
