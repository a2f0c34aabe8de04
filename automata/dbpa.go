package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

const magicDBPA = "recrawl/automata.DBPA"

// optimism is the quantile of the posterior that a DBPA takes as its estimate.
const optimism = 0.95

// A DBPA is the discretised Bayesian pursuit automaton: DP_RI (see
// [DiscretePursuit]) whose estimate of an action is not its mean reward but the
// 95 % quantile of the Beta distribution of that mean, from a uniform prior. An
// action that looks bad after few answers so gets the benefit of the doubt.
// Select takes O(r), Learn O(r) and a quantile of a Beta distribution.
//
// Source: Zhang, Granmo & Oommen 2013.
type DBPA struct {
	primedUnits
	upper []float64 // the quantile of each action
}

// NewDBPA returns a discretised Bayesian pursuit automaton of resolution N ≥ 1 with
// the given number of priming pulls of each action (see [DefaultPriming]).
func NewDBPA(actions, resolution, priming int) (*DBPA, error) {
	u, err := newPrimedUnits(actions, resolution, 1, priming)
	if err != nil {
		return nil, err
	}
	return &DBPA{u, u.upperQuantiles()}, nil
}

// upperQuantiles returns the quantiles of all actions.
func (t *estimates) upperQuantiles() []float64 {
	u := make([]float64, len(t.mean))
	for i := range u {
		u[i] = t.posterior(i).quantile(optimism)
	}
	return u
}

// Upper returns the 95 % quantile of the mean reward of an action.
func (a *DBPA) Upper(action int) float64 { return a.upper[action] }

// Learn updates the estimate and, after priming, on a reward, the probabilities.
// A reward between 0 and 1 counts as a reward with that probability.
func (a *DBPA) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.count), reward, src); err != nil {
		return err
	}
	primed := a.update(action, reward)
	a.upper[action] = a.posterior(action).quantile(optimism)
	if primed && rewarded(reward, src) {
		a.pursue(argmax(a.upper))
	}
	return nil
}

// AppendBinary appends the saved state to b.
func (a *DBPA) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicDBPA, 1)
	a.encode(e)
	return e.Finish()
}

// MarshalBinary returns the saved state.
func (a *DBPA) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *DBPA) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicDBPA, 1)
	if err != nil {
		return err
	}
	u := decodePrimedUnits(d, 1)
	if err := d.Done(); err != nil {
		return err
	}
	*a = DBPA{u, u.upperQuantiles()}
	return nil
}
