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
	Rates   []float64 // λ_i, changes per unit of time: 0 or 1e-100 to 1e100; SlotRate and SlotOdds convert probabilities
	Weights []float64 // w_i: 0 or 1e-100 to 1e100; nil: all 1
	Lower   []float64 // least frequencies; nil: all 0
	Upper   []float64 // greatest frequencies, +Inf allowed; nil: no bounds
	Budget  float64   // polls per unit of time, 1e-100 to 1e100

	Objective Objective
	Spacing   Spacing
}

// The range of rates, weights and budgets: w/λ² is a normal number for all of them.
const (
	leastInput = 1e-100
	mostInput  = 1e100
)

// inRange reports whether x is a rate or a weight that a Problem takes.
func inRange(x float64) bool { return x == 0 || x >= leastInput && x <= mostInput }

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
	case !(p.Budget >= leastInput && p.Budget <= mostInput):
		return fmt.Errorf("%w: it is %v, not in %v to %v", ErrBudget, p.Budget, leastInput, mostInput)
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
		if !inRange(rate) {
			return fmt.Errorf("%w: page %d: %v", ErrRate, i, rate)
		}
		if w := p.weight(i); !inRange(w) {
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
// further poll per unit of time (0 where it is below the least number). Over the
// 200 decades of rates, weights and budgets Σ x is the budget to within 1e-12 of
// it, the bounds hold exactly, and the slopes between the bounds are equal to within
// 1e-10 of each other. Pages that never change, or weigh nothing, get only what
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
	return x, m.mu, nil
}

func (p Problem) solve() (x []float64, at multiplier, err error) {
	if err := p.check(); err != nil {
		return nil, multiplier{}, err
	}
	s := solver{Problem: p, slope: slopes[p.Objective][p.Spacing]}
	var floor, ceiling, active sum
	for i, rate := range p.Rates {
		floor.add(p.lower(i))
		ceiling.add(p.upper(i))
		if rate > 0 && p.weight(i) > 0 {
			s.rates += rate
			s.top = max(s.top, s.scale(rate, p.weight(i)))
			active.add(p.upper(i))
		} else {
			active.add(p.lower(i))
		}
	}
	if floor.value() > p.Budget || ceiling.value() < p.Budget {
		return nil, multiplier{}, fmt.Errorf("%w: the bounds leave room for %v to %v, not for %v",
			ErrBudget, floor.value(), ceiling.value(), p.Budget)
	}
	if active.value() <= p.Budget {
		return s.overflow(), s.multiplier(0, math.Inf(-1)), nil // every further poll is worth nothing
	}
	x, at = s.search()
	return x, at, nil
}

// A solver searches the multiplier.
type solver struct {
	Problem
	slope
	rates float64 // Σ λ over pages worth polling
	top   float64 // greatest scale
}

// scale returns w/λ^power, the factor of h in the slope of a page.
func (s *slope) scale(rate, weight float64) float64 {
	for range s.power {
		weight /= rate
	}
	return weight
}

// A multiplier is a price μ of the budget. It is made from the logarithm of a
// number z, which loses precision at neither end of its range: μ = top·(1 − e^(−z))
// where slopes are bounded by top, the steepest slope at x = 0, and μ = top·z
// elsewhere. The zero multiplier is no price.
type multiplier struct {
	slope
	top, logZ float64

	z, mu, logMu float64
}

func (s slope) multiplier(top, logZ float64) multiplier {
	m := multiplier{slope: s, top: top, logZ: logZ, z: math.Exp(logZ)}
	part, logPart := m.z, logZ
	if s.bounded {
		part = -math.Expm1(-m.z)
		if m.z > extreme {
			logPart = math.Log(part)
		}
	}
	m.mu, m.logMu = top*part, math.Log(top)+logPart
	if part < extreme || part > 1/extreme { // it may have lost digits, or be 0 or +Inf
		m.mu = math.Exp(m.logMu)
	}
	return m
}

// frequency returns the x between lo and hi at which a page has the slope μ, or
// comes nearest to it.
func (m multiplier) frequency(rate, weight, lo, hi float64) float64 {
	if rate == 0 || weight == 0 {
		return lo
	}
	scale := m.scale(rate, weight)
	y, z := m.mu/scale, m.z
	if !(m.mu > 1e-290 && m.mu < 1e290) { // it may have lost digits, or be 0 or +Inf
		y = math.Exp(m.logMu - math.Log(scale))
	}
	switch {
	case y < extreme || y > 1/extreme && !m.bounded:
		return min(max(rate/m.far(m.logMu-math.Log(scale)), lo), hi)
	case !m.bounded || scale == m.top: // z is as it should be
	case y < 0.5:
		z = -math.Log1p(-y)
	default:
		rest := 1 - y
		if scale >= m.top/2 { // scale − top is exact; below it would swamp the rest
			rest = ((scale - m.top) + m.top*math.Exp(-z)) / scale
		}
		if rest <= 0 {
			return lo // even the first poll is worth less than μ
		}
		z = -math.Log(rest)
	}
	return min(max(rate/m.inverse(y, z), lo), hi)
}

// frequency returns x_i(μ), finite even where μ is next to nothing.
func (s *solver) frequency(i int, m multiplier) float64 {
	return m.frequency(s.Rates[i], s.weight(i), s.lower(i), min(s.upper(i), 1e300))
}

// excess returns Σ x_i(μ) − Budget, and how far from 0 it may be: 5e-13 of what the
// pages between their bounds get, but not less than what rounding leaves.
func (s *solver) excess(m multiplier) (f, tolerance float64) {
	var all sum
	between := 0.0
	for i := range s.Rates {
		x := s.frequency(i, m)
		all.add(x)
		if x > s.lower(i) && x < s.upper(i) {
			between += x
		}
	}
	return all.value() - s.Budget, max(5e-13*min(between, s.Budget), 4e-16*s.Budget)
}

// search brackets the multiplier and narrows the bracket until one of its ends
// spends the budget. Where the frequencies jump between neighbouring numbers, as for
// pages that change much faster than they can be polled, it returns the point between
// the ends that spends the budget: all of them are optimal to the precision of μ.
func (s *solver) search() (x []float64, at multiplier) {
	var tolerance float64 // at the point looked at last
	excess := func(logZ float64) (f float64) {
		f, tolerance = s.excess(s.multiplier(s.top, logZ))
		return f
	}
	// The exact z if all pages had the same scale and no bounds.
	lo := s.logZ(s.rates / s.Budget)
	hi := lo
	fl := excess(lo)
	fh := fl
	for stride := 1.0; fh > 0; stride *= 2 {
		lo, fl = hi, fh
		hi += stride
		fh = excess(hi)
	}
	for stride := 1.0; fl < 0; stride *= 2 {
		hi, fh = lo, fl
		lo -= stride
		fl = excess(lo)
	}
	// Invariant: lo ≤ hi and fl ≥ 0 ≥ fh. The step is the secant's on the logarithm
	// of what is spent, as frequencies are close to powers of z, halving the weight
	// of an end that stays twice (Illinois); every fourth step is bisection.
	logarithm := func(f float64) float64 { return math.Log1p(max(f/s.Budget, -1)) }
	wl, wh := logarithm(fl), logarithm(fh)
	stayed := 0 // > 0: the upper end, < 0: the lower end has stayed so often
	met := -fh <= tolerance || fl <= tolerance
	for step := 1; !met && math.Nextafter(lo, hi) < hi; step++ {
		mid := lo + wl/(wl-wh)*(hi-lo)
		if step%4 == 0 || !(mid > lo && mid < hi) {
			mid = lo + (hi-lo)/2
		}
		f := excess(mid)
		met = math.Abs(f) <= tolerance
		if f >= 0 {
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
	from, to := s.multiplier(s.top, lo), s.multiplier(s.top, hi)
	share := -fh / (fl - fh) // of the lower end
	switch {
	case met && fl < -fh:
		to, share = from, 1
	case met:
		from, share = to, 0
	}
	x = make([]float64, len(s.Rates))
	for i := range x {
		a, b := s.frequency(i, from), s.frequency(i, to)
		x[i] = min(max(b+share*(a-b), s.lower(i)), s.upper(i))
	}
	return x, to
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
