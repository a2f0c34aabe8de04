package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A crawl polls the pages of a web by a queue, and knows which wait.
type crawl struct {
	*web
	q             Queue
	weight, power []float64 // of pages that have been polled
	until         []float64
	ready         []float64 // of groups
}

// newCrawl has the first pages in groups of these sizes, and the others in none. Before their first poll
// the pages are alike or not.
func newCrawl(seed uint64, n int, alike bool, sizes ...int) *crawl {
	c := &crawl{web: newWeb(n, rand.New(rand.NewPCG(seed, 1))), q: New(n)}
	c.q.crowd = 2 + int(seed%16) // a queue that is loaded has shelves in other places, if any
	c.weight, c.power = slices.Clone(c.web.weight), slices.Clone(c.web.power)
	if alike {
		c.web.weight, c.web.power = slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n)
	}
	c.until = slices.Repeat([]float64{math.Inf(-1)}, n)
	first := uint32(0)
	for g, size := range sizes {
		c.q.AddGroup()
		c.ready = append(c.ready, math.Inf(-1))
		for p := first; p < first+uint32(size); p++ {
			c.q.Take(p)
			c.q.Join(p, uint32(g))
			c.group[p] = uint32(g)
			c.q.Put(p, 0, 0, c)
		}
		first += uint32(size)
	}
	c.q.Begin(float64(n), 1, 1, 0, alike)
	return c
}

// polled is a crawl of which all pages have been polled.
func polled(seed uint64, n int, sizes ...int) *crawl {
	c := newCrawl(seed, n, false, sizes...)
	for range 2 * n {
		c.poll(1)
	}
	return c
}

// free reports whether a page may be polled.
func (c *crawl) free(p uint32) bool {
	g := c.group[p]
	return c.until[p] <= c.now && (g == None || c.ready[g] <= c.now)
}

// poll polls the best page, a time step after the last, and answers at once. It returns its index.
func (c *crawl) poll(step float64) (index float64) {
	c.now += step
	if c.q.Advance(c.now, c); c.q.Ready(c.now) > c.now {
		return 0
	}
	p, index := c.q.Best(c.now, c)
	c.answer(p)
	return index
}

// best returns the greatest index of all that may be polled.
func (c *crawl) best() (best float64) {
	looks := c.looks
	for p := range uint32(len(c.last)) {
		if c.free(p) {
			best = max(best, c.Index(p, c.now))
		}
	}
	c.looks = looks
	return best
}

func (c *crawl) answer(p uint32) {
	c.q.Take(p)
	c.last[p], c.web.weight[p], c.web.power[p] = c.now, c.weight[p], c.power[p]
	c.q.Put(p, c.when(p, c.now, c.q.Level()), c.now, c)
	c.q.News(c.group[p], c.now, c)
}

// turn polls a page that has been without an answer for longest, to a lot.
func (c *crawl) turn(step float64) (p uint32) {
	c.now += step
	c.q.Turn(true)
	p = c.q.Oldest(c.now, c)
	c.answer(p)
	return p
}

// A queue in use stays sound whatever happens to its pages, groups and multipliers, and when it is saved and
// loaded.
func TestQueueInUse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, alike := rapid.SampledFrom([]int{110, 200}).Draw(t, "n"), rapid.Bool().Draw(t, "alike")
		c := newCrawl(rapid.Uint64().Draw(t, "seed"), n, alike, 20, 60, 1)
		for range rapid.IntRange(0, 2*n).Draw(t, "first polls") {
			c.poll(1)
		}
		page := rapid.Uint32Range(0, uint32(len(c.last)-1))
		group := rapid.Uint32Range(0, uint32(len(c.ready)-1))
		step := rapid.SampledFrom([]float64{0.1, 1, 5})
		some := rapid.IntRange(1, 30)
		one := func(t *rapid.T) uint32 { // a hot page as often as another
			if len(c.q.hot) > 0 && rapid.Bool().Draw(t, "hot") {
				return c.q.hot[rapid.IntRange(0, len(c.q.hot)-1).Draw(t, "hot page")].slot
			}
			return page.Draw(t, "page")
		}
		t.Repeat(map[string]func(*rapid.T){
			"polls": func(t *rapid.T) {
				c.q.Turn(false)
				for range some.Draw(t, "polls") {
					c.poll(step.Draw(t, "step"))
				}
			},
			"turns": func(t *rapid.T) {
				for range some.Draw(t, "turns") {
					c.now += step.Draw(t, "step")
					if c.q.Advance(c.now, c); c.q.Ready(c.now) == c.now {
						require.True(t, c.free(c.turn(0)))
					}
				}
			},
			"advance": func(t *rapid.T) {
				for range 4 { // one may leave some
					c.q.Advance(c.now, c)
				}
				for p := range uint32(len(c.last)) {
					require.Equal(t, c.free(p), c.q.Open(p), "page %d", p)
				}
			},
			"hold": func(t *rapid.T) {
				p := one(t)
				c.until[p] = c.now + rapid.SampledFrom([]float64{1, 30}).Draw(t, "for")
				c.q.Hold(p, c.until[p])
			},
			"shut": func(t *rapid.T) {
				g := group.Draw(t, "group")
				c.ready[g] = c.now + rapid.SampledFrom([]float64{-1, 1, 30}).Draw(t, "for")
				c.q.SetReady(g, c.ready[g], c.now, c)
			},
			"join": func(t *rapid.T) {
				p := one(t)
				c.q.Take(p)
				c.group[p] = group.Draw(t, "group")
				c.q.Join(p, c.group[p])
				c.until[p] = math.Inf(-1)
				c.q.Put(p, c.now, c.now, c)
			},
			"deadline": func(t *rapid.T) {
				p := one(t)
				c.q.SetDeadline(p, max(c.until[p], c.now)+rapid.SampledFrom([]float64{0, 9, math.Inf(1)}).Draw(t, "in"))
			},
			"surge": func(t *rapid.T) {
				g := group.Draw(t, "group")
				c.surges[g] = append(c.surges[g], surge{c.now, rapid.SampledFrom([]float64{0.3, 3}).Draw(t, "factor")})
				c.q.News(g, c.now, c)
			},
			"shift": func(*rapid.T) {
				if len(c.q.hot) > 0 {
					c.q.Shift(c)
				}
			},
			"save": func(t *rapid.T) {
				q := restored(t, &c.q)
				require.Equal(t, c.q.pace, q.pace)
				c.q = q
			},
			"": func(t *rapid.T) {
				ready := math.Inf(1)
				for p := range uint32(len(c.last)) {
					if c.q.Open(p) {
						require.True(t, c.free(p), "page %d", p)
					}
					at := max(c.now, c.until[p])
					if g := c.group[p]; g != None {
						at = max(at, c.ready[g])
					}
					ready = min(ready, at)
				}
				require.Equal(t, ready, c.q.Ready(c.now))
				sound(t, &c.q)
			},
		})
	})
}

// The page polled is the best one, but for what hot ones grow while they are not looked at again. Few are
// looked at, and neither few nor many are hot.
func TestBestOfAll(t *testing.T) {
	t.Parallel()
	const n = 300
	account := func(c *crawl, polls int) (mean, least, looks, hot float64) {
		least, c.looks = 1, 0
		for range polls {
			c.now++
			part := 1 / c.best()
			part *= c.poll(0)
			require.LessOrEqual(t, part, 1+1e-9)
			mean += part
			least = min(least, part)
			hot += float64(len(c.q.hot))
		}
		p := float64(polls)
		return mean / p, least, float64(c.looks) / p, hot / p
	}
	for _, sizes := range [][]int{nil, {20, 20, 20, 20}, {100, 40}, slices.Repeat([]int{1}, 100)} {
		mean, least, looks, hot := account(polled(5, n, sizes...), 900)
		t.Logf("%v: mean %.5f, least %.4f, %.2f looks, %.1f hot", len(sizes), mean, least, looks, hot)
		require.Greater(t, mean, 0.9998)
		require.Greater(t, least, 0.995)
		require.Less(t, looks, 15.)
		require.Greater(t, hot, 10.)
		require.Less(t, hot, 15.)
	}
	for _, sizes := range [][]int{nil, {100, 40}} { // unknown pages are alike, and one look is for all of a lot
		c := newCrawl(5, n, true, sizes...)
		mean, least, looks, _ := account(c, n)
		t.Logf("%v: mean %.5f, least %.4f, %.2f looks", len(sizes), mean, least, looks)
		require.Greater(t, mean, 0.9998)
		require.Greater(t, least, 0.995)
		require.Less(t, looks, 30.)
	}
}

// Pages that are polled in turn are polled once in each round, those too that were hot. In lists they are in
// order.
func TestTurns(t *testing.T) {
	t.Parallel()
	const n = 200
	for _, sizes := range [][]int{nil, {20, 20, 20, 20}, {100, 40}, slices.Repeat([]int{20}, 10)} {
		c := polled(6, n, sizes...)
		require.NotEmpty(t, c.q.hot)
		c.q.Turn(false)
		require.False(t, c.q.lost, "the level is as before")
		polls := 0
		for start := c.now; slices.Min(c.last) <= start; polls++ {
			c.turn(1)
		}
		require.Less(t, polls, 11*n/10)
		for range 2 * n {
			before, oldest := slices.Clone(c.last), slices.Min(c.last)
			p := c.turn(1)
			require.Less(t, c.now-oldest, 1.3*n)
			if len(sizes) == 10 {
				require.Equal(t, oldest, before[p])
			}
		}
	}
}

// After polls in turn the level is where few pages are above it.
func TestLevelIsFound(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, 700} {
		c := polled(11, n)
		for range n {
			c.turn(1)
		}
		c.q.Turn(false)
		require.True(t, c.q.lost)
		c.q.find(c.now, c)
		above := 0
		for p := range uint32(n) {
			if c.Index(p, c.now) > c.q.Level() {
				above++
			}
		}
		require.Greater(t, above, 0)
		require.Less(t, above, max(2*fewHot, n/20))
	}
}

// Among few pages the best one is polled, and its index is the level.
func TestFew(t *testing.T) {
	t.Parallel()
	c := newCrawl(12, 60, false, 5, 20)
	for k := range 500 {
		c.q.Hold(uint32(k%60), c.now+3.5)
		c.until[k%60] = c.now + 3.5
		c.now++
		want := c.best()
		require.Equal(t, want, c.poll(0))
		require.Equal(t, want, c.q.Level())
	}
}
