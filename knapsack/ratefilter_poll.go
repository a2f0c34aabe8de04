package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/census"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// last returns the time from which on a page is not known to be current.
func (f *RateFilter) last(slot uint32) float64 { return max(f.polled[slot], f.meter.Start()) }

// gap returns the time since a page's last answer; 0 before there is a scale to
// judge it by, or a time from which on the page is not known to be current.
func (f *RateFilter) gap(slot uint32, now float64) float64 {
	last := f.last(slot)
	if !f.model.Known() || math.IsInf(last, -1) {
		return 0
	}
	return now - last
}

// Next implements Scheduler, in O(log n).
func (f *RateFilter) Next(now float64) (page int, err error) {
	if err := f.checkNext(now); err != nil {
		return 0, err
	}
	if ready := f.queue.Ready(now); ready > now {
		return 0, &NoPageError{never(ready)}
	}
	ready := f.queue.Ready(f.now)
	f.queue.Advance(now, forQueue{f})
	before := f.looks
	slot := f.choose(now, ready)
	page = f.ask(int(slot), now)
	f.measure(now, f.cost(slot))
	f.startDeadlines()
	if f.model.Known() {
		f.sweepSome(int(f.looks - before))
	}
	return page, nil
}

// startsAtOnce is how many pages a Next sets deadlines of at most.
const startsAtOnce = 64

// startDeadlines sets the deadlines of pages whose longest interval was set before the first Next, from which on it
// counts: those of some pages at each Next, until it has gone through all.
func (f *RateFilter) startDeadlines() {
	n := uint64(len(f.polled))
	for slot := startsAtOnce * (f.meter.Polls() - 1); slot < min(n, startsAtOnce*f.meter.Polls()); slot++ {
		if s := uint32(slot); f.queue.Waits(s) && f.polled[s] < f.meter.Start() {
			f.setDeadline(s, f.ownFree(s))
		}
	}
}

// measure keeps the estimate of the cycle up to date after a poll of some cost.
func (f *RateFilter) measure(now, cost float64) {
	block := uint64(firstBlock)
	if f.model.Known() {
		block = max(block, uint64(f.ids.Len())/blocksInCycle)
	}
	period, ok := f.meter.Poll(now, cost, block)
	cycle := period * f.costOfAll()
	if !ok || !(cycle > 0) || math.IsInf(cycle, 1) {
		return
	}
	if old := f.model.Cycle(); old > 0 {
		before := f.period()
		if moved := f.model.Rescale(old * rescaling(cycle/old)); moved != 0 {
			f.census.Slide(-moved)
			f.focus()
		}
		f.paysAfter(before * rescaling(period/before))
		f.census.Youth.Follow(f.model.Cycle())
		f.queue.Follow(f.model.Cycle())
		return
	}
	f.begin(cycle)
	f.pays = f.costOfAll()
}

// rescaling returns by how much an estimate of time moves for a measurement that is so many times as great.
func rescaling(ratio float64) float64 { return max(1.0/mostRescale, min(mostRescale, ratio)) }

// paid returns what the budget pays for in a cycle. When pages come or go, or their costs change, the cycle follows
// with the next measurements only; the budget does not change by that.
func (f *RateFilter) paid() float64 {
	if f.pays > 0 {
		return f.pays
	}
	return f.costOfAll()
}

// period returns the time in which the budget pays for a cost of 1, as measured.
func (f *RateFilter) period() float64 { return f.model.Cycle() / f.paid() }

// paysAfter notes what the budget pays for in a cycle that was measured just now, with the time in which it pays for a
// cost of 1.
func (f *RateFilter) paysAfter(period float64) {
	const near = 1e-6 // the cycle has caught up
	all := f.costOfAll()
	if f.pays == 0 || f.pays == all {
		f.pays = all
		return
	}
	f.pays = f.model.Cycle() / period
	if !(f.pays > 0) || math.IsInf(f.pays, 1) || math.Abs(f.pays/all-1) < near {
		f.pays = all
	}
}

// begin sets the time scale for the first time.
func (f *RateFilter) begin(cycle float64) {
	f.model.Begin(cycle)
	cycle = f.model.Cycle()
	f.threshold = representable(f.freshIndex(cycle))
	unit, level := cycle, f.threshold
	if since := f.now - f.meter.Start(); since > 0 && since < cycle {
		unit, level = since, representable(f.freshIndex(since))
	}
	f.queue.Begin(cycle, unit, level, f.meter.Start(), f.sameWorth())
}

// representable returns a positive number for an index, which may be too little or too much for one, as that of
// Age goes with the square of time.
func representable(index float64) float64 {
	if !(index > 0) { // also NaN
		return math.SmallestNonzeroFloat64
	}
	return min(math.MaxFloat64, index)
}

// focus sets the prior to decide by: that of all pages.
func (f *RateFilter) focus() {
	if f.without&ablation.Prior != 0 {
		return
	}
	f.model.Focus(f.census.Prior.Factor(), f.census.Prior.Landing())
}

// Observe implements Scheduler, in O(log n).
func (f *RateFilter) Observe(page int, now float64, changed bool) error {
	slot, err := f.answer(page, now)
	if err != nil {
		return err
	}
	f.found(slot, now, changed)
	return nil
}

// found takes in the answer of a poll, asked for or not.
func (f *RateFilter) found(slot int, now float64, changed bool) {
	f.recall(uint32(slot))
	f.responded(uint32(slot), true)
	failing := f.limits.Delay(uint32(slot))
	f.tally.answer(changed)
	gap := f.gap(uint32(slot), now)
	h := hunch{guess: gap, times: 1}
	if gap > 0 {
		h.outdone = !changed && f.queue.Group(uint32(slot)) == queue.None && f.alike(uint32(slot))
		var b belief.Belief
		f.model.Unpack(&f.beliefs[slot], &b)
		var before belief.Belief
		if f.judges(uint32(slot)) || f.census.Votes(uint32(slot)) > 0 {
			f.inform(&before, &b)
		}
		f.follow(uint32(slot), gap, changed)
		counts, edited := f.predicted(&b, &before, finding{uint32(slot), now - gap, now, changed})
		h.times = counts / gap
		f.notice(uint32(slot), counts, changed)
		f.model.LearnEdited(&b, gap, counts, edited, changed)
		f.learnt(&b, &before, uint32(slot))
	}
	f.answered(uint32(slot), now, h)
	if failing > 0 && !f.ahead(now) && f.without&ablation.Hearten == 0 {
		f.hearten(f.queue.Group(uint32(slot)), failing)
	}
}

// inform makes a belief another one about a page, under the prior of all pages.
func (f *RateFilter) inform(b, from *belief.Belief) {
	if f.without&ablation.Prior != 0 {
		*b = *from
		return
	}
	b.Take(from, f.census.Prior.Factor())
}

// informed is inform for a copy.
func (f *RateFilter) informed(b belief.Belief) (under belief.Belief) {
	f.inform(&under, &b)
	return under
}

// judges reports whether what was expected of a page is compared with what a poll finds. That is so
// where pages have something in common, and of many others in a sample.
func (f *RateFilter) judges(slot uint32) bool {
	return f.sampled() || f.related(f.queue.Group(slot)) || f.answers%oneOf(f.ids.Len()) == 0
}

// sampled reports whether the next answer is one of those by which all pages are judged.
func (f *RateFilter) sampled() bool { return f.answers%uint64(f.census.Every(f.ids.Len())) == 0 }

// A finding is what a poll, or a stretch of known changes, tells of a page: whether it changed between
// two times.
type finding struct {
	slot      uint32
	from, now float64
	changed   bool
}

// gap returns the time between the two.
func (x *finding) gap() float64 { return x.now - x.from }

// predicted compares a finding with the belief before it. It returns the length that the gap counts as,
// and how likely it is that an edit of many pages changed this one. Unless it judges, informed may be
// anything.
func (f *RateFilter) predicted(b, informed *belief.Belief, x finding) (counts, edited float64) {
	gap := x.gap()
	counts = 1
	// No time to compare other pages at; before the first Next nothing tells one in another unit.
	alone := f.ahead(x.now) || math.IsInf(f.now, -1)
	var rates belief.Row
	if !alone && f.judges(x.slot) {
		expected := informed
		if leaning := f.leaning(x.slot); leaning != belief.Level() {
			leant := *informed
			leant.Lean(leaning)
			expected = &leant
		}
		rates = expected.Marginal(gap / f.model.Cycle())
	}
	if !alone {
		counts, edited = f.compare(x, &rates)
	}
	counts *= gap
	if !alone && f.sampled() {
		f.judge(b, &rates, x, counts, edited)
	}
	f.changed.set(x.slot, x.changed)
	if x.changed {
		f.touched.set(x.slot, true)
	}
	f.hints.Score(int(x.slot), f.groupOf(x.slot), f.spans(x.slot, gap), x.changed)
	f.dropAhead(int(x.slot))
	return counts, edited
}

// judge learns of all pages from a finding about one, whose gap counts as one of another length. b is the belief
// before it, and the probabilities of the rates are those under the prior.
func (f *RateFilter) judge(b *belief.Belief, rates *belief.Row, x finding, counts, edited float64) {
	every := f.census.Every(f.ids.Len())
	n := f.ids.Len() / every
	gap := x.gap()
	past, cycles, fade := f.past(x.slot, x.from, gap), gap/f.model.Cycle(), f.fade()
	counts = past.counting(counts)
	chance := 1 - f.model.Survival(rates, counts)
	said := either(chance, edited)
	more := f.more(past)
	if f.without&ablation.Untouched == 0 && !past.young {
		alone := said
		if f.objective != Detections { // else evidence of all pages would tell that they change less than expected
			alone = either(1-f.model.Survival(rates, gap), edited)
			if f.hints.On() { // by which many of the polled pages were chosen
				alone *= f.hints.Evidence(int(x.slot), f.groupOf(x.slot), f.spans(x.slot, gap), alone).All
			}
		}
		f.census.Untouched.Learn(alone, past.touched, x.changed, n, f.calmly())
	}
	var predicted float64
	switch calibration, waking := &f.census.Calibration, &f.census.Waking; {
	case f.objective == Detections:
		predicted = calibration.Correct(chance, cycles, past.changed, past.fading(fade), more, f.opinion(past.rate, counts, fade))
		if f.without&ablation.Calibration == 0 && !past.young && calibration.Learn(chance, cycles, past.changed, x.changed, fade, n, f.calmly()) {
			f.queue.Shift(forQueue{f})
		}
	case f.wakes():
		predicted = waking.Correct(census.Times(said, more), cycles, fade)
		waking.Learn(said, cycles, x.changed, n, f.calmly())
	default:
		predicted = census.Times(said, more)
	}
	f.tally.predict(predicted, x.changed, every)
	if past.young {
		age := f.age(x.slot, x.from)
		f.census.Youth.Learn(predicted, age, age+gap, past.touched, x.changed, n, f.calmly())
	}
	if !f.hints.Led(int(x.slot)) { // what hints find is not to be had by rates
		f.census.Hedge.Score(past.cell(b.MeanCell()), gap, x.changed, f.model.Cycle(), n)
	}
}

// calmPart is by how much of the distance to what has been learnt a block of polls moves the
// corrections that are applied: an average over n/4 polls. What is learnt follows chance from poll
// to poll, and with it the indices of all pages would, by some tenths in a thousand polls of 20,000
// pages; what Next picks of these was worth .970 of the best so, and .959 with 1 (Detections, two
// seeds, without what else makes it .985). In the first cycles it is more, up to earlyPart, as there
// is more to learn; under Detections, where corrections tell what is so of all pages, for longer. With
// earlyPart at all times it is worth .002 to .010 less under all objectives but Age. Of less than
// calmFrom pages, and where a sample tells of all, it is the whole.
const earlyPart, calmPart, calmFrom = 1.0 / 16, 1.0 / 64, 2000

// calmly returns the part of the distance that corrections move by.
func (f *RateFilter) calmly() float64 {
	if f.many() || len(f.polled) < calmFrom {
		return 1
	}
	early := f.fade()
	if f.objective == Detections {
		early = min(1, 2*early)
	}
	return calmPart + float64((earlyPart-calmPart)*early)
}

// learnt stores the belief about a page; before is the one that it replaces, under the prior, or
// anything if the page has no vote.
func (f *RateFilter) learnt(b, before *belief.Belief, slot uint32) {
	f.answers++
	f.model.Pack(b, &f.beliefs[slot], f.answers)
	votes := f.census.Votes(slot)
	if votes == 0 && f.marks == nil {
		return
	}
	var now belief.Belief
	f.inform(&now, b)
	f.mark(slot, &now)
	if votes > 0 && f.census.Count(before, &now, votes, f.model.Cycle()) {
		f.focus()
	}
}

// answered notes that a page is known as of now: it takes its place in the queue, unless its flight goes
// on. The guess is 0 where there is none.
func (f *RateFilter) answered(slot uint32, now float64, h hunch) {
	now = max(now, f.polled[slot]) // a record may have come in before the answer, of later
	f.polled[slot] = now
	f.added.set(slot, false)
	f.limits.Answered(slot, min(now, f.now)) // an answer of a time to come does not end what is deferred until then
	if f.inFlight(int(slot)) {
		return
	}
	if !f.queue.Waits(slot) {
		f.land(slot)
	}
	if !(h.guess > 0) {
		h.guess = f.model.Cycle()
	}
	f.queue.Take(slot)
	f.wait(slot, h)
	f.queue.News(f.queue.Group(slot), f.now, forQueue{f})
}

// cycle returns the time in which the budget pays for a poll of every page, also while that is a
// guess.
func (f *RateFilter) cycle(now float64) float64 {
	if f.model.Known() {
		return f.model.Cycle()
	}
	return (now - f.meter.Start()) / float64(f.meter.Polls()) * float64(max(1, f.ids.Len()))
}
