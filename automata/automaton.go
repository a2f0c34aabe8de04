package automata

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of the package. They arrive wrapped, with the value at fault.
var (
	// ErrParameter reports a setting outside its range.
	ErrParameter = errors.New("automata: parameter out of range")
	// ErrAction reports an action that the automaton does not have.
	ErrAction = errors.New("automata: no such action")
	// ErrReward reports a reward outside [0, 1].
	ErrReward = errors.New("automata: reward outside [0, 1]")
	// ErrCorrupt reports saved state that is truncated, altered or of another type.
	ErrCorrupt = codec.ErrCorrupt
	// ErrVersion reports state saved by a later version.
	ErrVersion = codec.ErrVersion
)

// An Automaton chooses among r actions, numbered from 0, and learns from rewards.
type Automaton interface {
	// Actions returns r.
	Actions() int
	// Select chooses an action. It panics if src is nil.
	Select(src rand.Source) int
	// Learn takes the reward in [0, 1] that an action got (1 is the best),
	// however long ago it was selected. An unknown action or a reward outside
	// [0, 1] is an error (ErrAction, ErrReward) and changes nothing. It panics
	// if src is nil.
	Learn(action int, reward float64, src rand.Source) error
}

// A Distribution is an automaton that can tell with which probability it would
// select each action now. All but those of fixed structure can: they never
// converge, and have Stationary instead.
type Distribution interface {
	Automaton
	// Probability returns the probability of an action; it panics if there is no such action.
	Probability(action int) float64
	// Converged returns the action whose probability is at least threshold, if
	// there is one. The field uses 0.999; it panics unless threshold is in (1/2, 1].
	Converged(threshold float64) (action int, ok bool)
}

// AppendProbabilities appends the probabilities of all actions of d to dst.
func AppendProbabilities(dst []float64, d Distribution) []float64 {
	for action := range d.Actions() {
		dst = append(dst, d.Probability(action))
	}
	return dst
}

// checkAnswer tells whether Learn may use an answer.
func checkAnswer(action, actions int, reward float64, src rand.Source) error {
	checkSource(src)
	if action < 0 || action >= actions {
		return fmt.Errorf("%w: action %d of %d", ErrAction, action, actions)
	}
	if !(reward >= 0 && reward <= 1) { // NaN fails too
		return fmt.Errorf("%w: action %d: reward %v", ErrReward, action, reward)
	}
	return nil
}

func checkSource(src rand.Source) {
	if src == nil {
		panic("automata: the source of randomness is nil")
	}
}

func checkThreshold(threshold float64) {
	if !(threshold > 0.5 && threshold <= 1) {
		panic(fmt.Sprintf("automata: convergence threshold %v is not in (1/2, 1]", threshold))
	}
}

// Bounds of the settings, so that whole numbers of units of 1/(rN) fit their types.
const (
	maxActions    = 1 << 20
	maxStates     = 1 << 30
	maxResolution = 1 << 20 // N of the discretised schemes
)

func checkActions(r int) error { return checkInt("actions", r, 2, maxActions) }
func checkStates(n int) error  { return checkInt("states", n, 1, maxStates) }

func checkInt(name string, v, low, high int) error {
	if v < low || v > high {
		return fmt.Errorf("%w: %s %d is not in [%d, %d]", ErrParameter, name, v, low, high)
	}
	return nil
}

// checkRate tells whether v is in (0, 1], as a learning rate must be.
func checkRate(name string, v float64) error {
	if !(v > 0 && v <= 1) {
		return fmt.Errorf("%w: %s %v is not in (0, 1]", ErrParameter, name, v)
	}
	return nil
}

func checkPositive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("%w: %s %v is not positive and finite", ErrParameter, name, v)
	}
	return nil
}

// checkMeans tells whether every mean reward is in [0, 1].
func checkMeans(means []float64) error {
	for i, d := range means {
		if !(d >= 0 && d <= 1) {
			return fmt.Errorf("%w: action %d: mean reward %v", ErrReward, i, d)
		}
	}
	return nil
}

// uniform returns a number in [0, 1).
func uniform(src rand.Source) float64 { return float64(src.Uint64()>>11) * 0x1p-53 }

// rewarded turns a reward in [0, 1] into the yes or no that a rule of the
// P-model wants: yes with that probability. 0 and 1 draw nothing.
func rewarded(reward float64, src rand.Source) bool {
	return reward == 1 || reward > 0 && uniform(src) < reward
}
