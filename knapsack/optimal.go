package knapsack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/optimum"
)

// A Problem is to allocate a budget of polls to pages whose change rates are known: maximise Σ
// w_i·V(x_i) over frequencies x_i with Σ c_i·x_i = Budget and Lower_i ≤ x_i ≤ Upper_i. Optimal
// solves it, Value says what given frequencies are worth. Take it where the rates are known, or
// for the bound that no learner exceeds.
//
// It is the nonlinear fractional knapsack problem of Granmo et al. 2006, section III, with
// weights, costs, bounds and a choice of objective.
type Problem struct {
	// Rates holds λ_i, the changes per unit of time: 0 or 1e-100 to 1e100. A page that changes
	// with probability u in a slot of time has the rate −ln(1−u) per slot; where each slot's poll
	// is drawn at random, u/(1−u).
	Rates []float64
	// Weights holds w_i, how much a page counts: 0 or 1e-100 to 1e100. Nil means 1 for all.
	Weights []float64
	// Costs holds c_i, what a poll costs in the unit of Budget: 1e-100 to 1e100. Nil means 1 for
	// all.
	Costs []float64
	// Lower and Upper bound the frequencies. Nil means from 0 to +Inf.
	Lower, Upper []float64
	// Budget is the number of polls per unit of time, or what they may cost, 1e-100 to 1e100.
	Budget float64
	// Objective is V.
	Objective Objective
	// Spacing is that of the polls.
	Spacing Spacing
}

func checkBudget(budget float64) error {
	if !(budget >= optimum.LeastInput && budget <= optimum.MostInput) {
		return fmt.Errorf("%w: a budget of %v, not %v to %v", ErrConfig, budget, optimum.LeastInput, optimum.MostInput)
	}
	return nil
}

// checkCost returns an error that names a page and what a poll of it must not cost.
func checkCost(page int, cost float64) error {
	if !(cost >= optimum.LeastInput && cost <= optimum.MostInput) {
		return fmt.Errorf("%w: page %d: a poll costs %v, not %v to %v", ErrConfig, page, cost, optimum.LeastInput, optimum.MostInput)
	}
	return nil
}

// check returns an error that names the first bad value. It has a branch for each thing that may be
// wrong.
func (p *Problem) check() error {
	n := len(p.Rates)
	switch {
	case n == 0:
		return fmt.Errorf("%w: there are no pages", ErrConfig)
	case checkBudget(p.Budget) != nil:
		return checkBudget(p.Budget)
	case objectiveNames.Check(p.Objective) != nil:
		return objectiveNames.Check(p.Objective)
	case spacingNames.Check(p.Spacing) != nil:
		return spacingNames.Check(p.Spacing)
	case p.Weights != nil && len(p.Weights) != n:
		return fmt.Errorf("%w: %d weights for %d rates", ErrConfig, len(p.Weights), n)
	case p.Costs != nil && len(p.Costs) != n:
		return fmt.Errorf("%w: %d costs for %d rates", ErrConfig, len(p.Costs), n)
	case p.Lower != nil && len(p.Lower) != n:
		return fmt.Errorf("%w: %d lower bounds for %d rates", ErrConfig, len(p.Lower), n)
	case p.Upper != nil && len(p.Upper) != n:
		return fmt.Errorf("%w: %d upper bounds for %d rates", ErrConfig, len(p.Upper), n)
	}
	for i, rate := range p.Rates {
		lo, hi := 0.0, math.Inf(1)
		if p.Lower != nil {
			lo = p.Lower[i]
		}
		if p.Upper != nil {
			hi = p.Upper[i]
		}
		switch {
		case !optimum.InRange(rate):
			return fmt.Errorf("%w: page %d: rate %v", ErrConfig, i, rate)
		case p.Weights != nil && !optimum.InRange(p.Weights[i]):
			return fmt.Errorf("%w: page %d: weight %v", ErrConfig, i, p.Weights[i])
		case p.Costs != nil && checkCost(i, p.Costs[i]) != nil:
			return checkCost(i, p.Costs[i])
		case !(0 <= lo && lo <= hi) || math.IsInf(lo, 1):
			return fmt.Errorf("%w: page %d: frequency bounded by %v and %v", ErrConfig, i, lo, hi)
		}
	}
	return nil
}

// Value returns Σ w_i·V(x_i). The budget, the costs and the bounds do not matter. It returns
// ErrConfig for a frequency that is negative or not finite, or if there are not as many as
// Rates.
func (p Problem) Value(x []float64) (float64, error) {
	if len(x) != len(p.Rates) {
		return 0, fmt.Errorf("%w: %d frequencies for %d rates", ErrConfig, len(x), len(p.Rates))
	}
	p.Budget, p.Costs, p.Lower, p.Upper = 1, nil, nil, nil
	if err := p.check(); err != nil {
		return 0, err
	}
	for i, xi := range x {
		if !(xi >= 0) || math.IsInf(xi, 1) {
			return 0, fmt.Errorf("%w: page %d: frequency %v", ErrConfig, i, xi)
		}
	}
	return p.checked().Value(x), nil
}

// Optimal returns the frequencies that maximise Σ w_i·V(x_i), and the price of the budget: how
// much the optimum grows per further poll, or unit of cost, per unit of time (0 where that is below
// the least number, +Inf where it is above the greatest). Pages that never change, or weigh
// nothing, get only what the others cannot take.
//
// It returns ErrConfig for a bad value, with its index, and if the bounds leave no room for the
// budget.
//
// # Guarantees
//
// Over 200 decades of rates, weights, costs and budgets Σ c·x is the budget to within 1e-12 of it,
// the bounds hold exactly, and the slopes per cost of pages between their bounds differ by less
// than 1e-10 of each other.
//
// # Cost
//
// Time: O(n) per step, and mostly 10 to 20 steps: up to 200 where bounds decide nearly everything or
// numbers are many decades apart. Memory: 8 bytes a page.
//
// # How it works
//
// At the optimum every page strictly between its bounds has the slope w_i·V'(x_i)/c_i = μ, the
// price. V' depends on x only through v = λ/x: V'(x) = h(v)/λ^p, see Objective. So x_i(μ) =
// λ_i/h⁻¹(μ·c_i·λ_i^p/w_i), cut off at the bounds. Σ c_i·x_i(μ) falls in μ, and a bracketing search
// finds the budget. Where all pages weigh and cost the same and have no bounds, Detections under
// Even spacing has the closed form x_i = Budget·λ_i/Σλ.
func (p Problem) Optimal() (x []float64, price float64, err error) {
	if err := p.check(); err != nil {
		return nil, 0, err
	}
	x, at, err := p.checked().Solve()
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return x, at.Mu(), nil
}

// checked returns the problem as the solver takes it.
func (p *Problem) checked() *optimum.Problem {
	return &optimum.Problem{Rates: p.Rates, Weights: p.Weights, Costs: p.Costs, Lower: p.Lower, Upper: p.Upper,
		Budget: p.Budget, Objective: int(p.Objective), Random: p.Spacing == Random}
}
