package queue

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/chunk"
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// inUse returns a queue of 120 pages after some polls, half of which are in a group, so that there are
// two sets of lots and some hot pages.
func inUse(t *testing.T) Queue {
	const n = 120
	w := newWeb(n, rand.New(rand.NewPCG(1, 2)))
	q := New(n)
	q.AddGroup()
	for p := range uint32(n / 2) {
		q.Take(p)
		q.Join(p, 0)
		w.group[p] = 0
		q.Put(p, 0, 0, w)
	}
	q.Begin(n, 1, 1, 0, false)
	for k := range 5 * n {
		w.now = float64(k + 1)
		p, _ := q.Best(w.now, w)
		q.Take(p)
		w.last[p] = w.now
		q.Put(p, w.when(p, w.now, q.Level()), w.now, w)
	}
	require.NotEmpty(t, q.hot)
	for s := range uint32(q.sets.Len()) {
		require.Greater(t, len(q.sets.At(s).lots), 1)
	}
	return q
}

func refused(t *testing.T, data []byte, q *Queue, why string) {
	t.Helper()
	d, err := codec.NewDecoder(data, "q", 1)
	require.NoError(t, err)
	Decode(d, len(q.place), func(slot int) bool { return q.Waits(uint32(slot)) })
	require.ErrorContains(t, d.Err(), why)
}

// States that contradict themselves are refused, each for its own reason.
func TestContradictions(t *testing.T) {
	t.Parallel()
	t.Run("frequency without a set", func(t *testing.T) {
		q := inUse(t)
		slot := q.hot[0].slot
		data := codectest.Forge(encoded(t, &q), func(body []byte) []byte {
			e := codec.NewEncoder("q", 1)
			empty, err := e.Finish()
			require.NoError(t, err)
			at := len(empty) - 4 + 8 + 4*len(q.place) + 8 + 4*int(slot) // behind two lengths and the places
			require.Zero(t, binary.LittleEndian.Uint32(body[at:]))
			binary.LittleEndian.PutUint32(body[at:], math.Float32bits(2))
			return body
		})
		refused(t, data, &q, "is in no set")
	})
	t.Run("first lot out of range", func(t *testing.T) {
		q := inUse(t)
		lots := q.sets.At(0).lots
		q.sets.At(0).best = lots[0]
		a := encoded(t, &q)
		q.sets.At(0).best = lots[1]
		b := encoded(t, &q)
		at := 0
		for a[at] == b[at] {
			at++
		}
		require.Equal(t, []byte{0, 1}, []byte{a[at], b[at]})
		data := codectest.Forge(a, func(body []byte) []byte { body[at] = byte(len(lots)); return body })
		refused(t, data, &q, "is first")
	})
	t.Run("no first lot", func(t *testing.T) {
		q := inUse(t)
		q.sets.At(0).best = None
		refused(t, encoded(t, &q), &q, "has no first page")
	})
	t.Run("lot of another set", func(t *testing.T) {
		for _, s := range []uint32{0, 1} {
			q := inUse(t)
			slot := q.lots.At(q.sets.At(s).lots[0]).root
			q.group[slot] = ^q.group[slot] // 0 for None, and the other way round
			refused(t, encoded(t, &q), &q, "is in lot")
		}
	})
	t.Run("empty lot that is due", func(t *testing.T) {
		q := inUse(t)
		at := q.insertLot(0, len(q.sets.At(0).lots), 1e6, 1)
		q.lots.At(at).due = 1e6
		refused(t, encoded(t, &q), &q, "has a lot due")
	})
}

// A hot page that stands for a lot stands for the same one after loading.
func TestLotOfHotPageLoaded(t *testing.T) {
	t.Parallel()
	c := newCrawl(3, 300, true, 60, 60)
	stands := 0
	for range 100 {
		c.poll(1)
		r := restored(t, &c.q)
		require.Len(t, r.hot, len(c.q.hot))
		for i, h := range c.q.hot {
			if h.lot == None {
				require.Equal(t, None, int(r.hot[i].lot))
				continue
			}
			stands++
			want, got := c.q.lots.At(h.lot), r.lots.At(r.hot[i].lot)
			require.True(t, got.shown)
			require.Equal(t, want.base, got.base)
			require.Equal(t, want.due, got.due)
		}
	}
	require.Greater(t, stands, 50)
}

// Each thing that a state can say against itself is noticed, whatever else it says.
func TestMoreContradictions(t *testing.T) {
	t.Parallel()
	waits := func(q *Queue) uint32 { return q.lots.At(q.sets.At(0).best).root } // neither held nor hot
	for _, c := range []struct {
		why    string
		change func(q *Queue)
	}{
		{"there is no set", func(q *Queue) { q.sets = chunk.List[set]{} }},
		{"level 1 of 0", func(q *Queue) { q.unit, q.origin, q.level = 1, 0, 1 }},
		{"level 0 of 1", func(q *Queue) { q.unit, q.origin, q.level = 1, 1, 0 }},
		{"is hot", func(q *Queue) { q.unit, q.origin, q.level = 0, 0, 0 }},
		{"is hot", func(q *Queue) { q.hot[0].slot, q.hot[1].slot = q.hot[1].slot, q.hot[0].slot }},
		{"is hot", func(q *Queue) { q.hot[0].slot = uint32(len(q.place)) }},
		{"is in group 1", func(q *Queue) { q.group[waits(q)] = 1 }},
		{"groups of 119 of 120 slots", func(q *Queue) { q.group = q.group[:119] }},
		{"a lot at", func(q *Queue) { q.sets.At(0).tree, q.sets.At(0).news = false, 0 }},
		{"news of 3", func(q *Queue) { q.sets.At(0).tree, q.sets.At(0).news = false, 3 }},
		{"want", func(q *Queue) { slices.Reverse(q.sets.At(0).lots) }},
		{"is out of place", func(q *Queue) { p := waits(q); q.take(p); q.place[p] = inHot | 40 }},
		{"is out of place", func(q *Queue) { p := waits(q); q.take(p); q.place[p] = inHeld | 2 }},
		{"is out of place", func(q *Queue) { q.place[q.sets.At(0).aside.held.Slot[0]] = inHeld | 1 }},
		{"is queued at", func(q *Queue) { q.sets.At(0).aside.held.Slot[0] = uint32(len(q.place)) }},
		{"is queued at", func(q *Queue) { h := q.sets.At(0).aside.held.Slot; h[0] = h[1] }},
		{"is queued at", func(q *Queue) { q.due.Slot[0] = 2 }},
		{"out of order", func(q *Queue) { h := q.sets.At(0).aside.held.Key; h[0], h[1] = 2*h[1], h[0] }},
		{"is not of set", func(q *Queue) { q.group[q.sets.At(0).aside.held.Slot[0]] = 0 }},
		{"is out of place", func(q *Queue) { q.take(q.sets.At(0).aside.deadlines.Slot[0]) }},
		{"is out of place", func(q *Queue) { q.event.Key[0]-- }},
		{"is out of place", func(q *Queue) { q.deadline.Key[0]-- }},
		{"is out of place", func(q *Queue) { q.due.Slot, q.due.Key = q.due.Slot[:1], q.due.Key[:1] }},
		{"is hot and may not be polled", func(q *Queue) { q.sets.At(q.setOf(q.hot[0].slot)).open = false }},
		{"has a lot due at +Inf", func(q *Queue) { q.lots.At(q.sets.At(0).best).due = math.Inf(1) }},
	} {
		q := inUse(t)
		held := 0
		for p := uint32(len(q.place) - 1); held < 2; p-- { // two pages of no group
			if q.Waits(p) && !q.Hot(p) && p != waits(&q) {
				q.Hold(p, 1e4+float64(held))
				held++
			}
		}
		q.SetDeadline(waits(&q), 2e4)
		restored(t, &q)
		c.change(&q)
		refused(t, encoded(t, &q), &q, c.why)
	}
	q := inUse(t)
	d, err := codec.NewDecoder(encoded(t, &q), "q", 1)
	require.NoError(t, err)
	Decode(d, len(q.place), func(slot int) bool { return !q.Waits(uint32(slot)) })
	require.ErrorContains(t, d.Err(), "is out of place")
}

// What a queue becomes in use it can be restored from, also where a forged state has a level, a time unit
// and times as far apart as numbers go: their products overflow.
func TestExtremesDrift(t *testing.T) {
	t.Parallel()
	const least, most = math.SmallestNonzeroFloat64, math.MaxFloat64
	for _, level := range []float64{least, 1, most} {
		for _, origin := range []float64{least, most} {
			for _, unit := range []float64{least, most} {
				q := inUse(t)
				q.level, q.origin, q.unit = level, origin, unit
				for slot := range q.nodes {
					if q.Waits(uint32(slot)) && !q.Hot(uint32(slot)) {
						q.nodes[slot].x = math.MaxFloat32
					}
				}
				q = restored(t, &q)
				w := newWeb(len(q.place), rand.New(rand.NewPCG(3, 4)))
				copy(w.group, q.group)
				for k := range 3 * len(q.place) {
					w.now = float64(6*len(q.place) + k)
					p, _ := q.Best(w.now, w)
					require.Less(t, p, uint32(len(q.place)))
					q.Take(p)
					w.last[p] = w.now
					q.Put(p, w.when(p, w.now, q.Level()), w.now, w)
					q.News(w.group[p], w.now, w)
				}
				restored(t, &q)
			}
		}
	}
}
