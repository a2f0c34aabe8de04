package queue

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, queueMachine)
}

func FuzzQueue(f *testing.F) { f.Fuzz(rapid.MakeFuzz(queueMachine)) }

// queueMachine is the queue beside lists of which pages wait or are held, and which groups are shut.
// A twin is saved and restored now and then, and may have shelves, for which the queue is too small.
// It is complex only in sum: each action is a short function, and all share the model.
func queueMachine(t *rapid.T) {
	n := rapid.SampledFrom([]int{3, 40, 150}).Draw(t, "n")
	w := newWeb(n, rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))))
	q, twin := New(n), New(n)
	twin.crowd = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "crowd")
	both := func(call func(q *Queue)) { call(&q); call(&twin) }
	alike := rapid.Bool().Draw(t, "alike") // before their first polls
	if alike {
		w.weight, w.power = slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n)
	}
	const groups = 3
	now, begun := 0.0, false
	out, until := make([]bool, n), slices.Repeat([]float64{math.Inf(-1)}, n)
	deadline := slices.Repeat([]float64{math.Inf(1)}, n)
	ready := slices.Repeat([]float64{math.Inf(-1)}, groups)
	for range groups {
		both(func(q *Queue) { q.AddGroup() })
	}
	shut := func(p int) float64 {
		if g := w.group[p]; g != None {
			return ready[g]
		}
		return math.Inf(-1)
	}
	free := func(p int) float64 { return max(until[p], shut(p)) }
	page := rapid.IntRange(0, n-1)
	wait := func(p int, t float64) {
		out[p] = false
		if until[p] > t {
			both(func(q *Queue) { q.Hold(uint32(p), until[p]) })
			return
		}
		both(func(q *Queue) { q.Put(uint32(p), t, now, w) })
	}
	poll := func(t *rapid.T, p uint32, ok bool) {
		require.True(t, ok && !out[p] && free(int(p)) <= now, "page %d is free from %v on, not %v", p, free(int(p)), now)
		both(func(q *Queue) { q.Take(p) })
		out[p], deadline[p] = true, math.Inf(1)
	}
	next := func(t *rapid.T) {
		now += rapid.SampledFrom([]float64{0, 0.01, 0.1, 1}).Draw(t, "dt")
		w.now = now
		earliest := math.Inf(1)
		for p := range n {
			if !out[p] {
				earliest = min(earliest, max(now, free(p)))
			}
		}
		require.Equal(t, earliest, q.Ready(now))
		if earliest > now {
			return
		}
		both(func(q *Queue) { q.Advance(now, w) })
		require.Equal(t, now, q.Ready(now))
		late, isLate := q.Overdue(now)
		late2, isLate2 := twin.Overdue(now)
		require.Equal(t, late, late2)
		require.Equal(t, isLate, isLate2)
		for p := range n {
			if !out[p] && free(p) <= now && deadline[p] <= now {
				require.True(t, isLate, "page %d", p)
				require.LessOrEqual(t, deadline[late], deadline[p])
			}
		}
		turn := !begun || rapid.IntRange(0, 5).Draw(t, "turn") == 0
		switch {
		case isLate:
			require.LessOrEqual(t, deadline[late], now)
			poll(t, late, true)
		case turn:
			both(func(q *Queue) { q.Turn(true) })
			p := q.Oldest(now, w)
			require.Equal(t, p, twin.Oldest(now, w))
			poll(t, p, p != None)
		default:
			both(func(q *Queue) { q.Turn(false) })
			p, index := q.Best(now, w)
			p2, index2 := twin.Best(now, w)
			require.Equal(t, p, p2)
			require.Equal(t, index, index2)
			poll(t, p, true)
		}
		if !begun && now > 0 {
			begun = true
			both(func(q *Queue) { q.Begin(10, now, 1, 0, alike) })
		}
	}
	answer := func(t *rapid.T) { // now, or ahead of what comes next
		ahead := rapid.SampledFrom([]float64{0, 0, 0, 2}).Draw(t, "ahead")
		for p := range n {
			if out[p] {
				w.last[p] = now + ahead
				wait(p, now)
				both(func(q *Queue) { q.News(w.group[p], now, w) })
			}
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"next":   next,
		"answer": answer,
		"crawl": func(t *rapid.T) {
			for range rapid.IntRange(1, 30).Draw(t, "polls") {
				next(t)
				answer(t)
			}
		},
		"hold": func(t *rapid.T) {
			p := page.Draw(t, "page")
			until[p] = now + rapid.SampledFrom([]float64{-1, 0.5, 3, math.Inf(1)}).Draw(t, "for")
			if until[p] > math.MaxFloat64 {
				until[p] = math.MaxFloat64
			}
			if !out[p] {
				both(func(q *Queue) { q.Take(uint32(p)) })
				deadline[p] = math.Inf(1)
				wait(p, now)
			}
		},
		"deadline": func(t *rapid.T) {
			if p := page.Draw(t, "page"); !out[p] {
				deadline[p] = max(until[p], now+rapid.SampledFrom([]float64{-1, 0, 1, math.Inf(1)}).Draw(t, "in"))
				both(func(q *Queue) { q.SetDeadline(uint32(p), deadline[p]) })
			}
		},
		"join": func(t *rapid.T) {
			p := page.Draw(t, "page")
			g := uint32(rapid.IntRange(-1, groups-1).Draw(t, "group"))
			was := out[p]
			both(func(q *Queue) { q.Take(uint32(p)); q.Join(uint32(p), g) })
			w.group[p], deadline[p] = g, math.Inf(1)
			if !was {
				wait(p, now)
			}
		},
		"ready": func(t *rapid.T) {
			g := rapid.IntRange(0, groups-1).Draw(t, "group")
			ready[g] = now + rapid.SampledFrom([]float64{-1, 0.5, 5}).Draw(t, "for")
			both(func(q *Queue) { q.SetReady(uint32(g), ready[g], now, w) })
		},
		"event": func(t *rapid.T) {
			g := uint32(rapid.IntRange(-1, groups-1).Draw(t, "group"))
			w.surges[g] = append(w.surges[g], surge{now, rapid.SampledFrom([]float64{0.3, 0.9, 1.2, 3}).Draw(t, "factor")})
			both(func(q *Queue) { q.News(g, now, w) })
		},
		"rekey": func(t *rapid.T) {
			if p := page.Draw(t, "page"); q.Waits(uint32(p)) && !q.Held(uint32(p)) {
				both(func(q *Queue) { q.Rekey(uint32(p), now, now, w) })
			}
		},
		"save": func(t *rapid.T) {
			require.True(t, bytes.Equal(encoded(t, &q), encoded(t, &twin)), "the twin has gone another way")
			crowd := twin.crowd
			twin = restored(t, &q)
			twin.crowd = crowd
		},
		"": func(t *rapid.T) {
			for p := range n {
				require.Equal(t, !out[p], q.Waits(uint32(p)))
			}
			sound(t, &q)
			sound(t, &twin)
		},
	})
}
