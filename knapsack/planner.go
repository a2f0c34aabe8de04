package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
	"github.com/recrawl/recrawl/knapsack/internal/plan"
)

// PlannerConfig holds the settings of Planner.
type PlannerConfig struct {
	// Budget is the number of polls per unit of time, or what they cost, 1e-100 to 1e100; default
	// 1, which is right where the unit of time is one poll. Set it otherwise: it is not measured,
	// and the frequencies of a wrong one are not optimal. Behind a [Keyed] the unit is a second.
	Budget float64
	// Objective is what the frequencies maximise.
	Objective Objective
	// Spacing is that of the polls at these frequencies.
	Spacing Spacing
	// Method estimates the change rates.
	Method RateMethod
	// Floor is the share of the budget that is spread evenly over all pages, 1e-100 to 1; default
	// 0.05. A page is polled at least Floor·Budget/n times per unit of time, whatever its
	// estimate, n being the number of pages or what a poll of each of them costs.
	Floor float64
}

// Planner estimates every page's change rate as if it were constant, solves for the optimal
// frequencies, and polls at them: Next gives the page to poll, Observe learns. SetWeight changes
// how much a page counts, SetCost what its polls cost; Rate, Frequency and Price tell what has
// been learnt. Take it for pages whose rates do not change. It never forgets, so that RateFilter
// is better on bursty pages.
//
// It covers what the literature offers besides automata:
//
//   - Objective Harmonic with Random spacing is LambdaCrawl with its learner (Kolobov, Peres, Lu,
//     Horvitz 2019).
//   - Objective Freshness with Random spacing is the optimum of Azar, Horvitz, Lubetzky, Peres
//     and Shahaf 2018.
//   - Objective Detections with Even spacing is "poll what has most likely changed" at constant
//     rates.
//
// # Guarantees
//
// A page is polled at least at the frequency that PlannerConfig.Floor sets. A poll given back
// counts as made.
//
// The frequencies are within the budget after each plan. Pages that are added, and weights, costs
// and rates that change, have theirs at the price of the latest plan: if many pages come at once,
// all frequencies exceed the budget until the next plan, and polls are shared out in proportion.
// The floor does not hold meanwhile.
//
// # Cost
//
// Time: O(log n) for Next and Observe, and every n answers a new plan, which takes O(n) times
// about 20 steps of the solver. Memory: 45 bytes a page besides what the RateMethod takes, and 8
// more with costs. Only a new plan allocates.
//
// # How it works
//
// An answer updates its own page's estimate, and its frequency at the present price of the
// budget. Every n answers the frequencies of all pages are solved anew; see Problem.Optimal. Pages are
// polled at their frequencies as those of a Fixed are.
type Planner struct {
	scheduled
	cfg  PlannerConfig
	plan plan.Plan
}

var _ Learner = (*Planner)(nil)

// plannerFloor costs at most 1 % of the detections in the environments of Granmo et al. 2006, where
// 0.2 costs up to 8 % (go test ./knapsack -v -run Sweep -sweep). It bounds the time for which a
// page that was written off is not polled at 20 times that of uniform polling.
const plannerFloor = 0.05

// NewPlanner returns a Planner of the pages 0..n−1, all of weight 1. src is used for Random spacing
// only and may be nil for Even. It returns ErrConfig for a setting out of its range; n may be 0 to
// 2^30.
func NewPlanner(n int, cfg PlannerConfig, src rand.Source) (*Planner, error) {
	if err := checkPages(n); err != nil {
		return nil, err
	}
	if cfg.Budget == 0 {
		cfg.Budget = 1
	}
	if cfg.Floor == 0 {
		cfg.Floor = plannerFloor
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &Planner{scheduled: newScheduled(n, cfg.Spacing, src), cfg: cfg}
	p.plan = p.newPlan()
	p.newcomer = cfg.Budget / float64(max(n, 1))
	for slot := range n {
		p.plan.Grow()
		p.roster.Set(slot, p.newcomer)
	}
	return p, nil
}

// newPlan returns a plan without pages.
func (p *Planner) newPlan() plan.Plan {
	return plan.Plan{Budget: p.cfg.Budget, Floor: p.cfg.Floor, Objective: int(p.cfg.Objective), Random: p.spacing == Random,
		Evidence: p.cfg.Method.evidence()}
}

func (c PlannerConfig) check() error {
	switch {
	case checkBudget(c.Budget) != nil:
		return checkBudget(c.Budget)
	case objectiveNames.Check(c.Objective) != nil:
		return objectiveNames.Check(c.Objective)
	case spacingNames.Check(c.Spacing) != nil:
		return spacingNames.Check(c.Spacing)
	case !(c.Floor >= optimum.LeastInput && c.Floor <= 1): // with less the frequencies could be 0
		return fmt.Errorf("%w: Floor is %v", ErrConfig, c.Floor)
	}
	return rateMethodNames.Check(c.Method)
}

// Observe implements Scheduler.
func (p *Planner) Observe(page int, now float64, changed bool) error {
	slot, err := p.land(page, now)
	if err != nil {
		return err
	}
	if n := p.ids.Len(); p.plan.Observe(slot, p.start, now, changed, n) {
		p.plan.Solve(n, p.ids.Live, p.roster.Set)
	} else {
		p.refresh(slot)
	}
	return nil
}

// refresh sets the frequency of a page at the present price, if there is one.
func (p *Planner) refresh(slot int) {
	if x, ok := p.plan.Frequency(slot, p.ids.Len()); ok {
		p.roster.Set(slot, x)
	}
}

// Add implements Learner. The page has weight 1 and is expected to change like the mean page. It
// counts as polled at the latest Next.
func (p *Planner) Add() (page int) {
	if p.Len() == 0 {
		p.newcomer = p.cfg.Budget
	}
	page = p.scheduled.Add() // before the first plan with the frequency of all others
	slot := Slot(page)
	if slot == p.plan.Slots() {
		p.plan.Grow()
	}
	p.plan.Reset(slot, p.now)
	p.refresh(slot)
	return page
}

// SetWeight changes the weight of a page: at once for its own frequency, and with the next plan
// for those of the others. It returns ErrConfig unless w is 0 or 1e-100 to 1e100.
func (p *Planner) SetWeight(page int, w float64) error {
	slot, err := p.slot(page)
	if err != nil {
		return err
	}
	if !optimum.InRange(w) {
		return fmt.Errorf("%w: page %d: weight %v", ErrConfig, page, w)
	}
	p.plan.SetWeight(slot, w)
	p.refresh(slot)
	return nil
}

// SetCost changes what a poll of a page costs, 1e-100 to 1e100: at once for its own frequency, and
// with the next plan for those of the others. PlannerConfig.Budget then is what polls may cost per
// unit of time: the caller asks Next when it can pay for a poll.
func (p *Planner) SetCost(page int, cost float64) error {
	slot, err := p.slot(page)
	if err != nil {
		return err
	}
	if err := checkCost(page, cost); err != nil {
		return err
	}
	p.plan.SetCost(slot, cost)
	p.refresh(slot)
	return nil
}

// Frequency returns the frequency at which a page is polled, in polls per unit of time.
func (p *Planner) Frequency(page int) (float64, error) {
	x, err := p.scheduled.Frequency(page)
	if err == nil && !p.plan.Solved() { // what the pages have is the same, and may be of another number of them
		x = p.cfg.Budget / float64(p.Len())
	}
	return x, err
}

// Rate returns the estimate of a page's change rate per unit of time. It is 1 for all pages
// before anything was observed.
func (p *Planner) Rate(page int) (float64, error) {
	slot, err := p.slot(page)
	if err != nil {
		return 0, err
	}
	return p.plan.Rate(slot), nil
}

// Price returns how much the objective grows per further poll, or unit of cost, per unit of
// time, at the present estimates; 0 before the first plan, and the greatest number where it is more than that.
func (p *Planner) Price() float64 {
	return min(math.MaxFloat64, p.plan.Price())
}

var plannerFormat = codec.Format{Magic: "recrawl/knapsack.Planner", Version: 3}

// MarshalBinary returns the state, source included.
func (p *Planner) MarshalBinary() ([]byte, error) { return plannerFormat.Save(p.encode) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (p *Planner) UnmarshalBinary(data []byte) error {
	return codec.Load(p, plannerFormat, data, (*Planner).decode)
}

func (p *Planner) encode(e *codec.Encoder) {
	p.scheduled.encode(e)
	e.Float64(p.cfg.Budget)
	e.Byte(byte(p.cfg.Objective))
	e.Byte(byte(p.cfg.Method))
	e.Float64(p.cfg.Floor)
	p.plan.Encode(e)
}

func (p *Planner) decode(d *codec.Decoder) {
	p.scheduled.decode(d)
	p.cfg = PlannerConfig{Budget: d.Float64(), Objective: Objective(d.Byte()), Spacing: p.spacing,
		Method: RateMethod(d.Byte()), Floor: d.Float64()}
	if d.Check(p.cfg.check()); d.Err() != nil {
		return
	}
	p.plan = p.newPlan()
	p.plan.Decode(d, p.ids.Slots())
	for page := range p.All() {
		p.newcomer = p.roster.Frequency(Slot(page))
		break
	}
}
