package automata

import (
	"fmt"
	"math/rand/v2"
)

// An Overload is the rule of the automaton of a bin in Yazidi 2006 (section 4.2). When the bin is
// overloaded, Select chooses between bearing the overload (the sites are polled less) and relieving
// the bin (sites are put out). The probability of relief is (s/N)². Step moves the state s. It
// rises fast while the overload lasts and falls slowly afterwards, never below the threshold Th
// where it starts:
//
//	overloaded      s += 2 if Th ≤ s < N−1
//	not overloaded  s −= 1 if s > Th
//
// An Overload holds no state. One Overload serves all bins; the caller keeps the state of each bin,
// an integer in Th..N. All methods take O(1) and panic if a state is out of range.
//
// If a bin is overloaded with probability q in each step, its state drifts upwards if 2q > 1−q,
// that is, if q > 1/3. There is no step up from state N−1. So a climb ends in N−1 or in N,
// depending on where it began.
type Overload struct {
	states, threshold int
}

// NewOverload returns the rule with N ≥ 1 states and the threshold Th in 1..N, which should
// be low. A bin starts in state Th.
func NewOverload(states, threshold int) (*Overload, error) {
	if err := checkStates(states); err != nil {
		return nil, err
	}
	if err := checkInt("threshold", threshold, 1, states); err != nil {
		return nil, err
	}
	return &Overload{states, threshold}, nil
}

// Probability returns (state/N)², the probability of relieving an overloaded bin.
func (o *Overload) Probability(state int) float64 {
	o.check(state)
	p := float64(state) / float64(o.states)
	return p * p
}

// Select reports whether to relieve an overloaded bin.
func (o *Overload) Select(state int, src rand.Source) (relieve bool) {
	checkSource(src)
	return uniform(src) < o.Probability(state)
}

// Step returns the state after a step in which the bin was overloaded, or not.
func (o *Overload) Step(state int, overloaded bool) int {
	o.check(state)
	switch {
	case overloaded && state < o.states-1:
		return state + 2
	case !overloaded && state > o.threshold:
		return state - 1
	}
	return state
}

func (o *Overload) check(state int) {
	if state < o.threshold || state > o.states {
		panic(fmt.Sprintf("automata: overload state %d is not in %d..%d", state, o.threshold, o.states))
	}
}
