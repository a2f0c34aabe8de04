package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// discretePursuit is a pursuit scheme of whole steps.
type discretePursuit struct {
	units
	estimates
	rule  discreteRule
	upper []float64 // estimates of DBPA, else nil
}

// A discreteRule is how a discretePursuit automaton learns.
type discreteRule uint8

const (
	dprp discreteRule = iota
	dpri
	dgpa
	dbpa
	discreteRules
)

var discretePursuitFormat = codec.Format{Magic: "recrawl/automata.DiscretePursuit", Version: 2}

// NewDPRP returns the discretised pursuit reward-penalty scheme of r ≥ 2 actions and resolution N ≥
// 1. It is a [NewDPRI] scheme that moves after every answer.
//
// Source: Oommen & Agache 2001.
func NewDPRP(actions, resolution, priming int) (Estimator, error) {
	return newDiscretePursuit(dprp, actions, resolution, priming)
}

// NewDPRI returns the discretised pursuit reward-inaction scheme of r ≥ 2 actions and resolution N
// ≥ 1. Most callers should take it. It keeps estimates of the mean rewards, and probabilities that
// are multiples of Δ = 1/(rN). Each reward moves the probabilities by whole steps towards the
// action h with the best estimate:
//
//	p_j = max(p_j − Δ, 0) for j ≠ h, p_h takes the rest
//
// A reward between 0 and 1 counts as a reward with that probability. For a few actions N should be
// some tens; a larger N takes longer and errs less often. [NewDPRP] moves on penalties too,
// [NewDBPA] is optimistic about actions with few answers, and [NewDGPA] pursues all actions that
// seem better than the selected one.
//
// Each action is first selected priming times, in turn, so that no estimate is empty. A priming of
// 0 means 10, as in the experiments of the literature.
//
// # Guarantees
//
// The probabilities are kept as whole numbers, so they sum to 1 exactly. An action whose
// probability has reached 1 keeps it as long as its estimate is the best.
//
// # Cost
//
// Time: O(r) for Select and Learn. Memory: 32 bytes an action.
//
// # Source
//
// Oommen & Lanctôt 1990.
func NewDPRI(actions, resolution, priming int) (Estimator, error) {
	return newDiscretePursuit(dpri, actions, resolution, priming)
}

func newDiscretePursuit(rule discreteRule, actions, resolution, priming int) (Estimator, error) {
	t, err := newEstimates(actions, priming)
	if err != nil {
		return nil, err
	}
	u, err := newUnits(actions, resolution, rule.perStep())
	if err != nil {
		return nil, err
	}
	a := &discretePursuit{units: u, estimates: t, rule: rule}
	a.optimistic()
	return a, nil
}

// perStep returns the number of units in a step Δ.
func (r discreteRule) perStep() int64 {
	if r == dgpa {
		return stepUnits
	}
	return 1
}

// Select chooses an action: the next one in turn while priming, then one with its
// probability.
func (a *discretePursuit) Select(src rand.Source) int {
	if action, ok := a.prime(src); ok {
		return action
	}
	return a.draw(src)
}

// Learn updates the estimate and, after priming, the probabilities.
func (a *discretePursuit) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.count), reward, src); err != nil {
		return err
	}
	primed := a.update(action, reward)
	estimate := a.mean
	if a.rule == dbpa {
		a.upper[action] = a.posterior(action).quantile(optimism)
		estimate = a.upper
	}
	switch {
	case !primed:
	case a.rule == dgpa:
		a.pursueBetter(action)
	case a.rule == dprp || rewarded(reward, src):
		a.pursue(argmax(estimate))
	}
	return nil
}

// MarshalBinary returns the saved state.
func (a *discretePursuit) MarshalBinary() ([]byte, error) {
	return discretePursuitFormat.Save(a.encode)
}

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *discretePursuit) UnmarshalBinary(data []byte) error {
	return codec.Load(a, discretePursuitFormat, data, (*discretePursuit).decode)
}

func (a *discretePursuit) encode(e *codec.Encoder) {
	e.Byte(byte(a.rule))
	a.units.encode(e)
	a.estimates.encode(e)
}

func (a *discretePursuit) decode(d *codec.Decoder) {
	a.rule = codec.Enum[discreteRule](d, int(discreteRules))
	a.units = decodeUnits(d, a.rule.perStep())
	a.estimates = decodeEstimates(d, len(a.count))
	a.optimistic()
}
