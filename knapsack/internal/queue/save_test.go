package queue

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

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
	for s := range q.sets {
		require.Greater(t, len(q.sets[s].lots), 1)
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
		lots := q.sets[0].lots
		q.sets[0].best = lots[0]
		a := encoded(t, &q)
		q.sets[0].best = lots[1]
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
		q.sets[0].best = None
		refused(t, encoded(t, &q), &q, "has no first page")
	})
	t.Run("lot of another set", func(t *testing.T) {
		for _, s := range []uint32{0, 1} {
			q := inUse(t)
			slot := q.lots[q.sets[s].lots[0]].root
			q.group[slot] = ^q.group[slot] // 0 for None, and the other way round
			refused(t, encoded(t, &q), &q, "is in lot")
		}
	})
	t.Run("empty lot that is due", func(t *testing.T) {
		q := inUse(t)
		at := q.insertLot(0, len(q.sets[0].lots), 1e6, 1)
		q.lots[at].due = 1e6
		refused(t, encoded(t, &q), &q, "has a lot due")
	})
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
