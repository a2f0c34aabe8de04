package automata

// optimism is the quantile of the posterior that DBPA takes as its estimate; 0.95 is the paper's
// value.
const optimism = 0.95

// NewDBPA returns the discretised Bayesian pursuit automaton of r ≥ 2 actions and resolution N ≥ 1.
// It is a [NewDPRI] scheme with an optimistic estimate of each action: not the mean reward, but the
// 95 % quantile of the Beta distribution of that mean, from a uniform prior. So an action that
// looks bad after few answers gets the benefit of the doubt. Estimate still returns the mean.
//
// # Cost
//
// Time: as [NewDPRI]; Learn also computes a quantile of a Beta distribution, in O(√n) for n answers
// of the action, at most some 20 µs. Memory: 40 bytes an action.
//
// # Source
//
// Zhang, Granmo & Oommen 2013.
func NewDBPA(actions, resolution, priming int) (Estimator, error) {
	return newDiscretePursuit(dbpa, actions, resolution, priming)
}

// optimistic computes the quantiles of all actions, if the rule needs them.
func (a *discretePursuit) optimistic() {
	if a.rule != dbpa {
		return
	}
	a.upper = make([]float64, len(a.mean))
	for i := range a.upper {
		a.upper[i] = a.posterior(i).quantile(optimism)
	}
}
