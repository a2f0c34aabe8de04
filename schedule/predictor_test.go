package schedule

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

func TestMethodsByHand(t *testing.T) {
	t.Parallel()
	var tr track
	for _, d := range []float64{10, 20, 6, 100, 8, 12} {
		tr.update(d)
	}
	require.Equal(t, 10.0, tr.predict(byLastTwo))
	require.Equal(t, 12.0, tr.predict(byMedian)) // of 20 6 100 8 12
	ewma := 10.0
	for _, d := range []float64{20, 6, 100, 8, 12} {
		ewma = .7*ewma + .3*d
	}
	require.InDelta(t, ewma, tr.predict(byEWMA), 1e-12)
	level, trend := 10.0, 0.0
	for _, d := range []float64{20, 6, 100, 8, 12} {
		next := .5*d + .5*(level+trend)
		trend += .2 * (next - level - trend)
		level = next
	}
	require.InDelta(t, level+trend, tr.predict(byHolt), 1e-9)
	require.InDelta(t, (10.+20+6+100+8+12)/6, tr.predict(byTruncated), 1e-9, "100 is below ten times the mean")
	tr.update(1e6)
	require.InDelta(t, (156+10*26.)/7, tr.predict(byTruncated), 1e-9, "a wild run counts ten means")
}

// TestBacktestPicksTheRightMethod has worlds each of which one method suits: a trend, and
// outliers.
func TestBacktestPicksTheRightMethod(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	trend, outliers := make([][]float64, 40), make([][]float64, 40)
	for z := range trend {
		for k := range 30 {
			trend[z] = append(trend[z], 100+20*float64(k)+rng.Float64())
			d := 100 * math.Exp(.05*rng.NormFloat64())
			if rng.IntN(6) == 0 {
				d *= 20
			}
			outliers[z] = append(outliers[z], d)
		}
	}
	e, err := Backtest(trend)
	require.NoError(t, err)
	scores := e.Scores()
	require.Equal(t, "Holt", scores[0].Method)
	require.InDelta(t, 700, must(e.Predict(3)).Mean, 20)
	require.Equal(t, 40*29, scores[0].Runs)
	e, err = Backtest(outliers)
	require.NoError(t, err)
	scores = e.Scores()
	require.Equal(t, "median", scores[0].Method)
	require.InDelta(t, 100, must(e.Predict(3)).Mean, 15)
	for k := 1; k < len(scores); k++ {
		require.LessOrEqual(t, scores[k-1].AbsError, scores[k].AbsError)
	}
	_, err = Backtest([][]float64{{1}, {1, -2}})
	require.EqualError(t, err, ErrDuration.Error()+": site 1: -2 (run 1)")
	e, err = Backtest([][]float64{{1}, {1, math.E}}) // one prediction, 1 for e
	require.NoError(t, err)
	for _, score := range e.Scores() {
		require.InDelta(t, 1, score.AbsError, 1e-12)
		require.InDelta(t, 1, score.Spread, 1e-12)
		require.Equal(t, 1, score.Runs)
	}
	require.Equal(t, e.Scores()[0].Method, must(e.Predict(0)).Method) // also where all are equal
	e, err = Backtest([][]float64{{3}})                               // nothing to score yet
	require.NoError(t, err)
	require.Equal(t, Score{Method: must(e.Predict(0)).Method}, e.Scores()[0])
	_, err = Backtest([][]float64{{1, 2}, {3, -1}})
	require.ErrorIs(t, err, ErrDuration)
}

// TestSpreadIsThatOfTheErrors predicts independent lognormal runs: the log error of the
// mean of two of spread s has variance s²·(1 + 1/2) nearly, for small s. Over 4000
// predictions its root mean square has a standard error of at most 2/√(2·4000) = 2.3 %
// (successive ones are correlated); 4 of these are 9 %.
func TestSpreadIsThatOfTheErrors(t *testing.T) {
	t.Parallel()
	const s = .1
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		e := &DurationPredictor{}
		for range 102 {
			for z := range 40 {
				require.NoError(t, e.Observe(z, 50*math.Exp(s*rng.NormFloat64())))
			}
		}
		for _, score := range e.Scores() {
			if score.Method == "last two" {
				require.InEpsilon(t, s*math.Sqrt(1.5), score.Spread, .09)
			}
		}
		p := must(e.Predict(0))
		require.Equal(t, 102, p.Runs)
		require.InEpsilon(t, p.Mean*s, p.SD, .5)
		require.InDelta(t, 50, e.PredictNew().Mean, 4)
	}
}

func TestPredictorErrors(t *testing.T) {
	t.Parallel()
	var e DurationPredictor
	require.Equal(t, Prediction{}, e.PredictNew())
	for _, d := range []float64{0, -1, math.NaN(), math.Inf(1), 1e200} {
		require.ErrorIs(t, e.Observe(0, d), ErrDuration)
	}
	require.ErrorIs(t, e.Observe(-1, 1), ErrUnknown)
	require.ErrorIs(t, e.Observe(math.MaxInt, 1), ErrUnknown)
	require.ErrorIs(t, e.Observe(1<<24, 1), ErrUnknown)
	require.ErrorIs(t, e.Observe(4_000_000_000, 1), ErrUnknown)
	require.Empty(t, e.tracks)
	require.ErrorIs(t, e.Remove(0), ErrUnknown)
	require.NoError(t, e.Observe(2, 5))
	require.NoError(t, e.Observe(0, 7))
	for _, z := range []int{-1, 1, 3, 1 << 40, math.MinInt} {
		_, err := e.Predict(z)
		require.ErrorIs(t, err, ErrUnknown)
	}
	require.Equal(t, 6.0, e.PredictNew().Mean)
	require.Equal(t, 1.0, e.PredictNew().SD)
	require.NoError(t, e.Remove(2))
	require.ErrorIs(t, e.Remove(2), ErrUnknown)
	_, err := e.Predict(2)
	require.ErrorIs(t, err, ErrUnknown)
	require.Equal(t, 7.0, e.PredictNew().Mean)
}

// No number of a saved state may be NaN or infinite: the predictor that read it would save it, and
// refuse it then.
func TestPredictorSavedNumbers(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]func(*DurationPredictor, float64){
		"duration":       func(e *DurationPredictor, x float64) { e.tracks[0].recent[0] = x },
		"average":        func(e *DurationPredictor, x float64) { e.tracks[0].ewma = x },
		"level":          func(e *DurationPredictor, x float64) { e.tracks[0].level = x },
		"trend":          func(e *DurationPredictor, x float64) { e.tracks[0].trend = x },
		"mean":           func(e *DurationPredictor, x float64) { e.tracks[0].mean = x },
		"errors":         func(e *DurationPredictor, x float64) { e.tracks[0].square[0] = x },
		"errors of all":  func(e *DurationPredictor, x float64) { e.abs[0] = x },
		"squares of all": func(e *DurationPredictor, x float64) { e.square[0] = x },
	} {
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			var e DurationPredictor
			for k := range 9 {
				require.NoError(t, e.Observe(k%2, float64(3+k)))
			}
			number(&e, x)
			data, err := e.MarshalBinary()
			require.NoError(t, err)
			require.ErrorIs(t, new(DurationPredictor).UnmarshalBinary(data), ErrCorrupt, "%s %v", name, x)
		}
	}
}

// TestPredictorTakesIdsAfterRemovals gives it the ids of a registry in which a site was
// removed and another one took its slot.
func TestPredictorTakesIdsAfterRemovals(t *testing.T) {
	t.Parallel()
	r := ids.Make(3)
	var e DurationPredictor
	require.NoError(t, e.Observe(1, 10))
	require.NoError(t, e.Observe(1, 20))
	require.True(t, r.Remove(1))
	id := r.Add()
	require.Greater(t, id, math.MaxInt32)
	_, err := e.Predict(id)
	require.ErrorIs(t, err, ErrUnknown, "it is another site")
	require.ErrorIs(t, e.Remove(id), ErrUnknown)
	require.NoError(t, e.Observe(id, 300))
	require.Equal(t, 300.0, must(e.Predict(id)).Mean)
	require.Equal(t, 300.0, e.PredictNew().Mean, "the old site counts no more")
	require.Len(t, e.tracks, 2, "memory is that of the slots")
	require.EqualValues(t, 136, reflect.TypeFor[track]().Size(), "as the documentation says, with the tree")
	require.ErrorIs(t, e.Observe(1, 10), ErrUnknown, "a late answer of the old one")
	_, err = e.Predict(1)
	require.ErrorIs(t, err, ErrUnknown)
	require.NoError(t, e.Remove(id))
	require.ErrorIs(t, e.Observe(1, 10), ErrUnknown)
	require.NoError(t, e.Observe(id, 30))
	require.Equal(t, 1, must(e.Predict(id)).Runs)
}

// TestRemovedSitesLeaveNothingBehind compares the prediction for new sites with the mean and
// standard deviation of the sites known, whatever other sites, of whatever duration, came and
// went.
func TestRemovedSitesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	var e DurationPredictor
	require.NoError(t, e.Observe(0, .35))
	require.NoError(t, e.Observe(1, 1e17))
	require.NoError(t, e.Remove(1))
	require.Equal(t, Prediction{Mean: .35, Method: "last two"}, e.PredictNew())
	rapid.Check(t, func(t *rapid.T) {
		var e DurationPredictor
		known := map[int]float64{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			z := rapid.IntRange(0, 70).Draw(t, "site")
			if _, ok := known[z]; ok {
				require.NoError(t, e.Remove(z))
				delete(known, z)
				continue
			}
			known[z] = math.Exp(rapid.Float64Range(-200, 200).Draw(t, "log duration"))
			require.NoError(t, e.Observe(z, known[z]))
		}
		mean, square := 0.0, 0.0
		for _, z := range slices.Sorted(maps.Keys(known)) {
			mean += known[z] / float64(len(known))
		}
		for _, v := range known {
			square += (v - mean) * (v - mean) / float64(len(known))
		}
		got := e.PredictNew()
		require.InDelta(t, mean, got.Mean, 1e-13*mean)
		require.InDelta(t, math.Sqrt(square), got.SD, 1e-13*mean)
	})
}

func TestPredictorAllocatesNothingForKnownSites(t *testing.T) {
	var e DurationPredictor
	for z := range 100 {
		require.NoError(t, e.Observe(z, 1))
	}
	z := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = e.Observe(z, 3)
		_, _ = e.Predict(z)
		z = (z + 1) % 100
	}))
}

// A predictor that has predicted nothing yet is restored, and one that was never wrong. One whose
// sites have had more runs predicted than all together is refused.
func TestPredictorSavedCounts(t *testing.T) {
	t.Parallel()
	e := new(DurationPredictor)
	for range 5 {
		require.NoError(t, new(DurationPredictor).UnmarshalBinary(must(e.MarshalBinary())))
		require.NoError(t, e.Observe(0, 3))
	}
	require.Zero(t, e.square[0])
	e.scored--
	require.ErrorIs(t, new(DurationPredictor).UnmarshalBinary(must(e.MarshalBinary())), ErrCorrupt)
}

// A predictor whose counts are as large as they may be goes on, and what it saves can be loaded. The
// latest runs stay in order.
func TestPredictorLargestCounts(t *testing.T) {
	t.Parallel()
	e := must(Backtest([][]float64{{3, 3, 3, 3, 3}, {4, 4}}))
	e.scored = codec.MostCount
	first := &e.tracks[0]
	first.runs, first.scored = codec.MostCount, codec.MostCount-1
	loaded := new(DurationPredictor)
	require.NoError(t, loaded.UnmarshalBinary(must(e.MarshalBinary())))
	last := 3.0
	for k := range 12 {
		d := float64(10 + k)
		require.NoError(t, loaded.Observe(0, d))
		require.NoError(t, loaded.Observe(1, d))
		require.Equal(t, (last+d)/2, loaded.tracks[0].predict(byLastTwo))
		last = d
		require.NoError(t, new(DurationPredictor).UnmarshalBinary(must(loaded.MarshalBinary())))
	}
}

// Durations as far apart as they may be leave finite scores.
func TestPredictorOfExtremeDurations(t *testing.T) {
	t.Parallel()
	e := must(Backtest([][]float64{{longestRun, leastDuration, longestRun, 1}}))
	for _, s := range e.Scores() {
		require.False(t, math.IsInf(s.AbsError, 0) || math.IsNaN(s.AbsError), s.Method)
		require.False(t, math.IsInf(s.Spread, 0) || math.IsNaN(s.Spread), s.Method)
	}
}

// PredictNew sums anew only what changed since the one before.
func TestPredictNewSumsWhatChanged(t *testing.T) {
	t.Parallel()
	e := must(Backtest([][]float64{{3}, {4}}))
	require.Equal(t, []int{0}, e.changed)
	before := e.PredictNew()
	require.Empty(t, e.changed)
	require.Equal(t, before, e.PredictNew())
	require.NoError(t, e.Observe(blockSlots, 8))
	require.Equal(t, []int{1}, e.changed)
	require.InDelta(t, 5, e.PredictNew().Mean, 1e-12)
}
