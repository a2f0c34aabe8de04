package automata

import (
	"encoding"
	"math/rand/v2"
)

// An Automaton chooses among r actions, numbered from 0, and learns from rewards. Its two main
// methods are Select and Learn. Make one with a constructor of this package; each constructor
// documents its scheme. All constructors return a richer interface: a [Distribution], an
// [Estimator] or a [FixedStructure].
type Automaton interface {
	// Actions returns r.
	Actions() int
	// Select chooses an action. It panics if src is nil.
	Select(src rand.Source) int
	// Learn takes the reward in [0, 1] that an action got (1 is the best), however long
	// ago it was selected. An unknown action (ErrUnknown) or a reward outside [0, 1]
	// (ErrReward) changes nothing. It panics if src is nil.
	Learn(action int, reward float64, src rand.Source) error

	// MarshalBinary saves the state. UnmarshalBinary restores it into an automaton made by the same
	// constructor, which takes over the settings of the saved one. An error wraps [ErrCorrupt] and
	// leaves the automaton as it was.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// A Distribution is an automaton that knows the probability of selecting each action now.
type Distribution interface {
	Automaton
	// Probability returns the probability of an action. It panics if there is no such
	// action.
	Probability(action int) float64
	// Converged returns the action whose probability is at least threshold, if there is one (but
	// see NewBayesian). The literature uses a threshold of 0.999. It panics unless threshold is in
	// (1/2, 1].
	Converged(threshold float64) (action int, ok bool)
}

// An Estimator is a scheme that estimates the mean reward of each action. The pursuit schemes begin
// with the priming: they select each action some times in turn, so that no estimate is empty.
type Estimator interface {
	Distribution
	// Estimate returns the mean reward of an action so far and the number of answers behind it. The
	// mean is 0 before the first answer. It panics if there is no such action.
	Estimate(action int) (mean float64, answers int)
}

// A FixedStructure automaton has N states for each of r actions: state 1 is the innermost and state
// N the boundary. It is always in one state of one action, and Select returns that action. Learn
// moves it inward on a reward and outward on a penalty; a penalty at the boundary leads to the
// boundary of the next action.
//
//	action 0:   1 – 2 – … – N ┐
//	action 1:   1 – 2 – … – N ┤ a penalty at N leads to N of the next action
//	action r−1: 1 – 2 – … – N ┘ (in cyclic order)
//
// [NewTsetlin], [NewKrinsky] and [NewKrylov] differ in how far an answer moves the automaton. Take
// one where the best action changes: it is never sure, and so never stuck. Take Krinsky or Krylov
// where even the best action is penalised more often than not.
//
// # Cost
//
// Time: O(1) for Select and Learn, independent of r and N. Memory: five numbers.
//
// # How it works
//
// A reward between 0 and 1 counts as a reward with that probability. An answer for an action that
// the automaton has meanwhile left changes nothing. The actions form a circle, so in the long run
// every boundary is crossed equally often. Stationary follows from that and does not depend on the
// order of the actions.
//
// # Source
//
// Narendra & Thathachar 1989, chapter 3.
type FixedStructure interface {
	Automaton
	// Stationary returns the share of each action in the long run, if action i gets the mean reward
	// rewards[i]. O(r). With c_i = 1 − rewards[i] and ρ_i = (1 − c_i)/c_i,
	//
	//	Tsetlin  P(i) ∝ (1/c_i)·(1 + ρ_i + … + ρ_i^(N−1))
	//	Krylov   the same with c_i/2 in place of c_i
	//	Krinsky  P(i) ∝ c_i^(−N)
	//
	// The error is ErrConfig if two actions are never penalised, because then the start decides
	// between them.
	Stationary(rewards []float64) ([]float64, error)
}

// uniform returns a number in [0, 1).
func uniform(src rand.Source) float64 { return float64(src.Uint64()>>11) * 0x1p-53 }

// rewarded turns a reward in [0, 1] into the yes or no that a P-model rule needs: yes with that
// probability. 0 and 1 draw nothing.
func rewarded(reward float64, src rand.Source) bool {
	return reward == 1 || reward > 0 && uniform(src) < reward
}
