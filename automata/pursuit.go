package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

const magicPursuit = "recrawl/automata.Pursuit"

// A Pursuit automaton keeps a vector of probabilities and estimates of the mean
// rewards, and moves the vector towards the action h of the best estimate,
// whichever action was selected:
//
//	p_j *= 1 − λ for all j, then p_h += λ
//
// after every answer (CP_RP) or after rewards only (CP_RI; a reward x between 0
// and 1 moves it by λ·x). Of equal estimates the last counts. Select and Learn
// take O(r).
//
// Source: Thathachar & Sastry 1986 (CP_RP); Oommen & Agache 2001 (all four pursuit
// schemes).
type Pursuit struct {
	primedVector
	rewardOnly bool
}

// NewCPRP returns the continuous pursuit reward-penalty scheme with λ in (0, 1] and
// the given number of priming pulls of each action (see [DefaultPriming]).
func NewCPRP(actions int, lambda float64, priming int) (*Pursuit, error) {
	return newPursuit(actions, lambda, priming, false)
}

// NewCPRI returns the continuous pursuit reward-inaction scheme.
func NewCPRI(actions int, lambda float64, priming int) (*Pursuit, error) {
	return newPursuit(actions, lambda, priming, true)
}

func newPursuit(actions int, lambda float64, priming int, rewardOnly bool) (*Pursuit, error) {
	v, err := newPrimedVector(actions, lambda, priming)
	if err != nil {
		return nil, err
	}
	return &Pursuit{v, rewardOnly}, nil
}

// Learn updates the estimate and, after priming, the probabilities. It draws
// nothing from src.
func (a *Pursuit) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.vector), reward, src); err != nil {
		return err
	}
	if !a.update(action, reward) {
		return nil
	}
	rate := a.lambda
	if a.rewardOnly {
		rate *= reward
	}
	if rate > 0 {
		a.pursue(argmax(a.mean), rate)
	}
	return nil
}

// AppendBinary appends the saved state to b.
func (a *Pursuit) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicPursuit, 1)
	e.Bool(a.rewardOnly)
	a.encode(e)
	return e.Finish()
}

// MarshalBinary returns the saved state.
func (a *Pursuit) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *Pursuit) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicPursuit, 1)
	if err != nil {
		return err
	}
	v := Pursuit{rewardOnly: d.Bool(), primedVector: decodePrimedVector(d)}
	if err := d.Done(); err != nil {
		return err
	}
	*a = v
	return nil
}
