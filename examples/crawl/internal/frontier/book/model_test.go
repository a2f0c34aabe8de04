package book

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/knapsack"
)

// A model is the naive frontier with which a state is compared: it looks at everything.
type model struct {
	urls   map[place]*modelURL
	queues map[place]*modelQueue // by crawl and key
	delay  float64
	paused bool
}

type place struct{ crawl, key, url string }

type modelURL struct {
	meta        string
	date        uint64
	lag         float64
	from, until float64 // it may be given from then on; its lease is over then
	known, done bool
	created     float64
	mark        uint64
}

type modelQueue struct {
	delay, blocked, last float64
	limit                int
}

func (m *model) queue(p place) *modelQueue {
	p.url = ""
	q := m.queues[p]
	if q == nil {
		q = &modelQueue{delay: -1, last: math.Inf(-1)}
		m.queues[p] = q
	}
	return q
}

func (m *model) open(p place, now float64) bool {
	q := m.queue(p)
	delay := q.delay
	if delay < 0 {
		delay = m.delay
	}
	done := 0
	for at, u := range m.urls {
		if at.crawl == p.crawl && at.key == p.key && u.done {
			done++
		}
	}
	return q.blocked <= now && q.last+delay <= now && (q.limit == 0 || done < q.limit)
}

// available returns the URLs that may be given, by queue.
func (m *model) available(crawl, key string, now float64) map[place][]string {
	found := map[place][]string{}
	for at, u := range m.urls {
		q := place{at.crawl, at.key, ""}
		if !m.paused && (crawl == "" || at.crawl == crawl) && (key == "" || at.key == key) &&
			!u.done && u.from <= now && u.until <= now && m.open(q, now) {
			found[q] = append(found[q], at.url)
		}
	}
	return found
}

// A machine drives a state, the model, and a copy that has the events only.
type machine struct {
	s, copy *State
	m       model
	now     float64
}

func (c *machine) tick() float64 {
	c.now += tick
	return c.now
}

const tick = 1.0 / 1024

func (c *machine) log(t *rapid.T, events ...Event) {
	record, err := Encode(events)
	require.NoError(t, err)
	again, err := Decode(record)
	require.NoError(t, err)
	require.Equal(t, events, again)
	for i := range again {
		_, err := c.copy.Apply(&again[i])
		require.NoError(t, err)
	}
}

func (c *machine) apply(t *rapid.T, e Event) int {
	e.At = c.tick()
	gone, err := c.s.Apply(&e)
	require.NoError(t, err)
	c.log(t, e)
	return gone
}

var (
	crawlGen = rapid.SampledFrom([]string{"a", "b"})
	keyGen   = rapid.SampledFrom([]string{"x", "y", "z"})
)

func placeOf(t *rapid.T) place {
	return place{crawlGen.Draw(t, "crawl"), keyGen.Draw(t, "key"), fmt.Sprint("u", rapid.IntRange(0, 5).Draw(t, "url"))}
}

func (c *machine) discovered(t *rapid.T) {
	p := placeOf(t)
	meta := rapid.SampledFrom([]string{"", "m"}).Draw(t, "meta")
	c.apply(t, Event{Kind: Discovered, Crawl: p.crawl, Key: p.key, URL: p.url, Meta: meta})
	c.m.queue(p)
	if c.m.urls[p] == nil {
		c.m.urls[p] = &modelURL{meta: meta, date: uint64(c.now), created: math.Floor(c.now)}
	}
}

func (c *machine) known(t *rapid.T) {
	p := placeOf(t)
	e := Event{Kind: Known, Crawl: p.crawl, Key: p.key, URL: p.url}
	e.Date = uint64(max(0, int(c.now)+rapid.IntRange(-20, 20).Draw(t, "date")))
	if rapid.IntRange(0, 5).Draw(t, "done") == 0 {
		e.Date = 0
	}
	e.Lag = rapid.SampledFrom([]float64{0, 0, 2.5}).Draw(t, "lag")
	signs := Signs{
		Failed: rapid.IntRange(0, 5).Draw(t, "failed") == 0, NotModified: rapid.IntRange(0, 5).Draw(t, "304") == 0,
		Mark: rapid.SampledFrom([]uint64{0, 2, 2, 4, 3}).Draw(t, "mark"),
	}
	before := uint64(0)
	if u := c.m.urls[p]; u != nil {
		before = u.mark
	}
	e.Verdict, e.Mark = c.s.Compare(p.crawl, p.key, p.url, signs)
	want, mark := Compare(before, signs)
	require.Equal(t, want, e.Verdict)
	require.Equal(t, mark, e.Mark)
	e.Free = e.Verdict != Unknown && e.Verdict != Failed && rapid.Bool().Draw(t, "free")
	c.apply(t, e)

	c.m.queue(p)
	u := c.m.urls[p]
	if u == nil {
		u = &modelURL{created: math.Floor(c.now)}
		c.m.urls[p] = u
	}
	u.meta, u.date, u.known, u.done, u.mark, u.until = "", e.Date, true, e.Date == 0, e.Mark, 0
	u.lag, u.from = e.Lag, float64(e.Date)+e.Lag
	if e.Free {
		u.from = 0
	}
}

func (c *machine) get(t *rapid.T) {
	a := &Ask{
		Crawl: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "of"), Key: rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "queue"),
		Queues: rapid.IntRange(0, 3).Draw(t, "queues"), PerQueue: rapid.IntRange(0, 4).Draw(t, "per queue"),
		Lease: float64(rapid.IntRange(1, 20).Draw(t, "lease")), Most: rapid.IntRange(-1, 6).Draw(t, "most"),
	}
	queues, per, most := a.Queues, a.PerQueue, a.Most
	stride := rapid.IntRange(1, 8).Draw(t, "stride")
	now := c.tick() // all steps at one time: the model knows no other
	free := c.m.available(a.Crawl, a.Key, now)
	var all []Gift
	for more := true; more; {
		gifts, events, err := a.Step(c.s, now, stride)
		require.NoError(t, err)
		c.log(t, events...)
		all = append(all, gifts...)
		more = len(gifts) == stride
	}
	a.End(now)

	given := map[place][]string{}
	for _, g := range all {
		p := place{g.Crawl, g.Key, g.URL}
		u := c.m.urls[p]
		require.NotNil(t, u)
		require.Equal(t, u.meta, g.Meta)
		q := place{g.Crawl, g.Key, ""}
		require.Contains(t, free[q], g.URL, "given and not free")
		require.NotContains(t, given[q], g.URL, "given twice")
		given[q] = append(given[q], g.URL)
		u.until = now + a.Lease
		c.m.queue(q).last = now
	}
	possible := 0
	for q, urls := range free {
		n := len(urls)
		if per > 0 {
			n = min(n, per)
		}
		possible += n
		require.LessOrEqual(t, len(given[q]), n)
		if len(given[q]) > 0 && most < 0 {
			require.Len(t, given[q], n, "a queue that gave has more")
		}
		c.inOrder(t, q, given[q], urls)
	}
	wantQueues := len(free)
	if queues > 0 {
		wantQueues = min(wantQueues, queues)
	}
	require.LessOrEqual(t, len(given), wantQueues)
	if most < 0 {
		require.Len(t, given, wantQueues, "more queues have URLs")
	} else {
		require.LessOrEqual(t, len(all), most)
		if queues == 0 {
			require.Len(t, all, min(most, possible))
		}
	}
}

// inOrder requires that of the URLs that nothing was learnt of a queue gave what was due first.
// When others are due moves while URLs are given.
func (c *machine) inOrder(t *rapid.T, at place, given, free []string) {
	q := c.s.Queue(at.crawl, at.key)
	latest := math.Inf(-1)
	check := func(url string, left bool) {
		pos, ok := q.find(url)
		require.True(t, ok)
		item := q.Item(pos)
		if item.Learnt {
			return
		}
		u := c.m.urls[place{at.crawl, at.key, url}]
		require.InDelta(t, float64(u.date)+u.lag, item.Due, 1, "due when its date is")
		require.LessOrEqual(t, latest, item.Due, "%s left: %v", url, left)
		if !left {
			latest = item.Due
		}
	}
	for _, url := range given {
		check(url, false)
	}
	for _, url := range free {
		if !slices.Contains(given, url) && len(given) > 0 {
			check(url, true)
		}
	}
}

func (c *machine) control(t *rapid.T) {
	p := placeOf(t)
	e := Event{Kind: rapid.SampledFrom([]Kind{Delay, Delay, Block, Limit, Active}).Draw(t, "kind"), Crawl: p.crawl, Key: p.key}
	switch e.Kind {
	case Delay:
		e.Seconds = float64(rapid.IntRange(0, 5).Draw(t, "delay"))
		if rapid.IntRange(0, 3).Draw(t, "all") == 0 {
			e.Key, e.Crawl = "", ""
			c.m.delay = e.Seconds
		} else {
			c.m.queue(p).delay = e.Seconds
		}
	case Block:
		e.Seconds = max(0, c.now+float64(rapid.IntRange(-5, 10).Draw(t, "block")))
		c.m.queue(p).blocked = e.Seconds
	case Limit:
		e.Number = uint32(rapid.IntRange(0, 4).Draw(t, "limit"))
		c.m.queue(p).limit = int(e.Number)
	case Active:
		e.On = rapid.IntRange(0, 3).Draw(t, "active") > 0
		c.m.paused = !e.On
	}
	c.apply(t, e)
}

// remove removes URLs, queues or crawls. It is complex only in sum, as the interface has three ways
// of that, and the model none of its own.
func (c *machine) remove(t *rapid.T) {
	p := placeOf(t)
	e := Event{Kind: rapid.SampledFrom([]Kind{DeleteQueue, DeleteCrawl, Purge, Purge}).Draw(t, "kind"), Crawl: p.crawl}
	goes := func(at place, _ *modelURL) bool { return true }
	switch e.Kind {
	case DeleteQueue:
		e.Key = p.key
	case Purge:
		if rapid.Bool().Draw(t, "one") {
			e.Key = p.key
		}
		e.Seconds = max(0, c.now-float64(rapid.IntRange(0, 30).Draw(t, "age")))
		goes = func(_ place, u *modelURL) bool { return u.created < math.Floor(e.Seconds) }
	}
	want := 0
	for at, u := range c.m.urls {
		if at.crawl == p.crawl && (e.Key == "" || at.key == e.Key) && goes(at, u) {
			want++
			delete(c.m.urls, at)
		}
	}
	require.Equal(t, want, c.apply(t, e))
	for at, q := range c.m.queues {
		if at.crawl != p.crawl || e.Key != "" && at.key != e.Key {
			continue
		}
		empty := true
		for u := range c.m.urls {
			empty = empty && (u.crawl != at.crawl || u.key != at.key)
		}
		if e.Kind != Purge || empty && q.delay < 0 && q.blocked <= c.now && q.limit == 0 {
			delete(c.m.queues, at)
		}
	}
}

func (c *machine) restart(t *rapid.T) {
	data, err := c.s.MarshalBinary()
	require.NoError(t, err)
	c.s = New(knapsack.Detections)
	require.NoError(t, c.s.UnmarshalBinary(data))
}

func (c *machine) pass(t *rapid.T) { c.now += float64(rapid.IntRange(1, 15).Draw(t, "seconds")) }

// check compares all that the model knows.
func (c *machine) check(t *rapid.T) {
	urls := 0
	for crawl := range c.s.Crawls() {
		for q := range crawl.Queues() {
			done, leased := 0, 0
			for pos := range q.Len() {
				i := q.Item(uint32(pos))
				u := c.m.urls[place{crawl.Name(), q.Key(), i.URL}]
				require.NotNil(t, u)
				require.Equal(t, u.date, i.Date)
				require.Equal(t, u.meta, i.Meta)
				require.Equal(t, u.known, i.Fetched)
				require.Equal(t, uint64(u.created), i.Created)
				urls++
				if u.done {
					done++
				}
				if u.until > c.now {
					leased++
				}
			}
			require.Equal(t, done, q.Completed())
			require.Equal(t, q.Len()-done, q.Active())
			require.Equal(t, leased, q.Leased(c.now))
			require.Equal(t, c.m.queue(place{crawl.Name(), q.Key(), ""}).blocked > c.now, q.Blocked(c.now))
		}
	}
	require.Equal(t, len(c.m.urls), urls)
	for _, s := range []*State{c.s, c.copy} { // leases end when somebody looks
		for crawl := range s.Crawls() {
			for q := range crawl.Queues() {
				q.advance(c.now)
			}
		}
	}
	a, err := c.s.MarshalBinary()
	require.NoError(t, err)
	b, err := c.copy.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, a, b, "the events do not give the same state")
}

func agrees(t *rapid.T) {
	c := &machine{s: New(knapsack.Detections), copy: New(knapsack.Detections), now: 1000}
	c.m = model{urls: map[place]*modelURL{}, queues: map[place]*modelQueue{}}
	t.Repeat(map[string]func(*rapid.T){
		"discovered": c.discovered, "discovered more": c.discovered,
		"known": c.known, "known more": c.known, "known most": c.known,
		"get": c.get, "get more": c.get, "get most": c.get,
		"control": c.control, "remove": c.remove, "restart": c.restart, "pass": c.pass,
		"": c.check,
	})
}

// A state does what a model does that looks at everything, and its events give the same state.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, agrees)
}

func FuzzModel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(agrees)) }
