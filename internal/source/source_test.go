package source

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequire(t *testing.T) {
	t.Parallel()
	for _, src := range []rand.Source{nil, (*rand.PCG)(nil), (*rand.ChaCha8)(nil), (*rand.Rand)(nil)} {
		require.PanicsWithValue(t, "knapsack: nil source of randomness", func() { Require(src, "knapsack") })
	}
	pcg := rand.NewPCG(1, 2)
	for _, src := range []rand.Source{pcg, rand.NewChaCha8([32]byte{}), rand.New(pcg), fixed(0)} {
		require.NotPanics(t, func() { Require(src, "knapsack") })
	}
}

// fixed is a source of another type, whose zero value is no nil.
type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }
