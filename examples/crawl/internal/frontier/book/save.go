package book

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/heap"
)

var stateFormat = codec.Format{Magic: "recrawl/frontier.State", Version: 1}

// urlSize is the size of a saved URL besides its text and metadata.
const urlSize = 61

// queueSize is the size of a saved queue without a name and URLs.
const queueSize = 56

// MarshalBinary returns the state. It takes O(n).
func (s *State) MarshalBinary() ([]byte, error) {
	learners := make([][]byte, len(s.crawls))
	for i, c := range s.crawls {
		var err error
		if learners[i], err = c.judge.filter.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return stateFormat.Save(func(to *codec.Encoder) {
		e := &writer{Encoder: to}
		e.Float64(s.Delay)
		e.Bool(s.Paused)
		e.Float64(s.Latest)
		e.Int(len(s.crawls))
		for i, c := range s.crawls {
			e.text(c.name)
			e.Bytes(learners[i])
			c.encode(e)
		}
	})
}

// UnmarshalBinary restores a state. If it fails nothing has changed.
func (s *State) UnmarshalBinary(data []byte) error {
	return codec.Load(s, stateFormat, data, func(to *State, d *codec.Decoder) {
		*to = *New(s.objective)
		to.Delay = d.NonNegative()
		to.Paused = d.Bool()
		to.Latest = d.NonNegative()
		for range d.Count(3) {
			name := getString(d)
			d.Require(to.byName[name] == nil, "crawl %q comes twice", name)
			c, err := to.crawl(name)
			d.Check(err)
			learner := d.Bytes()
			if d.Err() != nil {
				return
			}
			d.Check(c.judge.filter.UnmarshalBinary(learner))
			c.decode(d)
			c.state = s // to is a value that is assigned to it
		}
	})
}

func (c *Crawl) encode(e *writer) {
	e.Uint32(c.judge.sweep)
	e.Uint32s(c.free)
	e.Int(len(c.queues) - len(c.free))
	for _, q := range c.queues {
		if q != nil {
			e.Uint32(q.slot)
			q.encode(e)
		}
	}
}

func (c *Crawl) decode(d *codec.Decoder) {
	c.judge.sweep = d.Uint32()
	c.free = d.Uint32s()
	live := d.Count(queueSize)
	slots := live + len(c.free)
	for range live {
		q := newQueue(c, "")
		q.slot = d.Uint32()
		q.decode(d)
		if d.Require(int(q.slot) < slots && c.byKey[q.key] == nil, "queue %d", q.slot); d.Err() != nil {
			return
		}
		for len(c.queues) <= int(q.slot) {
			c.queues = append(c.queues, nil)
		}
		d.Require(c.queues[q.slot] == nil, "queue %d comes twice", q.slot)
		c.queues[q.slot], c.byKey[q.key] = q, q
	}
	for len(c.queues) < slots {
		c.queues = append(c.queues, nil)
	}
	free := map[uint32]bool{}
	for _, slot := range c.free {
		d.Require(int(slot) < len(c.queues) && c.queues[slot] == nil && !free[slot], "queue %d is free and not, or twice", slot)
		free[slot] = true
	}
	c.agree(d)
	c.earlyPlace, c.alarmPlace = noPlaces(len(c.queues)), noPlaces(len(c.queues))
	for _, q := range c.queues {
		if q != nil && d.Err() == nil {
			c.file(q, c.state.Latest)
		}
	}
}

// agree requires that the learner has the groups of the queues and the pages of the URLs, and no other
// pages, and that the URLs that are asked are those in flight. That of each page was looked at: see
// judge.waits.
func (c *Crawl) agree(d *codec.Decoder) {
	groups := map[int]bool{}
	pages, polls := 0, 0
	for _, q := range c.queues {
		if q == nil {
			continue
		}
		d.Require(q.group == none || c.judge.hasGroup(q.group) && !groups[q.group], "queue %q has group %d", q.key, q.group)
		groups[q.group] = true
		for i := range q.urls {
			if u := &q.urls[i]; u.page != none {
				pages++
				if u.is(asked) {
					polls++
				}
			}
		}
	}
	stats := c.judge.filter.Stats()
	d.Require(stats.Pages == pages && stats.InFlight == polls,
		"the learner has %d pages, %d of them in flight, for %d and %d URLs", stats.Pages, stats.InFlight, pages, polls)
}

func noPlaces(n int) []uint32 {
	place := make([]uint32, n)
	for i := range place {
		place[i] = heap.None
	}
	return place
}

func (q *Queue) encode(e *writer) {
	q.advance(q.crawl.state.Latest) // leases end when somebody looks
	e.text(q.key)
	for _, f := range []float64{q.delay, q.blocked, q.last} {
		e.Float64(f)
	}
	e.Uint32(q.limit)
	e.Int(q.group)
	e.Int(len(q.urls))
	for i := range q.urls {
		q.urls[i].encode(e)
	}
}

func (q *Queue) decode(d *codec.Decoder) {
	q.key = getString(d)
	q.delay = d.Float64In(-1, math.MaxFloat64)
	q.blocked = d.NonNegative()
	q.last = d.Float64In(math.Inf(-1), math.MaxFloat64)
	q.limit = d.Uint32()
	q.group = d.IntIn(none, math.MaxInt)
	n := d.Count(urlSize)
	q.urls = make([]URL, 0, n)
	for range n {
		var u URL
		u.decode(d)
		if d.Err() != nil {
			return
		}
		if u.page != none {
			waits, err := q.crawl.judge.waits(u.page)
			if err != nil {
				d.Check(err)
				return
			}
			d.Require(waits != u.is(asked), "%s is asked, or not, unlike its page", u.text)
			d.Require(!q.crawl.judge.has(u.page), "%s is learnt of as another", u.text)
			q.crawl.judge.note(u.page, spot{q.slot, uint32(len(q.urls))})
		}
		d.Require(u.page != none || !u.is(asked), "%s is asked of no learner", u.text)
		q.urls = append(q.urls, u)
	}
	q.rebuild(q.crawl.state.Latest)
	d.Require(len(q.index) == len(q.urls), "queue %s has a URL twice", q.key)
}

func (u *URL) encode(e *writer) {
	e.text(u.text)
	e.text(u.meta)
	e.Uint64(u.date)
	e.Float64(u.from)
	e.Float64(u.due)
	e.Uint64(u.mark)
	e.Int(u.page)
	e.Uint32(u.created)
	e.Byte(byte(u.flags))
}

func (u *URL) decode(d *codec.Decoder) {
	u.text, u.meta = getString(d), getString(d)
	u.date = d.Uint64()
	u.from = d.NonNegative()
	u.due = d.Float64In(0, math.Inf(1))
	u.mark = d.Uint64()
	u.page = d.IntIn(none, math.MaxInt)
	u.created = d.Uint32()
	u.flags = flags(d.ByteIn(0, byte(allFlags-1)))
}
