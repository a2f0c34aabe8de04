package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
	"github.com/recrawl/recrawl/knapsack/internal/rates"
)

// PlannerConfig holds the settings of Planner.
type PlannerConfig struct {
	// Budget is the number of polls per unit of time, 1e-100 to 1e100; default 1, with one poll as
	// the unit of time.
	Budget float64
	// Objective is what the frequencies maximise.
	Objective Objective
	// Spacing is that of the polls at these frequencies.
	Spacing Spacing
	// Method estimates the change rates.
	Method RateMethod
	// Floor is the share of the budget that is spread evenly over all pages, in (0, 1]; default
	// 0.05. A page is polled at least Floor·Budget/n times per unit of time, whatever its
	// estimate.
	Floor float64
}

// Planner estimates every page's change rate as if it were constant, solves for the optimal
// frequencies, and polls at them: Next gives the page to poll, Observe learns. SetWeight changes
// how much a page counts; Rate, Frequency and Price tell what has been learnt. Take it for pages
// whose rates do not change. It never forgets, so that RateFilter is better on bursty pages.
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
// # Cost
//
// Time: O(log n) for Next and Observe, and every n answers a new plan, which takes O(n) times
// about 20 steps of the solver. Memory: 45 bytes a page besides what the RateMethod takes. Only a
// new plan allocates.
//
// # How it works
//
// An answer updates its own page's estimate, and its frequency at the present price of the
// budget. Every n answers the frequencies of all pages are solved anew; see Problem.Optimal.
type Planner struct {
	scheduled
	cfg      PlannerConfig
	evidence rates.Evidence
	last     []float64 // time of the last poll, or of Add; −Inf at first
	weights  []float64

	at      optimum.Price
	answers int     // since the frequencies were solved
	changes float64 // found in all
	time    float64 // observed in all, page-time
}

var _ Learner = (*Planner)(nil)

const (
	// plannerFloor costs at most 1 % of the detections in the environments of Granmo et al. 2006,
	// where 0.2 costs up to 8 % (go test ./knapsack -v -run Sweep -sweep). It bounds the time
	// for which a page that was written off is not polled at 20 times that of uniform polling.
	plannerFloor = 0.05
	// leastReplan is the least number of answers between two plans. It keeps a planner of a few
	// pages from solving at every answer, and is not tuned.
	leastReplan = 16
)

// NewPlanner returns a Planner of the pages 0..n−1, all of weight 1. src is used for Random
// spacing only and may be nil for Even.
func NewPlanner(n int, cfg PlannerConfig, src rand.Source) (*Planner, error) {
	if cfg.Budget == 0 {
		cfg.Budget = 1
	}
	if cfg.Floor == 0 {
		cfg.Floor = plannerFloor
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &Planner{
		scheduled: newScheduled(n, cfg.Spacing, src),
		cfg:       cfg,
		evidence:  cfg.Method.evidence(),
	}
	for range n {
		p.grow(math.Inf(-1))
	}
	for slot := range n {
		p.roster.Set(slot, cfg.Budget/float64(n))
	}
	return p, nil
}

func (c PlannerConfig) check() error {
	switch {
	case checkBudget(c.Budget) != nil:
		return checkBudget(c.Budget)
	case objectiveNames.Check(c.Objective) != nil:
		return objectiveNames.Check(c.Objective)
	case spacingNames.Check(c.Spacing) != nil:
		return spacingNames.Check(c.Spacing)
	case !(c.Floor > 0 && c.Floor <= 1):
		return fmt.Errorf("%w: Floor is %v", ErrConfig, c.Floor)
	}
	return rateMethodNames.Check(c.Method)
}

func (p *Planner) grow(last float64) {
	p.evidence.Add()
	p.last = append(p.last, last)
	p.weights = append(p.weights, 1)
}

// prior is the mean rate of all pages: half a change is lent to the start.
func (p *Planner) prior() float64 {
	if p.time == 0 {
		return 1
	}
	return (p.changes + 0.5) / p.time
}

// Observe implements Scheduler.
func (p *Planner) Observe(page int, now float64, changed bool) error {
	slot, err := p.land(page, now)
	if err != nil {
		return err
	}
	if gap := now - max(p.last[slot], p.start); gap > 0 {
		p.time += gap
		if changed {
			p.changes++
		}
		p.evidence.Observe(slot, gap, changed, p.prior())
		p.last[slot] = now
	}
	if p.answers++; p.answers >= max(p.ids.Len(), leastReplan) {
		p.plan()
	} else if p.planned() {
		p.refresh(slot)
	}
	return nil
}

// floor is the least frequency of a page.
func (p *Planner) floor() float64 { return p.cfg.Floor * p.cfg.Budget / float64(p.ids.Len()) }

// refresh sets the frequency of a page at the present price.
func (p *Planner) refresh(slot int) {
	p.roster.Set(slot, p.at.Frequency(p.rate(slot, p.prior()), p.weights[slot], p.floor(), p.cfg.Budget))
}

// rate is the estimate for a page as a Problem takes it.
func (p *Planner) rate(slot int, prior float64) float64 {
	rate := p.evidence.Rate(slot, prior)
	if math.IsNaN(rate) { // from a saved state that somebody altered
		rate = 1
	}
	return min(max(rate, optimum.LeastInput), optimum.MostInput)
}

// planned reports whether the frequencies have been solved: whether there is a price.
func (p *Planner) planned() bool { return p.at.Set() }

// plan solves for the frequencies of all pages.
func (p *Planner) plan() {
	p.answers = 0
	n := p.ids.Len()
	problem := optimum.Problem{Budget: p.cfg.Budget, Objective: int(p.cfg.Objective), Random: p.spacing == Random,
		Rates: make([]float64, 0, n), Weights: make([]float64, 0, n), Lower: make([]float64, n)}
	prior := p.prior()
	for slot := range p.last {
		if p.ids.Live(slot) {
			problem.Rates = append(problem.Rates, p.rate(slot, prior))
			problem.Weights = append(problem.Weights, p.weights[slot])
		}
	}
	for i := range problem.Lower {
		problem.Lower[i] = p.floor() * (1 - 1e-9) // n of them must not exceed the budget by rounding
	}
	x, at, err := problem.Solve()
	if err != nil {
		panic(fmt.Sprintf("knapsack: rates and weights are checked, yet %v", err))
	}
	p.at = at
	i := 0
	for slot := range p.last {
		if p.ids.Live(slot) {
			p.roster.Set(slot, x[i])
			i++
		}
	}
}

// Add implements Learner. The page has weight 1 and is expected to change like the mean page. It
// counts as polled at the latest Next.
func (p *Planner) Add() (page int) {
	p.newcomer = p.cfg.Budget / float64(p.Len()+1)
	page = p.scheduled.Add()
	slot := Slot(page)
	if slot == len(p.last) {
		p.grow(p.now)
	}
	p.evidence.Reset(slot)
	p.last[slot], p.weights[slot] = p.now, 1
	if p.planned() {
		p.refresh(slot)
	}
	return page
}

// SetWeight changes the weight of a page: at once for its own frequency, and with the next plan
// for those of the others. It returns ErrWeight unless w is 0 or 1e-100 to 1e100.
func (p *Planner) SetWeight(page int, w float64) error {
	slot, err := p.slot(page)
	if err != nil {
		return err
	}
	if !optimum.InRange(w) {
		return fmt.Errorf("%w: page %d: %v", ErrWeight, page, w)
	}
	p.weights[slot] = w
	if p.planned() {
		p.refresh(slot)
	}
	return nil
}

// Rate returns the estimate of a page's change rate per unit of time. It is 1 for all pages
// before anything was observed.
func (p *Planner) Rate(page int) (float64, error) {
	slot, err := p.slot(page)
	if err != nil {
		return 0, err
	}
	return p.evidence.Rate(slot, p.prior()), nil
}

// Price returns how much the objective grows per further poll per unit of time, at the present
// estimates; 0 before the first plan.
func (p *Planner) Price() float64 {
	return p.at.Mu()
}

var formatPlanner = codec.Format{Magic: "recrawl/knapsack.Planner", Version: 1}

// AppendBinary appends the state, source included.
func (p *Planner) AppendBinary(b []byte) ([]byte, error) { return formatPlanner.Append(b, p.encode) }

// MarshalBinary returns the state, source included.
func (p *Planner) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (p *Planner) UnmarshalBinary(data []byte) error {
	return codec.Load(p, formatPlanner, data, (*Planner).decode)
}

func (p *Planner) encode(e *codec.Encoder) {
	p.scheduled.encode(e)
	e.Float64(p.cfg.Budget)
	e.Byte(byte(p.cfg.Objective))
	e.Byte(byte(p.cfg.Method))
	e.Float64(p.cfg.Floor)
	p.evidence.Encode(e)
	e.Float64s(p.last)
	e.Float64s(p.weights)
	e.Bool(p.planned())
	e.Float64(p.at.Top)
	e.Float64(p.at.LogZ)
	e.Int(p.answers)
	e.Float64(p.changes)
	e.Float64(p.time)
}

func (p *Planner) decode(d *codec.Decoder) {
	p.scheduled.decode(d)
	p.cfg = PlannerConfig{Budget: d.Float64(), Objective: Objective(d.Byte()), Spacing: p.spacing,
		Method: RateMethod(d.Byte()), Floor: d.Float64()}
	if d.Check(p.cfg.check()); d.Err() != nil {
		return
	}
	n := p.ids.Slots()
	p.evidence = p.cfg.Method.evidence()
	p.evidence.Decode(d, n)
	p.last = d.Float64sIn(n, math.Inf(-1), math.MaxFloat64)
	p.weights = d.Float64sIn(n, 0, optimum.MostInput)
	for slot, w := range p.weights {
		d.Require(optimum.InRange(w), "slot %d has weight %v", slot, w)
	}
	planned, top, logZ := d.Bool(), d.NonNegative(), d.Float64In(math.Inf(-1), math.MaxFloat64)
	if planned {
		p.at = p.cfg.Objective.curve(p.spacing).Price(top, logZ)
	}
	p.answers, p.changes, p.time = d.IntIn(0, math.MaxInt), d.NonNegative(), d.NonNegative()
}
