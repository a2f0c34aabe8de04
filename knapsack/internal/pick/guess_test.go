package pick

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// Near returns what At does whatever the guess, and the guesses are right but where rounding
// decides.
func TestGuess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		tree := NewSumTree(n)
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		to := rapid.IntRange(from+1, n).Draw(t, "to")
		for i := from; i < to; i++ { // the others are 0
			tree.Set(i, rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 10)).Draw(t, "x"))
		}
		var u [Ahead]uint64
		var guess [Ahead]uint32
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for j := range u {
			u[j] = rng.Uint64()
		}
		u[0], u[1] = 0, 1<<64-1
		tree.Guess(&u, &guess)
		if tree.Total() == 0 {
			return
		}
		for j, u := range u {
			want := tree.At(u)
			if j > 1 {
				require.EqualValues(t, want, guess[j])
			}
			require.Less(t, int(guess[j]), n)
			for _, guess := range []int{int(guess[j]), rng.IntN(n), want} {
				require.Equal(t, want, tree.Near(u, guess, false))
			}
			require.Equal(t, want, tree.Near(u, int(guess[j]), true))
		}
	})
}

// Sums that were rounded up can lead beyond the last number that is not 0. At returns that one all
// the same, and so does Near, of a guess that is not.
func TestGuessOfNothing(t *testing.T) {
	t.Parallel()
	rng, found := rand.New(rand.NewPCG(1, 2)), 0
	for range 20_000 {
		const n = 64
		tree := NewSumTree(n)
		for i := range n / 2 {
			tree.Set(2*i, math.Exp(-4*rng.Float64())) // each beside a 0
		}
		u, guess := [Ahead]uint64{1<<64 - 1}, [Ahead]uint32{}
		tree.Guess(&u, &guess)
		require.Equal(t, n-2, tree.At(u[0]))
		require.Equal(t, n-2, tree.Near(u[0], int(guess[0]), true))
		if guess[0] == n-1 {
			found++
		}
	}
	t.Logf("%d guesses of nothing", found)
	require.Positive(t, found)
}

// The numbers come in the order of the source, those drawn in advance too, and after a save.
func TestAdvance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		a, want := NewAdvance(rand.NewPCG(seed, 1)), rand.NewPCG(seed, 1)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { require.True(t, a.Left() >= 0 && a.Left() <= 2*Ahead) },
			"take": func(t *rapid.T) {
				require.Equal(t, want.Uint64(), a.Uint64())
				require.Equal(t, want.Uint64(), a.Uint64())
			},
			"draw": func(t *rapid.T) {
				for a.Left() > 0 {
					require.Equal(t, want.Uint64(), a.Uint64())
				}
				require.Len(t, a.Draw(2*Ahead), 2*Ahead)
				require.Equal(t, 2*Ahead, a.Left())
				require.Equal(t, want.Uint64(), a.Uint64())
				require.Equal(t, want.Uint64(), a.Uint64())
			},
			"save": func(t *rapid.T) {
				d := codectest.Decoder(t, a.Encode)
				again := DecodeAdvance(d, 2)
				require.NoError(t, d.Done())
				require.Equal(t, a.Left(), again.Left())
				a = again
			},
		})
	})
	for n, good := range map[int]bool{0: true, 1: false, 2: true, 2*Ahead - 2: true, 2*Ahead - 1: false, 2 * Ahead: false, 1000: false} {
		d := codectest.Decoder(t, func(e *codec.Encoder) { e.Source(rand.NewPCG(1, 1)); e.Uint64s(make([]uint64, n)) })
		DecodeAdvance(d, 2)
		require.Equal(t, good, d.Done() == nil, "%d numbers", n)
	}
}
