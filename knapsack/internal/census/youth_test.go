package census

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// How many times as much as expected pages change is learnt by age, and of each kind apart, whatever the gaps that
// the polls were after. Where nothing is to be learnt hardly anything is applied.
func TestYouth(t *testing.T) {
	t.Parallel()
	const cycle = 1024.0
	at := func(wasTouched bool, age float64) float64 {
		switch {
		case wasTouched:
			return 1
		case age < 64:
			return 8
		default:
			return 0.25
		}
	}
	rng := rand.New(rand.NewPCG(7, 3))
	var y Youth
	y.Begin(cycle)
	for range 40_000 {
		wasTouched := rng.IntN(2) == 0
		from := 1024 * rng.Float64() * rng.Float64()
		to := from + 64*rng.Float64()
		truth := 0.0 // of one change expected in each 100
		for age := from; age < to; age++ {
			truth += at(wasTouched, age) * min(1, to-age) / 100
		}
		mean, _ := y.Times(from, to, wasTouched)
		said := -math.Expm1(-mean * (to - from) / 100)
		y.Learn(said, from, to, wasTouched, rng.Float64() < -math.Expm1(-truth), 1000, 1)
	}
	for _, wasTouched := range []bool{false, true} {
		for _, age := range []float64{4, 20, 40, 100, 200, 400} { // of the youngest there are few polls
			got, _ := y.Times(age, age*1.01, wasTouched)
			want := at(wasTouched, age)
			require.InDelta(t, math.Log(want), math.Log(got), 0.35, "%v %v: %v, not %v", wasTouched, age, got, want)
		}
	}
}

// Times is the mean of what is applied between two ages, and half way from there to what is applied at the second one,
// which is continuous. There is no youth beyond the last interval.
func TestYouthTimes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var y Youth
		y.Begin(math.Exp2(rapid.Float64Range(-1000, 1000).Draw(t, "cycle")))
		of := &y.kinds[untouched]
		for i := range of.applied {
			of.applied[i] = rapid.Float64Range(-mostYouth, mostYouth).Draw(t, "applied")
			of.times[i] = fast.Exp(of.applied[i])
		}
		oldest := math.Ldexp(1, y.exponent+youthIntervals-1)
		require.False(t, y.Young(oldest))
		require.True(t, y.Young(math.Nextafter(oldest, 0)))
		from := oldest * math.Exp2(-rapid.Float64Range(0.001, 30).Draw(t, "from"))
		to := from * math.Exp2(rapid.Float64Range(0, 8).Draw(t, "gap"))
		require.True(t, y.Young(from))
		mean, onwards := y.Times(from, to, false)
		least, most, sum := math.Inf(1), 0.0, 0.0
		for at := from; at < to; { // from one power of two to the next
			end := min(to, math.Ldexp(1, math.Ilogb(at)+1))
			sum += (end - at) * of.timesIn(y.interval(at))
			at = end
		}
		for i := y.interval(from); i <= y.interval(to); i++ {
			least, most = min(least, of.timesIn(i)), max(most, of.timesIn(i))
		}
		if to > from {
			require.InEpsilon(t, sum/(to-from), mean, 1e-6)
			require.GreaterOrEqual(t, mean, least*(1-1e-9))
			require.LessOrEqual(t, mean, most*(1+1e-9))
		}
		end := y.at(of, to)
		require.InEpsilon(t, end, y.at(of, to*(1+1e-9)), 1e-6)
		if to > from {
			require.InEpsilon(t, mean*end, onwards*onwards, 1e-9)
		} else {
			require.Equal(t, end, onwards)
		}
		if middle := math.Ldexp(math.Sqrt(0.5), y.exponent+3); from < middle {
			require.InEpsilon(t, of.times[3], y.at(of, middle), 1e-6)
		}
	})
}

// The intervals follow the cycle, and what is known of an age stays; a cycle that wavers moves nothing.
func TestYouthFollowsTheCycle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var y Youth
		y.Follow(3) // there is nothing to move yet
		require.Equal(t, Youth{}, y)
		cycle := math.Exp2(rapid.Float64Range(-900, 900).Draw(t, "cycle"))
		y.Begin(cycle)
		for i := range youthIntervals {
			y.kinds[touched].theta[i] = float64(i) / 8
			y.kinds[touched].covariance[i][i] = float64(i) / 16
			y.kinds[touched].applied[i], y.kinds[touched].times[i] = float64(i)/8, math.Exp(float64(i)/8)
		}
		before := y
		y.Begin(1) // there is a unit already
		y.Follow(cycle * math.Exp2(rapid.Float64Range(-offUnit/2, offUnit/2).Draw(t, "wavers")))
		require.Equal(t, before, y)
		by := rapid.SampledFrom([]int{-20, -5, -2, 0, 2, 5, 20}).Draw(t, "by") // by 1 it may waver
		y.Follow(math.Ldexp(cycle, by))
		require.Equal(t, before.exponent+by, y.exponent)
		for k := range youthIntervals {
			age := math.Ldexp(0.75, y.exponent+k)
			was := min(youthIntervals-1, before.interval(age)) // older ones are like the oldest
			require.Equal(t, before.kinds[touched].theta[was], y.kinds[touched].theta[y.interval(age)])
			require.Equal(t, before.kinds[touched].covariance[was][was], y.kinds[touched].covariance[k][k])
		}
	})
}

// Whatever is learnt stays within its bounds, can be saved and goes on the same.
func TestYouthIsSaved(t *testing.T) {
	t.Parallel()
	format := codec.Format{Magic: "youth"}
	rapid.Check(t, func(t *rapid.T) {
		var y Youth
		if rapid.Bool().Draw(t, "begun") {
			y.Begin(math.Exp2(rapid.Float64Range(-1000, 1000).Draw(t, "cycle")))
		}
		n := rapid.SampledFrom([]int{1, 100, 10 * blocks}).Draw(t, "n")
		learn := func(to ...*Youth) {
			if !y.Known() {
				return
			}
			from := math.Ldexp(rapid.Float64Range(0, 0.999).Draw(t, "from"), y.exponent+rapid.IntRange(0, youthIntervals-1).Draw(t, "in"))
			gap := math.Ldexp(rapid.Float64Range(0, 1).Draw(t, "gap"), y.exponent+rapid.IntRange(0, 30).Draw(t, "of"))
			kind, chance, changed := rapid.Bool().Draw(t, "touched"), rapid.Float64Range(0, 1).Draw(t, "chance"), rapid.Bool().Draw(t, "changed")
			for _, y := range to {
				y.Learn(chance, from, from+gap, kind, changed, n, 0.5)
				for _, of := range y.kinds {
					for i := range youthIntervals {
						require.LessOrEqual(t, math.Abs(of.theta[i]), float64(mostYouth))
						for j := range youthIntervals {
							require.LessOrEqual(t, of.covariance[i][j], float64(youthLevel+youthTrend))
						}
					}
				}
			}
		}
		for range 30 {
			learn(&y)
		}
		data, err := format.Save(y.encode)
		require.NoError(t, err)
		var z Youth
		require.NoError(t, codec.Load(&z, format, data, (*Youth).decode))
		require.Equal(t, y, z)
		for range 5 {
			learn(&y, &z)
			require.Equal(t, y, z)
		}
	})
}

// What is learnt at one age tells of the ages beside it, the less the further away they are.
func TestYouthLearnsNeighbours(t *testing.T) {
	t.Parallel()
	var y Youth
	y.Begin(1)
	const at = 8
	for range 12 {
		age := math.Ldexp(0.6, y.exponent+at)
		y.Learn(0.2, age, age*1.2, true, true, 100, 1)
	}
	of := &y.kinds[touched]
	require.Greater(t, of.theta[at], 1.0)
	for i := at + 1; i < youthIntervals; i++ {
		require.Less(t, of.theta[i], of.theta[i-1])
		require.Greater(t, of.theta[i], 0.2)
	}
	require.Zero(t, y.kinds[untouched].theta[at])
}

// Whatever a saved state that is accepted says of the covariances, what is learnt after it can be saved and loaded.
func TestForgedYouth(t *testing.T) {
	t.Parallel()
	format := codec.Format{Magic: "youth"}
	rapid.Check(t, func(t *rapid.T) {
		var y Youth
		y.Begin(1)
		within := rapid.Float64Range(-mostCovariance, mostCovariance)
		for i := range youthIntervals {
			for j := range youthIntervals {
				y.kinds[touched].covariance[i][j] = within.Draw(t, "covariance")
			}
			y.kinds[touched].covariance[i][i] = math.Abs(within.Draw(t, "variance"))
		}
		age := math.Ldexp(0.6, y.exponent+rapid.IntRange(0, youthIntervals-1).Draw(t, "in"))
		for range 50 {
			y.Learn(rapid.Float64Range(0, 1).Draw(t, "chance"), age, 3*age, true, rapid.Bool().Draw(t, "changed"), 100, 1)
		}
		data, err := format.Save(y.encode)
		require.NoError(t, err)
		var z Youth
		require.NoError(t, codec.Load(&z, format, data, (*Youth).decode))
		require.Equal(t, y, z)
	})
}
