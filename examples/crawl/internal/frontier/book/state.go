package book

import (
	"fmt"
	"iter"
	"math"

	"github.com/recrawl/recrawl/internal/heap"
	"github.com/recrawl/recrawl/knapsack"
)

// A State is what a frontier knows. It is not safe for concurrent use.
type State struct {
	Delay  float64 // of queues without one of their own, in seconds
	Paused bool    // no URL is given
	Latest float64 // time of the latest event

	objective knapsack.Objective
	crawls    []*Crawl
	byName    map[string]*Crawl
	turn      int // crawl with which an Ask of any begins
}

// New returns a state without URLs, whose learners maximise an objective.
func New(o knapsack.Objective) *State {
	return &State{objective: o, byName: map[string]*Crawl{}}
}

// Fresh returns a state without URLs, whose learners have the same objective.
func (s *State) Fresh() *State { return New(s.objective) }

// Crawl returns a crawl, nil if it is not known.
func (s *State) Crawl(name string) *Crawl { return s.byName[name] }

// Crawls returns the crawls that have URLs, oldest first.
func (s *State) Crawls() iter.Seq[*Crawl] {
	return func(yield func(*Crawl) bool) {
		for _, c := range s.crawls {
			for range c.Queues() {
				if !yield(c) {
					return
				}
				break
			}
		}
	}
}

// Queue returns a queue, nil if it is not known.
func (s *State) Queue(crawl, key string) *Queue {
	if c := s.byName[crawl]; c != nil {
		return c.byKey[key]
	}
	return nil
}

// Find returns a queue and the position of a URL in it.
func (s *State) Find(crawl, key, url string) (q *Queue, pos uint32, ok bool) {
	if q = s.Queue(crawl, key); q != nil {
		pos, ok = q.find(url)
	}
	return q, pos, ok
}

// Compare returns what a fetch came to, and the fingerprint to remember.
func (s *State) Compare(crawl, key, url string, signs Signs) (Verdict, uint64) {
	before := uint64(0)
	if q, pos, ok := s.Find(crawl, key, url); ok {
		before = q.urls[pos].mark
	}
	return Compare(before, signs)
}

func (s *State) crawl(name string) (*Crawl, error) {
	if c := s.byName[name]; c != nil {
		return c, nil
	}
	c, err := newCrawl(s, name)
	if err != nil {
		return nil, err
	}
	s.crawls = append(s.crawls, c)
	s.byName[name] = c
	return c, nil
}

// forget forgets a crawl that has no queue.
func (s *State) forget(c *Crawl) {
	for i := range s.crawls {
		if s.crawls[i] == c {
			s.crawls = append(s.crawls[:i], s.crawls[i+1:]...)
			break
		}
	}
	delete(s.byName, c.name)
}

// Apply changes the state by an event, and returns the number of URLs that are gone. An error is
// one that events cannot bring about, so that the state is not to be used any more.
func (s *State) Apply(e *Event) (gone int, err error) {
	s.Latest = max(s.Latest, e.At)
	switch e.Kind {
	case Active:
		s.Paused = !e.On
		return 0, nil
	case DeleteCrawl:
		return s.deleteCrawl(e), nil
	case DeleteQueue, Purge:
		if s.byName[e.Crawl] == nil {
			return 0, nil
		}
	case Delay:
		if e.Key == "" {
			s.delayAll(e)
			return 0, nil
		}
	}
	c, err := s.crawl(e.Crawl)
	if err != nil {
		return 0, err
	}
	switch e.Kind {
	case Purge:
		return c.purge(e)
	case DeleteQueue:
		return c.delete(c.byKey[e.Key])
	case Gave:
		return 0, c.gave(e)
	}
	q := c.queue(e.Key)
	switch e.Kind {
	case Discovered:
		c.discovered(q, e)
	case Known:
		err = c.known(q, e)
	case Delay:
		q.delay = e.Seconds
	case Block:
		q.blocked = e.Seconds
	case Limit:
		q.limit = e.Number
	}
	c.file(q, e.At)
	return 0, err
}

func (s *State) delayAll(e *Event) {
	s.Delay = e.Seconds
	for _, c := range s.crawls {
		for _, q := range c.queues {
			if q != nil {
				c.file(q, e.At)
			}
		}
	}
}

func (s *State) deleteCrawl(e *Event) (gone int) {
	c := s.byName[e.Crawl]
	if c == nil {
		return 0
	}
	for _, q := range c.queues {
		if q != nil {
			gone += len(q.urls)
			q.gone = true
		}
	}
	c.first, c.last, c.early, c.alarms = nil, nil, heap.Slots{}, heap.Slots{} // an Ask may have it
	s.forget(c)
	return gone
}

// discovered takes in a URL that was found. One that is known stays as it is.
func (c *Crawl) discovered(q *Queue, e *Event) {
	if _, ok := q.find(e.URL); ok {
		return
	}
	pos := q.add(URL{text: e.URL, meta: e.Meta, date: uint64(e.At), from: e.At, due: e.At, page: none, created: uint32(e.At)})
	q.enter(pos, e.At)
}

// known takes in a URL that was fetched.
func (c *Crawl) known(q *Queue, e *Event) error {
	pos, ok := q.find(e.URL)
	if !ok {
		pos = q.add(URL{text: e.URL, page: none, created: uint32(e.At)})
	}
	q.withdraw(pos)
	u := &q.urls[pos]
	u.meta, u.date, u.mark = e.Meta, e.Date, e.Mark
	u.set(fetched, true)
	if u.is(completed) {
		u.set(completed, false)
		q.completed--
	}
	if e.Date == 0 {
		u.set(completed, true)
		q.completed++
		return c.judge.leave(u)
	}
	u.from = float64(e.Date) + e.Lag
	u.due = u.from
	if err := c.learn(q, u, e); err != nil {
		return fmt.Errorf("book: %s: %w", e.URL, err)
	}
	if e.Free {
		u.from = e.At
	}
	q.enter(pos, e.At)
	return nil
}

// learn tells the learner what a fetch came to, and sets when the URL is due if that is known.
func (c *Crawl) learn(q *Queue, u *URL, e *Event) error {
	switch e.Verdict {
	case Unchanged, Changed:
		if u.page != none {
			return c.judge.answer(u, e.At, e.Verdict == Changed)
		}
		fallthrough
	case First:
		if u.page == none {
			return c.judge.enter(u, q, e.At)
		}
	}
	return nil
}

// gave takes in what an Ask chose, after a restart.
func (c *Crawl) gave(e *Event) error {
	for _, t := range e.Given {
		if int(t.Slot) >= len(c.queues) || c.queues[t.Slot] == nil {
			return fmt.Errorf("book: crawl %q has no queue %d", c.name, t.Slot)
		}
		q := c.queues[t.Slot]
		for _, pos := range t.URLs {
			if int(pos) >= len(q.urls) || q.urls[pos].is(completed) {
				return fmt.Errorf("book: queue %q has no URL %d to give", q.key, pos)
			}
			if err := c.give(q, pos, e.At, e.Seconds); err != nil {
				return err
			}
		}
		c.file(q, e.At)
	}
	return nil
}

// give gives a URL.
func (c *Crawl) give(q *Queue, pos uint32, now, until float64) error {
	q.lease(pos, now, until)
	if q.urls[pos].page == none {
		return nil
	}
	if err := c.judge.ask(&q.urls[pos], now); err != nil {
		return err
	}
	return c.refresh(now)
}

// sweep is how many URLs are looked at again for each that is given. The price of a poll moves, and
// so does the time at which a URL is due: URLs that are not followed wait while the others are
// polled too often, and keep the price low. That costs 5 to 30 % of the detections, of which 1
// regains all and 3 no more. See go test ./examples/crawl/internal/frontier/book -run TestLearns
// -v.
const sweep = 1

// refresh goes on through the URLs that are learnt of, and follows the times when they are due.
func (c *Crawl) refresh(now float64) error {
	j := &c.judge
	for range min(sweep, len(j.where)) {
		if j.sweep++; int(j.sweep) >= len(j.where) {
			j.sweep = 0
		}
		at := j.where[j.sweep]
		if at.queue == nowhere {
			continue
		}
		q := c.queues[at.queue]
		u := &q.urls[at.pos]
		if u.is(asked) {
			continue
		}
		if err := j.filter.Defer(u.page, math.Inf(-1)); err != nil {
			return err
		}
		if err := j.settle(u); err != nil {
			return err
		}
		if place := q.place[at.pos]; place != heap.None && place&readyTag != 0 {
			q.ready.Move(q.place, int(place&^readyTag), u.due)
			c.file(q, now)
		}
	}
	return nil
}

// delete forgets a queue with its URLs.
func (c *Crawl) delete(q *Queue) (gone int, err error) {
	if q == nil {
		return 0, nil
	}
	gone = len(q.urls)
	for i := range q.urls {
		if err := c.judge.leave(&q.urls[i]); err != nil {
			return gone, err
		}
	}
	if err := c.judge.disband(q); err != nil {
		return gone, err
	}
	c.remove(q)
	if c.empty() {
		c.state.forget(c)
	}
	return gone, nil
}

// purge forgets the URLs of a queue, or of all, that came before a time. A queue of which
// nothing is set goes with its last URL.
func (c *Crawl) purge(e *Event) (gone int, err error) {
	for _, q := range c.queues {
		if q == nil || e.Key != "" && q.key != e.Key {
			continue
		}
		n, err := q.drop(func(u *URL) bool { return float64(u.created) < math.Floor(e.Seconds) }, e.At)
		gone += n
		if err != nil {
			return gone, err
		}
		if len(q.urls) > 0 || q.delay >= 0 || q.blocked > e.At || q.limit > 0 {
			c.file(q, e.At)
		} else if _, err := c.delete(q); err != nil {
			return gone, err
		}
	}
	return gone, nil
}
