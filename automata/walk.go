package automata

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/portable"
)

// A Walk is the rule of a random walk on the amounts (s/N)^λ, with the state s in 1..N. Step moves
// up on a reward and down on a penalty, and stays at the ends. StepFull is Step for automata that
// share a knapsack. Take it to reproduce the papers' automaton of one page.
//
// A Walk holds no state. One Walk, with its table of amounts, serves any number of automata; the
// caller keeps the state of each, an integer in 1..N.
//
// # Cost
//
// Time: O(log N) for State, O(1) for the other methods. Memory: 8 bytes for each of the N states.
//
// # Where the walk settles
//
// If a step up leaves state s with probability up(s) and a step down with probability
// down(s), its stationary distribution is
//
//	π(s)/π(s−1) = up(s−1)/down(s)
//
// [BirthDeath] computes it. Without a budget the walk balances where a reward is as likely as a
// penalty.
//
// # Source
//
// Granmo, Oommen, Myrer & Olsen 2006 (section II); Yazidi 2006 (section 4.2).
type Walk struct {
	amounts []float64 // of states 1..N
}

// NewWalk returns the walk of N ≥ 1 states and exponent λ > 0. A larger N is slower and
// more exact; λ > 1 spaces small amounts more closely.
func NewWalk(states int, lambda float64) (*Walk, error) {
	if err := checkStates(states); err != nil {
		return nil, err
	}
	if err := checkPositive("λ", lambda); err != nil {
		return nil, err
	}
	w := &Walk{amounts: make([]float64, states)}
	for i := range w.amounts {
		w.amounts[i] = math.Pow(float64(i+1)/float64(states), lambda)
	}
	return w, nil
}

// Amount returns (state/N)^λ. It panics if the state is not in 1..N.
func (w *Walk) Amount(state int) float64 { return w.amounts[state-1] }

// State returns the state whose amount is nearest, the lower of two equally near. It panics
// if the amount is NaN.
func (w *Walk) State(amount float64) int {
	if math.IsNaN(amount) {
		panic("automata: the amount is NaN")
	}
	// i is the index of the first amount that is not below the given one.
	i, _ := slices.BinarySearch(w.amounts, amount)
	switch {
	case i == 0:
		return 1
	case i == len(w.amounts) || amount-w.amounts[i-1] <= w.amounts[i]-amount:
		// Under an extreme exponent several amounts are 0 or 1.
		i, _ = slices.BinarySearch(w.amounts, w.amounts[i-1])
		return i + 1
	default:
		return i + 1
	}
}

// Step returns the state after a reward (up) or a penalty (down).
func (w *Walk) Step(state int, reward bool) int {
	if reward {
		return min(state+1, len(w.amounts))
	}
	return max(state-1, 1)
}

// StepFull is Step for automata that share a knapsack: they step up only while there is
// room, and down only while it is full (Granmo et al. 2006, section II).
func (w *Walk) StepFull(state int, reward, full bool) int {
	// No branch depends on the reward, because a processor could not predict it. A reward while the
	// knapsack is full is a step up and a step down, which cancel. A penalty while there is room is
	// neither.
	up, down := 0, 0
	if reward {
		up = 1
	}
	if full {
		down = 1
	}
	return min(max(state+up-down, 1), len(w.amounts))
}

// BirthDeath returns the stationary distribution π of a random walk on n states in a row. The walk
// goes from state s to s+1 with probability up[s], to s−1 with probability down[s], and stays
// otherwise:
//
//	π(s) ∝ Π_{k=1..s} up[k−1]/down[k]
//
// up[n−1] and down[0] are not used. Only the ratios count, so rates serve as well as
// probabilities. O(n); large n do not overflow.
//
// The error is ErrConfig for slices that are empty or of different lengths, for values that are
// negative or not finite, and for a walk that can end in either of two separate parts, because then
// the start decides.
func BirthDeath(up, down []float64) ([]float64, error) {
	n := len(up)
	if n == 0 || len(down) != n {
		return nil, fmt.Errorf("%w: %d probabilities up and %d down", ErrConfig, n, len(down))
	}
	pi := make([]float64, n) // logarithms of the weights, until the end
	start := 0               // first state of the closed class; states below have no weight
	blocked := false         // no way up from start to s
	for s := 1; s < n; s++ {
		u, d := up[s-1], down[s]
		if !(u >= 0 && d >= 0) || math.IsInf(u, 1) || math.IsInf(d, 1) {
			return nil, fmt.Errorf("%w: %v up from state %d, %v down from state %d", ErrConfig, u, s-1, d, s)
		}
		blocked = blocked || u == 0
		if d == 0 {
			if blocked {
				return nil, fmt.Errorf("%w: state %d cannot go down and state %d is never left", ErrConfig, s, start)
			}
			start = s
			continue // weight e^0
		}
		// math.Log takes a number below 1e-308 for a greater one on amd64.
		pi[s] = pi[s-1] + portable.Log(u) - portable.Log(d)
	}
	for s := range start {
		pi[s] = math.Inf(-1)
	}
	softmax(pi)
	return pi, nil
}

// softmax turns the logarithms of weights into shares that sum to 1. One weight may be
// infinite.
func softmax(v []float64) {
	top := slices.Max(v)
	sum := 0.0
	for i, x := range v {
		v[i] = 1 // for an infinite weight, too
		if x != top {
			v[i] = math.Exp(x - top)
		}
		sum += v[i]
	}
	for i := range v {
		v[i] /= sum
	}
}
