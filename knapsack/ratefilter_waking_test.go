package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/webenv"
)

// wakingWeb returns the changes, in 100 cycles, of pages of which most are written long after the
// crawl began. Each changes often at first, and ever less.
func wakingWeb(pages int, rng *rand.Rand) *webenv.History {
	const cycles, early = 100.0, 10.0
	h := &webenv.History{Names: make([]string, pages), Times: make([][]float64, pages)}
	for i := range pages {
		born := max(0, cycles*(rng.Float64()*1.4-0.4))
		for now := born; now < cycles; {
			h.Times[i] = append(h.Times[i], now)
			now += rng.ExpFloat64() / (early/(1+now-born) + 0.01)
		}
	}
	return h
}

// wakingWorth returns the delay of a rate filter over that of one without what is learnt of pages that
// wait: the mean of its logarithm over some webs, and the standard error of that. Tests allow three of
// them, which with eight webs are exceeded by chance once in 100 times.
func wakingWorth(t *testing.T, webs int, web func(seed uint64) webenv.Env, pages int) (mean, sd float64) {
	sum, squares := 0.0, 0.0
	for seed := range uint64(webs) {
		delay := func(without ablation.Parts) float64 {
			f := must(NewRateFilter(pages, RateFilterConfig{Objective: Delay}))
			f.without = without
			return must(webenv.Run(web(seed), f, webenv.RunConfig{Rate: float64(pages), Duration: 100})).Delay
		}
		ratio := math.Log(delay(0) / delay(ablation.Waking))
		sum += ratio
		squares += ratio * ratio
	}
	mean = sum / float64(webs)
	sd = math.Sqrt((squares/float64(webs) - mean*mean) / float64(webs-1))
	t.Logf("delay with what is learnt of pages that wait, over that without: %.3f ± %.3f", math.Exp(mean), sd)
	return mean, sd
}

// What is learnt of pages that wait comes from what was expected of a page, in the light of edits, and
// counts in what is predicted. Of many pages it comes from a sample, as of fewer.
func TestWhatIsLearntOfPagesThatWait(t *testing.T) {
	t.Parallel()
	const n = 3000
	for few, part := range map[int]float64{1 << 20: calmPart, 512: 1} {
		f := sampling(n, few, Delay)
		spin(t, f, 0, 100)
		for range 200 {
			f.census.Waking.Learn(0.1, 5, true, 100, 1)
		}
		want, every, gap := f.census.Waking, f.census.Every(n), 4*f.model.Cycle()
		fresh, b := f.model.Fresh(), belief.Belief{}
		f.model.Unpack(&fresh, &b)
		rates := b.Marginal(4)
		chance := either(1-f.model.Survival(&rates, gap/2), 0.2)
		for k := range 50 {
			predicted := want.Correct(chance, 4, f.fade())
			require.Greater(t, predicted, chance)
			before := f.tally.expected
			f.judge(&b, &rates, 0, gap, gap/2, 0.2, k%2 == 0)
			require.InEpsilon(t, float64(every)*predicted, f.tally.expected-before, 1e-9)
			want.Learn(chance, 4, k%2 == 0, n/every, part)
			require.Equal(t, want, f.census.Waking)
		}
	}
}

// Where pages wake that one expects to be quiet, the delay is less for what is learnt of those that wait.
func TestPagesThatWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := wakingWorth(t, 8, func(seed uint64) webenv.Env {
		return must(webenv.NewReplay(wakingWeb(300, rand.New(rand.NewPCG(seed, 6))), 0))
	}, 300)
	require.Less(t, mean+3*sd, 0.0)
}

// Where none do, it costs next to nothing: less than 1.5 %.
func TestPagesThatDoNotWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := wakingWorth(t, 8, func(seed uint64) webenv.Env {
		return must(webenv.NewPoisson(spread(300, seed), rand.NewPCG(seed, 8)))
	}, 300)
	require.Less(t, mean+3*sd, 0.015)
}
