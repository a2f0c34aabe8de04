package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A past is all that a naive policy needs to know of a page: when it was polled, and what
// was found.
type past []logged

// naiveGamma sums up over all polls what discountedGamma keeps in two numbers.
func naiveGamma(polls past, start, cycle, memory float64) float64 {
	found, watched, last := 0.0, 0.0, start
	rate := 1 / cycle
	for _, p := range polls {
		gap := p.time - last
		keep := math.Exp(-gap / memory)
		found, watched, last = found*keep, watched*keep+gap, p.time
		if p.changed {
			found += rate * gap / (1 - math.Exp(-rate*gap))
		}
		rate = (0.3 + found) / (0.3*cycle + watched)
	}
	return rate
}

// naiveMiniflux is one over the interval of the feed reader's rule.
func naiveMiniflux(polls past, cycle float64) float64 {
	if len(polls) == 0 {
		return 1 / cycle
	}
	finds := 0.0
	for _, p := range polls {
		if p.changed && p.time > polls[len(polls)-1].time-7*86400 {
			finds++
		}
	}
	longest := math.Max(86400, cycle)
	if finds == 0 {
		return 1 / longest
	}
	return 1 / math.Min(math.Max(7*86400/finds, 300), longest)
}

// Each poll of the peers that learn a frequency is of the page with the greatest
// frequency × weight × gap, by a reference that forgets nothing; ties may go either way.
func TestPeersAgainstNaive(t *testing.T) {
	t.Parallel()
	for name, reference := range map[string]func(polls past, start, cycle float64) float64{
		"discounted":   func(p past, start, cycle float64) float64 { return naiveGamma(p, start, cycle, 0.7*cycle) },
		"proportional": func(p past, start, cycle float64) float64 { return naiveGamma(p, start, cycle, math.Inf(1)) },
		"miniflux":     func(p past, _, cycle float64) float64 { return naiveMiniflux(p, cycle) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen, err := choose(name)
			require.NoError(t, err)
			rapid.Check(t, func(t *rapid.T) {
				j := job{
					pages: rapid.IntRange(1, 6).Draw(t, "pages"), rate: 1 / rapid.Float64Range(100, 2e5).Draw(t, "gap"),
					second: 1, start: rapid.Float64Range(0, 1e9).Draw(t, "start"),
				}
				if rapid.Bool().Draw(t, "weighted") {
					j.weights = rapid.SliceOfN(rapid.SampledFrom(pageWeights), j.pages, j.pages).Draw(t, "weights")
				}
				scheduler, err := chosen[0].new(j)
				require.NoError(t, err)
				cycle := float64(j.pages) / j.rate
				pasts := make([]past, j.pages)
				first := j.start + 1/j.rate // a Fixed counts from the first Next
				for k := range rapid.IntRange(1, 60).Draw(t, "polls") {
					now := j.start + float64(k+1)/j.rate
					page, err := scheduler.Next(now)
					require.NoError(t, err)
					value := func(page int) float64 {
						last := first
						if n := len(pasts[page]); n > 0 {
							last = pasts[page][n-1].time
						}
						v := reference(pasts[page], j.start, cycle) * (now - last)
						if j.weights != nil {
							v *= j.weights[page]
						}
						return v
					}
					for other := range pasts {
						require.GreaterOrEqual(t, value(page), value(other)*(1-1e-6), "poll %d of page %d, not %d", k, page, other)
					}
					changed := rapid.Bool().Draw(t, "changed")
					require.NoError(t, scheduler.Observe(page, now, changed))
					pasts[page] = append(pasts[page], logged{now, changed})
				}
			})
		})
	}
}

// A page that is said to have changed is polled next, once, unless it has been polled since.
func TestPacedSignals(t *testing.T) {
	t.Parallel()
	scheduler, err := newMiniflux(job{pages: 5, rate: 0.001, second: 1})
	require.NoError(t, err)
	hears := scheduler.(*miniflux)
	poll := func(now float64) int {
		page, err := scheduler.Next(now)
		require.NoError(t, err)
		require.NoError(t, scheduler.Observe(page, now, false))
		return page
	}
	var order []int
	for k := 1.0; k <= 5; k++ {
		order = append(order, poll(1000*k))
	}
	last := order[4]
	require.NoError(t, hears.Signal(last, 0, 5500))
	require.Equal(t, last, poll(6000))
	require.Equal(t, order[0], poll(7000))
	require.NoError(t, hears.Signal(last, 0, 5500)) // known before its poll
	require.NoError(t, hears.Signal(last, 1, 7500)) // of a source that is not believed
	require.Equal(t, order[1], poll(8000))
}

// Pages are polled in proportion to the true rates, as far as whole polls allow, also after
// these have moved from page to page.
func TestTrueProportional(t *testing.T) {
	t.Parallel()
	const pages, moves = 120, 12_000
	rate := func(page int, now float64) float64 {
		if now >= moves {
			page++
		}
		return []float64{1, 2, 5}[page%3]
	}
	scheduler, err := told(job.proportional)(job{pages: pages, rate: 1, moves: moves, truth: func(now float64) []float64 {
		rates := make([]float64, pages)
		for page := range rates {
			rates[page] = rate(page, now)
		}
		return rates
	}})
	require.NoError(t, err)
	polls := [2][pages]float64{}
	for now := 1.0; now < 2*moves; now++ {
		page, err := scheduler.Next(now)
		require.NoError(t, err)
		require.NoError(t, scheduler.Observe(page, now, false))
		polls[int(now)/moves][page]++
	}
	for page := range pages { // 1/320, 2/320, 5/320 of the polls
		for half, n := range polls {
			require.InEpsilon(t, moves*rate(page, float64(half*moves))/320, n[page], 0.06, "page %d, half %d", page, half)
		}
	}
}
