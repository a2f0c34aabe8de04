package queue

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
)

func restored(t require.TestingT, q *Queue, waits []bool) Queue {
	e := codec.NewEncoder(nil, "q", 1)
	q.Encode(e)
	d, err := codec.NewDecoder(must(e.Finish()), "q", 1)
	require.NoError(t, err)
	r := Decode(d, len(waits), func(slot int) bool { return waits[slot] })
	require.NoError(t, d.Done())
	return r
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The queue beside a list of which pages wait, with which keys and in which groups. It is long
// because a state machine is a list of short actions on common variables.
func TestQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const n = 12
		q := New(n)
		key := slices.Repeat([]float64{math.Inf(-1)}, n) // +Inf: does not wait
		group := slices.Repeat([]int{-1}, n)
		held := map[int]float64{}
		ready := []float64{math.Inf(-1), math.Inf(-1)}
		for range ready {
			q.AddGroup()
		}
		waits := func(p int) bool { return !math.IsInf(key[p], 1) }
		slots, times := rapid.IntRange(0, n-1), rapid.Float64Range(0, 9)
		// take removes a page that waits from the model.
		take := func(p int) {
			key[p] = math.Inf(1)
			delete(held, p)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				if p := slots.Draw(t, "slot"); !waits(p) {
					key[p] = times.Draw(t, "key")
					q.Put(uint32(p), key[p])
				}
			},
			"take": func(t *rapid.T) {
				p := slots.Draw(t, "slot")
				q.Take(uint32(p))
				take(p)
			},
			"first": func(t *rapid.T) {
				if q.Len() == 0 {
					t.Skip("empty")
				}
				p := int(q.At(0))
				q.Take(uint32(p))
				take(p)
			},
			"rekey": func(t *rapid.T) {
				p := slots.Draw(t, "slot")
				if _, ok := held[p]; !ok && waits(p) {
					key[p] = times.Draw(t, "key")
					q.Rekey(uint32(p), key[p])
				}
			},
			"hold": func(t *rapid.T) {
				if q.Len() == 0 {
					t.Skip("empty")
				}
				p, until := int(q.At(0)), times.Draw(t, "until")
				q.Hold(uint32(p), until)
				held[p] = until
			},
			"hold again": func(t *rapid.T) {
				p := slots.Draw(t, "slot")
				if _, ok := held[p]; ok {
					held[p] = times.Draw(t, "until")
					q.Hold(uint32(p), held[p])
				}
			},
			"release": func(t *rapid.T) {
				now := times.Draw(t, "now")
				slot, ok := q.Release(now)
				if !ok {
					for _, until := range held {
						require.Greater(t, until, now)
					}
					return
				}
				for _, until := range held {
					require.LessOrEqual(t, held[int(slot)], until)
				}
				require.LessOrEqual(t, held[int(slot)], now)
				delete(held, int(slot))
				key[slot] = times.Draw(t, "key")
				q.Resume(slot, key[slot])
			},
			"join": func(t *rapid.T) {
				p := slots.Draw(t, "slot")
				q.Take(uint32(p))
				take(p)
				if group[p] = rapid.IntRange(-1, len(ready)-1).Draw(t, "group"); group[p] < 0 {
					q.Join(uint32(p), None)
				} else {
					q.Join(uint32(p), uint32(group[p]))
				}
			},
			"ready": func(t *rapid.T) {
				g := rapid.IntRange(0, len(ready)-1).Draw(t, "group")
				ready[g] = times.Draw(t, "ready")
				q.SetReady(uint32(g), ready[g])
			},
			"save": func(t *rapid.T) {
				var w []bool
				for p := range n {
					w = append(w, waits(p))
				}
				q = restored(t, &q, w)
			},
			"": func(t *rapid.T) {
				fronts := map[int]int{} // pages of a group in main or held
				waiting := map[int]bool{}
				inMain := 0
				for p := range n {
					slot := uint32(p)
					require.Equal(t, waits(p), q.Waits(slot), "slot %d", p)
					_, isHeld := held[p]
					require.Equal(t, isHeld, q.Held(slot))
					if !waits(p) {
						continue
					}
					behind := q.place[p]&heapMask == inGroup
					if g := group[p]; g >= 0 {
						waiting[g] = true
						require.EqualValues(t, g, q.Group(slot))
						require.Equal(t, ready[g], q.Ready(slot))
						if !behind {
							fronts[g]++
						}
					} else {
						require.False(t, behind)
						require.True(t, math.IsInf(q.Ready(slot), -1))
					}
					switch {
					case isHeld:
						require.Equal(t, held[p], q.Key(slot))
					case behind:
						require.Equal(t, key[p], q.Key(slot))
					default:
						inMain++
						require.GreaterOrEqual(t, q.Key(slot), key[p], "it may have come forward late")
						key[p] = q.Key(slot)
					}
				}
				require.Equal(t, inMain, q.Len())
				for g := range waiting {
					require.Equal(t, 1, fronts[g], "group %d", g)
				}
				for i := range q.Len() {
					require.LessOrEqual(t, q.Key(q.At(0)), q.Key(q.At(i)))
				}
			},
		})
	})
}

// The most urgent page of a group stands for it, and the next comes forward when the group
// is ready.
func TestGroup(t *testing.T) {
	t.Parallel()
	q := New(4)
	for p := range uint32(4) {
		q.Take(p)
	}
	g := uint32(q.AddGroup())
	for p, key := range []float64{5, 3, 4} {
		q.Join(uint32(p), g)
		q.Put(uint32(p), key)
	}
	q.Put(3, 6)
	require.Equal(t, 2, q.Len())
	require.EqualValues(t, 1, q.At(0))
	q.SetReady(g, 7)
	q.Take(1)
	require.EqualValues(t, 3, q.At(0), "the group waits")
	require.EqualValues(t, 7, q.Key(2))
	require.EqualValues(t, 5, q.Key(0), "behind")
}

// A queue that contradicts itself is refused.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := func() Queue {
		q := New(5)
		g := uint32(q.AddGroup())
		for p := range uint32(3) {
			q.Take(p)
			q.Join(p, g)
			q.Put(p, float64(p))
		}
		q.Hold(3, 8)
		return q
	}
	q := good()
	restored(t, &q, []bool{true, true, true, true, true})
	for name, spoil := range map[string]func(q *Queue){
		"order":       func(q *Queue) { q.main.Key[0] = 1e9 },
		"twice":       func(q *Queue) { q.main.Slot[0] = q.main.Slot[1] },
		"slot":        func(q *Queue) { q.held.Slot[0] = 77 },
		"NaN":         func(q *Queue) { q.held.Key[0] = math.NaN() },
		"never":       func(q *Queue) { q.held.Key[0] = math.Inf(1) },
		"lost":        func(q *Queue) { q.held = q.main; q.main.Key, q.main.Slot = nil, nil },
		"no front":    func(q *Queue) { q.groups[0].front = None },
		"wrong front": func(q *Queue) { q.groups[0].front = 4 },
		"two fronts":  func(q *Queue) { q.group[4] = 0 },
		"wrong group": func(q *Queue) { q.group[1] = None },
		"no group":    func(q *Queue) { q.group[4] = 3 },
		"groups":      func(q *Queue) { q.group = q.group[1:] },
		"ready":       func(q *Queue) { q.groups[0].ready = math.NaN() },
	} {
		q := good()
		spoil(&q)
		e := codec.NewEncoder(nil, "q", 1)
		q.Encode(e)
		d := must(codec.NewDecoder(must(e.Finish()), "q", 1))
		Decode(d, 5, func(int) bool { return true })
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt, name)
	}
}
