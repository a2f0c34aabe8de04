package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

const magicDGPA = "recrawl/automata.DGPA"

// stepUnits is the number of units in one step Δ of a DGPA: the least common
// multiple of 1..16.
const stepUnits = 720720

// A DGPA is the discretised generalised pursuit automaton: like [GPA] it pursues
// all K actions with a better estimate than the action i just selected, in steps
// of Δ = 1/(rN). After every answer
//
//	p_j = min(p_j + Δ/K, 1)       for the K actions with a better estimate than i
//	p_j = max(p_j − Δ/(r−K), 0)   for the others but i
//	p_i takes the rest
//
// Where p_i has less than that to give, the better ones share what it has. The
// probabilities are kept as whole numbers, so they sum to 1 exactly; shares of Δ are
// rounded down to multiples of Δ/720720, which is exact for up to 16 actions. Select
// and Learn take O(r).
//
// Source: Agache & Oommen 2002. (The divisor r−K counts i itself among the losers;
// r−K−1, the number of those that lose, would move a little faster.)
type DGPA struct{ primedUnits }

// NewDGPA returns a discretised generalised pursuit automaton of resolution N ≥ 1
// with the given number of priming pulls of each action (see [DefaultPriming]).
func NewDGPA(actions, resolution, priming int) (*DGPA, error) {
	u, err := newPrimedUnits(actions, resolution, stepUnits, priming)
	if err != nil {
		return nil, err
	}
	return &DGPA{u}, nil
}

// Learn updates the estimate and, after priming, the probabilities. It draws
// nothing from src.
func (a *DGPA) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.count), reward, src); err != nil {
		return err
	}
	if !a.update(action, reward) {
		return nil
	}
	better := int64(a.countBetter(action))
	loss := stepUnits / (int64(len(a.count)) - better)
	rest := a.count[action]
	for j, c := range a.count {
		if j != action && a.mean[j] <= a.mean[action] {
			lost := min(c, loss)
			a.count[j] -= lost
			rest += lost
		}
	}
	if better > 0 {
		gain := min(stepUnits, rest) / better
		for j := range a.count {
			if a.mean[j] > a.mean[action] {
				a.count[j] += gain
			}
		}
		rest -= gain * better
	}
	a.count[action] = rest
	return nil
}

// AppendBinary appends the saved state to b.
func (a *DGPA) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicDGPA, 1)
	a.encode(e)
	return e.Finish()
}

// MarshalBinary returns the saved state.
func (a *DGPA) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *DGPA) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicDGPA, 1)
	if err != nil {
		return err
	}
	v := DGPA{decodePrimedUnits(d, stepUnits)}
	if err := d.Done(); err != nil {
		return err
	}
	*a = v
	return nil
}
