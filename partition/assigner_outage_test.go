package partition

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// An arm that is down is tried after one crawl, and after each attempt in vain twice as long as
// before, up to a bound. An attempt that takes long is paid by as many crawls as make it a small
// share of the time of all sites.
func TestAttemptsGetRarer(t *testing.T) {
	t.Parallel()
	const many = 1 << 40 // sites, so that attempts cost nothing
	o := outage{wait: 1}
	for wait := 1; wait < longestWait; wait *= 2 {
		o.fall(4, many)
		require.Equal(t, wait, o.shut)
		require.False(t, o.ready())
		for range min(wait, 64) {
			o.pass()
		}
		require.Equal(t, wait <= 64, o.ready())
	}
	for range 2 {
		o.fall(4, many)
		require.Equal(t, longestWait, o.shut)
	}
	o = outage{wait: 1}
	o.fall(30, 50)
	require.InDelta(t, 30/(tuned.attemptShare*50), o.shut, 1)
	o.tried, o.shut = true, 0
	require.True(t, o.attempt(tuned.upAgain/2, 50))
	require.Equal(t, outage{wait: 1}, o)
}

// An arm is down whose sites take much longer than expected, unless half of all arms are down: then it
// is not the arm.
func TestHalfOfAllArms(t *testing.T) {
	t.Parallel()
	a := newAssigner(t, 4, 10, AssignerConfig{}, 1)
	found := func(j int, factor float64) bool {
		for range 2 {
			if a.notice(j, 10, factor, 1) {
				return true
			}
		}
		return false
	}
	require.False(t, found(0, tuned.downFrom-0.1))
	for j := range 4 {
		require.Equal(t, j < 2, found(j, tuned.downFrom+0.1), "arm %d", j)
	}
}

// The level of a site is the mean over the arms that it has tried.
func TestLevel(t *testing.T) {
	t.Parallel()
	s := siteState{base: []float32{9, 9, 9, 0, 2, 4}, count: []uint8{1, 1, 1, 0, 1, 3},
		up: make([]float32, 2), down: make([]float32, 2)}
	require.Equal(t, 3., s.level(1, 3, 7))
	s.forget(1, 3)
	require.Equal(t, 7., s.level(1, 3, 7))
}

// Of durations in whole units many are 0. That one of them is 1 for once is no outage, and does not keep
// a site from finding out that one is over.
func TestDurationsOfZeroAreNoOutage(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		const arms, sites = 3, 200
		rng := rand.New(rand.NewPCG(seed, 7))
		mean := make([][arms]float64, sites)
		for i := range mean {
			for j := range mean[i] {
				mean[i][j] = 0.2 + rng.Float64()
			}
		}
		a := newAssigner(t, arms, sites, AssignerConfig{}, seed)
		down := [arms]int{} // crawls of which an arm was down at the end
		for crawl := range 150 {
			outage := crawl >= 50 && crawl < 60
			for i := range sites {
				j, err := a.Next(i)
				require.NoError(t, err)
				duration := mean[i][j] * (0.8 + 0.4*rng.Float64())
				if outage && j == 0 {
					duration *= 30
				}
				require.NoError(t, a.Observe(i, math.Round(duration)))
			}
			for j := range down {
				if a.arm[j].down {
					down[j]++
				}
			}
			require.True(t, !outage || a.arm[0].down, "seed %d, crawl %d", seed, crawl)
		}
		require.Less(t, down[0], 40, "seed %d", seed)
		require.Less(t, down[1]+down[2], 5, "seed %d", seed)
	}
}

// A site whose durations were 0 finds out that an outage is over, by those of all sites.
func TestAttemptOfASiteOfZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level, duration float64
		up              bool
	}{{2, 0, true}, {2, 3, true}, {2, 4, false}, {0, 5, true}} {
		a := newAssigner(t, 2, 1, AssignerConfig{}, 1)
		for range 8 { // from both arms, and often
			_, err := a.Next(0)
			require.NoError(t, err)
			require.NoError(t, a.Observe(0, 0))
		}
		j, err := a.Next(0)
		require.NoError(t, err)
		m := &a.arm[j]
		m.down, m.tried, a.relative.level = true, true, c.level
		require.NoError(t, a.Observe(0, c.duration))
		require.Equal(t, c.up, !m.down, "%+v", c)
		if !c.up {
			require.Less(t, m.shut, longestWait/1000, "%+v", c)
		}
	}
}
