package automata

import (
	"fmt"
	"math/rand/v2"
)

// An Overload is the rule of the automaton that a bin has in Yazidi 2006 (section 4.2).
// When its bin is overloaded, Select chooses between bearing it (the sites are polled
// less) and relieving it (sites are put out), with probability (s/N)² of relief; Step
// moves the state s. It goes up fast while the overload lasts and down slowly when it is
// over, never below the threshold Th where it starts:
//
//	overloaded      s += 2 if Th ≤ s < N−1
//	not overloaded  s −= 1 if s > Th
//
// An Overload holds no state: one of it serves all bins, whose states the caller keeps, an
// integer in Th..N each. All methods take O(1), and panic with a state out of range.
//
// With a bin that is overloaded with probability q in each step the state drifts upwards
// if 2q > 1−q, that is, if it is overloaded more than a third of the time. State N−1 has
// no way up, so of the two states at the top the one reached depends on where the climb
// began.
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
