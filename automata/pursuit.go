package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// pursuit is a continuous pursuit scheme.
type pursuit struct {
	vector
	estimates
	rule   pursuitRule
	lambda float64
}

// A pursuitRule is how a pursuit automaton learns.
type pursuitRule uint8

const (
	cprp pursuitRule = iota
	cpri
	gpa
	pursuitRules
)

var pursuitFormat = codec.Format{Magic: "recrawl/automata.Pursuit", Version: 2}

// NewCPRP returns the continuous pursuit reward-penalty scheme of r ≥ 2 actions, with λ in (0, 1].
// It keeps a vector p of probabilities and estimates of the mean rewards. Every answer moves the
// vector towards the action h with the best estimate, whichever action was selected:
//
//	p_j *= 1 − λ for all j, then p_h += λ
//
// Of equal estimates the last one counts. Take a discretised scheme such as [NewDPRI] instead if
// speed matters: these are faster.
//
// Each action is first selected priming times, in turn, so that no estimate is empty. A priming of
// 0 means 10, as in the experiments of the literature.
//
// # Cost
//
// Time: O(r) for Select and Learn. Memory: 32 bytes an action.
//
// # Source
//
// Thathachar & Sastry 1986.
func NewCPRP(actions int, lambda float64, priming int) (Estimator, error) {
	return newPursuit(cprp, actions, lambda, priming)
}

// NewCPRI returns the continuous pursuit reward-inaction scheme of r ≥ 2 actions, with λ in (0, 1].
// It is a [NewCPRP] scheme that moves only after rewards. A reward x between 0 and 1 moves it by
// λ·x.
//
// Source: Oommen & Agache 2001.
func NewCPRI(actions int, lambda float64, priming int) (Estimator, error) {
	return newPursuit(cpri, actions, lambda, priming)
}

func newPursuit(rule pursuitRule, actions int, lambda float64, priming int) (Estimator, error) {
	t, err := newEstimates(actions, priming)
	if err != nil {
		return nil, err
	}
	if err := checkRate("λ", lambda); err != nil {
		return nil, err
	}
	return &pursuit{newVector(actions), t, rule, lambda}, nil
}

// Select chooses an action: the next one in turn while priming, then one with its
// probability.
func (a *pursuit) Select(src rand.Source) int {
	if action, ok := a.prime(src); ok {
		return action
	}
	return a.draw(src)
}

// Learn updates the estimate and, after priming, the probabilities. It draws nothing from
// src.
func (a *pursuit) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.vector), reward, src); err != nil {
		return err
	}
	if !a.update(action, reward) {
		return nil
	}
	switch {
	case a.rule == gpa:
		a.pursueBetter(action)
	case a.rule == cprp:
		a.pursue(argmax(a.mean), a.lambda)
	case reward > 0:
		a.pursue(argmax(a.mean), a.lambda*reward)
	}
	return nil
}

// MarshalBinary returns the saved state.
func (a *pursuit) MarshalBinary() ([]byte, error) { return pursuitFormat.Save(a.encode) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *pursuit) UnmarshalBinary(data []byte) error {
	return codec.Load(a, pursuitFormat, data, (*pursuit).decode)
}

func (a *pursuit) encode(e *codec.Encoder) {
	e.Byte(byte(a.rule))
	e.Float64(a.lambda)
	e.Float64s(a.vector)
	a.estimates.encode(e)
}

func (a *pursuit) decode(d *codec.Decoder) {
	a.rule = codec.Enum[pursuitRule](d, int(pursuitRules))
	a.lambda = d.Float64()
	d.Check(checkRate("λ", a.lambda))
	a.vector = decodeVector(d)
	a.estimates = decodeEstimates(d, len(a.vector))
}
