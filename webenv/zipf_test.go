package webenv

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv/internal/check"
)

// The static law page by page, and the sum of the update probabilities that the
// paper prints for its three environments: 0.76, 2.0 and 2.3 for 500 pages.
func TestZipfStatic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ alpha, beta, sum float64 }{{0.3, 1.5, 0.76}, {0.3, 1, 2.04}, {0.9, 1.5, 2.27}} {
		env, err := NewZipf(ZipfConfig{Pages: 500, Alpha: c.alpha, Beta: c.beta}, check.Source(1))
		require.NoError(t, err)
		sum := 0.0
		for page, u := range ZipfLaw(500, c.alpha, c.beta) {
			require.Equal(t, page, env.(*zipfEnv).rankOf(page))
			require.InEpsilon(t, -math.Log1p(-u), env.Rate(page, 0), 1e-15)
			sum += u
		}
		require.InDelta(t, c.sum, sum, 0.005)
		for _, page := range []int{0, 1, 20} {
			var detected check.Sample
			for k := range 20_000 {
				_, changed := env.Poll(page, 2*float64(k+1))
				detected.AddBool(changed)
			}
			detected.RequireMean(t, 1-math.Pow(1-c.alpha*math.Pow(float64(page+1), -c.beta), 2))
		}
	}
}

// Without a law all pages change alike.
func TestZipfWithoutALaw(t *testing.T) {
	t.Parallel()
	env, err := NewZipf(ZipfConfig{Pages: 5, Alpha: 0.2, Beta: -1}, check.Source(1))
	require.NoError(t, err)
	for page := range 5 {
		require.InEpsilon(t, -math.Log1p(-0.2), env.Rate(page, 0), 1e-15)
	}
}

// The sampler's ranks follow the Zipf law: χ² over its cells, with the check.Critical
// value of Wilson and Hilferty's approximation at z = 4.
func TestZipfSampler(t *testing.T) {
	t.Parallel()
	const draws = 100_000
	for _, beta := range []float64{0, 0.3, 0.75, 1, 1.5, 2, 5} {
		for _, n := range []int{1, 2, 3, 30, 1000} {
			law := ZipfLaw(n, 1, beta)
			total := 0.0
			for _, w := range law {
				total += w
			}
			s := newZipfSampler(n, beta)
			rng := newRandom(check.Source(7)).Rand
			count := make([]float64, n)
			for range draws {
				count[s.rank(rng)]++
			}
			// Cells of one rank while 20 draws are expected, then pooled.
			chi2, cells := 0.0, 0.0
			expected, seen := 0.0, 0.0
			for k := range n {
				expected += draws * law[k] / total
				seen += count[k]
				if expected >= 20 {
					chi2 += (seen - expected) * (seen - expected) / expected
					cells++
					expected, seen = 0, 0
				}
			}
			require.InDelta(t, expected, seen, 20+check.Critical*math.Sqrt(20), "what is left over")
			if df := cells - 1; df > 0 {
				v := 2 / (9 * df)
				require.Less(t, chi2, df*math.Pow(1-v+check.Critical*math.Sqrt(v), 3), "beta %v, n %d", beta, n)
			}
		}
	}
}

// A dynamic environment against a list of what happens in each slot. The page
// at the top of the ranking changes in every slot and the others never
// (1/2^1000), so that nothing is random but which ranks the test swaps.
func propSwap(t *rapid.T) {
	n := rapid.IntRange(2, 5).Draw(t, "pages")
	env, err := NewZipf(ZipfConfig{Pages: n, Alpha: 1, Beta: 1000, SwapEvery: math.MaxInt}, check.Source(8))
	require.NoError(t, err)
	ranking := make([]int, n)
	first := make([]float64, n) // first change not seen, 0: none
	for i := range ranking {
		ranking[i] = i
	}
	now := 0.0
	advance := func(t *rapid.T) {
		next := now + float64(rapid.IntRange(0, 6).Draw(t, "halves"))/2
		for slot := math.Floor(now) + 1; slot <= next; slot++ {
			if top := ranking[0]; first[top] == 0 {
				first[top] = slot
			}
		}
		now = next
	}
	t.Repeat(map[string]func(*rapid.T){
		"poll": func(t *rapid.T) {
			advance(t)
			page := rapid.IntRange(0, n-1).Draw(t, "page")
			since, changed := env.Poll(page, now)
			require.Equal(t, first[page] != 0, changed)
			require.Equal(t, first[page], since)
			first[page] = 0
		},
		"swap": func(t *rapid.T) {
			advance(t)
			k := rapid.IntRange(0, n-1).Draw(t, "rank")
			env.(*zipfEnv).swap(k, now)
			if k+1 < n {
				ranking[k], ranking[k+1] = ranking[k+1], ranking[k]
			}
		},
		"": func(t *rapid.T) {
			for rank, page := range ranking {
				require.Equal(t, rank, env.(*zipfEnv).rankOf(page))
				require.Equal(t, uint32(page), env.(*zipfEnv).page[rank])
			}
			require.True(t, math.IsInf(env.Rate(ranking[0], now), 1))
		},
	})
}

func TestSwap(t *testing.T) { t.Parallel(); rapid.Check(t, propSwap) }

func FuzzSwap(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propSwap)) }

// A page that swaps rank between two polls follows one law before and the other
// after, whether or not it had changed before.
func TestSwapLaw(t *testing.T) {
	t.Parallel()
	const pages = 60_000
	for _, law := range []SlotLaw{AtMostOnce, PoissonInSlot} {
		var detected, fresh check.Sample
		for seed := range uint64(pages / 2) {
			env, err := NewZipf(ZipfConfig{Pages: 2, Alpha: 0.3, Beta: 2, Law: law, SwapEvery: math.MaxInt}, check.Source(seed))
			require.NoError(t, err)
			env.(*zipfEnv).swap(0, 3)
			since, changed := env.Poll(0, 8)
			detected.AddBool(changed)
			if !changed {
				since = 8
			}
			fresh.Add(since)
		}
		u, v := 0.3, 0.3/4
		detected.RequireMean(t, 1-math.Pow(1-u, 3)*math.Pow(1-v, 5))
		want := (1-math.Pow(1-u, 3))/u + math.Pow(1-u, 3)*(1-math.Pow(1-v, 5))/v
		if law == PoissonInSlot {
			a, b := -math.Log1p(-u), -math.Log1p(-v)
			want = (1-math.Exp(-3*a))/a + math.Exp(-3*a)*(1-math.Exp(-5*b))/b
		}
		fresh.RequireMean(t, want)
	}
}

// Every r polls one pair of neighbours in the ranking swaps, at a rank that
// follows the Zipf law.
func TestSwapEvery(t *testing.T) {
	t.Parallel()
	const n, r = 6, 3
	env, err := NewZipf(ZipfConfig{Pages: n, Alpha: 0.9, Beta: 1.5, SwapEvery: r}, check.Source(9))
	require.NoError(t, err)
	before := make([]int, n)
	swaps := make([]check.Sample, n) // by rank; n−1 stands for no swap
	for k := 1; k <= 60_000; k++ {
		for rank, page := range env.(*zipfEnv).page {
			before[rank] = int(page)
		}
		env.Poll(k%n, float64(k))
		swapped := -1
		for rank := range n - 1 {
			if int(env.(*zipfEnv).page[rank]) != before[rank] {
				swapped = rank
				break
			}
		}
		if k%r != 0 {
			require.Equal(t, -1, swapped)
			continue
		}
		if swapped < 0 {
			swapped = n - 1
		} else {
			before[swapped], before[swapped+1] = before[swapped+1], before[swapped]
		}
		for rank, page := range before {
			require.Equal(t, uint32(page), env.(*zipfEnv).page[rank])
			require.Equal(t, rank, env.(*zipfEnv).rankOf(page))
		}
		for rank := range swaps {
			swaps[rank].AddBool(rank == swapped)
		}
	}
	law := ZipfLaw(n, 0.9, 1.5)
	total := 0.0
	for _, u := range law {
		total += u
	}
	for rank := range swaps {
		swaps[rank].RequireMean(t, law[rank]/total, "rank %d", rank)
	}
}
