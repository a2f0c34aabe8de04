package automata

import "math"

// NewTsetlin returns a Tsetlin automaton L(rN, r) of r ≥ 2 actions with N ≥ 1 states
// each, at the boundary of action 0. A reward moves it one state inward, a penalty one
// state outward. With r = 2 it is the classical L(2N, 2).
//
// With a large N it singles out the best action, if that action is rewarded more often than not. If
// no action is, take [NewKrylov] or [NewKrinsky].
//
// Source: Tsetlin 1961.
func NewTsetlin(actions, states int) (FixedStructure, error) {
	return newFixed(tsetlin, actions, states)
}

// tsetlinStay is the logStay of a Tsetlin automaton. Inside an action the net flow between
// neighbouring states is zero, so each state holds ρ = (1−c)/c times the mass of its outward
// neighbour. Every boundary is left equally often, so the mass there is proportional to 1/c.
func tsetlinStay(c float64, states int) float64 {
	return logGeometric((1-c)/c, states) - math.Log(c)
}

// logGeometric returns ln(1 + ρ + … + ρ^(n−1)).
func logGeometric(rho float64, n int) float64 {
	t := math.Log(rho)
	switch {
	case t == 0:
		return math.Log(float64(n))
	case t < 0:
		return math.Log(math.Expm1(float64(n)*t) / math.Expm1(t))
	default: // the largest power is taken out, so that nothing overflows
		return float64(n-1)*t + math.Log(math.Expm1(-float64(n)*t)/math.Expm1(-t))
	}
}
