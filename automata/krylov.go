package automata

import (
	"math"
	"math/rand/v2"
)

const magicKrylov = "recrawl/automata.Krylov"

// A Krylov automaton: a [Tsetlin] automaton that takes every second penalty, at
// random, for a reward. No action then gets more penalties than rewards, so it
// singles out the best one as N grows, whatever the rewards. A reward between 0 and 1 counts as a reward with that probability.
// Select and Learn take O(1).
//
// Source: Krylov 1964; Narendra & Thathachar 1989, chapter 3.
type Krylov struct{ chain }

// NewKrylov returns a Krylov automaton of r ≥ 2 actions with N ≥ 1 states each. It
// starts at the boundary of action 0.
func NewKrylov(actions, states int) (*Krylov, error) {
	c, err := newChain(actions, states)
	if err != nil {
		return nil, err
	}
	return &Krylov{c}, nil
}

// Learn moves the automaton: in on a reward; on a penalty in or out with
// probability ½ each. An answer for an action that the automaton has left in
// the meantime changes nothing.
func (a *Krylov) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, a.actions, reward, src); err != nil {
		return err
	}
	if action != a.action {
		return nil
	}
	if rewarded(reward, src) || uniform(src) < 0.5 {
		a.inward()
	} else {
		a.outward()
	}
	return nil
}

// Stationary returns the share of each action in the long run, if action i gets
// the mean reward rewards[i], in O(r). It is that of [Tsetlin.Stationary] with half
// the penalties:
//
//	P(i) ∝ (1/c_i)·(1 + ρ_i + … + ρ_i^(N−1)),  c_i = (1 − rewards[i])/2,  ρ_i = (1 − c_i)/c_i
//
// Two actions that are never penalised are an ErrParameter: the start decides
// between them.
func (a *Krylov) Stationary(rewards []float64) ([]float64, error) {
	return a.stationary(rewards, func(penalty float64) float64 {
		c := penalty / 2
		return logGeometric((1-c)/c, a.states) - math.Log(c)
	})
}

// AppendBinary appends the saved state to b.
func (a *Krylov) AppendBinary(b []byte) ([]byte, error) { return a.appendBinary(b, magicKrylov) }

// MarshalBinary returns the saved state.
func (a *Krylov) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *Krylov) UnmarshalBinary(data []byte) error { return a.unmarshal(data, magicKrylov) }
