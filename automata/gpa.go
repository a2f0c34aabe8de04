package automata

// NewGPA returns the generalised pursuit automaton of r ≥ 2 actions, with λ in (0, 1]. It is a
// [NewCPRP] scheme that pursues all K actions whose estimates exceed that of the action i just
// selected, not only the best one. So one wrong leader does less harm. After every answer
//
//	p_j = (1 − λ)·p_j + λ/K   for the K actions with a better estimate than i
//	p_j = (1 − λ)·p_j         for the others
//	p_i takes the rest
//
// If action i itself has the best estimate, p_i gains λ·(1 − p_i).
//
// Source: Agache & Oommen 2002.
func NewGPA(actions int, lambda float64, priming int) (Estimator, error) {
	return newPursuit(gpa, actions, lambda, priming)
}

// pursueBetter moves the vector as GPA does.
func (a *pursuit) pursueBetter(action int) {
	better := a.countBetter(action)
	if better == 0 {
		a.pursue(action, a.lambda)
		return
	}
	// A share λ of the mass goes to the better actions. The rest stays where it was, so (1 − λ)·p_i
	// is left for the chosen one.
	share := a.lambda / float64(better)
	for j, x := range a.vector {
		a.vector[j] = float64((1 - a.lambda) * x)
		if a.mean[j] > a.mean[action] {
			a.vector[j] += share
		}
	}
}
