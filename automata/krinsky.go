package automata

import (
	"math"
	"math/rand/v2"
)

const magicKrinsky = "recrawl/automata.Krinsky"

// A Krinsky automaton: a reward moves it to the innermost state of its action, a
// penalty one state outward and, from the boundary, to the boundary of the next
// action. So it leaves an action that was rewarded only after N penalties in a row,
// and singles out the best action as N grows, whatever the rewards. A reward
// between 0 and 1 counts as a reward with that probability. Select and Learn take
// O(1).
//
// Source: Krinsky 1964; Narendra & Thathachar 1989, chapter 3.
type Krinsky struct{ chain }

// NewKrinsky returns a Krinsky automaton of r ≥ 2 actions with N ≥ 1 states each. It
// starts at the boundary of action 0.
func NewKrinsky(actions, states int) (*Krinsky, error) {
	c, err := newChain(actions, states)
	if err != nil {
		return nil, err
	}
	return &Krinsky{c}, nil
}

// Learn moves the automaton: to the innermost state on a reward, out on a penalty.
// An answer for an action that the automaton has left in the meantime
// changes nothing.
func (a *Krinsky) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, a.actions, reward, src); err != nil {
		return err
	}
	if action != a.action {
		return nil
	}
	if rewarded(reward, src) {
		a.state = 1
	} else {
		a.outward()
	}
	return nil
}

// Stationary returns the share of each action in the long run, if action i gets
// the mean reward rewards[i], in O(r):
//
//	P(i) ∝ c_i^(−N),  c_i = 1 − rewards[i]
//
// With J the flow over every boundary, state N holds J/c and state k < N holds
// J·(1−c)/c^(N+1−k); the sum over k is J/c^N. Two actions that are never penalised
// are an ErrParameter: the start decides between them.
func (a *Krinsky) Stationary(rewards []float64) ([]float64, error) {
	return a.stationary(rewards, func(c float64) float64 { return -float64(a.states) * math.Log(c) })
}

// AppendBinary appends the saved state to b.
func (a *Krinsky) AppendBinary(b []byte) ([]byte, error) { return a.appendBinary(b, magicKrinsky) }

// MarshalBinary returns the saved state.
func (a *Krinsky) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *Krinsky) UnmarshalBinary(data []byte) error { return a.unmarshal(data, magicKrinsky) }
