package automata

import "math"

// NewKrinsky returns a Krinsky automaton of r ≥ 2 actions with N ≥ 1 states each, at the boundary
// of action 0. A reward moves it to the innermost state, a penalty one state outward. So after a
// reward it takes N penalties in a row to leave the action. It singles out the best action as N
// grows, whatever the rewards.
//
// Source: Krinsky 1964.
func NewKrinsky(actions, states int) (FixedStructure, error) {
	return newFixed(krinsky, actions, states)
}

// krinskyStay is the logStay of a Krinsky automaton. With J the flow over every boundary,
// state N holds J/c and state k < N holds J·(1−c)/c^(N+1−k); the sum over k is J/c^N.
func krinskyStay(c float64, states int) float64 { return -float64(states) * math.Log(c) }
