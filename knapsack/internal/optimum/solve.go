package optimum

import (
	"fmt"
	"math"
)

// A Problem is a knapsack.Problem that has been checked.
type Problem struct {
	Rates, Weights, Costs, Lower, Upper []float64
	Budget                              float64
	Objective                           int
	Random                              bool
}

// The range of rates, weights, costs and budgets: w/λ² and w/(cλ) are normal numbers for all of
// them.
const (
	LeastInput = 1e-100
	MostInput  = 1e100
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

// InRange reports whether x is a rate or a weight that the solver takes.
func InRange(x float64) bool { return x == 0 || x >= LeastInput && x <= MostInput }

// Clamp returns the positive number of that range that is nearest to x > 0.
func Clamp(x float64) float64 { return min(max(x, LeastInput), MostInput) }

// weight returns a page's setting or its default.
func (p *Problem) weight(i int) float64 {
	if p.Weights == nil {
		return 1
	}
	return p.Weights[i]
}

func (p *Problem) cost(i int) float64 {
	if p.Costs == nil {
		return 1
	}
	return p.Costs[i]
}

// worth is the weight of a page per cost.
func (p *Problem) worth(i int) float64 { return p.weight(i) / p.cost(i) }

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

// Value returns Σ w_i·V(x_i).
func (p *Problem) Value(x []float64) float64 {
	var total Sum
	for i, xi := range x {
		if w := p.weight(i); w > 0 {
			total.Add(float64(w * Value(p.Objective, p.Random, p.Rates[i], xi)))
		}
	}
	return total.Value()
}

// Solve returns the best frequencies and the price of the budget, or an error that names the room
// that the bounds leave if that does not hold the budget.
func (p *Problem) Solve() (x []float64, at Price, err error) {
	s := p.solver()
	if floor, ceiling := s.floor.Value(), s.ceiling.Value(); floor > p.Budget || ceiling < p.Budget {
		return nil, Price{}, fmt.Errorf("the bounds leave room for %v to %v, not for %v", floor, ceiling, p.Budget)
	}
	if s.active.Value() <= p.Budget {
		return s.overflow(), s.curve.Price(0, math.Inf(-1)), nil // every further poll is worth nothing
	}
	s.top = s.curve.reference(s.top)
	x, at = s.search()
	return x, at, nil
}

// A solver searches the multiplier.
type solver struct {
	*Problem
	curve *Curve
	rates float64 // Σ c·λ over pages worth polling
	top   float64 // greatest scale
	// What the pages cost at their lower and their upper bounds, and if those worth polling are at
	// their upper ones and the others at their lower ones.
	floor, ceiling, active Sum
}

func (p *Problem) solver() *solver {
	s := &solver{Problem: p, curve: Of(p.Objective, p.Random)}
	for i, rate := range p.Rates {
		cost := p.cost(i)
		least, most := float64(cost*p.lower(i)), float64(cost*p.upper(i))
		s.floor.Add(least)
		s.ceiling.Add(most)
		if rate > 0 && p.weight(i) > 0 {
			s.rates += float64(cost * rate)
			s.top = max(s.top, s.curve.scale(rate, p.worth(i)))
			s.active.Add(most)
		} else {
			s.active.Add(least)
		}
	}
	return s
}

// frequency returns x_i(μ), finite even where μ is next to nothing.
func (s *solver) frequency(i int, m *Price) float64 {
	return m.Frequency(s.Rates[i], s.worth(i), s.lower(i), min(s.upper(i), mostFrequency))
}

// excess returns Σ c_i·x_i(μ) − Budget, and how far from 0 it may be: a share of what the pages
// between their bounds get, but not less than what rounding leaves.
func (s *solver) excess(m *Price) (f, tolerance float64) {
	var all Sum
	between := 0.0
	for i := range s.Rates {
		x := s.frequency(i, m)
		spent := float64(s.cost(i) * x)
		all.Add(spent)
		if x > s.lower(i) && x < s.upper(i) {
			between += spent
		}
	}
	return all.Value() - s.Budget, max(excessTolerance*min(between, s.Budget), excessRounding*s.Budget)
}

// search brackets the multiplier and narrows the bracket until one of its ends spends the budget.
// Where the frequencies jump between neighbouring numbers, as for pages that change much faster
// than they can be polled, it returns the point between the ends that spends the budget: all of
// them are optimal to the precision of μ.
func (s *solver) search() (x []float64, at Price) {
	var tolerance float64 // at the point looked at last
	excess := func(logZ float64) (f float64) {
		at := s.curve.Price(s.top, logZ)
		f, tolerance = s.excess(&at)
		return f
	}
	// The exact z if all pages had the same scale and no bounds.
	lo := s.curve.logZ(s.rates / s.Budget)
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
		mid := lo + float64(wl/(wl-wh)*(hi-lo))
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
	from, to := s.curve.Price(s.top, lo), s.curve.Price(s.top, hi)
	share := -fh / (fl - fh) // of the lower end
	switch {
	case met && fl < -fh:
		to, share = from, 1
	case met:
		from, share = to, 0
	}
	x = make([]float64, len(s.Rates))
	for i := range x {
		a, b := s.frequency(i, &from), s.frequency(i, &to)
		x[i] = min(max(b+float64(share*(a-b)), s.lower(i)), s.upper(i))
	}
	return x, to
}

// overflow fills the pages worth polling to their bounds and spreads the rest of the budget over
// the others: all the same, as far as their own bounds allow.
func (s *solver) overflow() []float64 {
	worth := func(i int) bool { return s.Rates[i] > 0 && s.weight(i) > 0 }
	x := make([]float64, len(s.Rates))
	level := func(h float64) float64 {
		var t Sum
		for i := range x {
			if worth(i) {
				x[i] = s.upper(i)
			} else {
				x[i] = min(max(h, s.lower(i)), s.upper(i))
			}
			t.Add(float64(s.cost(i) * x[i]))
		}
		return t.Value()
	}
	lo, hi := 0.0, s.Budget
	for i := range x {
		hi = max(hi, min(s.Budget/s.cost(i), s.upper(i)))
	}
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
