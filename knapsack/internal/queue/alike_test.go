package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pages that are alike are looked at again when they are due, and within a part of the time for which
// they have waited: 8 over their number, within bounds.
func TestLooksAtAlike(t *testing.T) {
	t.Parallel()
	const start, age = 10.0, 1024.0
	for left, part := range map[int]float64{9: 1.0 / 16, 160: 1.0 / 20, 400: 1.0 / 50, 5000: 1.0 / 512} {
		for _, due := range []float64{start + age + 1, start + age + 100} {
			n := max(flatMost, left) + 1
			w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
			q.Begin(float64(n), 1, 1, start, true)
			at := q.sets.At(0).best
			l := q.lots.At(at)
			slot := uint32(None)
			for int(q.sets.At(0).count) > left {
				slot = l.root
				q.Take(slot)
			}
			w.now = start + age
			q.putOff(slot, at, due, w.now)
			require.InDelta(t, min(due, w.now+age*part), l.last, 1e-9)
			require.Equal(t, l.last, l.due)
		}
	}
}

// Pages that are alike take few looks, too, where each of many groups has a lot of them: 13 a poll in
// all here, and 37 if each lot were looked at as if it had all pages.
func TestLooksAtAlikeInGroups(t *testing.T) {
	t.Parallel()
	const n, groups = 8000, 200
	c := newCrawl(3, n, true, slices.Repeat([]int{n / groups}, groups)...)
	for p := range c.web.weight { // unlike pages that were polled, they hardly grow
		c.web.weight[p], c.web.power[p] = 0.5, 0.05
	}
	for range n / 2 {
		c.poll(1)
	}
	t.Logf("%.1f looks a poll", float64(c.looks)/(n/2))
	require.Less(t, c.looks, 15*n/2)
}

// A page that stands for a lot of pages that are alike goes back to them when it is hot no longer, as
// others are better, pages are polled in turn or its group is shut: a lot that lost a page each time would
// be looked at page by page in the end.
func TestAlikeStayTogether(t *testing.T) {
	t.Parallel()
	const n = 200
	for name, end := range map[string]func(q *Queue, w *web){
		"raise": func(q *Queue, w *web) {
			for len(q.hot) < mostHot {
				slot := q.lots.At(q.sets.At(2).best).root
				q.take(slot)
				q.heat(slot, None, 100, w.now)
			}
			q.raise(w.now, w)
		},
		"turn": func(q *Queue, w *web) { q.cool(w.now, w) },
		"shut": func(q *Queue, w *web) { q.SetReady(0, w.now+1, w.now, w) },
	} {
		w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
		q.AddGroup()
		q.AddGroup()
		for p := range uint32(n) {
			q.Take(p)
			q.Join(p, p%2)
			w.group[p] = p % 2
			q.Put(p, math.Inf(-1), 0, w)
		}
		q.Begin(n, 1, 1, 0, true)
		w.now = 1
		at := q.sets.At(1).lots[0]
		slot := q.lots.At(at).root
		require.True(t, q.lots.At(at).alike, name)
		q.take(slot)
		q.heat(slot, at, 1, w.now)
		before := len(q.sets.At(1).lots)
		end(&q, w)
		require.False(t, q.Hot(slot), name)
		require.False(t, q.lots.At(at).shown, name)
		require.EqualValues(t, n/2, q.sets.At(1).count, name)
		require.Len(t, q.sets.At(1).lots, before, name)
		require.True(t, math.IsInf(q.Due(slot, w), 1), name)
	}
}

// An answer of a group has its pages looked at of which nothing is known.
func TestNewsOfAlike(t *testing.T) {
	t.Parallel()
	const n = 100
	w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
	q.AddGroup()
	for p := range uint32(n) {
		q.Take(p)
		q.Join(p, 0)
		w.group[p] = 0
		q.Put(p, math.Inf(-1), 0, w)
	}
	q.Begin(n, 1, 1, 0, true)
	w.now = 10
	at := q.sets.At(1).lots[0]
	slot := q.lots.At(at).root
	q.take(slot)
	q.putOff(slot, at, 1000, w.now)
	require.Greater(t, q.due.key(1), w.now)
	q.News(0, w.now, w)
	require.Equal(t, w.now, q.due.key(1))
}

// Pages that are alike may have been answered ahead of the present: they are looked at from then on, and what is
// saved before can be restored.
func TestAlikeAhead(t *testing.T) {
	t.Parallel()
	const n, ahead = few + 1, 5.0
	for name, look := range map[string]func(q *Queue, w *web){
		"ahead of time": func(q *Queue, w *web) {
			q.Best(w.now, w)
		},
		"put off": func(q *Queue, w *web) {
			at := q.sets.At(1).lots[0]
			slot := q.lots.At(at).root
			q.take(slot)
			q.putOff(slot, at, w.now+1, w.now)
		},
		"of a group with news": func(q *Queue, w *web) {
			q.News(0, w.now, w)
		},
	} {
		w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
		w.weight, w.power = slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n)
		q.AddGroup()
		for p := range uint32(n) {
			q.Take(p)
			q.Join(p, 0)
			w.group[p], w.last[p] = 0, ahead
			q.Put(p, 0, 0, w)
		}
		q.Begin(n, 1, 1, 0, true)
		w.now = 1
		look(&q, w)
		l := q.lots.At(q.sets.At(1).lots[0])
		require.True(t, l.alike, name)
		require.Equal(t, ahead, l.base, name)
		require.Equal(t, ahead, l.last, name)
		sound(t, &q)
		restored(t, &q)
	}
}

// A page that stands for pages in no group waits alone when others are better: another one stands for
// them at once.
func TestAlikeInNoGroup(t *testing.T) {
	t.Parallel()
	const n = 200
	w, q := begun(n, true)
	at := q.sets.At(0).best
	slot := q.lots.At(at).root
	q.take(slot)
	w.weight[slot] = 1e-9
	q.heat(slot, at, 1e-9, w.now)
	for p := uint32(n - 1); len(q.hot) < mostHot; p-- {
		q.take(p)
		q.heat(p, None, 100, w.now)
	}
	q.raise(w.now, w)
	require.False(t, q.Hot(slot))
	require.Equal(t, w.now, q.lots.At(at).due)
	require.Len(t, q.sets.At(0).lots, 2)
}

// Where there are many pages, one that stands for others of which nothing is known is enough: none is looked
// at that is not due, and the level stays. That ends with the last of them.
func TestOneOfManyIsEnough(t *testing.T) {
	t.Parallel()
	for _, n := range []int{manyPages - 1, manyPages} {
		w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
		require.False(t, q.HasAlike())
		w.weight, w.power = slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n)
		q.Begin(float64(n), 1, 1, 0, true)
		const polls = 30
		for k := range polls {
			w.now = float64(1 + k)
			p, _ := q.Best(w.now, w)
			q.Take(p)
			w.last[p] = w.now
			q.Put(p, w.now+float64(n), w.now, w)
		}
		if n == manyPages {
			require.Equal(t, polls, w.looks)
			require.Equal(t, 1.0, q.Level())
		} else {
			require.Greater(t, w.looks, 2*polls)
			require.Less(t, q.Level(), 1.0)
		}
		require.True(t, q.HasAlike())
		left := n - polls
		for p := range uint32(n) {
			if w.last[p] == 0 && left > 1 && !q.Hot(p) {
				q.Take(p)
				left--
			}
		}
		w.looks = 0
		p, _ := q.Best(w.now+1, w)
		require.Zero(t, w.last[p])
		require.Greater(t, w.looks, 1, "the last one")
		require.False(t, q.HasAlike())
	}
}

// Lots of answers from before the start become one, of pages that are known, as of the start.
func TestBeginAfterAnswers(t *testing.T) {
	t.Parallel()
	const n = 200
	w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
	w.now = 40
	for p := range uint32(n) { // from 20 on they are answered after the start
		if w.last[p] = math.Inf(-1); p < 40 {
			q.Take(p)
			w.last[p] = float64(p)
			q.Put(p, w.last[p], w.now, w)
		}
	}
	require.Len(t, q.sets.At(0).lots, 1+40)
	const start = 19.5
	for p := range w.last {
		w.last[p] = max(w.last[p], start)
	}
	q.Begin(n, 1, 1, start, true)
	sound(t, &q)
	restored(t, &q)
	before, alike := start, 0
	for _, at := range q.sets.At(0).lots {
		l := q.lots.At(at)
		require.GreaterOrEqual(t, l.base, before)
		before = l.base
		pages := 0
		q.walk(l.root, func(p uint32) {
			pages++
			require.Equal(t, l.alike, p >= 20, "page %d", p)
			require.LessOrEqual(t, l.base, w.last[p])
		})
		switch {
		case l.alike && l.base == start:
			alike++
			require.Equal(t, n-40, pages)
		case l.base == start:
			require.Contains(t, []int{0, 20}, pages)
		default:
			require.Equal(t, 1, pages)
		}
	}
	require.Equal(t, 1, alike)
}
