package census

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The rates of untouched pages over those of others are learnt, and by how much what is expected of all
// pages is wrong does not matter. Where there is no difference hardly any is applied.
func TestUntouched(t *testing.T) {
	t.Parallel()
	const n, said = 2000, 0.2
	for _, off := range []float64{1, 0.4} { // what all pages change, over what is expected
		for _, times := range []float64{0.3, 1, 3} { // what untouched ones change, over what others do
			rng := rand.New(rand.NewPCG(7, 3))
			u := newUntouched(false)
			for range 5 * n {
				for _, wasTouched := range []bool{false, true} {
					expect := off * math.Log1p(-said)
					if !wasTouched {
						expect *= times
					}
					u.Learn(said, wasTouched, rng.Float64() < -math.Expm1(expect), n, 1)
				}
			}
			ratio := u.Shift(false, 0) - u.Shift(true, 0)
			if times == 1 {
				require.InDelta(t, 0, ratio, 0.2) // over seeds it has a standard deviation of .055
			} else { // less, as what is long ago is forgotten, and less than that for the doubt
				require.Greater(t, ratio/math.Log(times), 0.6, "%v %v", off, times)
				require.Less(t, ratio/math.Log(times), 1.1, "%v %v", off, times)
			}
			require.Equal(t, -u.Shift(false, 0), u.Shift(true, 0))
			// Times is what there is of each kind over what is expected.
			for wasTouched, truth := range map[bool]float64{false: off * times, true: off} {
				require.InDelta(t, math.Log(truth), u.Times(wasTouched), 0.2+0.2*math.Abs(math.Log(truth)))
			}
			require.InDelta(t, ratio/4, u.Shift(false, 0.5), 1e-12)
			require.Zero(t, u.Shift(false, 1))
		}
	}
}

// What is applied is half of what is learnt less half its standard deviation, of the same sign or nothing, and
// is bounded, also in a forged state. It moves at the end of a block, by a part of the distance.
func TestUntouchedDoubts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := newUntouched(rapid.Bool().Draw(t, "calibrated"))
		n := rapid.SampledFrom([]int{1, 20, blocks, 10 * blocks}).Draw(t, "n")
		part := rapid.SampledFrom([]float64{1, 0.25}).Draw(t, "part")
		block := n/blocks + 1
		for k := range 60 {
			before := u.applied[untouched]
			u.Learn(rapid.Float64Range(0.01, 0.99).Draw(t, "said"), rapid.Bool().Draw(t, "touched"),
				rapid.Bool().Draw(t, "changed"), n, part)
			s := u.theta[untouched] - u.theta[touched]
			sure := math.Abs(s) - doubt*math.Hypot(math.Sqrt(u.covariance[0][0]), math.Sqrt(u.covariance[1][1]))
			target := math.Copysign(max(0, min(mostCorrection, sure)), s) / 2
			if k%block > 0 {
				target = before
			}
			require.InDelta(t, before+part*(target-before), u.applied[untouched], 1e-9)
			require.Zero(t, u.covariance[0][1])
			for which := range 2 {
				if k%block == 0 && part == 1 {
					require.Equal(t, farBounded(u.theta[which]), u.applied[whole+which])
				}
			}
		}
		if rapid.Bool().Draw(t, "forge") {
			for k := range u.applied {
				u.applied[k] = rapid.Float64Range(-mostTheta, mostTheta).Draw(t, "applied")
			}
		}
		require.LessOrEqual(t, math.Abs(u.Times(rapid.Bool().Draw(t, "which of times"))), float64(mostTimes))
		require.LessOrEqual(t, math.Abs(u.Shift(rapid.Bool().Draw(t, "which"), 0)), float64(mostCorrection))
	})
}
