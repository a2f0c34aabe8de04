package automata

import (
	"math"
	"math/rand/v2"
)

const magicTsetlin = "recrawl/automata.Tsetlin"

// A Tsetlin automaton L(rN, r): a reward moves it one state inward, a penalty one
// state outward and, from the boundary, to the boundary of the next action. With
// r = 2 this is the classical L(2N, 2). A reward between 0 and 1 counts as a
// reward with that probability. Select and Learn take O(1).
//
// In the long run an action of penalty probability c is selected in proportion to
// (1/c)·Σ_{k<N} ((1−c)/c)^k (see Stationary), so a large N singles out the
// best action if it is rewarded more often than not. If none is, take [Krylov].
//
// Source: Tsetlin 1961; Narendra & Thathachar 1989, chapter 3.
type Tsetlin struct{ chain }

// NewTsetlin returns a Tsetlin automaton of r ≥ 2 actions with N ≥ 1 states each. It
// starts at the boundary of action 0.
func NewTsetlin(actions, states int) (*Tsetlin, error) {
	c, err := newChain(actions, states)
	if err != nil {
		return nil, err
	}
	return &Tsetlin{c}, nil
}

// Learn moves the automaton: in on a reward, out on a penalty.
// An answer for an action that the automaton has left in the meantime
// changes nothing.
func (a *Tsetlin) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, a.actions, reward, src); err != nil {
		return err
	}
	if action != a.action {
		return nil
	}
	if rewarded(reward, src) {
		a.inward()
	} else {
		a.outward()
	}
	return nil
}

// Stationary returns the share of each action in the long run, if action i gets
// the mean reward rewards[i], in O(r):
//
//	P(i) ∝ (1/c_i)·(1 + ρ_i + … + ρ_i^(N−1)),  c_i = 1 − rewards[i],  ρ_i = (1 − c_i)/c_i
//
// Inside an action the net flow between neighbouring states is nought, so each
// state inward holds ρ times the mass; and every boundary is left equally often,
// so the mass there is in proportion to 1/c. Two actions that are never penalised
// are an ErrParameter: the start decides between them.
func (a *Tsetlin) Stationary(rewards []float64) ([]float64, error) {
	return a.stationary(rewards, func(c float64) float64 {
		return logGeometric((1-c)/c, a.states) - math.Log(c)
	})
}

// AppendBinary appends the saved state to b.
func (a *Tsetlin) AppendBinary(b []byte) ([]byte, error) { return a.appendBinary(b, magicTsetlin) }

// MarshalBinary returns the saved state.
func (a *Tsetlin) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *Tsetlin) UnmarshalBinary(data []byte) error { return a.unmarshal(data, magicTsetlin) }
