package game

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// The automata of a LAKG against states in a list: the rules of a step, sums, who is in, what is saved.
func TestAmounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{States: rapid.IntRange(1, 9).Draw(t, "states"), Lambda: 1.5,
			Capacity: rapid.Float64Range(0.1, 4).Draw(t, "capacity"), Start: 0.4, Even: rapid.Bool().Draw(t, "even")}
		n := rapid.IntRange(0, 6).Draw(t, "n")
		l, err := New(n, cfg, rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		require.NoError(t, err)
		amount := func(s int) float64 { return math.Pow(float64(s)/float64(cfg.States), cfg.Lambda) }
		nearest := func(x float64) (best int) {
			best = 1
			for s := range cfg.States {
				if math.Abs(amount(s+1)-x) < math.Abs(amount(best)-x) {
					best = s + 1
				}
			}
			return best
		}
		start := nearest(cfg.Start)
		state, in := make([]int, n), make([]bool, n)
		for slot := range state {
			state[slot], in[slot] = start, true
		}
		now := 0.0
		sum := func() (sum float64) {
			for _, s := range state {
				if s > 0 {
					sum += amount(s)
				}
			}
			return sum
		}
		some := func(t *rapid.T, want func(slot int) bool) (slot int, ok bool) {
			var all []int
			for slot := range state {
				if want(slot) {
					all = append(all, slot)
				}
			}
			if len(all) == 0 {
				return 0, false
			}
			return rapid.SampledFrom(all).Draw(t, "slot"), true
		}
		live := func(slot int) bool { return state[slot] > 0 }
		out := func(slot int) bool { return live(slot) && !in[slot] }
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				require.InDelta(t, sum(), l.Total(), 1e-9)
				for slot, s := range state {
					if s > 0 {
						require.InDelta(t, amount(s), l.Frequency(slot), 1e-12)
					}
				}
			},
			"pick": func(t *rapid.T) {
				now++
				_, any := some(t, func(slot int) bool { return in[slot] })
				slot, ok := l.Pick(now)
				require.Equal(t, any, ok)
				if ok {
					require.True(t, in[slot])
					in[slot] = false
				}
			},
			"learn": func(t *rapid.T) {
				slot, ok := some(t, out)
				if !ok {
					return
				}
				changed := rapid.Bool().Draw(t, "changed")
				full := sum() >= cfg.Capacity
				if math.Abs(sum()-cfg.Capacity) < 1e-9 {
					return // rounding decides
				}
				l.Learn(slot, changed)
				switch s := state[slot]; {
				case changed && !full && s < cfg.States:
					state[slot]++
				case !changed && full && s > 1:
					state[slot]--
				}
			},
			"put": func(t *rapid.T) {
				if slot, ok := some(t, out); ok {
					l.Put(slot, now)
					in[slot] = true
				}
			},
			"add": func(t *rapid.T) {
				slot, ok := some(t, func(slot int) bool { return !live(slot) })
				if !ok {
					slot, state, in = len(state), append(state, 0), append(in, false)
				}
				l.Put(slot, now)
				state[slot], in[slot] = start, true
			},
			"drop": func(t *rapid.T) {
				if slot, ok := some(t, live); ok {
					l.Drop(slot)
					state[slot], in[slot] = 0, false
				}
			},
			"set": func(t *rapid.T) {
				if slot, ok := some(t, live); ok {
					s := rapid.IntRange(1, cfg.States).Draw(t, "state")
					l.Set(slot, amount(s))
					state[slot] = s
				}
			},
			"save": func(t *rapid.T) {
				d := codectest.Decoder(t, l.Encode)
				again := Decode(d, cfg, len(state), live, func(slot int) bool { return in[slot] })
				require.NoError(t, d.Done())
				require.Equal(t, codectest.Decoder(t, l.Encode), codectest.Decoder(t, again.Encode))
				l = again
			},
		})
	})
}

// What contradicts who is there, or who is in, is refused.
func TestAmountsContradictions(t *testing.T) {
	t.Parallel()
	cfg := Config{States: 4, Lambda: 1, Capacity: 1, Start: 0.5}
	l, err := New(3, cfg, rand.NewPCG(1, 1))
	require.NoError(t, err)
	gone, ok := l.Pick(1)
	require.True(t, ok)
	all := func(int) bool { return true }
	in := func(slot int) bool { return slot != gone }
	load := func(cfg Config, slots int, live, in func(int) bool) error {
		d := codectest.Decoder(t, l.Encode)
		Decode(d, cfg, slots, live, in)
		return d.Done()
	}
	require.NoError(t, load(cfg, 3, all, in))
	require.ErrorIs(t, load(cfg, 2, all, in), codec.ErrCorrupt)
	require.ErrorIs(t, load(cfg, 3, in, in), codec.ErrCorrupt, "a state of a slot without a page")
	require.ErrorIs(t, load(cfg, 3, all, all), codec.ErrCorrupt, "a page that is in no bucket")
	require.ErrorIs(t, load(Config{States: 1, Lambda: 1}, 3, all, in), codec.ErrCorrupt, "state 2 of 1")
}

// The hierarchy against lists of who is there and who is in. Shares sum to 1, and what was saved goes on
// in the same way.
func TestHierarchy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, states := rapid.IntRange(1, 9).Draw(t, "n"), rapid.IntRange(1, 30).Draw(t, "states")
		random, seed := rapid.Bool().Draw(t, "random"), rapid.Uint64().Draw(t, "seed")
		h := NewHierarchy(n, states, random, rand.NewPCG(seed, 1))
		there, in := make([]bool, n), make([]bool, n)
		for slot := range there {
			there[slot], in[slot] = true, true
		}
		slot := func(t *rapid.T) int { return rapid.IntRange(0, len(there)-1).Draw(t, "slot") }
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				sum, any := 0.0, false
				for slot, ok := range there {
					if any = any || ok; ok {
						require.Positive(t, h.Frequency(slot))
						sum += h.Frequency(slot)
					}
				}
				if any {
					require.InDelta(t, 1, sum, 1e-9)
				}
			},
			"pick": func(t *rapid.T) {
				any := false
				for _, ok := range in {
					any = any || ok
				}
				got, ok := h.Pick(0)
				require.Equal(t, any, ok)
				if ok {
					require.True(t, in[got])
					in[got] = false
				}
			},
			"put": func(t *rapid.T) {
				if slot := slot(t); !in[slot] {
					h.Put(slot, 0)
					there[slot], in[slot] = true, true
				}
			},
			"add": func(t *rapid.T) {
				if len(there) < 40 {
					h.Put(len(there), 0)
					there, in = append(there, true), append(in, true)
				}
			},
			"drop": func(t *rapid.T) {
				if slot := slot(t); there[slot] {
					h.Drop(slot)
					there[slot], in[slot] = false, false
				}
			},
			"reward": func(t *rapid.T) {
				if slot := slot(t); there[slot] {
					before := h.Frequency(slot)
					h.Reward(slot)
					require.GreaterOrEqual(t, h.Frequency(slot), before)
				}
			},
			"save": func(t *rapid.T) {
				d := codectest.Decoder(t, h.Encode)
				again := DecodeHierarchy(d, states, random, len(there), func(slot int) bool { return there[slot] }, func(slot int) bool { return in[slot] })
				require.NoError(t, d.Done())
				require.Equal(t, h, again)
				h = again
			},
		})
	})
}

// A node's automaton of N states: of a reward on its left side, which has the share q, it moves with
// probability 1 − q, of one on its right side with q, and not beyond its ends.
func TestReward(t *testing.T) {
	t.Parallel()
	const states = 9
	at := func(u float64) *constant { return &constant{uint64(u*(1<<53)) << 11} }
	for _, c := range []struct {
		state uint16
		slot  int
		u     float64
		want  uint16
	}{
		{3, 0, 0.69, 4}, {3, 0, 0.71, 3}, {3, 1, 0.29, 2}, {3, 1, 0.31, 3},
		{9, 0, 0, 9}, {8, 0, 0, 9}, {1, 1, 0, 1}, {2, 1, 0, 1},
	} {
		h := NewHierarchy(2, states, true, at(c.u))
		require.EqualValues(t, 5, h.state[1], "halves")
		h.state[1] = c.state
		require.InDelta(t, float64(c.state)/(states+1), h.Frequency(0), 1e-15)
		h.Reward(c.slot)
		require.Equal(t, c.want, h.state[1], "%+v", c)
	}
	// Shares follow the number of pages below as these come and go, until something was learnt: then a new
	// page gets its part of what there is.
	h := NewHierarchy(3, 99, true, at(0))
	require.EqualValues(t, 67, h.state[1])
	require.InDelta(t, 0.33, h.Frequency(2), 1e-12)
	h.Put(3, 0)
	require.InDelta(t, 0.25, h.Frequency(3), 1e-12)
	h.Drop(2)
	require.InDelta(t, 0.33, h.Frequency(3), 1e-12)
	h.Reward(3)
	require.InDelta(t, 0.34, h.Frequency(3), 1e-12)
	h.Put(2, 0)
	require.InDelta(t, 0.17, h.Frequency(3), 1e-12)
	h.Drop(2)
	require.InDelta(t, 0.34, h.Frequency(3), 1e-12)
	// With even spacing the left side is due when it is owed a poll: of q = 0.67 it gets 2 of 3.
	h = NewHierarchy(3, 99, false, at(0))
	var left []bool
	for range 6 {
		slot, ok := h.Pick(0)
		require.True(t, ok)
		left = append(left, slot < 2)
		h.Put(slot, 0)
	}
	require.Equal(t, []bool{true, false, true, true, false, true}, left)
}

// constant is a source that draws the same number again and again.
type constant struct{ u uint64 }

func (c *constant) Uint64() uint64 { return c.u }

// What is no tree of the pages that there are is refused.
func TestHierarchyContradictions(t *testing.T) {
	t.Parallel()
	all := func(int) bool { return true }
	for name, spoil := range map[string]func(h *Hierarchy) (slots int){
		"":                 func(*Hierarchy) int { return 4 },
		"fewer leaves":     func(*Hierarchy) int { return 5 },
		"no power of two":  func(h *Hierarchy) int { h.state, h.turn = h.state[:3], h.turn[:3]; return 3 },
		"a single leaf":    func(h *Hierarchy) int { h.state, h.turn = h.state[:1], h.turn[:1]; return 1 },
		"state 0":          func(h *Hierarchy) int { h.state[2] = 0; return 4 },
		"state N+1":        func(h *Hierarchy) int { h.state[2] = 8; return 4 },
		"a whole poll":     func(h *Hierarchy) int { h.turn[1] = 1; return 4 },
		"a turn too many":  func(h *Hierarchy) int { h.turn = append(h.turn, 0); return 4 },
		"a negative turn":  func(h *Hierarchy) int { h.turn[1] = -0.1; return 4 },
		"no source at all": func(h *Hierarchy) int { h.src = nil; return 4 },
	} {
		h := NewHierarchy(4, 7, false, rand.NewPCG(1, 1))
		slots := spoil(h)
		d := codectest.Decoder(t, h.Encode)
		DecodeHierarchy(d, 7, false, slots, all, all)
		if name == "" {
			require.NoError(t, d.Done())
			continue
		}
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt, name)
	}
}

// Polls of a node with pages on one side only use up nothing of what its other side is owed, and
// what they find moves no share.
func TestHierarchyOfOneSide(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4} {
		for gone := range n {
			h := NewHierarchy(n, 9, false, rand.NewPCG(1, 1))
			h.Drop(gone)
			node := (h.size + gone) / 2
			turn, state := h.turn[node], h.state[node]
			polled := make([]bool, n)
			for range 40 {
				slot, ok := h.Pick(0)
				require.True(t, ok)
				require.NotEqual(t, gone, slot)
				polled[slot] = true
				h.Reward(slot)
				require.Equal(t, turn, h.turn[node])
				require.Equal(t, state, h.state[node])
				h.Put(slot, 0)
			}
			require.True(t, polled[gone^1])
		}
	}
}

// With even spacing a page that is in gets its new amount at once: the next poll is of the page with
// the greater one, if both have waited as long.
func TestSetEven(t *testing.T) {
	t.Parallel()
	for great := range 2 {
		l, err := New(2, Config{States: 10, Lambda: 1, Start: 0.5, Capacity: 9, Even: true}, rand.NewPCG(1, 1))
		require.NoError(t, err)
		for range 2 {
			_, ok := l.Pick(1)
			require.True(t, ok)
		}
		l.Put(0, 1)
		l.Put(1, 1)
		l.Set(great, 1)
		slot, ok := l.Pick(3)
		require.True(t, ok)
		require.Equal(t, great, slot)
	}
}
