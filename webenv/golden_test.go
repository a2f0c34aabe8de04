package webenv

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// requireGolden compares saved state with that of testdata/name.golden.
func requireGolden(t *testing.T, name string, saved []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(file, saved, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, saved, "%s; -update writes it anew", file)
}

// The saved state of an environment in the middle of a run is pinned, and so is
// what the restored one finds next.
func TestSavedBytes(t *testing.T) {
	t.Parallel()
	for _, e := range envs() {
		if !e.simulated {
			continue
		}
		env, err := e.make(3, rand.NewPCG(1, 2))
		require.NoError(t, err)
		poll := func(from, to int) (outcomes string) {
			for k := from; k < to; k++ {
				outcome := "0"
				if _, changed := env.Poll(k%3, float64(k+1)*0.25); changed {
					outcome = "1"
				}
				outcomes += outcome
			}
			return outcomes
		}
		poll(0, 50)
		saved, err := env.(saver).MarshalBinary()
		require.NoError(t, err)
		requireGolden(t, e.name, saved)
		twin := empty(env)
		require.NoError(t, twin.UnmarshalBinary(saved))
		env = twin
		require.Equal(t, goldens[e.name][50:], poll(50, 64), e.name)
	}
}
