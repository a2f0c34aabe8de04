package knapsack

import (
	"fmt"
	"math"
)

// A Problem is to allocate a budget of polls to pages whose change rates are known: maximise Σ
// w_i·V(x_i) over frequencies x_i with Σ x_i = Budget and Lower_i ≤ x_i ≤ Upper_i. Optimal solves
// it, Value says what given frequencies are worth. Take it where the rates are known, or for the
// bound that no learner exceeds.
//
// It is the nonlinear fractional knapsack problem of Granmo et al. 2006, section III, with
// weights, bounds and a choice of objective.
type Problem struct {
	// Rates holds λ_i, the changes per unit of time: 0 or 1e-100 to 1e100. A page that changes
	// with probability u in a slot of time has the rate −ln(1−u) per slot; where each slot's poll
	// is drawn at random, u/(1−u).
	Rates []float64
	// Weights holds w_i, how much a page counts: 0 or 1e-100 to 1e100. Nil means 1 for all.
	Weights []float64
	// Lower and Upper bound the frequencies. Nil means from 0 to +Inf.
	Lower, Upper []float64
	// Budget is the number of polls per unit of time, 1e-100 to 1e100.
	Budget float64
	// Objective is V.
	Objective Objective
	// Spacing is that of the polls.
	Spacing Spacing
}

// The range of rates, weights and budgets: w/λ² is a normal number for all of them.
const (
	leastInput = 1e-100
	mostInput  = 1e100
)

// mostFrequency stands for no upper bound, so that no frequency is infinite.
const mostFrequency = 1e300

// The frequencies may miss the budget by excessTolerance of what the pages between their bounds
// get: thousands of roundings, and far less than any page's share. Two roundings of the budget
// itself, excessRounding, are allowed where that is more.
const (
	excessTolerance = 5e-13
	excessRounding  = 4e-16
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
	case objectiveNames.Check(p.Objective) != nil:
		return objectiveNames.Check(p.Objective)
	case spacingNames.Check(p.Spacing) != nil:
		return spacingNames.Check(p.Spacing)
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

// Value returns Σ w_i·V(x_i). The budget and the bounds do not matter. It returns ErrFrequency
// for a frequency that is negative or not finite, or if there are not as many as Rates.
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

// Optimal returns the frequencies that maximise Σ w_i·V(x_i), and the price of the budget: how
// much the optimum grows per further poll per unit of time (0 where that is below the least
// number). Pages that never change, or weigh nothing, get only what the others cannot take.
//
// It returns ErrBudget if the bounds leave no room for the budget, and ErrRate, ErrWeight,
// ErrFrequency or ErrConfig for a bad value, with its index.
//
// # Guarantees
//
// Over 200 decades of rates, weights and budgets Σ x is the budget to within 1e-12 of it, the
// bounds hold exactly, and the slopes of pages between their bounds differ by less than 1e-10 of
// each other.
//
// # Cost
//
// Time: O(n) per step, and 10 to 40 steps. Memory: 8 bytes a page.
//
// # How it works
//
// At the optimum every page strictly between its bounds has the slope w_i·V'(x_i) = μ, the price.
// V' depends on x only through v = λ/x: V'(x) = h(v)/λ^p, see Objective. So x_i(μ) =
// λ_i/h⁻¹(μ·λ_i^p/w_i), cut off at the bounds. Σ x_i(μ) falls in μ, and a bracketing search finds
// the budget. Where all pages weigh the same and have no bounds, Detections under Even spacing
// has the closed form x_i = Budget·λ_i/Σλ.
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

// frequency returns x_i(μ), finite even where μ is next to nothing.
func (s *solver) frequency(i int, m multiplier) float64 {
	return m.frequency(s.Rates[i], s.weight(i), s.lower(i), min(s.upper(i), mostFrequency))
}

// excess returns Σ x_i(μ) − Budget, and how far from 0 it may be: a share of what the pages between
// their bounds get, but not less than what rounding leaves.
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
	return all.value() - s.Budget, max(excessTolerance*min(between, s.Budget), excessRounding*s.Budget)
}

// search brackets the multiplier and narrows the bracket until one of its ends spends the budget.
// Where the frequencies jump between neighbouring numbers, as for pages that change much faster
// than they can be polled, it returns the point between the ends that spends the budget: all of
// them are optimal to the precision of μ.
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
	// Invariant: lo ≤ hi and fl ≥ 0 ≥ fh. The step is the secant's on the logarithm of what is
	// spent, as frequencies are close to powers of z, halving the weight of an end that stays
	// twice (Illinois); every fourth step is bisection.
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

// overflow fills the pages worth polling to their bounds and spreads the rest of the budget over
// the others: all the same, as far as their own bounds allow.
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
