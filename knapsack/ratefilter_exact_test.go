package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// greatestOfAll returns the greatest index of all pages that wait, at O(n).
func (f *RateFilter) greatestOfAll(now float64) (best float64) {
	f.now = now
	for slot := range uint32(len(f.polled)) {
		if f.queue.Waits(slot) {
			best = max(best, f.index(slot, now-f.last(slot)))
		}
	}
	return best
}

// exactness drives a filter through an environment and returns the sum of the indices of the
// pages chosen, at every so many-th poll, over that of the greatest ones. Polls that patience asks
// for are left out, as they are not made for their index, and so are those in turn.
func exactness(f *RateFilter, env webenv.Env, rate float64, polls, every int) (ratio float64) {
	got, want := 0.0, 0.0
	for k := 1; k <= polls; k++ {
		now := float64(k) / rate
		best := 0.0
		if k%every == 0 && f.model.Known() && !f.inTurn() {
			best = f.greatestOfAll(now)
		}
		page := must(f.Next(now))
		slot := uint32(Slot(page))
		gap := now - f.last(slot)
		if best > 0 && gap < lateFrom*f.census.Patience.Cycles()*f.model.Cycle() {
			got += f.index(slot, gap)
			want += best
		}
		_, changed := env.Poll(page, now)
		if err := f.Observe(page, now, changed); err != nil {
			panic(err)
		}
	}
	return got / want
}

// The page chosen is nearly the one with the greatest index, at any budget and from the first
// polls on. A queue of due times that a sweep computes anew twice a cycle reaches 0.60 to 0.94.
func TestRateFilterIsNearlyExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pages int
		least float64
	}{{50, 0.995}, {300, 0.99}, {1000, 0.98}, {1500, 0.9}} {
		if testing.Short() && c.pages > 300 {
			continue
		}
		n := c.pages
		for _, perDay := range []float64{0.0125, 0.05, 0.2} {
			rng := rand.New(rand.NewPCG(1, 5))
			rates := make([]float64, n)
			for i := range rates {
				rates[i] = math.Exp(1.5*rng.NormFloat64()) / 20
			}
			for name, env := range map[string]webenv.Env{
				"bursty":  bursty(n, 1),
				"poisson": must(webenv.NewPoisson(rates, rand.NewPCG(1, 6))),
			} {
				rate := perDay * float64(n)
				f := must(NewRateFilter(n, RateFilterConfig{}))
				ratio := exactness(f, env, rate, int(min(400*rate, 8000)), 1+n/50)
				t.Logf("%d %s pages, %v polls per page and day: %.4f of the greatest index", n, name, perDay, ratio)
				require.GreaterOrEqual(t, ratio, c.least)
			}
		}
	}
}
