package knapsack

import "math"

// Where a page of a rate filter is; the two top bits of ratePage.pos.
const (
	inMain       uint32 = iota << 30 // waits for its turn
	inTimed                          // may not be polled before a point in time
	inGroup                          // another page of its group goes first
	placeMask    = uint32(3) << 30
	maxRatePages = 1 << 30
)

// A pageHeap is a 4-ary heap of slots with the least key first; it keeps the
// positions of pages up to date, unless pages is nil. The four children of a node lie in one cache line.
type pageHeap struct {
	place uint32
	key   []float64
	slot  []uint32
}

func (h *pageHeap) push(pages []ratePage, slot uint32, key float64) {
	h.key, h.slot = append(h.key, key), append(h.slot, slot)
	h.up(pages, len(h.slot)-1)
}

// remove takes out the page at a position.
func (h *pageHeap) remove(pages []ratePage, at int) {
	last := len(h.slot) - 1
	if pages != nil {
		pages[h.slot[at]].pos = none
	}
	key, slot := h.key[last], h.slot[last]
	h.key, h.slot = h.key[:last], h.slot[:last]
	if at < last {
		h.key[at], h.slot[at] = key, slot
		h.settle(pages, at)
	}
}

// move changes the key of the page at a position.
func (h *pageHeap) move(pages []ratePage, at int, key float64) {
	h.key[at] = key
	h.settle(pages, at)
}

func (h *pageHeap) settle(pages []ratePage, at int) {
	if at > 0 && h.key[at] < h.key[(at-1)/4] {
		h.up(pages, at)
	} else {
		h.down(pages, at)
	}
}

func (h *pageHeap) up(pages []ratePage, at int) {
	key, slot := h.key[at], h.slot[at]
	for at > 0 {
		parent := (at - 1) / 4
		if h.key[parent] <= key {
			break
		}
		h.set(pages, at, h.key[parent], h.slot[parent])
		at = parent
	}
	h.set(pages, at, key, slot)
}

func (h *pageHeap) down(pages []ratePage, at int) {
	key, slot := h.key[at], h.slot[at]
	for {
		least := 4*at + 1
		if least >= len(h.key) {
			break
		}
		for child := least + 1; child < min(4*at+5, len(h.key)); child++ {
			if h.key[child] < h.key[least] {
				least = child
			}
		}
		if key <= h.key[least] {
			break
		}
		h.set(pages, at, h.key[least], h.slot[least])
		at = least
	}
	h.set(pages, at, key, slot)
}

func (h *pageHeap) set(pages []ratePage, at int, key float64, slot uint32) {
	h.key[at], h.slot[at] = key, slot
	if pages != nil {
		pages[slot].pos = h.place | uint32(at)
	}
}

// heapOf returns the heap that a page is in, and its position; nil in flight.
func (f *RateFilter) heapOf(slot uint32) (*pageHeap, int) {
	pos := f.pages[slot].pos
	if pos == none {
		return nil, 0
	}
	at := int(pos &^ placeMask)
	switch pos & placeMask {
	case inMain:
		return &f.main, at
	case inTimed:
		return &f.timed, at
	default:
		return &f.limits.groups[f.limits.group[slot]].rest, at
	}
}

// enqueue brings in a page that is in no heap. Of a group only one page, the
// most urgent as it seemed then, is in main or timed; it stands for the group.
func (f *RateFilter) enqueue(slot uint32, key float64) {
	if g := f.groupOf(slot); g != nil {
		if g.front != none {
			front, at := f.heapOf(g.front)
			if front != &f.main || front.key[at] <= key {
				g.rest.push(f.pages, slot, key)
				return
			}
			behind := front.key[at]
			front.remove(f.pages, at)
			g.rest.push(f.pages, g.front, behind)
		}
		g.front = slot
	}
	f.main.push(f.pages, slot, key)
}

// dequeue takes a page out of its heap, and lets the next of its group come forward.
func (f *RateFilter) dequeue(slot uint32) {
	h, at := f.heapOf(slot)
	if h == nil {
		return
	}
	h.remove(f.pages, at)
	if g := f.groupOf(slot); g != nil && g.front == slot {
		g.front = none
		f.promote(g)
	}
}

func (f *RateFilter) promote(g *pageGroup) {
	if g.front == none && len(g.rest.slot) > 0 {
		g.front = g.rest.slot[0]
		key := g.rest.key[0]
		g.rest.remove(f.pages, 0)
		f.main.push(f.pages, g.front, max(key, g.ready))
	}
}

// release brings back the pages whose time has come.
func (f *RateFilter) release(now float64) {
	for len(f.timed.key) > 0 && f.timed.key[0] <= now {
		slot := f.timed.slot[0]
		f.timed.remove(f.pages, 0)
		f.main.push(f.pages, slot, f.due(slot, f.cycle))
	}
}

// freeAt returns the time from which on a page may be polled.
func (f *RateFilter) freeAt(slot uint32) float64 {
	at := f.earliest(slot)
	if g := f.groupOf(slot); g != nil {
		at = max(at, g.ready)
	}
	return at
}

// blocked puts a page of main aside if it may not be polled now.
func (f *RateFilter) blocked(slot uint32, now float64) bool {
	if !f.limits.active() || f.freeAt(slot) <= now {
		return false
	}
	_, at := f.heapOf(slot)
	f.main.remove(f.pages, at)
	f.timed.push(f.pages, slot, f.freeAt(slot))
	return true
}

// topOfHeap is how many of the first pages of the heap are compared by their
// true index. The keys are times at which the index reached a threshold that
// moves, so that they are a little out of date.
const topOfHeap = 15

// choose takes a page out of the heaps: one whose longest interval is over; else
// the one with the greatest index among those due first, but the one due first of
// all while the evidence is for equal pages, and every courtesy-th time.
func (f *RateFilter) choose(now float64) (slot uint32, ok bool) {
	f.release(now)
	best, bestIndex := f.late(now), math.Inf(-1)
	if best == none {
		byKey := f.even() || f.polls%courtesy == 0
		for i := 0; i < min(topOfHeap, len(f.main.slot)) && !(byKey && best != none); {
			s := f.main.slot[i]
			if f.blocked(s, now) {
				i, best, bestIndex = 0, none, math.Inf(-1)
				continue
			}
			i++
			if byKey {
				best = s
				continue
			}
			if index := f.index(s, now-f.last(&f.pages[s])); index > bestIndex {
				best, bestIndex = s, index
			}
		}
	}
	if best == none {
		return 0, false
	}
	if bestIndex > 0 && !math.IsInf(bestIndex, 1) {
		next := f.threshold * math.Pow(bestIndex/f.threshold, thresholdPace)
		if next > 0 && !math.IsInf(next, 1) { // weights may be as far apart as numbers go
			f.threshold = next
		}
	}
	if g := f.groupOf(best); g != nil {
		g.spend(now, f.cycle/float64(max(1, f.ids.Len())))
	}
	f.dequeue(best)
	return best, true
}

// refresh computes again when a page is due.
func (f *RateFilter) refresh(slot uint32) {
	h, at := f.heapOf(slot)
	if h == nil || h == &f.timed { // it is done when the page comes back
		return
	}
	key := f.due(slot, h.key[at]-f.last(&f.pages[slot]))
	if f.groupOf(slot) == nil {
		h.move(f.pages, at, key)
		return
	}
	f.dequeue(slot)
	f.enqueue(slot, key)
}

// due returns the time at which a page's index reaches the threshold, within
// the bounds on its interval. While the evidence is for equal pages it is a cycle
// after the last answer. The search begins at a gap of guess.
func (f *RateFilter) due(slot uint32, guess float64) float64 {
	last := f.last(&f.pages[slot])
	if !(f.cycle > 0) {
		return last
	}
	gap := f.cycle
	if !f.even() {
		gap = f.crossing(slot, guess)
	}
	gap = min(gap, f.interval(slot).max)
	return max(last+gap, f.earliest(slot))
}

// crossing finds, to a few per cent, the gap at which the index of a page
// reaches the threshold: by doubling from a guess, then twice by the secant
// rule in log gap. It is at most as long as the census has patience, so that no page starves.
func (f *RateFilter) crossing(slot uint32, guess float64) float64 {
	longest := f.census.patience * f.cycle
	shortest := longest * 1e-9
	gap := max(shortest, min(longest, guess))
	at := f.index(slot, gap)
	lo, hi, below, above := gap, gap, at, at
	// Invariant: the index is below at lo and above at hi, where they differ.
	if at < f.threshold {
		for above < f.threshold {
			if lo, below = hi, above; lo >= longest {
				return longest
			}
			hi = min(longest, 2*hi)
			above = f.index(slot, hi)
		}
	} else {
		for below >= f.threshold {
			if hi, above = lo, below; hi <= shortest {
				return shortest
			}
			lo = max(shortest, lo/2)
			below = f.index(slot, lo)
		}
	}
	for range 2 {
		part := max(0.05, min(0.95, (f.threshold-below)/(above-below)))
		gap = lo * math.Pow(hi/lo, part)
		if at = f.index(slot, gap); at < f.threshold {
			lo, below = gap, at
		} else {
			hi, above = gap, at
		}
	}
	return lo * math.Pow(hi/lo, (f.threshold-below)/(above-below))
}
