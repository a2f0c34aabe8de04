package automata

import "math/rand/v2"

// An Automaton chooses among r actions, numbered from 0, and learns from rewards.
type Automaton interface {
	// Actions returns r.
	Actions() int
	// Select chooses an action. It panics if src is nil.
	Select(src rand.Source) int
	// Learn takes the reward in [0, 1] that an action got (1 is the best), however long
	// ago it was selected. An unknown action (ErrUnknown) or a reward outside [0, 1]
	// (ErrReward) changes nothing. It panics if src is nil.
	Learn(action int, reward float64, src rand.Source) error
}

// A Distribution is an automaton that knows the probability with which it would select each
// action now. All but [Fixed] are: that one never converges, and has Stationary instead.
type Distribution interface {
	Automaton
	// Probability returns the probability of an action. It panics if there is no such
	// action.
	Probability(action int) float64
	// Converged returns the action whose probability is at least threshold, if there is
	// one. The field uses 0.999. It panics unless threshold is in (1/2, 1].
	Converged(threshold float64) (action int, ok bool)
}

// uniform returns a number in [0, 1).
func uniform(src rand.Source) float64 { return float64(src.Uint64()>>11) * 0x1p-53 }

// rewarded turns a reward in [0, 1] into the yes or no that a rule of the P-model wants:
// yes with that probability. 0 and 1 draw nothing.
func rewarded(reward float64, src rand.Source) bool {
	return reward == 1 || reward > 0 && uniform(src) < reward
}
