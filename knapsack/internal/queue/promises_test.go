package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// No slot has a tag, and none is None.
func TestMaxSlots(t *testing.T) {
	t.Parallel()
	require.Equal(t, MaxSlots-1, int(^tagMask))
	require.Zero(t, uint32(MaxSlots-1)&tagMask)
}

// Before there is a unit, pages come in the order in which they were put.
func TestEarlyPages(t *testing.T) {
	t.Parallel()
	for _, n := range []int{20, 200} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		w, q := newWeb(n, rng), New(n)
		for p := range w.last {
			w.last[p] = math.Inf(-1)
			q.Take(uint32(p))
		}
		order := rng.Perm(n)
		for _, p := range order {
			q.Put(uint32(p), 0, 0, w)
		}
		for _, p := range order {
			got := q.Oldest(1, w)
			require.Equal(t, uint32(p), got)
			q.Take(got)
		}
	}
}

// A page is looked at when it was to be, or earlier by half of the time until then at most.
func TestDue(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{nil, {20, 20, 20, 20}, {100, 40}} {
		c := polled(7, 200, sizes...)
		for range 400 {
			c.poll(1)
			for p := range uint32(200) {
				if c.last[p] == c.now && !c.q.Hot(p) {
					due := c.when(p, c.now, c.q.Level())
					got, slack := c.q.Due(p, c), 1e-6*(due-c.now)+1e-9
					require.LessOrEqual(t, got, due+slack)
					require.GreaterOrEqual(t, got, (c.now+due)/2-slack)
					if c.q.Listed(p) {
						require.InDelta(t, due, got, slack)
					}
				}
			}
		}
	}
}

// That a page is looked at in time does not depend on when its lot was brought up to date: the time that
// has passed counts by the same multiplier as what is left, however that has moved since.
func TestDueAfterNews(t *testing.T) {
	t.Parallel()
	for _, factor := range []float64{0.2, 0.7, 1.5, 4} {
		c := polled(7, 200)
		c.surges[None] = append(c.surges[None], surge{c.now - 2, factor}) // nobody tells the queue
		for p := range uint32(200) {
			if !c.q.Waits(p) || c.q.Hot(p) {
				continue
			}
			due := c.now + 1 + float64(p)/100
			c.q.Rekey(p, due, c.now, c)
			for range 2 {
				c.q.sweep(farSweep, c.now, c)
			}
			require.LessOrEqual(t, c.q.Due(p, c), due+1e-6*due, "page %d, times %v", p, factor)
		}
	}
}

// A lot has the multiplier of its first page, and that of its latest one too, if that is greater and the lot
// has lasted for more than a small part of the time since.
func TestFollow(t *testing.T) {
	t.Parallel()
	w, q := newWeb(1, rand.New(rand.NewPCG(1, 1))), New(1)
	q.Begin(10, 1, 1, 0, false)
	const base = 100
	for _, factor := range []float64{.3, 3} {
		for _, c := range []struct {
			lasted float64
			both   bool
		}{{1, false}, {4.9, false}, {5.1, true}, {50, true}} {
			const now = base + 100
			w.now = now
			w.surges[None] = []surge{{base + c.lasted, factor}}
			a, b := w.Multiplier(None, base), w.Multiplier(None, base+c.lasted)
			require.Equal(t, factor > 1, b > a)
			want := a
			if c.both {
				want = max(a, b)
			}
			for _, alike := range []bool{false, true} {
				l := lot{base: base, last: base + c.lasted, alike: alike}
				if q.update(0, &l, now, w); alike {
					want = a
				}
				require.Equal(t, want, l.m, "%+v", c)
			}
		}
	}
}

// Where multipliers begin to move, young lots follow sooner than it takes to bring all up to date: by then
// they move by a part of themselves.
func TestYoungLotsFollow(t *testing.T) {
	t.Parallel()
	const n = 4000
	lots, off := 0, 0
	for seed := range uint64(8) {
		c := polled(seed, n)
		c.surges[None] = append(c.surges[None], surge{c.now, 4})
		for range n / newsRounds / 2 {
			c.poll(1)
			for _, at := range c.q.sets.At(0).lots {
				if l := *c.q.lots.At(at); l.root != None && c.now-l.base < n/8 {
					m := l.m
					c.q.update(0, &l, c.now, c)
					lots++
					if math.Abs(math.Log(l.m/m)) > 0.4 {
						off++
					}
				}
			}
		}
	}
	t.Logf("%d of %d multipliers are off", off, lots)
	require.Less(t, off, lots/500)
}

// How many lots are begun in a cycle: of some thousand pages 500, of more one for 24 polls, and of very
// many 500 again.
func TestLotsPerCycle(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]float64{100: 500, 12_000: 500, 24_000: 1000, 120_000: 5000,
		1<<17 - 1: (1<<17 - 1) / 24.0, 1 << 17: 500} {
		q := New(n)
		q.Follow(3000)
		require.Equal(t, 3000/want, q.width, n)
	}
}

// The youngest lots are of a few polls each.
func TestYoungestLots(t *testing.T) {
	t.Parallel()
	const n = 20_000
	c := newCrawl(3, n, false)
	for range n / 8 {
		c.poll(1)
	}
	lots := c.q.sets.At(0).lots
	for i := len(lots) - 5; i < len(lots); i++ {
		require.Less(t, c.q.lots.At(lots[i]).base-c.q.lots.At(lots[i-1]).base, pollsOfLot+2.0)
	}
}

// At each answer the youngest lot comes up to date, and one each of the 2, 4, 8 and 16 before; of very
// many pages at each 17th answer.
func TestFreshen(t *testing.T) {
	t.Parallel()
	for n, every := range map[int]int{20_000: 1, 1 << 17: 17} {
		w, q := newWeb(1, rand.New(rand.NewPCG(1, 1))), New(n)
		q.Begin(float64(n), 1, 1, 0, false)
		set := q.sets.At(0)
		for k := range 30 {
			q.insertLot(0, k+1, float64(k+1), 0)
		}
		w.now = 100
		for k := 1; k <= 8*every; k++ {
			q.News(None, w.now, w)
			fresh := 0
			for _, at := range set.lots {
				if q.lots.At(at).m == 1 {
					fresh++
				}
			}
			if k < every {
				require.Equal(t, 1, fresh, "the first lot, %d of %d", k, n)
			}
			if k == 8*every {
				require.Equal(t, 1+1+2+4+8+8, fresh)
			}
		}
	}
}

// Pages that are polled in turn come by the age of their lots, those too of which the first page was taken
// out otherwise.
func TestTakeInTurn(t *testing.T) {
	t.Parallel()
	c := polled(3, 200)
	c.q.Turn(true)
	for _, at := range slices.Clone(c.q.sets.At(0).lots) {
		if root := c.q.lots.At(at).root; root != None {
			c.q.Take(root)
			sound(t, &c.q)
		}
	}
}

// A group that was shut while its lots were brought up to date is looked at anew once it is open.
func TestOpenInTurn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		c := newCrawl(seed, 110, false, 20, 60, 1)
		for range 121 {
			c.poll(1)
		}
		c.ready[1] = c.now + 30
		c.q.SetReady(1, c.ready[1], c.now, c)
		for range 12 {
			c.now += 5
			if c.q.Advance(c.now, c); c.q.Ready(c.now) == c.now {
				c.turn(0)
			}
			sound(t, &c.q)
		}
	}
}

// A list is due when the first of its pages is, whatever the order in which they are put.
func TestListIsDueFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, flatMost).Draw(t, "n")
		w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
		q.Begin(10, 1, 1, 0, false)
		for p := range n {
			q.Take(uint32(p))
		}
		first := math.Inf(1)
		for p := range n {
			due := rapid.Float64Range(2, 9).Draw(t, "due")
			q.Put(uint32(p), due, 1, w)
			first = min(first, due)
			require.InEpsilon(t, first, q.due.key(0), 1e-6)
		}
		_, due, _ := q.gothrough(0, false, w)
		require.InEpsilon(t, first, due, 1e-6)
	})
}

// Of pages of a list that are due at the same time for as long a wait, the one of the least slot is
// first, whatever the order in which they were put, as a queue that is loaded has another one.
func TestListTies(t *testing.T) {
	t.Parallel()
	for _, order := range [][]uint32{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		w, q := newWeb(3, rand.New(rand.NewPCG(1, 1))), New(3)
		q.Begin(10, 1, 1, 0, false)
		for _, p := range order {
			q.Take(p)
			q.Put(p, 4, 1, w)
		}
		first, due, _ := q.gothrough(0, false, w)
		require.Zero(t, first, "%v", order)
		require.InEpsilon(t, 4, due, 1e-6)
	}
}

// A queue is ready now if a page may be polled, when the first one may be again if all are held, and
// never if there is none.
func TestReady(t *testing.T) {
	t.Parallel()
	q := New(2)
	q.Begin(10, 1, 1, 0, false)
	q.Hold(0, 9)
	require.Equal(t, 5., q.Ready(5))
	q.Hold(1, 7)
	require.Equal(t, 7., q.Ready(5))
	require.Equal(t, 8., q.Ready(8))
	q.Take(1)
	require.Equal(t, 9., q.Ready(8))
	q.Take(0)
	require.Equal(t, math.Inf(1), q.Ready(8))
}

// A list that becomes lots before all time, as when pages are imported, is due at once.
func TestUnfoldBeforeTime(t *testing.T) {
	t.Parallel()
	const n = flatMost + 1
	w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(0)
	q.Begin(10, 1, 1, math.Inf(-1), false)
	for p := range uint32(n) {
		w.last[p] = math.Inf(-1)
		if p%2 == 0 {
			w.last[p] = 5 // of a page that was answered before
		}
		q.Grow()
		q.Put(p, w.last[p], math.Inf(-1), w)
	}
	require.False(t, q.Listed(0))
	sound(t, &q)
	for p := range n {
		require.Zero(t, q.nodes[p].x, p)
	}
	require.Equal(t, math.Inf(-1), q.due.key(0))
}

// A list that has become lots is due when the first of them is.
func TestUnfold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		c := polled(seed, 150, flatMost)
		c.q.cool(c.now, c)
		c.q.Take(140)
		c.q.Join(140, 0)
		c.group[140] = 0
		c.q.Put(140, c.now+1e6, c.now, c)
		require.False(t, c.q.Listed(0))
		require.Equal(t, c.q.firstLot(1), c.q.due.key(1))
		sound(t, &c.q)
	}
}

// What multipliers have become is followed by all lots and lists, without news, within about as many polls
// as Clock says.
func TestSweep(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{nil, {20, 20, 20, 20}, {100, 40}, {600, 600}, slices.Repeat([]int{1}, 100)} {
		const n = 1300
		c := polled(8, n, sizes...)
		c.evidence = 3
		for range max(sweepCalls, n/sweepRounds) + 2 {
			c.q.sweep(mostSweep, c.now, c)
		}
		for s := range uint32(c.q.sets.Len()) {
			set := c.q.sets.At(s)
			first := math.Inf(1)
			for _, at := range set.lots {
				l := *c.q.lots.At(at)
				c.q.update(s, &l, c.now, c)
				l.due = c.q.lotDue(&l)
				require.Equal(t, l, *c.q.lots.At(at), "lot %d of set %d", at, s)
				first = min(first, l.due)
			}
			if !set.tree {
				_, first, _ = c.q.gothrough(s, true, c)
			}
			if set.count > 0 {
				require.Equal(t, first, c.q.due.key(s), "set %d", s)
			}
		}
	}
}

// Where no page reaches the level, some become hot all the same: those that are due next, and the best that
// was looked at.
func TestLookAhead(t *testing.T) {
	t.Parallel()
	for _, looked := range []bool{false, true} {
		c := polled(14, 300, 20, 60)
		c.q.cool(c.now, c)
		seen, hot := hotPage{slot: None}, ahead
		if looked {
			seen, hot = hotPage{slot: 7, lot: None, index: c.Index(7, c.now), at: c.now, last: math.Inf(1)}, ahead+1
		}
		c.q.lookAhead(seen, c.now, c)
		require.Len(t, c.q.hot, hot)
		require.Equal(t, looked, c.q.hot[0] == seen)
		for _, h := range c.q.hot {
			require.Equal(t, c.Index(h.slot, c.now), h.index)
			require.Equal(t, c.now, h.at)
		}
		sound(t, &c.q)
	}
}

// A level that falls makes pages due earlier: those of all lots at once, where there are few.
func TestDescend(t *testing.T) {
	t.Parallel()
	const n, one = 400, 3
	c := polled(9, n, 100, 40, 1, flatMost+1)
	c.q.cool(c.now, c)
	for p := range uint32(n) { // one page is left of a tree
		if c.group[p] == one && c.q.sets.At(one+1).count > 1 {
			c.q.Take(p)
		}
	}
	for i := range uint32(c.q.lots.Len()) {
		c.q.retime(i)
	}
	before := c.q.Level()
	for range 12 {
		fall := c.q.fall
		c.q.descend(0, c.now, c)
		require.Equal(t, min(farthestFall, max(c.q.step(), 2*fall)), c.q.fall)
	}
	require.Less(t, c.q.Level(), before*(1-3*c.q.step()))
	for s := range uint32(c.q.sets.Len()) {
		first := math.Inf(1)
		for _, at := range c.q.sets.At(s).lots {
			if l := c.q.lots.At(at); l.root != None {
				require.InEpsilon(t, c.q.lotDue(l), l.due, 1e-9, "lot %d", at)
				first = min(first, l.due)
			}
		}
		if c.q.sets.At(s).tree {
			require.Equal(t, first, c.q.due.key(s), "set %d", s)
		}
	}
	sound(t, &c.q)
	level := c.q.Level()
	c.q.descend(level*(1-1e-6), c.now, c)
	require.Equal(t, level*(1-1e-6), c.q.Level(), "not below the best page")
}

// The level rises where many pages are hot and falls where few are, by a step, and not above the best.
func TestSteer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := New(rapid.IntRange(101, 500).Draw(t, "n"))
		level := rapid.Float64Range(0.5, 2).Draw(t, "level")
		q.Begin(10, 1, level, 0, false)
		require.Equal(t, level, q.Level())
		require.InEpsilon(t, 1, pagesPerNat*float64(len(q.place))*q.step(), 1e-12, "for one page more or less")
		q.hot = make([]hotPage, rapid.IntRange(1, mostHot).Draw(t, "hot"))
		best, fall := rapid.Float64Range(0.4, 2.2).Draw(t, "best"), rapid.Float64Range(0, 0.4).Draw(t, "fall")
		q.fall = fall
		q.steer(best)
		if best < level {
			require.Equal(t, fall, q.fall, "it goes on falling")
			require.Equal(t, level, q.Level())
			return
		}
		require.Zero(t, q.fall)
		switch {
		case len(q.hot) < fewHot:
			require.Equal(t, level*(1-q.step()), q.Level())
		case len(q.hot) > manyHot && level*(1+q.step()) < best:
			require.Equal(t, level*(1+q.step()), q.Level())
		default:
			require.Equal(t, level, q.Level())
		}
	})
}

// Where all indices change by a factor at once, the level does, and pages are due when they were.
func TestShift(t *testing.T) {
	t.Parallel()
	c := polled(10, 200, 20, 60)
	for i := range c.q.hot { // as of the present
		h := &c.q.hot[i]
		h.index, h.at = c.Index(h.slot, c.now), c.now
	}
	var due []float64
	for p := range c.last {
		due = append(due, c.q.Due(uint32(p), c))
		c.web.weight[p] *= 3
	}
	level := c.q.Level()
	c.q.Shift(c)
	require.InEpsilon(t, 3*level, c.q.Level(), 1e-9)
	c.q.setLevel(c.q.Level())
	for p := range c.last {
		require.InEpsilon(t, due[p], c.q.Due(uint32(p), c), 1e-9)
	}
	for _, h := range c.q.hot {
		require.Equal(t, c.Index(h.slot, c.now), h.index)
	}
	for p := range c.last {
		c.web.weight[p] = 0
	}
	c.q.Shift(c)
	require.InEpsilon(t, 3*level, c.q.Level(), 1e-9, "no index to go by")
}

// That indices have grown since they were looked at is no change of all pages.
func TestShiftOfWhatGrows(t *testing.T) {
	t.Parallel()
	c := polled(10, 200, 20, 60)
	for i := range c.q.hot {
		h := &c.q.hot[i]
		h.at = c.now - (c.now-c.Last(h.slot))/10
		h.index = c.Index(h.slot, h.at)
	}
	c.q.hot[0].at, c.q.hot[0].index = math.Inf(-1), 1 // there is news of its group
	level, pace := c.q.Level(), c.q.pace
	for range 100 {
		c.q.Shift(c)
	}
	require.InEpsilon(t, level, c.q.Level(), 1e-9)
	require.InEpsilon(t, pace, c.q.pace, 1e-9)
}

// However far level and origin have moved apart, pages are due at different times.
func TestShiftFarFromTheOrigin(t *testing.T) {
	t.Parallel()
	for _, apart := range []float64{1e200, 1e-200} {
		c := polled(10, 200, 20, 60)
		c.q.origin = c.q.level * apart
		c.q.Shift(c)
		require.InEpsilon(t, math.Pow(apart, 1.0/5), c.q.origin/c.q.level, 1e-9)
		due := map[float64]bool{}
		for p := range uint32(len(c.last)) {
			if c.q.Waits(p) && !c.q.Hot(p) && !c.q.Held(p) {
				c.q.Rekey(p, c.now*(2+float64(p)/100), c.now, c)
				due[c.q.Due(p, c)] = true
			}
		}
		require.Greater(t, len(due), 50)
	}
}

// Hot pages that have fallen below the level make room for others, and the level stays.
func TestFallenPagesAreNotHot(t *testing.T) {
	t.Parallel()
	const n = 200
	w, q := begun(n, false)
	for p := range uint32(mostHot) {
		q.Take(p)
		index := 2.0
		if p >= 4 {
			w.weight[p], index = 1e-9, 1e-9
		}
		q.heat(p, None, index, w.now)
	}
	level := q.Level()
	looks := q.raise(w.now, w)
	require.Equal(t, mostHot/2, looks)
	require.Len(t, q.hot, mostHot-looks)
	require.Equal(t, level, q.Level())
	for p := range uint32(4) {
		require.True(t, q.Hot(p))
	}
}
