package partition

import (
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
