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
// crawl began. Each changes early times a cycle at first, and ever less: (1 + age/lasts)^−power times that.
func wakingWeb(pages int, early, lasts, power float64, rng *rand.Rand) *webenv.History {
	const cycles = 100.0
	h := &webenv.History{Names: make([]string, pages), Times: make([][]float64, pages)}
	for i := range pages {
		born := max(0, cycles*(rng.Float64()*1.4-0.4))
		for now := born; now < cycles; {
			h.Times[i] = append(h.Times[i], now)
			now += rng.ExpFloat64() / (early*math.Pow(1+(now-born)/lasts, -power) + 0.01)
		}
	}
	return h
}

// webs returns how many of so many webs a test runs: all with -exact, and half otherwise.
func webs(all int) int {
	if *exact {
		return all
	}
	return all / 2
}

// partWorth returns what a rate filter achieves in 100 cycles, over one without a part: the
// mean of its logarithm over some webs, and the standard error of that. Tests allow three of them, which
// with eight webs are exceeded by chance once in 100 times, and with four once in 35.
func partWorth(t *testing.T, webs int, o Objective, part ablation.Parts, web func(seed uint64) webenv.Env, of func(webenv.Result) float64) (mean, sd float64) {
	sum, squares := 0.0, 0.0
	for seed := range uint64(webs) {
		run := func(without ablation.Parts) float64 {
			env := web(seed)
			f := must(NewRateFilter(env.Len(), RateFilterConfig{Objective: o}))
			f.without = without
			return of(must(webenv.Run(env, f, webenv.RunConfig{Rate: float64(env.Len()), Duration: 100})))
		}
		ratio := math.Log(run(0) / run(part))
		sum += ratio
		squares += ratio * ratio
	}
	mean = sum / float64(webs)
	sd = math.Sqrt((squares/float64(webs) - mean*mean) / float64(webs-1))
	t.Logf("%v with a part, over that without: %.3f ± %.3f", o, math.Exp(mean), sd)
	return mean, sd
}

// waking and steady are webs whose pages wake, and of pages that do not.
func waking(seed uint64) webenv.Env {
	return must(webenv.NewReplay(wakingWeb(300, 30, 1, 0.5, rand.New(rand.NewPCG(seed, 6))), 0))
}
func steady(seed uint64) webenv.Env {
	return must(webenv.NewPoisson(spread(300, seed), rand.NewPCG(seed, 8)))
}

func delayOf(r webenv.Result) float64    { return r.Delay }
func detectedOf(r webenv.Result) float64 { return float64(r.Detected) }

// What is learnt of pages that wait comes from what was expected of a page, in the light of edits, and
// counts in what is predicted. Of many pages it comes from a sample, as of fewer.
func TestWhatIsLearntOfPagesThatWait(t *testing.T) {
	t.Parallel()
	const n = 3000
	for _, few := range []int{1 << 20, 512} {
		f := sampling(n, few, Delay)
		f.without = ablation.Untouched
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
			f.judge(&b, &rates, finding{0, f.last(0), f.last(0) + gap, k%2 == 0}, gap/2, 0.2)
			require.InEpsilon(t, float64(every)*predicted, f.tally.expected-before, 1e-9)
			want.Learn(chance, 4, k%2 == 0, n/every, f.calmly())
			require.Equal(t, want, f.census.Waking)
		}
	}
}

// Where pages wake that one expects to be quiet, the delay is less for what is learnt of those that wait.
//
//	go test ./knapsack -v -run TestPagesThat -exact
func TestPagesThatWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := partWorth(t, webs(16), Delay, ablation.Waking, waking, delayOf)
	require.Less(t, mean+3*sd, 0.0)
}

// Where none do, it costs next to nothing: less than 1.5 %.
func TestPagesThatDoNotWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := partWorth(t, webs(8), Delay, ablation.Waking, steady, delayOf)
	require.Less(t, mean+3*sd, 0.015)
}
