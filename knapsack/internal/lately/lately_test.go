package lately

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
)

// exact is the discounted Gamma in floating point.
type exact struct{ changes, cycles float64 }

func (e *exact) log() float64 { return math.Log((prior + e.changes) / (prior + e.cycles)) }

func (e *exact) poll(gap float64, changed bool) {
	v := math.Exp(e.log()) * gap
	keep := math.Exp(-gap / memory)
	e.changes *= keep
	e.cycles = e.cycles*keep + gap
	if changed {
		e.changes += v / -math.Expm1(-v)
	}
}

// Two bytes follow the discounted Gamma that they stand for, also where a poll moves it by less
// than a step: without the dither, logarithms are .03 too great in the mean, and 1.1 at most.
func TestRateFollows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var off, square, most, n float64
	for page := range uint64(300) {
		rate, pace := math.Exp(rng.NormFloat64()*2), math.Exp(2.5+rng.NormFloat64()*1.5)
		var r Rate
		var e exact
		for k := range uint64(500) {
			gap := rng.ExpFloat64() / pace
			changed := rng.Float64() < -math.Expm1(-rate*gap)
			r, n = r.Poll(gap, changed, page*1000+k), n+1
			e.poll(gap, changed)
			if x := e.log(); math.Abs(x) < 6 {
				d := r.Log() - x
				off, square, most = off+d, square+d*d, max(most, math.Abs(d))
			}
		}
	}
	require.InDelta(t, 0, off/n, .005, "the mean is right")
	require.Less(t, math.Sqrt(square/n), .06)
	require.Less(t, most, .5)
}

// Of a page whose changes are all known the rate is that of the discounted Gamma, with a change at
// the end of each gap.
func TestRateOfTimes(t *testing.T) {
	gaps := []float64{.3, .1, .7, 2, .01, .02}
	var want exact
	for _, gap := range gaps {
		keep := math.Exp(-gap / memory)
		want = exact{want.changes*keep + 1, want.cycles*keep + gap}
	}
	sum := 0.0
	for dither := range uint64(400) {
		sum += (Rate{}).Times(slices.Values(gaps), dither).Log()
	}
	require.InDelta(t, want.log(), sum/400, .005)
	require.Equal(t, Rate{}, Rate{}.Times(slices.Values([]float64{}), 7))
}

// A rate that is known otherwise is what it is. Where a cycle is longer the page was watched for fewer of them, in
// which it changed as often.
func TestRateGiven(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{.01, .1, 1, 30} {
		of, longer := 0.0, 0.0
		for dither := range uint64(400) {
			r := Of(rate, dither)
			of += r.Log() / 400
			longer += r.Rescaled(5, dither+1000).Log() / 400
			require.Equal(t, r, r.Rescaled(1, dither))
		}
		cycles := max(memory, prior/rate-prior)
		require.InDelta(t, math.Log(rate), of, .005)
		require.InDelta(t, math.Log(rate*(prior+cycles)/(prior+cycles/5)), longer, .02)
	}
}

// Time of which nothing is known brings a page back to what is thought of any.
func TestRateIsForgotten(t *testing.T) {
	require.Zero(t, Rate{}.Log())
	r := Rate{200, 30}
	before := r.Log()
	for k := range uint64(8) {
		r = r.Pass(.5, k)
		require.Less(t, r.Log(), before)
		before = r.Log()
	}
	require.InDelta(t, 0, r.Pass(50, 1).Log(), step)
}

// Any gap, and any two bytes, leave a rate that is finite, saved and restored.
func rateProperty(t *rapid.T) {
	r := Rate{rapid.Byte().Draw(t, "changes"), rapid.Byte().Draw(t, "cycles")}
	for range rapid.IntRange(1, 20).Draw(t, "polls") {
		gap := math.Pow(10, rapid.Float64Range(-300, 300).Draw(t, "gap"))
		before := r
		r = r.Poll(gap, rapid.Bool().Draw(t, "changed"), rapid.Uint64().Draw(t, "dither"))
		require.LessOrEqual(t, math.Abs(r.Log()), math.MaxUint8*step)
		if r.changes > before.changes+1 && gap < 1e-3 {
			require.Greater(t, r.Log(), before.Log()-2*step, "a find")
		}
	}
	data, err := demo.Save(r.Encode)
	require.NoError(t, err)
	var back Rate
	require.NoError(t, codec.Load(&back, demo, data, func(to *Rate, d *codec.Decoder) { *to = Decode(d) }))
	require.Equal(t, r, back)
}

var demo = codec.Format{Magic: "recrawl/lately.Rate", Version: 1}

func TestRate(t *testing.T) { rapid.Check(t, rateProperty) }
func FuzzRate(f *testing.F) { f.Fuzz(rapid.MakeFuzz(rateProperty)) }
