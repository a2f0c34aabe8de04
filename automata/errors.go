package automata

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/source"
)

// Errors of this package. They come wrapped with the value at fault.
var (
	// ErrConfig reports a setting out of its range.
	ErrConfig = errors.New("automata: setting out of range")
	// ErrUnknown reports an action that the automaton does not have.
	ErrUnknown = errors.New("automata: no such action")
	// ErrReward reports a reward outside [0, 1].
	ErrReward = errors.New("automata: reward outside [0, 1]")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or version.
	ErrCorrupt = codec.ErrCorrupt
)

// Bounds of the settings. They keep counts of units of 1/(rN) within their integer types.
const (
	maxActions    = 1 << 20
	maxStates     = 1 << 30
	maxResolution = 1 << 20 // N of the discretised schemes
)

func checkActions(r int) error    { return checkInt("actions", r, 2, maxActions) }
func checkStates(n int) error     { return checkInt("states", n, 1, maxStates) }
func checkResolution(n int) error { return checkInt("resolution", n, 1, maxResolution) }

func checkInt(name string, v, low, high int) error {
	if v < low || v > high {
		return fmt.Errorf("%w: %s %d is not in [%d, %d]", ErrConfig, name, v, low, high)
	}
	return nil
}

// checkRate requires v in (0, 1], the range of a learning rate.
func checkRate(name string, v float64) error {
	if !(v > 0 && v <= 1) {
		return fmt.Errorf("%w: %s %v is not in (0, 1]", ErrConfig, name, v)
	}
	return nil
}

func checkPositive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("%w: %s %v is not positive and finite", ErrConfig, name, v)
	}
	return nil
}

// checkMeans requires every mean reward to be in [0, 1].
func checkMeans(means []float64) error {
	for i, d := range means {
		if !(d >= 0 && d <= 1) {
			return fmt.Errorf("%w: action %d: mean reward %v", ErrReward, i, d)
		}
	}
	return nil
}

// checkAnswer returns the error of Learn for an answer that it must not use.
func checkAnswer(action, actions int, reward float64, src rand.Source) error {
	checkSource(src)
	if action < 0 || action >= actions {
		return fmt.Errorf("%w: action %d of %d", ErrUnknown, action, actions)
	}
	if !(reward >= 0 && reward <= 1) { // NaN fails too
		return fmt.Errorf("%w: action %d: reward %v", ErrReward, action, reward)
	}
	return nil
}

// checkSource panics if src is nil. It is called at every step, so it does not look for nil
// pointers inside the interface: these panic when they are used.
func checkSource(src rand.Source) {
	if src == nil {
		source.Require(src, "automata")
	}
}

func checkThreshold(threshold float64) {
	if !(threshold > 0.5 && threshold <= 1) {
		panic(fmt.Sprintf("automata: convergence threshold %v is not in (1/2, 1]", threshold))
	}
}
