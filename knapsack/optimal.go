package knapsack

import (
	"fmt"
	"math"
)

// A Problem is the allocation of a budget of polls to pages whose change rates
// are known: maximise Σ w_i·V(x_i) over frequencies x_i with Σ x_i = Budget and
// Lower_i ≤ x_i ≤ Upper_i. This is the nonlinear fractional knapsack problem of
// Granmo et al. 2006, section III, with weights, bounds and a choice of
// objective.
type Problem struct {
	Rates   []float64 // λ_i, changes per unit of time, 0 or ≥ 1e-100; SlotRate and SlotOdds convert probabilities
	Weights []float64 // 0 ≤ w_i ≤ 1e100; nil: all 1
	Lower   []float64 // least frequencies; nil: all 0
	Upper   []float64 // greatest frequencies, +Inf allowed; nil: no bounds
	Budget  float64   // polls per unit of time, > 0

	Objective Objective
	Spacing   Spacing
}

// w/λ² is finite for weights and rates in range.
const (
	leastRate  = 1e-100
	mostWeight = 1e100
)

// weight, lower and upper return the page's setting or its default.
func (p *Problem) weight(i int) float64 {
	if p.Weights == nil {
		return 1
	}
	return p.Weights[i]
}

func (p *Problem) lower(i int) float64 {
	if p.Lower == nil {
		return 0
	}
	return p.Lower[i]
}

func (p *Problem) upper(i int) float64 {
	if p.Upper == nil {
		return math.Inf(1)
	}
	return p.Upper[i]
}

// check returns an error that names the first bad value.
func (p *Problem) check() error {
	n := len(p.Rates)
	switch {
	case n == 0:
		return fmt.Errorf("%w: there are no pages", ErrBudget)
	case !(p.Budget > 0) || math.IsInf(p.Budget, 1):
		return fmt.Errorf("%w: it is %v", ErrBudget, p.Budget)
	case p.Objective >= objectives || p.Spacing >= spacings:
		return fmt.Errorf("%w: %v with %v spacing", ErrConfig, p.Objective, p.Spacing)
	case p.Weights != nil && len(p.Weights) != n:
		return fmt.Errorf("%w: %d weights for %d rates", ErrWeight, len(p.Weights), n)
	case p.Lower != nil && len(p.Lower) != n:
		return fmt.Errorf("%w: %d lower bounds for %d rates", ErrFrequency, len(p.Lower), n)
	case p.Upper != nil && len(p.Upper) != n:
		return fmt.Errorf("%w: %d upper bounds for %d rates", ErrFrequency, len(p.Upper), n)
	}
	for i, rate := range p.Rates {
		if rate != 0 && !(rate >= leastRate) || math.IsInf(rate, 1) {
			return fmt.Errorf("%w: page %d: %v", ErrRate, i, rate)
		}
		if w := p.weight(i); !(w >= 0 && w <= mostWeight) {
			return fmt.Errorf("%w: page %d: %v", ErrWeight, i, w)
		}
		if lo, hi := p.lower(i), p.upper(i); !(0 <= lo && lo <= hi) || math.IsInf(lo, 1) {
			return fmt.Errorf("%w: page %d is bounded by %v and %v", ErrFrequency, i, lo, hi)
		}
	}
	return nil
}

// Value returns Σ w_i·V(x_i). It is an error if x has another length than Rates
// or a frequency is negative or not finite; budget and bounds are not checked.
func (p Problem) Value(x []float64) (float64, error) {
	if len(x) != len(p.Rates) {
		return 0, fmt.Errorf("%w: %d frequencies for %d rates", ErrFrequency, len(x), len(p.Rates))
	}
	if err := p.check(); err != nil {
		return 0, err
	}
	var total sum
	for i, xi := range x {
		if !(xi >= 0) || math.IsInf(xi, 1) {
			return 0, fmt.Errorf("%w: page %d: %v", ErrFrequency, i, xi)
		}
		if w := p.weight(i); w > 0 {
			total.add(w * p.Objective.Value(p.Spacing, p.Rates[i], xi))
		}
	}
	return total.value(), nil
}

// Optimal returns the frequencies that maximise Σ w_i·V(x_i), and the price of
// the budget: the multiplier μ of Σ x = Budget, by how much the optimum grows per
// further poll per unit of time. Σ x is the budget to within 1e-12 of it, and the
// bounds hold exactly. Pages that never change, or weigh nothing, get only what
// the others cannot take.
//
// At the optimum every page strictly between its bounds has the slope
// w_i·V'(x_i) = μ, and V' depends on x only through v = λ/x, so that
// x_i(μ) = λ_i/h⁻¹(μ·λ_i^p/w_i), cut off at the bounds: Σ x_i(μ) falls in μ and a
// bracketing search finds the budget. It takes O(n) per step and some 10 to 40
// steps. Where all pages weigh the same and have no bounds, Detections under Even
// spacing has the closed form x_i = Budget·λ_i/Σλ.
//
// It returns ErrBudget if the bounds leave no room for the budget, and ErrRate,
// ErrWeight, ErrFrequency or ErrConfig for a bad value, with its index.
func (p Problem) Optimal() (x []float64, price float64, err error) {
	x, m, err := p.solve()
	if err != nil {
		return nil, 0, err
	}
	return x, m.price(), nil
}

func (p Problem) solve() (x []float64, at multiplier, err error) {
	if err := p.check(); err != nil {
		return nil, multiplier{}, err
	}
	s := solver{Problem: p, slope: slopes[p.Objective][p.Spacing]}
	var least, most, active sum
	for i, rate := range p.Rates {
		least.add(p.lower(i))
		most.add(p.upper(i))
		if rate > 0 && p.weight(i) > 0 {
			s.rates += rate
			s.top = max(s.top, s.scale(i))
			active.add(p.upper(i))
		} else {
			active.add(p.lower(i))
		}
	}
	if least.value() > p.Budget || most.value() < p.Budget {
		return nil, multiplier{}, fmt.Errorf("%w: the bounds leave room for %v to %v, not for %v",
			ErrBudget, least.value(), most.value(), p.Budget)
	}
	if active.value() <= p.Budget {
		return s.overflow(), multiplier{slope: s.slope}, nil // every further poll is worth nothing
	}
	x, at = s.search()
	return x, at, nil
}

// A solver searches the multiplier. So that neither end of its range loses
// precision, it is represented by z: μ = top·(1 − e^(−z)) where slopes are
// bounded by top, the steepest slope at x = 0, and μ = top·z elsewhere.
type solver struct {
	Problem
	slope
	rates float64 // Σ λ over pages worth polling
	top   float64 // greatest scale
}

// scale returns w/λ^power, the factor of h in the slope of a page.
func (s *solver) scale(i int) float64 { return s.slope.scale(s.Rates[i], s.weight(i)) }

func (s *slope) scale(rate, weight float64) float64 {
	for range s.power {
		weight /= rate
	}
	return weight
}

// frequency returns x_i(μ).
func (s *solver) frequency(i int, z float64) float64 {
	return multiplier{s.slope, s.top, z}.frequency(s.Rates[i], s.weight(i), s.lower(i), s.upper(i))
}

// A multiplier is a μ as a solver represents it.
type multiplier struct {
	slope
	top, z float64
}

// price returns μ itself.
func (m multiplier) price() float64 {
	if m.bounded {
		return -m.top * math.Expm1(-m.z)
	}
	return m.top * m.z
}

// frequency returns the x between lo and hi at which a page has the slope μ, or
// comes nearest to it.
func (m multiplier) frequency(rate, weight, lo, hi float64) float64 {
	if rate == 0 || weight == 0 {
		return lo
	}
	scale, z := m.scale(rate, weight), m.z
	y := m.price() / scale
	if m.bounded && scale != m.top {
		rest := ((scale - m.top) + m.top*math.Exp(-z)) / scale
		if rest <= 0 {
			return lo // even the first poll is worth less than μ
		}
		z = -math.Log(rest)
		if y < 0.5 {
			z = -math.Log1p(-y)
		}
	}
	return min(max(rate/m.inverse(y, z), lo), hi)
}

// total returns Σ x_i(μ).
func (s *solver) total(z float64) float64 {
	var t sum
	for i := range s.Rates {
		t.add(s.frequency(i, z))
	}
	return t.value()
}

// search brackets the multiplier, narrows the bracket until its ends spend the
// budget to 1e-12 or are neighbouring numbers, and returns the point between
// the ends that spends it exactly. All points between are optimal to the
// precision of μ: where the frequencies jump between neighbouring numbers, so do
// many equally good allocations.
func (s *solver) search() (x []float64, at multiplier) {
	// The exact z if all pages had the same scale and no bounds.
	v := s.rates / s.Budget
	lo := s.h(v)
	if s.bounded {
		lo = -math.Log1p(-lo)
		if s.Spacing == Even {
			lo = v - math.Log1p(v)
		}
	}
	lo = min(max(lo, math.SmallestNonzeroFloat64), math.MaxFloat64)
	hi := lo
	fl, fh := s.total(lo)-s.Budget, 0.0
	stride := 2.0
	for fh = fl; fh > 0; fh = s.total(hi) - s.Budget {
		lo, fl, hi = hi, fh, min(hi*stride, math.MaxFloat64)
		stride *= stride
	}
	for ; fl < 0; fl = s.total(lo) - s.Budget {
		hi, fh, lo = lo, fl, max(lo/stride, math.SmallestNonzeroFloat64)
		stride *= stride
	}
	// Invariant: lo ≤ hi and fl ≥ 0 ≥ fh. The step is the secant's on logarithms,
	// as frequencies are close to powers of z, halving the weight of an end that
	// stays twice (Illinois); every fourth step is bisection.
	logarithm := func(f float64) float64 { return math.Log1p(max(f/s.Budget, -1)) }
	wl, wh := logarithm(fl), logarithm(fh)
	stayed := 0 // > 0: the upper end, < 0: the lower end has stayed so often
	for step := 1; max(fl, -fh) > 1e-12*s.Budget && math.Nextafter(lo, hi) < hi; step++ {
		mid := lo * math.Exp(wl/(wl-wh)*math.Log(hi/lo))
		if step%4 == 0 || !(mid > lo && mid < hi) {
			mid = lo + (hi-lo)/2
		}
		if f := s.total(mid) - s.Budget; f >= 0 {
			lo, fl, wl = mid, f, logarithm(f)
			if stayed = max(stayed, 0) + 1; stayed > 1 {
				wh /= 2
			}
		} else {
			hi, fh, wh = mid, f, logarithm(f)
			if stayed = min(stayed, 0) - 1; stayed < -1 {
				wl /= 2
			}
		}
	}
	x = make([]float64, len(s.Rates))
	share := 0.0 // of the lower end
	if fl > fh {
		share = -fh / (fl - fh)
	}
	for i := range x {
		a, b := s.frequency(i, lo), s.frequency(i, hi)
		x[i] = min(max(b+share*(a-b), s.lower(i)), s.upper(i))
	}
	return x, multiplier{s.slope, s.top, hi}
}

// overflow fills the pages worth polling to their bounds and spreads the rest of
// the budget over the others: all the same, as far as their own bounds allow.
func (s *solver) overflow() []float64 {
	worth := func(i int) bool { return s.Rates[i] > 0 && s.weight(i) > 0 }
	x := make([]float64, len(s.Rates))
	level := func(h float64) float64 {
		var t sum
		for i := range x {
			if worth(i) {
				x[i] = s.upper(i)
			} else {
				x[i] = min(max(h, s.lower(i)), s.upper(i))
			}
			t.add(x[i])
		}
		return t.value()
	}
	lo, hi := 0.0, s.Budget
	for range 1100 { // from the greatest number to the smallest in halves, at worst
		mid := lo + (hi-lo)/2
		if !(mid > lo && mid < hi) {
			break
		}
		if level(mid) <= s.Budget {
			lo = mid
		} else {
			hi = mid
		}
	}
	if level(hi) > s.Budget {
		level(lo)
	}
	return x
}

// A sum adds with Neumaier's compensation: its error does not grow with the
// number of terms.
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

// Uniform returns the frequencies of the uniform policy: the same for all of n
// pages. It needs no knowledge of the pages. Source: Granmo et al. 2006, section
// III.C.
func Uniform(n int, budget float64) ([]float64, error) {
	if n <= 0 || !(budget > 0) || math.IsInf(budget, 1) {
		return nil, fmt.Errorf("%w: %v over %d pages", ErrBudget, budget, n)
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = budget / float64(n)
	}
	return x, nil
}

// Proportional returns the frequencies of the proportional policy, x_i ∝ rate_i,
// for change rates or, as in Granmo et al. 2006, section III.C, for the
// probabilities of a change per slot. It returns ErrBudget if all rates are 0.
func Proportional(rates []float64, budget float64) ([]float64, error) {
	var total sum
	for i, rate := range rates {
		if !(rate >= 0) || math.IsInf(rate, 1) {
			return nil, fmt.Errorf("%w: page %d: %v", ErrRate, i, rate)
		}
		total.add(rate)
	}
	if t := total.value(); !(t > 0) || math.IsInf(t, 1) || !(budget > 0) || math.IsInf(budget, 1) {
		return nil, fmt.Errorf("%w: %v over %d pages with a total rate of %v", ErrBudget, budget, len(rates), t)
	}
	x := make([]float64, len(rates))
	for i, rate := range rates {
		x[i] = budget * (rate / total.value())
	}
	return x, nil
}
