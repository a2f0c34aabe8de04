package schedule

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMethodsByHand(t *testing.T) {
	var tr track
	for _, d := range []float64{10, 20, 6, 100, 8, 12} {
		tr.update(d)
	}
	require.Equal(t, 10.0, tr.predict(LastTwo))
	require.Equal(t, 12.0, tr.predict(Median)) // of 20 6 100 8 12
	ewma := 10.0
	for _, d := range []float64{20, 6, 100, 8, 12} {
		ewma = .7*ewma + .3*d
	}
	require.InDelta(t, ewma, tr.predict(EWMA), 1e-12)
	level, trend := 10.0, 0.0
	for _, d := range []float64{20, 6, 100, 8, 12} {
		next := .5*d + .5*(level+trend)
		trend += .2 * (next - level - trend)
		level = next
	}
	require.InDelta(t, level+trend, tr.predict(Holt), 1e-9)
	require.InDelta(t, (10.+20+6+100+8+12)/6, tr.predict(Truncated), 1e-9, "100 is below ten times the mean")
	tr.update(1e6)
	require.InDelta(t, (156+10*26.)/7, tr.predict(Truncated), 1e-9, "a wild run counts ten means")
}

// TestBacktestPicksTheRightMethod has worlds each of which one method suits:
// a trend, and outliers.
func TestBacktestPicksTheRightMethod(t *testing.T) {
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
	scores, e, err := Backtest(trend)
	require.NoError(t, err)
	require.Equal(t, Holt, scores[0].Method)
	require.InDelta(t, 700, e.Predict(3).Mean, 20)
	require.Equal(t, 40*29, scores[0].Runs)
	scores, e, err = Backtest(outliers)
	require.NoError(t, err)
	require.Equal(t, Median, scores[0].Method)
	require.InDelta(t, 100, e.Predict(3).Mean, 15)
	for k := 1; k < len(scores); k++ {
		require.LessOrEqual(t, scores[k-1].AbsError, scores[k].AbsError)
	}
	_, _, err = Backtest([][]float64{{1, 2}, {3, -1}})
	require.ErrorIs(t, err, ErrDuration)
}

// TestSpreadIsThatOfTheErrors predicts independent lognormal runs: the log
// error of the mean of two of spread s has variance s²·(1 + 1/2) nearly, for
// small s. Over 4000 predictions its root mean square has a standard error of
// at most 2/√(2·4000) = 2.3 % (successive ones are correlated); 4 of these are
// 9 %.
func TestSpreadIsThatOfTheErrors(t *testing.T) {
	const s = .1
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		e := &Estimator{}
		for range 102 {
			for z := range 40 {
				require.NoError(t, e.Observe(z, 50*math.Exp(s*rng.NormFloat64())))
			}
		}
		for _, score := range e.Scores() {
			if score.Method == LastTwo {
				require.InEpsilon(t, s*math.Sqrt(1.5), score.Spread, .09)
			}
		}
		p := e.Predict(0)
		require.Equal(t, 102, p.Runs)
		require.InEpsilon(t, p.Mean*s, p.SD, .5)
		unknown := e.Predict(1000)
		require.Zero(t, unknown.Runs)
		require.InDelta(t, 50, unknown.Mean, 4)
	}
}

func TestEstimatorErrors(t *testing.T) {
	var e Estimator
	require.Equal(t, Estimate{}, e.Predict(0))
	for _, d := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.ErrorIs(t, e.Observe(0, d), ErrDuration)
	}
	require.ErrorIs(t, e.Observe(0, 1e200), ErrOverflow)
	require.ErrorIs(t, e.Observe(-1, 1), ErrUnknown)
	require.ErrorIs(t, e.Observe(math.MaxInt, 1), ErrUnknown)
	require.ErrorIs(t, e.Remove(0), ErrUnknown)
	require.NoError(t, e.Observe(2, 5))
	require.NoError(t, e.Observe(0, 7))
	require.Equal(t, 6.0, e.Predict(1).Mean)
	require.Equal(t, 1.0, e.Predict(1).SD)
	require.NoError(t, e.Remove(2))
	require.ErrorIs(t, e.Remove(2), ErrUnknown)
	require.Equal(t, 7.0, e.Predict(2).Mean)
}

func TestEstimatorIsSavedAndRestored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Estimator
		observe := func(e *Estimator, z int, d float64) { require.NoError(t, e.Observe(z, d)) }
		n := rapid.IntRange(0, 30).Draw(t, "runs")
		for range n {
			observe(&a, rapid.IntRange(0, 5).Draw(t, "site"), rapid.Float64Range(.1, 100).Draw(t, "duration"))
		}
		data, err := a.MarshalBinary()
		require.NoError(t, err)
		var b Estimator
		require.NoError(t, b.UnmarshalBinary(data))
		for range 10 {
			z, d := rapid.IntRange(0, 7).Draw(t, "site"), rapid.Float64Range(.1, 100).Draw(t, "duration")
			require.Equal(t, a.Predict(z), b.Predict(z))
			observe(&a, z, d)
			observe(&b, z, d)
		}
		require.Equal(t, a.Scores(), b.Scores())
		if len(data) > 0 {
			k := rapid.IntRange(0, len(data)-1).Draw(t, "byte")
			data[k] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			require.Error(t, b.UnmarshalBinary(data))
			require.Error(t, b.UnmarshalBinary(data[:k]))
		}
	})
}

func FuzzEstimatorUnmarshal(f *testing.F) {
	var e Estimator
	for k := range 8 {
		_ = e.Observe(k%3, float64(k+1))
	}
	data, _ := e.MarshalBinary()
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Estimator
		if e.UnmarshalBinary(data) == nil {
			for z := range 5 {
				e.Predict(z)
				_ = e.Observe(z, 1)
			}
		}
	})
}

func TestEstimatorAllocatesNothingForKnownSites(t *testing.T) {
	var e Estimator
	require.NoError(t, e.Observe(99, 1))
	z := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = e.Observe(z, 3)
		_ = e.Predict(z)
		z = (z + 1) % 100
	}))
}
