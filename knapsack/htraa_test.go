package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// The automaton of one node: its drift is 0 where both sides find changes equally often per poll,
// so that its time average settles there.
func TestTRAABalances(t *testing.T) {
	t.Parallel()
	const polls = 400_000
	h := must(NewHTRAA(2, HTRAAConfig{States: 1000}, rand.NewPCG(1, 1)))
	rng := rand.New(rand.NewPCG(2, 2))
	// A poll of page i finds a change with probability w_i/share_i, up to 1: the balance is at
	// share ∝ w.
	w := []float64{0.3, 0.1}
	mean := 0.0
	for k := range polls {
		page := must(h.Next(float64(k)))
		found := rng.Float64() < w[page]/must(h.Frequency(page))
		require.NoError(t, h.Observe(page, float64(k), found))
		mean += must(h.Frequency(0)) / polls
	}
	// The walk relaxes within some N polls, so that the average has some 400 independent values
	// with a spread of √(q(1−q)/N) ≈ 0.014: four standard errors are 0.003.
	require.InDelta(t, 0.75, mean, 0.004)
}

// With all shares equal and even spacing, polls go round: in any n polls each of 2^k pages is
// polled once.
func TestHTRAAIsUniformAtFirst(t *testing.T) {
	t.Parallel()
	h := must(NewHTRAA(16, HTRAAConfig{States: 999}, rand.NewPCG(1, 1)))
	for round := range 10 {
		seen := map[int]bool{}
		for k := range 16 {
			now := float64(16*round + k)
			page := must(h.Next(now))
			require.NoError(t, h.Observe(page, now, false))
			seen[page] = true
		}
		require.Len(t, seen, 16)
	}
	for _, n := range []int{1, 2, 3, 5, 37} {
		h := must(NewHTRAA(n, HTRAAConfig{States: 60_000}, rand.NewPCG(1, 1)))
		total := 0.0
		for i := range n {
			s := must(h.Frequency(i))
			require.InEpsilon(t, 1/float64(n), s, 0.01, "n = %d", n)
			total += s
		}
		require.InDelta(t, 1, total, 1e-12)
	}
}

// Pages that are added one by one, as in a Keyed, and of which others are removed, are polled equally
// often, too, as long as nothing was learnt.
func TestHTRAAOfAddedPages(t *testing.T) {
	t.Parallel()
	const n = 100
	for _, first := range []int{0, 37, 2 * n} {
		h := must(NewHTRAA(first, HTRAAConfig{States: 60_000}, rand.NewPCG(1, 1)))
		for page := range first {
			if page%3 == 0 {
				require.NoError(t, h.Remove(page))
			}
		}
		for h.Len() < n {
			h.Add()
		}
		for page := range h.All() {
			require.InEpsilon(t, 1/float64(h.Len()), must(h.Frequency(page)), 0.01, "%d pages at first", first)
		}
	}
}

// Where pages are numbered by rate, H-TRAA learns much faster than LAKG: detections in the first
// 20,000 polls of the paper's environments.
func TestHTRAABeatsLAKG(t *testing.T) {
	t.Parallel()
	for _, ab := range [][2]float64{{0.3, 1.5}, {0.3, 1}, {0.9, 1.5}} {
		found := [2]int{}
		for seed := range uint64(4) {
			for i, l := range []Learner{
				must(NewHTRAA(500, HTRAAConfig{}, rand.NewPCG(seed, 1))),
				must(NewLAKG(500, LAKGConfig{}, rand.NewPCG(seed, 1))),
			} {
				env := must(webenv.NewZipf(webenv.ZipfConfig{Pages: 500, Alpha: ab[0], Beta: ab[1]}, rand.NewPCG(seed, 2)))
				found[i] += must(webenv.Run(env, l, webenv.RunConfig{Rate: 1, Polls: 20_000})).Detected
			}
		}
		// A difference of four standard errors of counts, were they independent.
		require.Greater(t, float64(found[0]), float64(found[1])+4*math.Sqrt(float64(found[0]+found[1])), "%v", found)
	}
}

// What the documentation says of the order of pages, in % of 40,000 polls. The standard deviation
// of a mean of six runs is at most .7, a third of what is allowed.
func TestHTRAAByOrder(t *testing.T) {
	t.Parallel()
	const runs, polls = 6, 40_000
	htraa := func(states int) func(rand.Source) Learner {
		return func(src rand.Source) Learner { return must(NewHTRAA(500, HTRAAConfig{states, Random}, src)) }
	}
	lakg := func(start float64) func(rand.Source) Learner {
		return func(src rand.Source) Learner { return must(NewLAKG(500, LAKGConfig{Start: start}, src)) }
	}
	for _, c := range []struct {
		name             string
		learner          func(rand.Source) Learner
		byRate, atRandom float64
	}{
		{"HTRAA", htraa(500), 41, 13}, {"HTRAA of 50 states", htraa(50), 44, 34},
		{"LAKG", lakg(0), 32, 32}, {"LAKG from the least amount", lakg(-1), 43, 43},
	} {
		found := func(shuffled bool) (share float64) {
			for seed := range uint64(runs) {
				u := webenv.ZipfLaw(500, 0.3, 1.5)
				if shuffled {
					rand.New(rand.NewPCG(seed, 9)).Shuffle(len(u), func(i, j int) { u[i], u[j] = u[j], u[i] })
				}
				env := must(webenv.NewSlots(u, webenv.AtMostOnce, 0, rand.NewPCG(seed, 2)))
				result := must(webenv.Run(env, c.learner(rand.NewPCG(seed, 3)), webenv.RunConfig{Polls: polls}))
				share += 100 * float64(result.Detected) / polls / runs
			}
			return share
		}
		byRate, atRandom := found(false), found(true)
		t.Logf("%s: %.1f %% and %.1f %%", c.name, byRate, atRandom)
		require.InDelta(t, c.byRate, byRate, 2, c.name)
		require.InDelta(t, c.atRandom, atRandom, 2, c.name)
	}
}

func TestHTRAASettings(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 1, 65535} {
		_, err := NewHTRAA(3, HTRAAConfig{States: n}, rand.NewPCG(1, 1))
		require.ErrorIs(t, err, ErrConfig)
	}
	_, err := NewHTRAA(3, HTRAAConfig{Spacing: 9}, rand.NewPCG(1, 1))
	require.ErrorIs(t, err, ErrConfig)
}
