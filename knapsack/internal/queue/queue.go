// Package queue finds the page with the greatest index among all that wait, without looking at
// all. What it asks about the time that passes for pages is a Clock, and about their indices
// Pages.
//
// A page that is below the present level of the indices that are polled waits for the time at
// which it will reach that level, as far as can be told; when that has come it is looked at
// again, and either waits once more or becomes one of the few hot pages, of which the best
// one is polled. The level follows, so that there are some hot pages at all times. As long as no
// page reaches the level before its time, and one is hot, the page polled is the best of all.
//
// The index of a page depends on its elapsed time, which is scaled by a multiplier that changes for
// many pages at once. These pages are of one group, and were last answered at about one time: a
// lot. Within a lot the order does not change, so that only the time of its first page has to
// follow. The pages of a small group are a list, which is gone through.
//
// Groups also may be shut for a time, and pages held; of both the queue knows when that is over.
// Pages may have a deadline, after which they go before all others unless they are held or their
// group is shut.
package queue

import (
	"cmp"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// Where a page is: the two top bits of its place.
const (
	inTree  uint32 = iota << 30 // below a page of its lot
	inLot                       // the first of a lot, or in the list of a flat set
	inHeld                      // may not be polled before a point in time
	inHot                       // looked at and above the level; None if none of these
	tagMask = uint32(3) << 30

	// MaxSlots is the most slots that a queue holds.
	MaxSlots = 1 << 30
	// None stands for no slot and no group.
	None = heap.None
)

const (
	// flatMost is up to how many pages of a set are a list.
	flatMost = 32
	// lotsInCycle is how many lots are begun in a cycle: as fine as multipliers are.
	lotsInCycle = 24
	// A set has a lot for pagesPerLot pages at most, so that lots take 8 bytes a page at most, and
	// never more than mostLots. If there are more, those are merged that are least apart for
	// their age.
	pagesPerLot, leastLots, mostLots = 8, 4, 256
	// Times follow the level as if indices grew with the power risesBy of the time where it
	// rises, and fallsBy where it falls: rather too early than too late, as a look puts that right.
	// Moves that are smaller than these, in nats, are not followed.
	risesBy, fallsBy     = 3, 0.7
	leastRise, leastFall = 0.05, 0.01
	// leastRate bounds by how much too early times may be.
	leastRate = 1e-9
	fineRate  = 1e3 // by how much the rate of a flat set falls until its nodes are rewritten
)

// A Queue holds the waiting pages, by slot. Every change takes O(log n) on average.
// Memory: 16 bytes a page, 20 with groups; 12 more for pages that are held, 4 for all and
// 12 for each page with a deadline.
type Queue struct {
	place []uint32 // per slot
	nodes []node   // per slot
	group []uint32 // per slot; nil before the first Join
	must  []uint32 // per slot: place in the deadlines of its set; nil before the first one

	sets []set // first that of pages in no group
	lots []lot
	free []uint32 // lots not in use

	// Sets by the first times of their pages: of those that are open when a page is due; when
	// one is held no longer, or the set is open; the first deadline of those that are open.
	due, event, deadline ordered

	hot   []hotPage
	level float64 // from which on pages are hot
	unit  float64 // of time, in which a page put before there was one has reached the level
	// By how much, in nats, times have followed the level, and the level that they have followed.
	drift, followed    float64
	width              float64 // of a lot
	moved              bool    // the drift has changed since the sets were brought up to date
	lost               bool    // the level is out of date
	turn               bool    // the page longest without an answer goes first
	early              uint32  // pages put before there is a unit
	coin               uint32
	sweepSet, sweepLot uint32 // next to be brought up to date
}

// A set is the waiting pages of a group.
type set struct {
	lots  []uint32 // by base; unless flat
	list  uint32   // the first page; if flat
	pace           // if flat
	ready float64  // time before which no page may be polled
	aside *aside
	count uint32 // pages in lots or the list
	best  uint32 // the lot that is due first
	news  uint32 // answers since the lots were brought up to date
	tree  bool   // not flat
	open  bool
}

// aside is what few sets have.
type aside struct {
	held      heap.Slots // by the time until which they are
	deadlines heap.Slots // by the time from which on they go before all others
}

// A pace is what the times in nodes mean: so much time each, when the queue's drift was that.
type pace struct{ rate, drift float64 }

// A lot is the pages of a set that were last answered at base or somewhat later. Times of its
// pages are after base.
type lot struct {
	base float64
	pace
	last float64 // the latest answer of its pages
	// The multipliers at base and at last when the lot was brought up to date.
	m, mLast float64
	due      float64 // of the first page
	root     uint32
	// Of pages that are all alike, as nothing is known of them, one stands for all: while that
	// is hot, which is shown, the others wait.
	alike, shown bool
}

// ordered is a heap of sets.
type ordered struct {
	heap.Slots
	place []uint32
}

// set gives a set a key; +Inf takes it out.
func (o *ordered) set(set uint32, key float64) {
	at := o.place[set]
	switch {
	case at == None && key <= math.MaxFloat64:
		o.Push(o.place, set, key)
	case at == None:
	case key > math.MaxFloat64:
		o.Remove(o.place, int(at))
	case o.Key[at] != key:
		o.Move(o.place, int(at), key)
	}
}

// key returns that of a set, +Inf if it is not in.
func (o *ordered) key(set uint32) float64 {
	if at := o.place[set]; at != None {
		return o.Key[at]
	}
	return math.Inf(1)
}

// first returns the least key, +Inf if there is none.
func (o *ordered) first() float64 {
	if o.Len() == 0 {
		return math.Inf(1)
	}
	return o.Key[0]
}

// New returns a queue in which n pages wait, due before all time.
func New(n int) Queue {
	q := Queue{place: make([]uint32, n), nodes: make([]node, n)}
	q.addSet()
	if n > flatMost {
		q.sets[0].tree = true
		q.insertLot(0, 0, math.Inf(-1), 1)
		root := q.sets[0].lots[0]
		q.lots[root].root = 0
		for i := range q.nodes { // a tree like a binary heap
			q.nodes[i] = node{None, None, 1}
			if l := 2*i + 1; l < n {
				q.nodes[i].left = uint32(l)
			}
			if r := 2*i + 2; r < n {
				q.nodes[i].right = uint32(r)
			}
			q.place[i] = inTree | uint32((i-1)/2)
		}
		q.place[0] = inLot | root
		q.sets[0].count, q.sets[0].best = uint32(n), root
		q.lots[root].due = math.Inf(-1)
	} else {
		for i := n - 1; i >= 0; i-- {
			q.nodes[i].x = 1
			q.enlist(0, uint32(i))
		}
	}
	q.settle(0, math.Inf(-1))
	return q
}

func (q *Queue) addSet() {
	q.sets = append(q.sets, set{list: None, best: None, ready: math.Inf(-1), open: true, pace: pace{q.unit, q.drift}})
	for _, o := range [...]*ordered{&q.due, &q.event, &q.deadline} {
		o.place = append(o.place, None)
	}
}

// Grow adds a slot, which does not wait.
func (q *Queue) Grow() {
	q.place = append(q.place, None)
	q.nodes = append(q.nodes, node{})
	if q.group != nil {
		q.group = append(q.group, None)
	}
	if q.must != nil {
		q.must = append(q.must, None)
	}
}

// Begin tells what a cycle is, for the first time, from which index on pages are hot, and since
// when pages wait. Pages that have been put before have this index a time unit after their last
// answers; they are alike or not.
func (q *Queue) Begin(cycle, unit, level, start float64, alike bool) {
	q.unit, q.level, q.followed = unit, level, level
	q.Follow(cycle)
	for i := range q.sets {
		q.sets[i].rate = unit
	}
	for i := range q.lots {
		l := &q.lots[i]
		l.rate, l.alike = unit, alike
		if math.IsInf(l.base, -1) {
			l.base, l.last = start, start
		}
	}
}

// Follow tells how long a cycle is now.
func (q *Queue) Follow(cycle float64) { q.width = cycle / lotsInCycle }

// Level returns the index from which on pages are hot.
func (q *Queue) Level() float64 { return q.level }

func (q *Queue) setLevel(level float64) {
	if !(level > 0 && level <= math.MaxFloat64) {
		return
	}
	q.level = level
	move := math.Log(level) - math.Log(q.followed)
	switch {
	case move > leastRise:
		q.drift += move / risesBy
	case move < -leastFall:
		q.drift += move / fallsBy
	default:
		return
	}
	q.followed, q.moved = level, true
}

// keepUp follows the drift of the queue.
func (p *pace) keepUp(q *Queue) {
	if p.drift != q.drift {
		p.rate = max(p.rate*math.Exp(q.drift-p.drift), q.unit*leastRate)
		p.drift = q.drift
	}
}

// Waits reports whether a page is in the queue, held or not.
func (q *Queue) Waits(slot uint32) bool { return q.place[slot] != None }

// Held reports whether a page is held.
func (q *Queue) Held(slot uint32) bool { return q.Waits(slot) && q.place[slot]&tagMask == inHeld }

// Hot reports whether a page is hot.
func (q *Queue) Hot(slot uint32) bool { return q.Waits(slot) && q.place[slot]&tagMask == inHot }

// Rekey has a waiting page that is not held looked at again at time due.
func (q *Queue) Rekey(slot uint32, due float64, clock Clock) {
	q.take(slot)
	q.Put(slot, due, clock)
}

// Open reports whether a page waits and neither it is held nor its set shut.
func (q *Queue) Open(slot uint32) bool {
	return q.Waits(slot) && !q.Held(slot) && q.sets[q.setOf(slot)].open
}

func (q *Queue) setOf(slot uint32) uint32 {
	if q.group == nil {
		return 0
	}
	return q.group[slot] + 1 // None + 1 is 0
}

// groupOf returns the group of a set.
func groupOf(set uint32) uint32 { return set - 1 }

// after returns when a page is due whose node says x, last answered at base, in steps of rate.
func (q *Queue) after(base float64, x float32, rate float64) float64 {
	if q.turn || math.IsInf(base, -1) {
		return base
	}
	return min(base+float64(float64(x)*rate), math.MaxFloat64)
}

// span is the inverse of after. Before there is a unit the order is that in which pages are put.
func (q *Queue) span(base, due, rate float64) float32 {
	if q.unit == 0 {
		return 1 + float32(min(q.early, 1<<20))/(1<<20)
	}
	return float32(max(0, min(math.MaxFloat32, (due-base)/rate)))
}

// Put brings in a page that does not wait, to be looked at again at time due.
func (q *Queue) Put(slot uint32, due float64, clock Clock) {
	if q.unit == 0 {
		q.early++
	}
	if s := q.setOf(slot); q.sets[s].tree {
		q.putLot(s, slot, due, clock)
	} else {
		base := clock.Last(slot)
		q.keepUp(&q.sets[s])
		q.nodes[slot].x = q.span(base, due, q.sets[s].rate/q.multiplier(s, base, clock))
		if due = min(due, math.MaxFloat64); q.turn || q.unit == 0 {
			due = base
		}
		if q.enlist(s, slot); q.sets[s].count > 1 {
			due = min(due, q.sets[s].first(q, s))
		}
		if q.sets[s].count > flatMost {
			q.unfold(s, clock)
			due = q.firstLot(s)
		}
		q.settle(s, due)
	}
}

// first returns the time at which a page of a set is due, as it was when last looked at.
func (s *set) first(q *Queue, id uint32) float64 {
	if at := q.due.place[id]; at != None {
		return q.due.Key[at]
	}
	return math.Inf(-1) // it is shut: it is looked at when it is open again
}

// keepUp has the times of a flat set follow the drift of the queue.
func (q *Queue) keepUp(set *set) {
	if set.drift == q.drift {
		return
	}
	if set.pace.keepUp(q); set.rate < q.unit/fineRate {
		for slot := set.list; slot != None; slot = q.nodes[slot].right {
			q.nodes[slot].x *= float32(set.rate / q.unit)
		}
		set.rate = q.unit
	}
}

// enlist puts a page at the front of a flat set.
func (q *Queue) enlist(s, slot uint32) {
	set := &q.sets[s]
	n := &q.nodes[slot]
	n.left, n.right = None, set.list
	if set.list != None {
		q.nodes[set.list].left = slot
	}
	set.list = slot
	q.place[slot] = inLot
	set.count++
}

// unfold makes lots of a flat set.
func (q *Queue) unfold(s uint32, clock Clock) {
	set := &q.sets[s]
	list := set.list
	set.list, set.tree, set.count = None, true, 0
	oldest := math.Inf(1)
	for slot := list; slot != None; slot = q.nodes[slot].right {
		oldest = min(oldest, clock.Last(slot))
	}
	at := q.insertLot(s, 0, oldest, q.multiplier(s, oldest, clock))
	for slot := list; slot != None; slot = q.nodes[slot].right {
		if l, last := &q.lots[at], clock.Last(slot); last > l.last {
			l.last, l.mLast = last, q.multiplier(s, last, clock)
		}
	}
	for slot := list; slot != None; {
		next, last := q.nodes[slot].right, clock.Last(slot)
		due := last
		if !math.IsInf(last, -1) {
			due += float64(q.nodes[slot].x) * set.rate / q.multiplier(s, last, clock)
		}
		q.insert(s, at, slot, due)
		slot = next
	}
}

// putLot puts a page into its lot.
func (q *Queue) putLot(s, slot uint32, due float64, clock Clock) {
	last := clock.Last(slot)
	at := q.lotFor(s, last, clock)
	if l := &q.lots[at]; last > l.last {
		l.last, l.mLast = last, q.multiplier(s, last, clock)
	}
	q.insert(s, at, slot, due)
}

// insert puts a page into a lot.
func (q *Queue) insert(s, at, slot uint32, due float64) {
	l := &q.lots[at]
	q.plant(slot, q.span(l.base, due, l.rate))
	l.root = q.meld(l.root, slot)
	q.place[l.root] = inLot | at
	set := &q.sets[s]
	set.count++
	if l.root != slot {
		return
	}
	l.due = q.lotDue(l)
	q.better(s, at)
}

// better follows that a lot has got another first page.
func (q *Queue) better(s, at uint32) {
	set := &q.sets[s]
	if set.best != None && set.best != at && q.lots[set.best].due <= q.lots[at].due {
		return
	}
	if set.best != at {
		set.best = at
		q.settle(s, q.lots[at].due)
		return
	}
	q.settle(s, q.firstLot(s))
}

// lotDue returns when the first page of a lot is due, +Inf if there is none.
func (q *Queue) lotDue(l *lot) float64 {
	if l.root == None {
		return math.Inf(1)
	}
	if l.shown && !q.turn {
		return math.MaxFloat64
	}
	return q.after(l.base, q.nodes[l.root].x, l.rate)
}

// firstLot finds the lot that is due first, and returns when it is.
func (q *Queue) firstLot(s uint32) float64 {
	set := &q.sets[s]
	set.best = None
	first := math.Inf(1)
	for _, at := range set.lots {
		if l := &q.lots[at]; l.root != None && (set.best == None || l.due < first) {
			set.best, first = at, l.due
		}
	}
	return first
}

// lotFor returns the lot for a page last answered at some time.
func (q *Queue) lotFor(s uint32, last float64, clock Clock) uint32 {
	for full := false; ; full = true {
		set := &q.sets[s]
		i, found := slices.BinarySearchFunc(set.lots, last, func(at uint32, last float64) int {
			return cmp.Compare(q.lots[at].base, last)
		})
		if found && q.lots[set.lots[i]].alike {
			i++
			found = i < len(set.lots) && q.lots[set.lots[i]].base == last
		}
		switch {
		case found:
			return set.lots[i]
		case i > 0 && !q.lots[set.lots[i-1]].alike && (i < len(set.lots) || last-q.lots[set.lots[i-1]].base <= q.width):
			return set.lots[i-1]
		case full || len(set.lots) < max(leastLots, min(mostLots, int(set.count)/pagesPerLot)):
			return q.insertLot(s, i, last, q.multiplier(s, last, clock))
		}
		q.fewer(s, last)
	}
}

// multiplier returns that of the pages of a set.
func (q *Queue) multiplier(s uint32, last float64, clock Clock) float64 {
	if math.IsInf(last, -1) {
		return 1
	}
	return clock.Multiplier(groupOf(s), last)
}

// insertLot makes a lot.
func (q *Queue) insertLot(s uint32, i int, base, m float64) (at uint32) {
	if k := len(q.free); k > 0 {
		at, q.free = q.free[k-1], q.free[:k-1]
	} else {
		at = uint32(len(q.lots))
		q.lots = append(q.lots, lot{})
	}
	q.lots[at] = lot{base: base, last: base, m: m, mLast: m, pace: pace{q.unit / m, q.drift}, due: math.Inf(1), root: None}
	q.sets[s].lots = slices.Insert(q.sets[s].lots, i, at)
	return at
}

// fewer drops the lots of a set that are empty, or merges the two that are least apart for their
// age.
func (q *Queue) fewer(s uint32, now float64) {
	set := &q.sets[s]
	before := len(set.lots)
	set.lots = slices.DeleteFunc(set.lots, func(at uint32) bool {
		if q.lots[at].root != None {
			return false
		}
		q.free = append(q.free, at)
		return true
	})
	if len(set.lots) < before || len(set.lots) < 2 {
		return
	}
	i, least := 0, math.Inf(1)
	for k := range len(set.lots) - 1 {
		base := q.lots[set.lots[k]].base
		if q.lots[set.lots[k]].alike || q.lots[set.lots[k+1]].alike {
			continue
		}
		if apart := (q.lots[set.lots[k+1]].base - base) / (now - base); apart < least {
			i, least = k, apart
		}
	}
	if math.IsInf(least, 1) {
		return
	}
	into, from := set.lots[i], set.lots[i+1]
	a, b := &q.lots[into], &q.lots[from]
	a.follow(q, now)
	b.follow(q, now)
	a.rate = min(a.rate, b.rate) // rather too early than too late
	a.last, a.mLast = b.last, b.mLast
	a.root = q.meld(a.root, b.root)
	q.place[a.root] = inLot | into
	a.due, b.root = q.lotDue(a), None
	set.lots = slices.Delete(set.lots, i+1, i+2)
	q.free = append(q.free, from)
	q.settle(s, q.firstLot(s))
}

// Take takes a page out, if it waits.
func (q *Queue) Take(slot uint32) {
	q.take(slot)
	q.SetDeadline(slot, math.Inf(1))
}

// take is Take but for the deadline.
func (q *Queue) take(slot uint32) {
	if !q.Waits(slot) {
		return
	}
	s := q.setOf(slot)
	set := &q.sets[s]
	switch q.place[slot] & tagMask {
	case inHeld:
		set.aside.held.Remove(q.place, int(q.place[slot]&^tagMask))
		q.settle(s, set.first(q, s))
	case inHot:
		i := q.place[slot] &^ tagMask
		last := len(q.hot) - 1
		lotOf := q.hot[i].lot
		q.hot[i] = q.hot[last]
		q.place[q.hot[i].slot] = inHot | i
		q.hot = q.hot[:last]
		q.place[slot] = None
		if lotOf != None {
			if l := &q.lots[lotOf]; l.shown {
				l.shown = false
				l.due = q.lotDue(l)
				q.settle(s, q.firstLot(s))
			}
		}
	default:
		set.count--
		if !set.tree {
			n := &q.nodes[slot]
			if n.left != None {
				q.nodes[n.left].right = n.right
			} else {
				set.list = n.right
			}
			if n.right != None {
				q.nodes[n.right].left = n.left
			}
			q.place[slot] = None
			q.settle(s, set.first(q, s))
		} else if at, root := q.uproot(slot); root {
			l := &q.lots[at]
			l.due = q.lotDue(l)
			if set.best == at {
				q.settle(s, q.firstLot(s))
			}
		}
	}
}

// settle puts a set where it belongs among the others; its pages are due at time due.
func (q *Queue) settle(s uint32, due float64) {
	set := &q.sets[s]
	if set.count == 0 || !set.open {
		due = math.Inf(1)
	}
	q.due.set(s, due)
	event, deadline := set.times()
	q.event.set(s, event)
	q.deadline.set(s, deadline)
}

// times returns the time at which something happens to a set, and the first deadline of its pages
// as far as it counts; +Inf for never.
func (s *set) times() (event, deadline float64) {
	event, deadline = math.Inf(1), math.Inf(1)
	if s.aside != nil {
		if s.aside.held.Len() > 0 {
			event = s.aside.held.Key[0]
		}
		if s.aside.deadlines.Len() > 0 && s.open {
			deadline = s.aside.deadlines.Key[0]
		}
	}
	if !s.open {
		if s.count > 0 {
			event = math.Inf(-1)
		}
		event = max(event, s.ready)
	}
	return event, deadline
}

// Hold puts a page, which may wait or not, aside until a point in time.
func (q *Queue) Hold(slot uint32, until float64) {
	s := q.setOf(slot)
	set := q.asideOf(s)
	if until = min(until, math.MaxFloat64); q.Held(slot) {
		set.aside.held.Move(q.place, int(q.place[slot]&^tagMask), until)
	} else {
		q.take(slot)
		set.aside.held.Push(q.place, slot, until)
	}
	q.settle(s, set.first(q, s))
}

func (q *Queue) asideOf(s uint32) *set {
	set := &q.sets[s]
	if set.aside == nil {
		set.aside = &aside{held: heap.Slots{Tag: inHeld}}
	}
	return set
}

// SetDeadline sets the time from which on a page goes before all others that are neither held nor
// of a set that is shut; +Inf for none. It must not be before a time until which it is held.
func (q *Queue) SetDeadline(slot uint32, at float64) {
	if q.must == nil {
		if at > math.MaxFloat64 {
			return
		}
		q.must = slices.Repeat([]uint32{None}, len(q.place))
	}
	if at > math.MaxFloat64 && q.must[slot] == None {
		return
	}
	s := q.setOf(slot)
	set := q.asideOf(s)
	d := &set.aside.deadlines
	switch i := q.must[slot]; {
	case at > math.MaxFloat64:
		d.Remove(q.must, int(i))
	case i == None:
		d.Push(q.must, slot, at)
	default:
		d.Move(q.must, int(i), at)
	}
	q.settle(s, set.first(q, s))
}

// Deadlines returns the number of pages with a deadline.
func (q *Queue) Deadlines() (n int) {
	for i := range q.sets {
		if a := q.sets[i].aside; a != nil {
			n += a.deadlines.Len()
		}
	}
	return n
}

// Overdue returns a page whose deadline is over, that which has been so for longest.
func (q *Queue) Overdue(now float64) (slot uint32, ok bool) {
	if q.deadline.first() > now {
		return 0, false
	}
	return q.sets[q.deadline.Slot[0]].aside.deadlines.Slot[0], true
}

// Ready returns the earliest time at which a page may be polled, not before now; +Inf if there is
// none. O(1).
func (q *Queue) Ready(now float64) float64 {
	if q.due.Len() > 0 || len(q.hot) > 0 {
		return now
	}
	return max(now, q.event.first())
}

// ReadyGroup returns the time before which no page of a group may be polled.
func (q *Queue) ReadyGroup(group uint32) float64 { return q.sets[group+1].ready }

// mostEvents bounds the sets and pages that one call brings back.
const mostEvents = 64

// Advance opens the sets and brings back the pages whose time has come, some of them if there are
// many. Afterwards a page may be polled if Ready says so.
func (q *Queue) Advance(now float64, clock Clock) {
	for k := 0; q.event.first() <= now && (k < mostEvents || q.Ready(now) > now); k++ {
		s := q.event.Slot[0]
		set := &q.sets[s]
		if !set.open {
			set.open = true
			q.settle(s, math.Inf(-1))
			continue
		}
		slot := set.aside.held.Slot[0]
		set.aside.held.Remove(q.place, 0)
		q.settle(s, set.first(q, s))
		q.Put(slot, now, clock)
	}
}

// AddGroup adds a group without pages and returns its number: 0, 1, 2, …
func (q *Queue) AddGroup() int {
	q.addSet()
	return len(q.sets) - 2
}

// Groups returns the number of groups.
func (q *Queue) Groups() int { return len(q.sets) - 1 }

// Group returns the group of a slot, None if it is in none.
func (q *Queue) Group(slot uint32) uint32 {
	if q.group == nil {
		return None
	}
	return q.group[slot]
}

// Join puts a page that does not wait into a group, None for none.
func (q *Queue) Join(slot, group uint32) {
	if q.group == nil {
		q.group = slices.Repeat([]uint32{None}, len(q.place))
	}
	q.group[slot] = group
}

// SetReady sets the time before which no page of a group may be polled.
func (q *Queue) SetReady(group uint32, ready, now float64, clock Clock) {
	s := group + 1
	set := &q.sets[s]
	set.ready = min(ready, math.MaxFloat64)
	open := !(ready > now)
	if set.open && !open {
		for i := len(q.hot) - 1; i >= 0; i-- {
			if slot := q.hot[i].slot; q.setOf(slot) == s {
				q.take(slot)
				q.Put(slot, now, clock)
			}
		}
	}
	if open != set.open {
		set.open = open
		q.settle(s, math.Inf(-1))
		return
	}
	q.settle(s, set.first(q, s))
}

// Bytes returns the memory that grows with the number of pages.
func (q *Queue) Bytes() int {
	bytes := 4*cap(q.place) + 12*cap(q.nodes) + 4*cap(q.group) + 4*cap(q.must) + 40*cap(q.lots) + 4*cap(q.free)
	for i := range q.sets {
		bytes += 4 * cap(q.sets[i].lots)
		if a := q.sets[i].aside; a != nil {
			bytes += 12 * (cap(a.held.Slot) + cap(a.deadlines.Slot))
		}
	}
	return bytes
}
