package automata

// NewKrylov returns a Krylov automaton of r ≥ 2 actions with N ≥ 1 states each, at the boundary of
// action 0. It is a [NewTsetlin] automaton that counts a penalty as a reward with probability ½. On
// average no action then gets more penalties than rewards, so it singles out the best one as N
// grows, whatever the rewards.
//
// Source: Krylov 1964.
func NewKrylov(actions, states int) (FixedStructure, error) {
	return newFixed(krylov, actions, states)
}
