package game

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// A look ahead changes no choice: pages come and go, answers come in any order, and one of the two
// is saved and loaded.
func TestSameChoices(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		cfg := Config{States: rapid.IntRange(1, 9).Draw(t, "states"), Lambda: 1.5, Capacity: 3, Start: 0.4}
		seed := rapid.Uint64().Draw(t, "seed")
		plain, err := New(n, cfg, rand.NewPCG(seed, 1))
		require.NoError(t, err)
		looks, err := New(n, cfg, rand.NewPCG(seed, 1))
		require.NoError(t, err)
		plain.ahead.from, looks.ahead.from = math.MaxInt, 0
		both := func(do func(l *Amounts)) { do(plain); do(looks) }
		live, in := make([]bool, n), make([]bool, n)
		for slot := range live {
			live[slot], in[slot] = true, true
		}
		flying := []int{}
		out := func(slot int) bool { return slot >= 0 && slot < len(live) && live[slot] }
		t.Repeat(map[string]func(*rapid.T){
			"pick": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "polls") {
					slot, ok := plain.Pick(0)
					other, also := looks.Pick(0)
					require.Equal(t, ok, also)
					require.Equal(t, slot, other)
					if ok {
						flying, in[slot] = append(flying, slot), false
					}
				}
			},
			"answer": func(t *rapid.T) {
				for len(flying) > 0 && rapid.IntRange(0, 9).Draw(t, "more") > 0 {
					i := rapid.IntRange(0, len(flying)-1).Draw(t, "i")
					slot := flying[i]
					flying[i] = flying[len(flying)-1]
					flying = flying[:len(flying)-1]
					changed := rapid.Bool().Draw(t, "changed")
					both(func(l *Amounts) { l.Learn(slot, changed); l.Put(slot, 0) })
					in[slot] = true
				}
			},
			"add": func(t *rapid.T) {
				slot := len(live)
				live, in = append(live, true), append(in, true)
				both(func(l *Amounts) { l.Put(slot, 0) })
			},
			"drop": func(t *rapid.T) {
				if slot := rapid.IntRange(-1, len(live)-1).Draw(t, "slot"); out(slot) && in[slot] {
					both(func(l *Amounts) { l.Drop(slot) })
					live[slot], in[slot] = false, false
				}
			},
			"set": func(t *rapid.T) {
				if slot := rapid.IntRange(-1, len(live)-1).Draw(t, "slot"); out(slot) {
					both(func(l *Amounts) { l.Set(slot, 0.9) })
				}
			},
			"save": func(t *rapid.T) {
				d := codectest.Decoder(t, looks.Encode)
				looks = Decode(d, cfg, len(live), func(slot int) bool { return live[slot] }, func(slot int) bool { return in[slot] })
				require.NoError(t, d.Done())
				looks.ahead.from = 0
			},
		})
	})
}

// The guesses are right nearly always, so that the looks are of use, with pages in few states or
// many, and polls that are answered one by one or fifty at a time.
func TestGuesses(t *testing.T) {
	t.Parallel()
	for _, states := range []int{3, 300} {
		for _, flying := range []int{1, 50} {
			const n, polls = 400_000, 20_000
			l, err := New(n, Config{States: states, Lambda: 1, Start: 0.5, Capacity: n / 4}, rand.NewPCG(1, uint64(states)))
			require.NoError(t, err)
			rng := rand.New(rand.NewPCG(1, 2))
			for slot := range n {
				l.Set(slot, rng.Float64())
			}
			right, queue := 0, []int{}
			var page [pick.Ahead]int
			for k := range polls {
				if l.draws.Left() == 0 {
					l.settle()
					l.look()
					again, j := l.draws, 0 // what was touched
					for again.Left() > 0 {
						again.Uint64()
						k := int(l.ahead.state[j])
						page[j] = l.buckets.At(k, l.buckets.Draw(k, again.Uint64()))
						j++
					}
				}
				want := page[pick.Ahead-l.ahead.polls]
				slot, ok := l.Pick(0)
				require.True(t, ok)
				if slot == want {
					right++
				}
				if queue = append(queue, slot); len(queue) == flying {
					for _, slot := range queue {
						l.Learn(slot, k%3 == 0)
						l.Put(slot, 0)
					}
					queue = queue[:0]
				}
			}
			require.Greater(t, right, polls*8/10, "%d states, %d in flight", states, flying)
			t.Logf("%d states, %d in flight: %d of %d", states, flying, right, polls)
		}
	}
}

// A poll looks ahead if there are so many slots and nothing is left of the look before: for itself
// and for the polls after it.
func TestWhenItLooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, left int }{{7, 0}, {8, pick.Ahead - 1}} {
		l, err := New(c.n, Config{States: 3, Lambda: 1, Start: 0.5, Capacity: 9}, rand.NewPCG(1, 1))
		require.NoError(t, err)
		l.ahead.from = 8
		_, ok := l.Pick(0)
		require.True(t, ok)
		require.Equal(t, c.left, l.ahead.polls, "%d pages", c.n)
		require.Equal(t, 2*c.left, l.draws.Left(), "%d pages", c.n)
	}
}
