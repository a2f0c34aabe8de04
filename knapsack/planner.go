package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// An Estimation is a way to estimate a page's change rate from polls that tell
// only whether it changed since the last one.
type Estimation uint8

const (
	// MaximumLikelihood is the exact estimate for irregular gaps between polls,
	// smoothed. Good at: constant rates, any gaps. Bad at: it never forgets; 200
	// bytes a page.
	MaximumLikelihood Estimation = iota
	// Gamma keeps a Gamma posterior of the rate. Good at: constant rates, and
	// few polls of a page, as its prior comes from all pages; 16 bytes a page. Bad
	// at: it never forgets.
	Gamma
	// ChoGarciaMolina is the bias-reduced estimate from the share of polls with
	// a change. Good at: even gaps; 16 bytes a page. Bad at: gaps that differ,
	// where it trusts their mean.
	ChoGarciaMolina
	// Avrachenkov is the stochastic approximation of Avrachenkov, Patil and
	// Thoppe. Good at: 16 bytes and a few operations a poll. Bad at: it assumes
	// polls at random times, and is slow to leave a wrong estimate.
	Avrachenkov
	estimations
)

// String returns "mle", "gamma", "cho-garcia-molina" or "avrachenkov".
func (e Estimation) String() string {
	if e >= estimations {
		return fmt.Sprintf("estimation(%d)", uint8(e))
	}
	return [...]string{"mle", "gamma", "cho-garcia-molina", "avrachenkov"}[e]
}

// An estimator holds the evidence about all pages. Rates are per unit of time;
// prior is the mean rate of all pages so far.
type estimator interface {
	add()                                                       // one more slot
	reset(slot int)                                             // forget the slot's page
	observe(slot int, gap float64, changed bool, prior float64) // gap > 0
	rate(slot int, prior float64) float64                       // > 0 and finite
	encode(e *codec.Encoder)                                    //
	decode(d *codec.Decoder, slots int)                         //
}

func newEstimator(e Estimation) estimator {
	switch e {
	case MaximumLikelihood:
		return new(mle)
	case Gamma:
		return new(gamma)
	case ChoGarciaMolina:
		return new(cho)
	default:
		return new(avrachenkov)
	}
}

// PlannerConfig holds the settings of Planner.
type PlannerConfig struct {
	Budget     float64    // polls per unit of time, 1e-100 to 1e100; there is no default
	Estimation Estimation // of rates
	Objective  Objective  // that the frequencies maximise
	Spacing    Spacing    // of the polls at these frequencies
	// Floor is the share of the budget that is spread over all pages evenly, in
	// (0, 1]; default 0.05. A page is polled at least Floor·Budget/n times per
	// unit of time, whatever its estimate.
	Floor float64
}

// Planner is the classical way to spend a budget: estimate every page's rate as
// if it were constant, solve for the optimal frequencies, and poll at them. It
// covers what the literature offers besides automata:
//
//   - Objective Harmonic, Spacing Random, MaximumLikelihood: LambdaCrawl with
//     its learner (Kolobov, Peres, Lu, Horvitz 2019), see NewLambdaCrawl.
//   - Objective Freshness, Spacing Random: the optimum of Azar, Horvitz, Lubetzky,
//     Peres and Shahaf 2018, see NewAzar.
//   - Objective Detections, Gamma or MaximumLikelihood: "poll what has most likely
//     changed" at constant rates.
//
// Good at: pages whose rates do not change, and any objective. Bad at: bursty
// pages, as it never forgets.
//
// An answer updates its own page's frequency at the present price of the budget,
// in O(log n); the optimum of all is solved anew every n answers, which is O(1)
// solver steps per answer, about 20 evaluations. Nothing is allocated but by
// the solver. A poll given back counts as made. The least frequency bounds the
// time between two polls of a page: see PlannerConfig.Floor.
type Planner struct {
	book
	cfg     PlannerConfig
	est     estimator
	roster  roster
	last    []float64 // time of the last poll, or of the start
	weights []float64

	at      multiplier
	planned int     // answers since the frequencies were solved
	changes float64 // found in all
	time    float64 // observed in all, page-time
}

var _ Learner = (*Planner)(nil)

// NewPlanner returns a Planner of n pages 0..n−1, all of weight 1. src is used for
// Random spacing only and may be nil otherwise. It returns ErrConfig or ErrBudget
// for a setting out of range.
func NewPlanner(n int, cfg PlannerConfig, src rand.Source) (*Planner, error) {
	if cfg.Floor == 0 {
		cfg.Floor = 0.05
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &Planner{book: newBook(n), cfg: cfg, est: newEstimator(cfg.Estimation), roster: newRoster(n, cfg.Spacing, src)}
	for range n {
		p.grow(math.Inf(-1))
	}
	for slot := range n {
		p.roster.set(slot, cfg.Budget/float64(n))
	}
	return p, nil
}

// NewLambdaCrawl returns the Planner that is LambdaCrawl with its learner:
// harmonic cost, polls at random times, smoothed maximum-likelihood rates.
func NewLambdaCrawl(n int, budget float64, src rand.Source) (*Planner, error) {
	return NewPlanner(n, PlannerConfig{Budget: budget, Objective: Harmonic, Spacing: Random}, src)
}

// NewAzar returns the Planner that polls at the frequencies of Azar et al. 2018,
// the freshest under polls at random times, with maximum-likelihood rates.
func NewAzar(n int, budget float64, src rand.Source) (*Planner, error) {
	return NewPlanner(n, PlannerConfig{Budget: budget, Objective: Freshness, Spacing: Random}, src)
}

func (c PlannerConfig) check() error {
	switch {
	case !(c.Budget >= leastInput && c.Budget <= mostInput):
		return fmt.Errorf("%w: it is %v, not in %v to %v", ErrBudget, c.Budget, leastInput, mostInput)
	case c.Estimation >= estimations || c.Objective >= objectives || c.Spacing >= spacings:
		return fmt.Errorf("%w: %v, %v, %v", ErrConfig, c.Estimation, c.Objective, c.Spacing)
	case !(c.Floor > 0 && c.Floor <= 1):
		return fmt.Errorf("%w: floor %v", ErrConfig, c.Floor)
	}
	return nil
}

func (p *Planner) grow(last float64) {
	p.est.add()
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

// Next implements Scheduler.
func (p *Planner) Next(now float64) (page int, err error) {
	if err := p.clock(now); err != nil {
		return 0, err
	}
	slot, ok := p.roster.pick(now)
	if !ok {
		return 0, ErrNoPage
	}
	if math.IsInf(p.now, -1) { // the first poll starts the clock of all pages
		for slot := range p.last {
			p.last[slot] = now
		}
	}
	return p.ask(slot, now), nil
}

// Observe implements Scheduler.
func (p *Planner) Observe(page int, now float64, changed bool) error {
	slot, err := p.answer(page, now)
	if err != nil {
		return err
	}
	if gap := now - p.last[slot]; gap > 0 {
		p.time += gap
		if changed {
			p.changes++
		}
		p.est.observe(slot, gap, changed, p.prior())
		p.last[slot] = now
	}
	p.roster.put(slot, now)
	if p.planned++; p.planned >= max(p.ids.Len(), 16) {
		p.plan()
	} else if p.at.inverse != nil {
		p.refresh(slot)
	}
	return nil
}

// floor is the least frequency of a page.
func (p *Planner) floor() float64 { return p.cfg.Floor * p.cfg.Budget / float64(p.ids.Len()) }

// refresh sets the frequency of a page at the present price.
func (p *Planner) refresh(slot int) {
	p.roster.set(slot, p.at.frequency(p.rate(slot, p.prior()), p.weights[slot], p.floor(), p.cfg.Budget))
}

// rate is the estimate for a page as a Problem takes it.
func (p *Planner) rate(slot int, prior float64) float64 {
	return min(max(p.est.rate(slot, prior), leastInput), mostInput)
}

// plan solves for the frequencies of all pages.
func (p *Planner) plan() {
	p.planned = 0
	n := p.ids.Len()
	problem := Problem{Budget: p.cfg.Budget, Objective: p.cfg.Objective, Spacing: p.cfg.Spacing,
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
	x, at, err := problem.solve()
	if err != nil {
		panic(fmt.Sprintf("knapsack: rates and weights are checked, yet %v", err))
	}
	p.at = at
	i := 0
	for slot := range p.last {
		if p.ids.Live(slot) {
			p.roster.set(slot, x[i])
			i++
		}
	}
}

// GiveBack implements Scheduler.
func (p *Planner) GiveBack(page int, now float64) error {
	slot, err := p.answer(page, now)
	if err == nil {
		p.roster.put(slot, now)
	}
	return err
}

// Add implements Learner: the page has weight 1 and is expected to change like
// the mean page. Its observation begins with the latest Next.
func (p *Planner) Add() (page int) {
	page = p.ids.Add()
	slot := Slot(page)
	p.roster.put(slot, p.now)
	if slot == len(p.last) {
		p.grow(p.now)
	}
	p.est.reset(slot)
	p.last[slot], p.weights[slot] = p.now, 1
	p.roster.set(slot, p.cfg.Budget/float64(p.ids.Len()))
	if p.at.inverse != nil {
		p.refresh(slot)
	}
	return page
}

// Remove implements Learner.
func (p *Planner) Remove(page int) error {
	slot, _, err := p.remove(page)
	if err == nil {
		p.roster.drop(slot)
	}
	return err
}

// SetWeight changes the weight of a page, at once for its own frequency and with
// the next plan for the others'. ErrWeight unless w is 0 or 1e-100 to 1e100.
func (p *Planner) SetWeight(page int, w float64) error {
	slot, err := p.slot(page)
	if err != nil {
		return err
	}
	if !inRange(w) {
		return fmt.Errorf("%w: page %d: %v", ErrWeight, page, w)
	}
	p.weights[slot] = w
	if p.at.inverse != nil {
		p.refresh(slot)
	}
	return nil
}

// Rate returns the estimate of a page's change rate per unit of time. Before
// anything was observed it is 1 for all pages.
func (p *Planner) Rate(page int) (float64, error) {
	slot, err := p.slot(page)
	if err != nil {
		return 0, err
	}
	return p.est.rate(slot, p.prior()), nil
}

// Frequency returns the frequency at which a page is polled, per unit of time.
func (p *Planner) Frequency(page int) (float64, error) {
	slot, err := p.slot(page)
	if err != nil {
		return 0, err
	}
	return p.roster.frequency(slot), nil
}

// Price returns by how much the objective would grow per further poll per unit
// of time, at the present estimates; 0 before the first plan.
func (p *Planner) Price() float64 {
	if p.at.inverse == nil {
		return 0
	}
	return p.at.mu
}

const plannerMagic = "recrawl/planner"

// AppendBinary appends the state, source included.
func (p *Planner) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, plannerMagic, 1)
	p.book.encode(e)
	e.Float64(p.cfg.Budget)
	e.Byte(byte(p.cfg.Estimation))
	e.Byte(byte(p.cfg.Objective))
	e.Byte(byte(p.cfg.Spacing))
	e.Float64(p.cfg.Floor)
	p.est.encode(e)
	p.roster.encode(e)
	e.Float64s(p.last)
	e.Float64s(p.weights)
	e.Bool(p.at.inverse != nil)
	e.Float64(p.at.top)
	e.Float64(p.at.logZ)
	e.Int(p.planned)
	e.Float64(p.changes)
	e.Float64(p.time)
	return e.Finish()
}

// MarshalBinary returns the state, source included.
func (p *Planner) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved; p may be the zero value.
func (p *Planner) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, plannerMagic, 1)
	if err != nil {
		return err
	}
	r := Planner{book: decodeBook(d)}
	r.cfg = PlannerConfig{Budget: d.Float64(), Estimation: Estimation(d.Byte()), Objective: Objective(d.Byte()),
		Spacing: Spacing(d.Byte()), Floor: d.Float64()}
	if err := r.cfg.check(); err != nil {
		d.Fail("%v", err)
	}
	if d.Err() != nil {
		return d.Err()
	}
	n := r.ids.Slots()
	r.est = newEstimator(r.cfg.Estimation)
	r.est.decode(d, n)
	r.roster = decodeRoster(d, r.cfg.Spacing, &r.book)
	r.last, r.weights = d.Float64s(), d.Float64s()
	if solved, top, logZ := d.Bool(), d.Float64(), d.Float64(); solved {
		if !(top >= 0) || math.IsInf(top, 1) || !(logZ < math.Inf(1)) {
			d.Fail("a price of scale %v and logarithm %v", top, logZ)
		}
		r.at = slopes[r.cfg.Objective][r.cfg.Spacing].multiplier(top, logZ)
	}
	r.planned, r.changes, r.time = d.Int(), d.Float64(), d.Float64()
	if len(r.last) != n || len(r.weights) != n || r.planned < 0 || !(r.changes >= 0 && r.time >= 0) {
		d.Fail("the parts of a planner of %d slots do not fit", n)
	}
	for slot, w := range r.weights {
		if !inRange(w) || math.IsNaN(r.last[slot]) {
			d.Fail("slot %d has weight %v, last poll %v", slot, w, r.last[slot])
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	*p = r
	return nil
}
