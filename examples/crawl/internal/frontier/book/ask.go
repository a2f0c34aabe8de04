package book

import (
	"math"
	"slices"
)

// An Ask is a wish for URLs. Fill in the fields, call Step until it gives nothing, and End.
type Ask struct {
	Crawl    string // empty for any
	Key      string // only of this queue; empty for any
	Queues   int    // at most; 0 for any number
	PerQueue int    // URLs, at most; 0 for any number
	Lease    float64
	Most     int // URLs that are left to be given; negative for any number

	state   *State
	crawls  []*Crawl
	turns   []turn
	phase   phase
	visited int // turns that were topped up
}

// A turn is what a queue gives to an Ask.
type turn struct {
	queue *Queue
	given int
}

type phase uint8

const (
	dueFirst phase = iota // URLs that are due
	topUp                 // of the same queues, what else they have ready
	theRest               // of other queues
)

// A Gift is a URL that is given.
type Gift struct{ URL, Key, Crawl, Meta string }

// Step gives at most so many URLs, and returns them and the events that they are. Where it returns
// fewer, there are no more. The queues are in the hands of the Ask until End.
func (a *Ask) Step(s *State, now float64, most int) (gifts []Gift, events []Event, err error) {
	if s.Paused {
		return nil, nil, nil
	}
	if a.state == nil {
		a.begin(s, now)
	}
	if a.Most >= 0 {
		most = min(most, a.Most)
	}
	for len(gifts) < most {
		q, n := a.next(now)
		if q == nil {
			break
		}
		n = min(n, most-len(gifts))
		if err := a.take(q, n, now, &gifts, &events); err != nil {
			return nil, nil, err
		}
	}
	if len(gifts) > 0 {
		s.Latest = max(s.Latest, now)
	}
	if a.Most >= 0 {
		a.Most -= len(gifts)
	}
	return gifts, events, nil
}

// begin finds the crawls that are asked.
func (a *Ask) begin(s *State, now float64) {
	a.state = s
	if a.Queues == 0 {
		a.Queues = math.MaxInt
	}
	if a.PerQueue == 0 {
		a.PerQueue = math.MaxInt - 1
	}
	switch c := s.byName[a.Crawl]; {
	case a.Crawl == "" && len(s.crawls) > 0:
		s.turn = (s.turn + 1) % len(s.crawls)
		a.crawls = slices.Concat(s.crawls[s.turn:], s.crawls[:s.turn])
	case c != nil:
		a.crawls = []*Crawl{c}
	}
	for _, c := range a.crawls {
		c.advance(now)
	}
	if a.Key != "" {
		for _, c := range a.crawls {
			q := c.byKey[a.Key]
			if q == nil || q.busy || q.gate() > now || len(a.turns) >= a.Queues {
				continue
			}
			if q.advance(now); q.ready.Len() > 0 {
				a.hold(q)
			}
		}
		a.crawls, a.phase = nil, topUp
	}
}

// hold takes a queue into the hands of the Ask.
func (a *Ask) hold(q *Queue) {
	q.crawl.unfile(q)
	q.busy = true
	a.turns = append(a.turns, turn{queue: q})
}

// current returns the turn that a.next chose last.
func (a *Ask) current() int {
	if a.phase == topUp {
		return a.visited
	}
	return len(a.turns) - 1
}

// next returns a queue and how many URLs it may still give in this phase, nil if there is none.
func (a *Ask) next(now float64) (*Queue, int) {
	if a.phase == dueFirst {
		if q, n := a.pick(now, func(c *Crawl) *Queue { return c.first }); q != nil {
			return q, n
		}
		if a.Most >= 0 && slices.ContainsFunc(a.crawls, func(c *Crawl) bool { return c.first != nil }) {
			return nil, 0 // the rest is for those, the next time
		}
		a.phase = topUp
	}
	for ; a.phase == topUp && a.visited < len(a.turns); a.visited++ {
		if t := a.turns[a.visited]; a.open(t, now) {
			return t.queue, a.PerQueue - t.given
		}
	}
	a.phase = theRest
	return a.pick(now, func(c *Crawl) *Queue {
		if c.early.Len() == 0 {
			return nil
		}
		return c.queues[c.early.Slot[0]]
	})
}

// pick returns the queue that has the turn, while it has something to give in this phase, and then
// the first one of the next crawl, in rotation.
func (a *Ask) pick(now float64, first func(*Crawl) *Queue) (*Queue, int) {
	if n := len(a.turns); n > 0 {
		if t := a.turns[n-1]; a.open(t, now) {
			return t.queue, a.PerQueue - t.given
		}
	}
	if len(a.turns) >= a.Queues {
		return nil, 0
	}
	for range a.crawls {
		c := a.crawls[0]
		a.crawls = append(a.crawls[1:], c)
		if q := first(c); q != nil {
			a.hold(q)
			return q, a.PerQueue
		}
	}
	return nil, 0
}

// open reports whether the queue of a turn has more to give in this phase.
func (a *Ask) open(t turn, now float64) bool {
	q := t.queue
	if t.given >= a.PerQueue || q.gone || q.blocked > now || q.ready.Len() == 0 {
		return false
	}
	return a.phase != dueFirst || q.ready.Key[0] <= now
}

// take gives at most n URLs of a queue.
func (a *Ask) take(q *Queue, n int, now float64, gifts *[]Gift, events *[]Event) error {
	c := q.crawl
	var positions []uint32
	for len(positions) < n && q.ready.Len() > 0 && (a.phase != dueFirst || q.ready.Key[0] <= now) {
		pos := q.ready.Slot[0]
		if err := c.give(q, pos, now, now+a.Lease); err != nil {
			return err
		}
		positions = append(positions, pos)
		u := &q.urls[pos]
		*gifts = append(*gifts, Gift{u.text, q.key, c.name, u.meta})
	}
	a.turns[a.current()].given += len(positions)
	if len(positions) > 0 {
		record(events, c, now, now+a.Lease, Turn{q.slot, positions})
	}
	return nil
}

// record notes a turn in the events of a step. Turns of a crawl that follow one another share one.
func record(events *[]Event, c *Crawl, now, until float64, t Turn) {
	if n := len(*events); n > 0 && (*events)[n-1].Crawl == c.name {
		(*events)[n-1].Given = append((*events)[n-1].Given, t)
		return
	}
	*events = append(*events, Event{Kind: Gave, At: now, Crawl: c.name, Seconds: until, Given: []Turn{t}})
}

// End puts the queues back to where they belong.
func (a *Ask) End(now float64) {
	for _, t := range a.turns {
		t.queue.busy = false
		t.queue.crawl.file(t.queue, now)
	}
	a.turns = nil
}
