package automata

// stepUnits is the number of units in one step Δ of DGPA: the least common multiple of
// 1..16, so that Δ divides evenly among up to 16 actions.
const stepUnits = 720720

// NewDGPA returns the discretised generalised pursuit automaton of r ≥ 2 actions and
// resolution N ≥ 1. Like [NewGPA] it pursues all K actions with a better estimate than
// the action i just selected, in steps of Δ = 1/(rN). After every answer
//
//	p_j = min(p_j + Δ/K, 1)       for the K actions with a better estimate than i
//	p_j = max(p_j − Δ/(r−K), 0)   for the others but i
//	p_i takes the rest
//
// If p_i is too small to give Δ, the better ones share what it has. Shares of Δ are rounded down to
// multiples of Δ/720720, which is exact for up to 16 actions.
//
// Source: Agache & Oommen 2002. The paper's divisor r−K counts i itself among the losers. The
// divisor r−K−1, the number of actions that lose, would move a little faster.
func NewDGPA(actions, resolution, priming int) (Estimator, error) {
	return newDiscretePursuit(dgpa, actions, resolution, priming)
}

// pursueBetter moves the units as DGPA does.
func (a *discretePursuit) pursueBetter(action int) {
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
}
