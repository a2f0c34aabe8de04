package webenv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv/internal/check"
)

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
		check.Golden(t, e.name, saved)
		twin := empty(env)
		require.NoError(t, twin.UnmarshalBinary(saved))
		env = twin
		require.Equal(t, goldens[e.name][50:], poll(50, 64), e.name)
	}
}
