package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// choose takes a page out of the queue: one whose longest interval is over; else, for a part of the
// budget, one of which patience is over; else the one with the greatest index, but the
// one without an answer for longest while the evidence is for equal pages. ready is from when on a page might
// have been polled.
func (f *RateFilter) choose(now, ready float64) (slot uint32) {
	index := 0.0
	tardy := f.tardyPage(now)
	inTurn := !f.model.Known() || f.inTurn()
	f.queue.Turn(inTurn)
	slot, late := f.queue.Overdue(now)
	switch {
	case late:
		f.tally.late++
	case inTurn:
		slot = f.queue.Oldest(now, forQueue{f})
		f.tally.inTurn++
	case tardy && f.credit >= f.cost(f.tardy):
		slot = f.tardy
		f.credit -= f.cost(slot)
	default:
		slot, index = f.queue.Best(now, forQueue{f})
	}
	if !late && f.model.Known() && f.polled[slot] == now {
		slot = f.another(slot, now)
	}
	if index > 0 && !math.IsInf(index, 1) {
		next := f.threshold * fast.Exp(pricePace*fast.Log(index/f.threshold))
		if next > 0 && !math.IsInf(next, 1) { // weights may be as far apart as numbers go
			f.threshold = next
		}
	}
	switch {
	case !tardy:
		f.credit = 0
	case !late && !inTurn:
		f.credit += f.cost(slot) / courtesy
	}
	f.queue.Take(slot)
	if g := f.queue.Group(slot); g != queue.None {
		pace, period := f.limits.Pace(g), f.period()*f.cost(slot)
		// All pages had to wait, and this one for the share of its group for so long at least. That says nothing of
		// the budget, which would fall to the share, then to the share of that, and so on. What time there was without
		// calls after that counts as little, however long it was, as nothing would tell of a greater budget again.
		if pace.Turn() >= ready && ready-f.now > period {
			const most = 4
			f.meter.Skip(now-f.now-max(period, min(now-ready, most*period)), now)
		}
		pace.Spend(now, period)
		f.paced(g)
	}
	return slot
}

// sameWorth reports whether a poll of one page of which nothing is known is worth as much as one of another.
func (f *RateFilter) sameWorth() bool {
	return f.weights == nil && f.costs == nil && !f.hints.On()
}

// tardyPage goes on through the pages until it finds one of which patience is over and that may be
// polled, and reports whether there is one: f.tardy.
func (f *RateFilter) tardyPage(now float64) bool {
	waits := patience * f.model.Cycle()
	n := uint32(len(f.polled))
	// Most slots are free where most pages were removed.
	steps := min(tardySteps*min(mostFree, n/uint32(f.ids.Len())), n)
	if now-f.meter.Start() < waits { // of no page: on as far as the loop would go
		f.tardy = (f.tardy%n+steps-1)%n + 1
		return false
	}
	for range steps {
		if int(f.tardy) >= len(f.polled) {
			f.tardy = 0
		}
		if now-f.last(f.tardy) >= waits && f.queue.Open(f.tardy) {
			return f.model.Known()
		}
		f.tardy++
	}
	return false
}

// moreSlots is how many slots another looks at. It was not swept.
const moreSlots = 64

// another returns a page to poll in place of one that is known as of now, as all pages are then: those that a
// run polls more than once whose calls all have one time. No page is worth a poll, and the queue, in which
// time has to pass, would give the same one again and again.
func (f *RateFilter) another(slot uint32, now float64) uint32 {
	n := uint64(len(f.polled))
	for k := range min(moreSlots, n) {
		s := uint32((f.meter.Polls() + k) % n)
		if s == slot {
			return s
		}
		if f.queue.Open(s) && f.polled[s] <= now {
			if !f.queue.Waits(slot) { // Oldest takes it out
				f.wait(slot, hunch{guess: f.model.Cycle(), times: 1})
			}
			return s
		}
	}
	return slot
}

// A hunch is where to look for the time at which a page is due.
type hunch struct {
	guess, times float64 // see crossing
	// outdone says that the page was one of those of which nothing is known, and did not change: it is
	// behind them.
	outdone bool
}

// wait puts a page into the queue that is not in it.
func (f *RateFilter) wait(slot uint32, h hunch) {
	free := f.ownFree(slot)
	if free > f.now {
		f.queue.Hold(slot, free)
	} else {
		last := f.last(slot)
		due := last
		switch {
		case math.IsInf(last, -1) || !f.model.Known():
		case f.queue.Few():
			due = f.now
		default:
			due = f.hinted(slot, f.now, f.firstLook(slot, h))
		}
		f.queue.Put(slot, due, f.now, forQueue{f})
	}
	f.setDeadline(slot, free)
}

// firstLook returns when to look first at a page that comes into the queue.
func (f *RateFilter) firstLook(slot uint32, h hunch) float64 {
	if left := f.spared(); left > 0 && (h.outdone || f.outdone(slot, 0, 1)) {
		return f.now + left
	}
	return f.last(slot) + float64(first*f.crossing(slot, h.guess, h.times, f.queue.Level(), 0))
}

// setDeadline has a waiting page go before all others when its longest interval is over, which may
// be polled from a time on.
func (f *RateFilter) setDeadline(slot uint32, free float64) {
	if last := f.last(slot); !math.IsInf(last, -1) {
		f.queue.SetDeadline(slot, max(last+f.limits.Longest(slot), free))
	}
}

// sweepSome goes on with the sweep over all pages, after a call in which so many were looked at.
func (f *RateFilter) sweepSome(looked int) {
	n := len(f.polled)
	few, more, most := max(fewSweep+int(newSweep*f.fade()), smallSweep/n), float64(sweepMore), mostSweep
	if f.queue.Groups() > 0 {
		most = groupSweep
	}
	if f.many() {
		more = manyMore
	} else {
		few = max(few, enough-looked)
	}
	for range min(most, few+int(more*f.late), n) {
		if f.sweep++; int(f.sweep) >= n {
			f.sweep = 0
		}
		if !f.alike(f.sweep) {
			f.sweepPage(f.sweep)
		}
	}
}

// alike reports whether a page is one of those that the queue looks at together, as nothing is
// known of them, not even that they are young.
func (f *RateFilter) alike(slot uint32) bool {
	return f.sameWorth() && f.polled[slot] <= f.meter.Start() && f.beliefs[slot].Blank() && f.early == nil && !f.queue.Listed(slot) &&
		math.IsInf(f.birth(slot), -1)
}
