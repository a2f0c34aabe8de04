package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/ablation"
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
// wait: the mean of its logarithm over some webs, and the standard error of that.
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
