package optimum

import "math"

// An Outlook is what the best schedule would reach with other budgets: the problem of the mean page
// of a web of which only the spread of rates is known.
//
// It has one page for each cell of rates, or of rates and costs, whose frequency y stands for
// y/share polls of a page of that cell. As s·V(λ, y/s) is s^k·V(s·λ, y), with k = 0 for
// Detections, 2 for Age and else 1, that is a Problem like others.
type Outlook struct{ problem Problem }

// leastShare is the share of page-time that counts, far below what is known.
const leastShare = 1e-9

// NewOutlook returns that of pages that spent time[k] at rates[k], and whose polls cost
// costs[k], or 1 each if that is nil. It is nil if no rate was in range.
func NewOutlook(objective int, time, rates, costs []float64) *Outlook {
	total := 0.0
	for _, t := range time {
		total += t
	}
	p := Problem{Objective: objective}
	power := float64(Of(objective, false).Power)
	for k, rate := range rates {
		share := time[k] / total
		if !(share >= leastShare) || rate < LeastInput || rate > MostInput {
			continue
		}
		p.Rates = append(p.Rates, rate*share)
		p.Weights = append(p.Weights, math.Pow(share, power))
		if costs != nil {
			p.Costs = append(p.Costs, costs[k])
		}
	}
	if len(p.Rates) == 0 {
		return nil
	}
	return &Outlook{p}
}

// Value returns what a page is worth in the mean with a number of polls per page, or what they may
// cost.
func (o *Outlook) Value(polls float64) float64 {
	p := o.problem
	p.Budget = polls
	x, _, err := p.Solve()
	if err != nil {
		panic("optimum: no room without bounds: " + err.Error())
	}
	return p.Value(x)
}

// farBudget bounds the budgets that Polls looks at, as a part of the digits of what a Problem
// accepts.
const farBudget = 0.2

// Polls returns the number of polls per page with which Value is reached, for a value between least
// and most, which are what the least and the greatest budgets reach.
func (o *Outlook) Polls(value float64) (polls, least, most float64) {
	lo, hi := math.Log(MostInput)*-farBudget, math.Log(MostInput)*farBudget
	least, most = o.Value(math.Exp(lo)), o.Value(math.Exp(hi))
	most -= 1e-9 * math.Abs(most) // the shares add up to 1 but for rounding
	for range 60 {                // halvings, which leave less than the last bit
		mid := (lo + hi) / 2
		if o.Value(math.Exp(mid)) < value {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp(hi), least, most
}
