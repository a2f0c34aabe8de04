package knapsack

import (
	"fmt"
	"math"
)

// A RateFilter learns how often each page changes, believing that this may
// itself change, and polls by index. It needs no setting, and no unit of time is
// special: it measures the budget, and takes all its time scales from the cycle,
// the time in which the budget pays for one poll of every page.
//
// Belief. For each page it keeps a posterior over up to 20 rates of change, by
// factors of 1.8 from about 1/64 to 1400 per cycle (1/150 to 600 for objectives
// other than Detections), times 3 habits: rates that jump to a fresh one after
// 0.7, 7 or 150 cycles on average. A poll after a gap τ multiplies the weight of
// rate λ by 1 − e^(−λτ) if the page had changed and e^(−λτ) if not. That is the
// Bayes filter of a Markov-modulated Poisson process, with the jumps of a gap at
// its beginning.
//
// Index. Next gives the page with the greatest index at present: the slope V' of
// the objective (see [Objective]) at the gap that has gone by, averaged over the
// posterior, plus half its standard deviation, which makes up for what a poll
// teaches beyond what it earns. For Detections the probability p of a change is
// averaged, and its slope w·[p + (1−p)·ln(1−p)] compared; the prior is flat in log
// rate, so that pages are tried out. For the other objectives the prior is that of
// all pages, their posteriors averaged over time. Next compares the 15 pages that
// were due first when they were last looked at.
//
// Hedge. Where all pages change about equally no schedule beats polling them in
// turn, and one that learns loses a little by chasing luck. From what polls found,
// by the rate predicted before them, the filter estimates how many more changes
// the best schedule at these rates would detect than polling in turn. After
// a trial of one poll per page, and while that gain is below 4 %, it polls pages in
// turn: it loses no more to a uniform schedule than in the trial, and forgoes
// those 4 % at most.
//
// Starvation. A page is due 64 cycles after its last answer at the latest; for
// Detections after 4 to 64, the longer the less such polls are found to earn, lest
// pages be written off that have all begun to change. Every 16th
// poll goes to the page due first. So with n pages and polls at a steady
// rate each is polled again within 80·n polls, whatever the answers, if no limits
// are set.
//
// Cost. 60 bytes a page, 35 of them belief; weights, intervals, groups and
// signals take more once they are used. Weights of 8 bytes instead of 1 were
// found to gain nothing, and 12 rates by factors of e for every habit (36 bytes) to
// detect 1 to 4 % less. Next and Observe take O(log n) amortised and allocate nothing.
// There is no randomness.
//
// A page counts as current when it is added, or at the first Next.
type RateFilter struct {
	book
	objective Objective
	pages     []ratePage

	// Time scales.
	start      float64 // of the first Next
	polls      uint64  // given by Next
	cycle      float64 // estimate; 0 until known
	anchor     float64 // the slowest rate is e^(rateStep·(anchor+gridMove·moves))
	moves      int     // of the grid since the cycle was known
	block      float64 // beginning of the block of polls from which the cycle is measured
	blockPolls uint64  // polls before it

	threshold   float64
	sweep       uint32 // next slot to refresh
	answers     uint64
	table       *gridTable // of the objective
	main, timed pageHeap
	census      census

	limits  limits
	signals signals

	lens   [hypotheses]float64 // prior to decide by, times class stride
	belief belief              // of the page at hand
}

// A ratePage is what is known of a page.
type ratePage struct {
	polled float64 // time of the last answer; −Inf until the first Next
	pos    uint32  // place in a heap; none in flight or removed
	moves  int8    // RateFilter.moves at the time of packing, modulo 256
	belief packed
}

const (
	optimism      = 0.5 // standard deviations added to the value of a poll
	floorCycles   = 64  // a page is due after that many cycles at the latest
	courtesy      = 16  // every so many polls the page due first is polled
	thresholdPace = 0.003
	sweepPages    = 2 // pages whose due times are computed anew at each Next
	firstBlock    = 16
)

// A RateFilterConfig holds the settings of a RateFilter. Its zero value is good.
type RateFilterConfig struct {
	Objective Objective
}

// NewRateFilter returns a rate filter of n pages. It takes O(n).
func NewRateFilter(n int, cfg RateFilterConfig) (*RateFilter, error) {
	if cfg.Objective >= objectives {
		return nil, fmt.Errorf("%w: %v", ErrConfig, cfg.Objective)
	}
	if n > maxRatePages {
		panic(fmt.Sprintf("knapsack: %d pages", n))
	}
	f := &RateFilter{book: newBook(n), objective: cfg.Objective}
	f.pages = make([]ratePage, n)
	f.main = pageHeap{place: inMain, key: make([]float64, n), slot: make([]uint32, n)}
	f.timed.place = inTimed
	for i := range f.pages {
		f.pages[i] = ratePage{polled: math.Inf(-1), pos: uint32(i)}
		f.main.key[i], f.main.slot[i] = math.Inf(-1), uint32(i)
	}
	f.start, f.block = math.Inf(-1), math.Inf(-1)
	f.table = values[f.objective]()
	f.census.reset(f.objective)
	f.focus()
	return f, nil
}

// last returns the time from which on a page is not known to be current.
func (f *RateFilter) last(p *ratePage) float64 { return max(p.polled, f.start) }

// even says whether pages are polled in turn: see the type's Hedge. Weights and
// hints that tell pages apart are reasons not to.
func (f *RateFilter) even() bool {
	return f.census.gain < worthwhile && f.polls >= uint64(len(f.pages)) &&
		f.limits.weights == nil && !f.signals.telling()
}

// Next implements Scheduler, in O(log n) amortised.
func (f *RateFilter) Next(now float64) (page int, err error) {
	if err := f.clock(now); err != nil {
		return 0, err
	}
	if f.polls == 0 {
		f.start, f.block = now, now
	}
	slot, ok := f.choose(now)
	if !ok {
		if f.polls == 0 {
			f.start, f.block = math.Inf(-1), math.Inf(-1)
		}
		return 0, ErrNoPage
	}
	page = f.ask(int(slot), now)
	f.polls++
	f.measure(now)
	if f.cycle > 0 {
		for range min(sweepPages, len(f.pages)) {
			if f.sweep++; int(f.sweep) >= len(f.pages) {
				f.sweep = 0
			}
			f.refresh(f.sweep)
		}
	}
	return page, nil
}

// measure keeps the estimate of the cycle up to date: a block of polls after
// another, so that bursts at one time do no harm. When it is first known
// all pages get their due times, in O(n).
func (f *RateFilter) measure(now float64) {
	need := uint64(firstBlock)
	if f.cycle > 0 {
		need = max(need, uint64(len(f.pages))/16)
	}
	polls := f.polls - 1 - f.blockPolls // since the first of the block
	if polls < need || now <= f.block {
		return
	}
	cycle := (now - f.block) / float64(polls) * float64(max(1, f.ids.Len()))
	f.block, f.blockPolls = now, f.polls-1
	if !(cycle > 0) || math.IsInf(cycle, 1) {
		return
	}
	if f.cycle > 0 {
		f.rescale(f.cycle * math.Sqrt(max(0.25, min(4, cycle/f.cycle))))
		return
	}
	f.cycle = cycle
	f.anchor = f.gridStart()
	f.threshold = f.newcomer()
	for i := range f.pages {
		f.refresh(uint32(i))
	}
}

// rescale sets a cycle that is known already. The grid follows it when it is
// clearly off.
func (f *RateFilter) rescale(cycle float64) {
	f.cycle = cycle
	off := f.gridStart() - f.slowestRate()
	if math.Abs(off) > 0.75*gridMove {
		by := int(math.Copysign(1, off))
		f.moves += by
		f.census.shift(-by)
		f.focus()
	}
}

// gridStart is where the grid ought to begin, in steps.
func (f *RateFilter) gridStart() float64 {
	return -math.Log(slowest[f.objective]*f.cycle) / rateStep
}

// slowestRate is where the grid begins, in steps.
func (f *RateFilter) slowestRate() float64 { return f.anchor + float64(gridMove*f.moves) }

// newcomer returns the index of a page of which nothing is known, a cycle after
// it was added.
func (f *RateFilter) newcomer() float64 { return f.slope(f.value(new(packed), f.cycle)) }

// page returns a page, its belief on the grid as it is now.
func (f *RateFilter) page(slot uint32) *ratePage {
	p := &f.pages[slot]
	if moved := int8(f.moves) - p.moves; moved != 0 {
		p.belief.shift(-int(moved))
		p.moves = int8(f.moves)
	}
	return p
}

// unpack puts the belief about a page into f.belief.
func (f *RateFilter) unpack(slot uint32) { f.page(slot).belief.unpack(&f.belief) }

// index returns the index of a page, a time gap after its last answer.
func (f *RateFilter) index(slot uint32, gap float64) float64 {
	if !(gap > 0) || !(f.cycle > 0) {
		return 0
	}
	value := f.value(&f.page(slot).belief, gap)
	if f.signals.on() {
		value = f.signalled(slot, gap, value)
	}
	return f.weight(slot) * f.slope(value)
}

// value is the average over the posterior of what a poll is worth, optimism
// included. It works on the packed weights, as this is where the time goes.
func (f *RateFilter) value(p *packed, gap float64) float64 {
	g := gridAt(f.slowestRate(), gap)
	v := f.table.read(g)
	jumped := v
	if f.objective != Detections {
		for k, more := range f.staleBefore(p, g) {
			jumped[k] *= more
		}
	}
	total, mean, square := 0.0, 0.0, 0.0
	i := 0
	for c, step := range stride {
		var mass, first, second, flat, flatSquare float64
		for k := step / 2; k < rateCells; k += step {
			w, x, z := float64(weightOf[p[i]]*f.lens[i]), v[k], jumped[k]
			i++
			y := float64(w * x)
			mass += w
			first += y
			second += float64(y * x)
			flat += z
			flatSquare += float64(z * z)
		}
		stay := math.Exp(-gap / (f.cycle * switching[c]))
		fresh := mass * (1 - stay) * float64(step) / rateCells
		total += mass
		mean += float64(stay*first) + float64(fresh*flat)
		square += float64(stay*second) + float64(fresh*flatSquare)
	}
	mean /= total
	mean += optimism * math.Sqrt(max(0, square/total-float64(mean*mean)))
	switch f.objective {
	case Detections:
		return mean
	case Age:
		return mean * gap * gap
	default:
		return mean * gap
	}
}

// staleBefore returns by how much more likely a copy is stale if the page jumped to
// a rate in the middle of the gap than if it had had that rate all the time. That
// matters after a burst: the copy is stale for certain, and a new one would last.
// For Detections it was found to make no difference.
func (f *RateFilter) staleBefore(p *packed, gap gridPoint) (more [rateCells]float64) {
	stay := survive().read(gap)
	total, current := 0.0, 0.0 // at half the gap
	var half [rateCells]float64
	for k := range stay {
		half[k] = math.Sqrt(stay[k])
	}
	i := 0
	for _, step := range stride {
		for k := step / 2; k < rateCells; k += step {
			w := float64(weightOf[p[i]] * f.lens[i])
			i++
			total += w
			current += float64(w * half[k])
		}
	}
	current /= total
	for k := range more {
		more[k] = (1 - float64(current*half[k])) / max(1e-12, 1-stay[k])
	}
	return more
}

// focus sets the prior to decide by: that of all pages, unless the objective is
// Detections, for which it has been found better to be open to every rate alike,
// and so to try pages out.
func (f *RateFilter) focus() {
	i := 0
	for c, step := range stride {
		for k := step / 2; k < rateCells; k += step {
			f.lens[i] = float64(step)
			if f.objective != Detections {
				f.lens[i] *= f.census.prior[c][k]
			}
			i++
		}
	}
}

// slope turns a value into the slope of the objective.
func (f *RateFilter) slope(value float64) float64 {
	if f.objective != Detections {
		return value
	}
	stay := max(1-value, 1e-15)
	return 1 - stay*(1-math.Log(stay))
}

// Observe implements Scheduler, in O(log n).
func (f *RateFilter) Observe(page int, now float64, changed bool) error {
	slot, err := f.answer(page, now)
	if err != nil {
		return err
	}
	gap := f.gap(slot, now)
	if gap > 0 {
		f.unpack(uint32(slot))
		f.predicted(slot, gap, changed)
		f.learn(gap, changed)
		f.store(slot, gap)
	}
	f.answered(slot, now, gap)
	return nil
}

// gap returns the time since a page's last answer; 0 before there is a scale to
// judge it by.
func (f *RateFilter) gap(slot int, now float64) float64 {
	if !(f.cycle > 0) {
		return 0
	}
	return now - f.last(&f.pages[slot])
}

// predicted compares what a poll found with what was believed.
func (f *RateFilter) predicted(slot int, gap float64, changed bool) {
	f.census.score(f.belief.meanCell(), gap, changed, f.cycle, f.ids.Len())
	if f.objective == Detections && !f.even() {
		late := gap > 0.8*f.census.patience*f.cycle && f.index(uint32(slot), gap) < f.threshold
		f.census.earn(f.weight(uint32(slot)), changed, late, f.ids.Len())
	}
	if f.signals.on() {
		f.signals.score(slot, changed)
	}
}

// learn is the step of the Bayes filter on f.belief.
func (f *RateFilter) learn(gap float64, changed bool) {
	f.belief.pass(gap / f.cycle)
	likelihood := survive().read(gridAt(f.slowestRate(), gap))
	for k, stay := range likelihood {
		if changed {
			stay = 1 - stay
		}
		likelihood[k] = max(stay, 1e-30) // lest a posterior vanish
	}
	f.belief.times(&likelihood)
}

// store packs f.belief for a page last answered a time gap ago.
func (f *RateFilter) store(slot int, gap float64) {
	f.answers++
	f.belief.pack(&f.pages[slot].belief, f.answers)
	if f.census.count(&f.belief, gap, f.cycle, f.ids.Len()) {
		f.focus()
	}
}

// answered ends a flight after a gap: the page takes its place in the queue.
func (f *RateFilter) answered(slot int, now, gap float64) {
	f.pages[slot].polled = now
	delete(f.limits.retry, uint32(slot))
	f.enqueue(uint32(slot), f.due(uint32(slot), gap))
	f.enter(uint32(slot))
}

// GiveBack implements Scheduler. The page is not given again before half the
// time since its last answer, but at most half a cycle, has passed.
func (f *RateFilter) GiveBack(page int, now float64) error {
	slot, err := f.answer(page, now)
	if err != nil {
		return err
	}
	if gap := min(f.gap(slot, now), f.cycle); gap > 0 {
		if f.limits.retry == nil {
			f.limits.retry = map[uint32]float64{}
		}
		f.limits.retry[uint32(slot)] = now + gap/2
	}
	f.enqueue(uint32(slot), f.due(uint32(slot), f.cycle))
	f.enter(uint32(slot))
	return nil
}

// Add implements Learner, in O(log n): nothing is known of the page but that it
// is current.
func (f *RateFilter) Add() (page int) {
	page = f.ids.Add()
	slot := Slot(page)
	if slot == len(f.pages) {
		f.pages = append(f.pages, ratePage{})
		f.limits.grow()
		f.signals.grow(slot + 1)
	}
	f.pages[slot] = ratePage{polled: f.now, pos: none, moves: int8(f.moves)}
	f.enqueue(uint32(slot), f.due(uint32(slot), f.cycle))
	return page
}

// Remove implements Learner, in O(log n).
func (f *RateFilter) Remove(page int) error {
	slot, _, err := f.remove(page)
	if err != nil {
		return err
	}
	f.dequeue(uint32(slot))
	f.limits.forget(uint32(slot))
	f.signals.clear(slot)
	return nil
}
