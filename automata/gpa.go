package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

const magicGPA = "recrawl/automata.GPA"

// A GPA is the generalised pursuit automaton: it pursues not only the action of
// the best estimate but all K whose estimate exceeds that of the action i just
// selected, so that one wrong leader does less harm. After every answer
//
//	p_j = (1 − λ)·p_j + λ/K   for the K actions with a better estimate than i
//	p_j = (1 − λ)·p_j         for the others
//	p_i takes the rest
//
// so that p_i gains λ·(1 − p_i) if it has the best estimate itself. Select and
// Learn take O(r).
//
// Source: Agache & Oommen 2002.
type GPA struct{ primedVector }

// NewGPA returns a generalised pursuit automaton with λ in (0, 1] and the given
// number of priming pulls of each action (see [DefaultPriming]).
func NewGPA(actions int, lambda float64, priming int) (*GPA, error) {
	v, err := newPrimedVector(actions, lambda, priming)
	if err != nil {
		return nil, err
	}
	return &GPA{v}, nil
}

// Learn updates the estimate and, after priming, the probabilities. It draws
// nothing from src.
func (a *GPA) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.vector), reward, src); err != nil {
		return err
	}
	if !a.update(action, reward) {
		return nil
	}
	better := a.countBetter(action)
	if better == 0 {
		a.pursue(action, a.lambda)
		return nil
	}
	// λ of the mass goes to the better actions; the rest is where it was, so
	// what is left for the chosen one is (1 − λ)·p_i.
	share := a.lambda / float64(better)
	for j, x := range a.vector {
		a.vector[j] = float64((1 - a.lambda) * x)
		if a.mean[j] > a.mean[action] {
			a.vector[j] += share
		}
	}
	return nil
}

// AppendBinary appends the saved state to b.
func (a *GPA) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicGPA, 1)
	a.encode(e)
	return e.Finish()
}

// MarshalBinary returns the saved state.
func (a *GPA) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *GPA) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicGPA, 1)
	if err != nil {
		return err
	}
	v := GPA{decodePrimedVector(d)}
	if err := d.Done(); err != nil {
		return err
	}
	*a = v
	return nil
}
