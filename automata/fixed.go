package automata

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// fixed is a FixedStructure.
type fixed struct {
	rule            fixedRule
	actions, states int
	action, state   int
}

// A fixedRule is how a fixed automaton moves.
type fixedRule uint8

const (
	tsetlin fixedRule = iota
	krinsky
	krylov
	fixedRules
)

var fixedFormat = codec.Format{Magic: "recrawl/automata.Fixed", Version: 1}

func newFixed(rule fixedRule, actions, states int) (FixedStructure, error) {
	if err := checkActions(actions); err != nil {
		return nil, err
	}
	if err := checkStates(states); err != nil {
		return nil, err
	}
	return &fixed{rule: rule, actions: actions, states: states, state: states}, nil
}

// Actions returns r.
func (a *fixed) Actions() int { return a.actions }

// Select returns the current action. It draws nothing from src.
func (a *fixed) Select(src rand.Source) int {
	checkSource(src)
	return a.action
}

// Learn moves the automaton if the action is the current one.
func (a *fixed) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, a.actions, reward, src); err != nil {
		return err
	}
	if action != a.action {
		return nil
	}
	switch won := rewarded(reward, src); {
	case won && a.rule == krinsky:
		a.state = 1
	case won || a.rule == krylov && uniform(src) < 0.5:
		a.state = max(a.state-1, 1)
	case a.state < a.states:
		a.state++
	case a.action == a.actions-1:
		a.action = 0
	default:
		a.action++
	}
	return nil
}

// Stationary computes the closed forms of the interface.
func (a *fixed) Stationary(rewards []float64) ([]float64, error) {
	if len(rewards) != a.actions {
		return nil, fmt.Errorf("%w: %d mean rewards for %d actions", ErrConfig, len(rewards), a.actions)
	}
	if err := checkMeans(rewards); err != nil {
		return nil, err
	}
	share := make([]float64, len(rewards)) // logarithms of weights, until the end
	best := 0
	for i, d := range rewards {
		if d < 1 {
			share[i] = a.logStay(1 - d)
		} else { // the action is never left
			if share[best] == math.Inf(1) {
				return nil, fmt.Errorf("%w: actions %d and %d are never penalised: the start decides", ErrConfig, best, i)
			}
			share[i] = math.Inf(1)
		}
		if share[i] > share[best] {
			best = i
		}
	}
	softmax(share)
	return share, nil
}

// logStay returns the logarithm of the mean length of a stay with an action of penalty
// probability c > 0, up to a constant.
func (a *fixed) logStay(c float64) float64 {
	switch a.rule {
	case krinsky:
		return krinskyStay(c, a.states)
	case krylov:
		return tsetlinStay(c/2, a.states)
	default:
		return tsetlinStay(c, a.states)
	}
}

// MarshalBinary returns the saved state.
func (a *fixed) MarshalBinary() ([]byte, error) { return fixedFormat.Save(a.encode) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *fixed) UnmarshalBinary(data []byte) error {
	return codec.Load(a, fixedFormat, data, (*fixed).decode)
}

func (a *fixed) encode(e *codec.Encoder) {
	e.Byte(byte(a.rule))
	e.Int(a.actions)
	e.Int(a.states)
	e.Int(a.action)
	e.Int(a.state)
}

func (a *fixed) decode(d *codec.Decoder) {
	a.rule = codec.Enum[fixedRule](d, int(fixedRules))
	a.actions = d.IntIn(2, maxActions)
	a.states = d.IntIn(1, maxStates)
	a.action = d.IntIn(0, a.actions-1)
	a.state = d.IntIn(1, a.states)
}
