package book

import (
	"iter"
	"math"

	"github.com/recrawl/recrawl/internal/heap"
)

// A Crawl has queues, and learns of their URLs together.
type Crawl struct {
	state  *State
	name   string
	queues []*Queue // by slot, nil for a free one
	free   []uint32
	byKey  map[string]*Queue
	judge  judge

	// Of queues that have a URL ready, those whose first one is due stand in line. The others are
	// in early, by when it will be. Of each queue there is at most one alarm, at the time when it
	// has to be filed anew.
	first, last            *Queue
	early, alarms          heap.Slots
	earlyPlace, alarmPlace []uint32
}

func newCrawl(s *State, name string) (*Crawl, error) {
	j, err := newJudge(s.objective)
	return &Crawl{state: s, name: name, byKey: map[string]*Queue{}, judge: j}, err
}

// Name returns the name of the crawl.
func (c *Crawl) Name() string { return c.name }

// Queue returns a queue, nil if it is not known. It may have settings and no URL yet.
func (c *Crawl) Queue(key string) *Queue { return c.byKey[key] }

// Queues returns the queues that have URLs, in an order that stays.
func (c *Crawl) Queues() iter.Seq[*Queue] {
	return func(yield func(*Queue) bool) {
		for _, q := range c.queues {
			if q != nil && len(q.urls) > 0 && !yield(q) {
				return
			}
		}
	}
}

// empty reports whether the crawl has no queue at all.
func (c *Crawl) empty() bool { return len(c.byKey) == 0 }

// queue returns a queue, a new one if need be.
func (c *Crawl) queue(key string) *Queue {
	if q := c.byKey[key]; q != nil {
		return q
	}
	q := newQueue(c, key)
	c.byKey[key] = q
	if n := len(c.free); n > 0 {
		q.slot = c.free[n-1]
		c.free = c.free[:n-1]
		c.queues[q.slot] = q
		return q
	}
	q.slot = uint32(len(c.queues))
	c.queues = append(c.queues, q)
	c.earlyPlace = append(c.earlyPlace, heap.None)
	c.alarmPlace = append(c.alarmPlace, heap.None)
	return q
}

// remove forgets a queue, but not what is learnt of its URLs.
func (c *Crawl) remove(q *Queue) {
	c.unfile(q)
	q.gone = true
	delete(c.byKey, q.key)
	c.queues[q.slot] = nil
	c.free = append(c.free, q.slot)
}

// unfile takes a queue out of line, early and alarms.
func (c *Crawl) unfile(q *Queue) {
	c.leaveLine(q)
	for _, h := range []struct {
		of    *heap.Slots
		place []uint32
	}{{&c.early, c.earlyPlace}, {&c.alarms, c.alarmPlace}} {
		if at := h.place[q.slot]; at != heap.None {
			h.of.Remove(h.place, int(at))
		}
	}
}

// file puts a queue where it belongs now. One in line keeps its place. While an Ask has it, it is
// nowhere.
func (c *Crawl) file(q *Queue, now float64) {
	if q.busy || q.gone {
		return
	}
	q.advance(now)
	alarm := q.gate()
	open := alarm <= now
	if open {
		alarm = math.Inf(1)
		if q.wait.Len() > 0 {
			alarm = q.wait.Key[0]
		}
	} else if q.wait.Len()+q.ready.Len() == 0 {
		alarm = math.Inf(1)
	}
	due := math.Inf(1)
	if open && q.ready.Len() > 0 {
		due = q.ready.Key[0]
	}
	if due <= now {
		c.joinLine(q)
		due = math.Inf(1)
	} else {
		c.leaveLine(q)
	}
	move(&c.early, c.earlyPlace, q.slot, due)
	move(&c.alarms, c.alarmPlace, q.slot, alarm)
}

// move gives a slot a key in a heap; infinity takes it out.
func move(h *heap.Slots, place []uint32, slot uint32, key float64) {
	switch at := place[slot]; {
	case math.IsInf(key, 1):
		if at != heap.None {
			h.Remove(place, int(at))
		}
	case at == heap.None:
		h.Push(place, slot, key)
	default:
		h.Move(place, int(at), key)
	}
}

// advance files the queues for which a time has come.
func (c *Crawl) advance(now float64) {
	for c.alarms.Len() > 0 && c.alarms.Key[0] <= now {
		c.file(c.queues[c.alarms.Slot[0]], now)
	}
	for c.early.Len() > 0 && c.early.Key[0] <= now {
		c.file(c.queues[c.early.Slot[0]], now)
	}
}

func (c *Crawl) joinLine(q *Queue) {
	if q.inLine {
		return
	}
	q.inLine = true
	q.prev, q.next = c.last, nil
	if c.last == nil {
		c.first = q
	} else {
		c.last.next = q
	}
	c.last = q
}

func (c *Crawl) leaveLine(q *Queue) {
	if !q.inLine {
		return
	}
	q.inLine = false
	if q.prev == nil {
		c.first = q.next
	} else {
		q.prev.next = q.next
	}
	if q.next == nil {
		c.last = q.prev
	} else {
		q.next.prev = q.prev
	}
	q.next, q.prev = nil, nil
}
