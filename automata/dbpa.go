package automata

// optimism is the quantile of the posterior that DBPA takes as its estimate: that of the
// paper.
const optimism = 0.95

// NewDBPA returns the discretised Bayesian pursuit automaton of r ≥ 2 actions and
// resolution N ≥ 1: [NewDPRI] whose estimate of an action is not its mean reward but the
// 95 % quantile of the Beta distribution of that mean, from a uniform prior. An action
// that looks bad after few answers thereby gets the benefit of the doubt. Estimate returns
// the mean. Learn computes a quantile of a Beta distribution, in O(√n) for n answers of the action but
// some 20 µs at most. Memory: 40 bytes an action.
//
// Source: Zhang, Granmo & Oommen 2013.
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
