package knapsack

import "math"

// A sum adds with Neumaier's compensation: its error does not grow with the number of terms.
type sum struct{ s, c float64 }

func (a *sum) add(x float64) {
	t := a.s + x
	if math.Abs(a.s) >= math.Abs(x) {
		a.c += (a.s - t) + x
	} else {
		a.c += (x - t) + a.s
	}
	a.s = t
}

func (a *sum) value() float64 {
	if math.IsInf(a.s, 0) {
		return a.s
	}
	return a.s + a.c
}
