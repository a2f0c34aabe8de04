package queue

import "math"

const (
	// When there are mostHot hot pages the worse half waits again. While there are fewer than fewHot
	// the level falls, and while there are more than manyHot it rises, by about as much as makes
	// one page more or less hot.
	mostHot, manyHot, fewHot = 48, 20, 8
	// pagesPerNat is how many pages, as a part of all, are within a nat of the index of the best,
	// about; mostMove bounds how far the level moves for that.
	pagesPerNat, mostMove = 0.77, 0.05
	// farthestFall is by how much of itself it falls in one call at most, while no page reaches it.
	farthestFall = 0.4
	// The time that has to pass for a page is taken to grow with this power of the level, whatever its
	// index: with 1 pages are due too late after a rise, as in the first cycle, and with 0 too late
	// after a fall.
	levelPower = 0.5
	// mostPace bounds, in nats, by how much it does in all: a node holds times from e^−87 to e^88.
	mostPace = 80
	// farthestOrigin is how many times a level may be its origin, or the origin it. Shift moves both, and
	// steer the level alone: what little these move apart on average adds up.
	farthestOrigin = 1e40
)

// Level returns the index from which on pages are hot.
func (q *Queue) Level() float64 { return q.level }

// setLevel sets the level, and by that what the numbers in nodes mean. This depends on nothing but
// the level, so that times are right again whenever it returns.
func (q *Queue) setLevel(level float64) {
	if level > 0 && level <= math.MaxFloat64 {
		q.level = level
		q.setPace()
	}
}

func (q *Queue) setPace() {
	if q.unit == 0 {
		return
	}
	moved := levelPower * (math.Log(q.level) - math.Log(q.origin))
	pace := q.unit * math.Exp(max(-mostPace, min(mostPace, moved)))
	q.pace = max(math.SmallestNonzeroFloat64, min(math.MaxFloat64, pace))
}

// Shift follows a change of the indices of all pages at once, as that of the hot ones tells: the level
// moves along with them, and pages are due when they were. These are compared as of the times at which
// they were looked at. Since then they have grown, which is no change of all pages. Nor is what is new of
// a group, whose pages are looked at anew.
func (q *Queue) Shift(pages Pages) {
	before, after := 0.0, 0.0
	for i := range q.hot {
		h := &q.hot[i]
		if math.IsInf(h.at, -1) {
			continue
		}
		before += h.index / mostHot
		h.index = indexOf(pages, h.slot, h.at)
		after += h.index / mostHot
	}
	level, origin := q.level*(after/before), q.origin*(after/before)
	origin = max(level/farthestOrigin, min(level*farthestOrigin, origin))
	if min(level, origin) > 0 && max(level, origin) <= math.MaxFloat64 {
		q.level, q.origin = level, origin
		q.setPace() // the same but for the last digit, which a queue that is loaded has anew
	}
}

// step is by how much of itself the level moves in one call.
func (q *Queue) step() float64 { return min(mostMove, 1/(pagesPerNat*float64(len(q.place)))) }

// descend lowers the level that no page reaches, by twice as much each time, but not below the best page.
// Where there are few lots and sets, all are due earlier at once; else some.
func (q *Queue) descend(best, now float64, clock Clock) {
	q.fall = min(farthestFall, max(q.step(), 2*q.fall))
	before := q.pace
	q.setLevel(max(best, q.level*(1-q.fall)))
	if max(q.lots.Len(), q.sets.Len()) > mostLots+leastLots {
		q.sweep(farSweep, now, clock)
		return
	}
	for s := range uint32(q.sets.Len()) {
		if set := q.sets.At(s); set.tree && set.count > 0 && set.open {
			for _, at := range set.lots {
				q.lots.At(at).hasten(q.pace / before)
			}
			q.leaders = q.leaders[:0]
			q.settle(s, q.firstLot(s))
		}
	}
}

// steer moves the level after the pages due have been looked at.
func (q *Queue) steer(best float64) {
	if best < q.level {
		return // it goes on falling at the next call
	}
	q.fall = 0
	step := q.step()
	switch {
	case q.fewAreHot():
		q.setLevel(q.level * (1 - step))
	case len(q.hot) > manyHot:
		if next := q.level * (1 + step); next < best {
			q.setLevel(next)
		}
	}
}

// raise has the worse half of the hot pages wait again until they are as good as the others, and raises
// the level to where these may be, as pages are looked at somewhat above it. Were it raised to them, it
// would be too high, no page would be due for a while, and it would fall again. Where half of them have
// fallen below the level, as after a surge of their group, they wait again, and the level stays. A page
// that stands for a lot of a group goes back to it. One for pages in no group waits alone, and another one
// stands for them: of 10⁸ pages, most of them new, a poll takes up to four times as long without that. It
// counts the pages that it looks at.
func (q *Queue) raise(now float64, pages Pages) (looks int) {
	var index [mostHot]float64
	for i := range q.hot {
		index[i] = q.hot[i].index
	}
	sortFew(index[:])
	least := max(q.level, index[mostHot/2])
	q.setLevel(max(q.level, least/aim))
	for i := len(q.hot) - 1; i >= 0 && looks < mostHot/2; i-- {
		h := &q.hot[i]
		if !(h.index < least) {
			continue
		}
		looks++
		index, due := pages.Look(h.slot, now, least)
		h.index, h.at = bounded(index), now // it has grown, perhaps to the least
		if due > now {
			lot := h.lot
			if q.setOf(h.slot) == 0 { // at once another one stands for those in no group
				lot = None
			}
			q.putBack(h.slot, lot, due, now, pages)
		}
	}
	return looks
}

// find sets the level to where, by a sample of the pages, there would be fewHot hot ones.
func (q *Queue) find(now float64, pages Pages) {
	var index [sample]float64
	for i := range index {
		if slot := uint32(i * len(q.place) / sample); q.Open(slot) {
			index[i] = indexOf(pages, slot, now)
		}
	}
	sortFew(index[:])
	q.setLevel(index[sample-1-fewHot*sample/len(q.place)])
	q.lost = false
}

// sortFew sorts by insertion.
func sortFew(x []float64) {
	for i := range x {
		for k := i; k > 0 && x[k] < x[k-1]; k-- {
			x[k], x[k-1] = x[k-1], x[k]
		}
	}
}
