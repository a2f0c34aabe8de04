package rates

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// Each estimator comes to the true rate of pages polled as it assumes: at even or at random
// times. The mean over the pages of λ̂/λ is within four standard errors of 1, but for the bias of
// the smoothing, which is of the order of one change in 400 polls.
func TestRates(t *testing.T) {
	t.Parallel()
	const pages, polls = 400, 400
	for _, c := range []struct {
		name string
		make func() Evidence
		even bool
	}{
		{"mle, even", func() Evidence { return new(MLE) }, true},
		{"mle, random", func() Evidence { return new(MLE) }, false},
		{"gamma, even", func() Evidence { return new(Gamma) }, true},
		{"gamma, random", func() Evidence { return new(Gamma) }, false},
		{"cho, even", func() Evidence { return new(Cho) }, true},
		{"avrachenkov, random", func() Evidence { return new(Avrachenkov) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 1))
			evidence := c.make()
			var sum, squares float64
			for slot := range pages {
				evidence.Add()
				rate := math.Exp(rng.Float64()*2 - 1)
				for range polls {
					gap := 1.0
					if !c.even {
						gap = rng.ExpFloat64()
					}
					evidence.Observe(slot, gap, rng.ExpFloat64() < gap*rate, 1)
				}
				r := evidence.Rate(slot, 1) / rate
				sum += r
				squares += r * r
			}
			mean := sum / pages
			sd := math.Sqrt(squares/pages - mean*mean)
			require.InDelta(t, 1, mean, 4*sd/math.Sqrt(pages)+0.01, "sd %v", sd)
			require.Less(t, sd, 0.2)
		})
	}
}

// The likelihood of all gaps, maximised by a search, against the estimate from sums by octave.
func TestMaximumLikelihood(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.Float64Range(0.1, 100), 1, 60).Draw(t, "gaps")
		prior := rapid.Float64Range(0.05, 5).Draw(t, "prior")
		m := new(MLE)
		m.Add()
		if rapid.Bool().Draw(t, "after the answer of another page") { // which came at once
			m.Add()
			m.Observe(1, 1e-6, rapid.Bool().Draw(t, "changed at once"), prior)
		}
		type poll struct {
			gap     float64
			changed bool
		}
		var history []poll
		for _, g := range gaps {
			changed := rapid.Bool().Draw(t, "changed")
			history = append(history, poll{g, changed})
			m.Observe(0, g, changed, prior)
		}
		likelihood := func(l float64) float64 {
			v := 0.5*math.Log(-math.Expm1(-l/prior)) - 0.5*l/prior
			for _, h := range history {
				if h.changed {
					v += math.Log(-math.Expm1(-l * h.gap))
				} else {
					v -= l * h.gap
				}
			}
			return v
		}
		best, at := math.Inf(-1), 0.0
		for l := 1e-4; l < 1e4; l *= 1.002 {
			if v := likelihood(l); v > best {
				best, at = v, l
			}
		}
		longest := 0.0
		for _, h := range history {
			if h.changed {
				longest = max(longest, h.gap)
			}
		}
		within := 0.02
		if at*longest > 1 {
			within = 0.2
		}
		require.InEpsilon(t, at, m.Rate(0, prior), within)
	})
}

// The estimate of Cho and Garcia-Molina by hand: two polls at gaps of 3 of which one found a
// change, and half a poll with half a change lent at a gap of a half.
func TestChoByHand(t *testing.T) {
	t.Parallel()
	m := new(Cho)
	m.Add()
	m.Observe(0, 3, true, 0)
	m.Observe(0, 3, false, 0)
	require.InDelta(t, -math.Log((2.5-1.5+0.5)/(2.5+0.5))/(6.5/2.5), m.Rate(0, math.Ln2), 1e-15)
}

// The rule of Avrachenkov, Patil and Thoppe by hand, from an estimate of 2: 2 + (1/3)/2, less a third.
func TestAvrachenkovByHand(t *testing.T) {
	t.Parallel()
	m := new(Avrachenkov)
	m.Add()
	require.Equal(t, 2.0, m.Rate(0, 2))
	m.Observe(0, 3, true, 2)
	require.InDelta(t, 13./6, m.Rate(0, 5), 1e-15)
	m.Observe(0, 1, false, 5)
	require.InDelta(t, 13./9, m.Rate(0, 5), 1e-15)
}

// Mean and variance of the Gamma posterior against sums over a fine grid of rates.
func TestGammaMoments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prior, gap := rapid.Float64Range(0.2, 5).Draw(t, "prior"), rapid.Float64Range(0.1, 10).Draw(t, "gap")
		m := new(Gamma)
		m.Add()
		a, b := 1.0, 1/prior
		for range rapid.IntRange(0, 3).Draw(t, "polls in vain") {
			m.Observe(0, gap, false, prior)
			b += gap
		}
		require.InEpsilon(t, a/b, m.Rate(0, prior), 1e-12)
		m.Observe(0, gap, true, prior)
		var mass, mean, square float64
		for k := range 60_000 {
			x := (float64(k) + 0.5) / 1000 / b
			p := math.Exp(-b*x) * -math.Expm1(-x*gap)
			mass, mean, square = mass+p, mean+p*x, square+p*x*x
		}
		mean /= mass
		variance := square/mass - mean*mean
		require.InEpsilon(t, mean*mean/variance, m.a[0], 1e-4)
		require.InEpsilon(t, mean/variance, m.b[0], 1e-4)
	})
}

// What was found of a page is forgotten by Reset, goes with its page, and is saved.
func TestEvidenceOfPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, make func() Evidence) {
		m := make()
		for range 3 {
			m.Add()
		}
		fresh := m.Rate(0, 0.7)
		require.InEpsilon(t, 0.7, fresh, 1e-6)
		for k := range 9 {
			m.Observe(1, 1+float64(k), k%3 == 0, 0.7)
			m.Observe(2, 2, true, 0.7)
		}
		require.Equal(t, fresh, m.Rate(0, 0.7))
		learnt := m.Rate(1, 0.7)
		require.NotEqual(t, fresh, learnt)

		load := func(slots int) (Evidence, error) {
			d, to := codectest.Decoder(t, m.Encode), make()
			to.Decode(d, slots)
			return to, d.Done()
		}
		again, err := load(3)
		require.NoError(t, err)
		require.Equal(t, m, again)
		_, err = load(2)
		require.ErrorIs(t, err, codec.ErrCorrupt)

		m.SetPage(0, m.Page(1))
		require.Equal(t, learnt, m.Rate(0, 0.7))
		m.Reset(1)
		require.Equal(t, fresh, m.Rate(1, 0.7))
		require.Equal(t, learnt, m.Rate(0, 0.7))
		other := make()
		other.Add()
		other.SetPage(0, m.Page(2))
		require.InEpsilon(t, m.Rate(2, 0.7), other.Rate(0, 0.7), 1e-6)
	})
}
