package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
)

// The estimates, written out once more from the answers: all pages alike during the phase, and
// their own estimates from its last answer on, whatever is answered later.
func TestEstimateFirstRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		phase := rapid.IntRange(1, 60).Draw(t, "phase")
		slot := rapid.SampledFrom([]float64{0, 3, -2}).Draw(t, "slot")
		spacing := Spacing(rapid.IntRange(1, 2).Draw(t, "spacing"))
		e := must(NewEstimateFirst(n, EstimateFirstConfig{Phase: phase, Slot: slot, Spacing: spacing},
			rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		k, m, last := make([]float64, n), make([]float64, n), make([]float64, n)
		gaps := map[bool][][]float64{true: make([][]float64, n), false: make([][]float64, n)}
		want := slices.Repeat([]float64{1}, n)
		for answer := range phase + 20 {
			now := 2 * float64(answer)
			page := must(e.Next(now))
			changed := rapid.Bool().Draw(t, "changed")
			require.NoError(t, e.Observe(page, now, changed))
			if answer < phase {
				k[page]++
				if gap := now - last[page]; gap > 0 {
					gaps[changed][page] = append(gaps[changed][page], gap)
				}
				if last[page] = now; changed {
					m[page]++
				}
			}
			if answer == phase-1 && slices.Max(m) > 0 {
				estimates := make([]float64, n)
				for i := range estimates {
					switch {
					case spacing == Random:
						estimates[i] = likeliest(gaps[true][i], gaps[false][i])
					case m[i] > 0 && last[i] > 0:
						estimates[i] = -math.Log((k[i]-m[i]+0.5)/(k[i]+0.5)) / (last[i] / k[i])
					}
				}
				if slices.Max(estimates) > 0 {
					for i, rate := range estimates {
						want[i] = map[float64]float64{0: 1 - math.Exp(-rate), 3: 1 - math.Exp(-3*rate), -2: rate}[slot]
					}
				}
			}
			for i := range want {
				off := 1e-12
				if spacing == Random { // gaps of 32 and more are put together
					off = 0.003 * want[i]
				}
				require.InDelta(t, want[i], must(e.Frequency(i)), off, "page %d after answer %d", i, answer)
			}
		}
	})
}

// likeliest is the rate at which gaps with a change and without one are likeliest, if half as long
// as the shortest one with a change had none.
func likeliest(changed, unchanged []float64) float64 {
	if len(changed) == 0 {
		return 0
	}
	low, high := 1e-9, 1e3
	for range 100 {
		rate := math.Sqrt(low * high)
		slope := -slices.Min(changed) / 2
		for _, gap := range changed {
			slope += gap / math.Expm1(rate*gap)
		}
		for _, gap := range unchanged {
			slope -= gap
		}
		if slope > 0 {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}

// With a longer phase the estimates come to the true rates, however many changes a gap holds. The
// standard error of a maximum-likelihood estimate from k polls is (k·E[g²/(e^(λg) − 1)])^(−½); gaps
// of n pages polled at random are geometric with mean n. Three of them are exceeded once in 370
// times, and the longer phase leaves no room for an estimate that is off by a tenth.
func TestEstimateFirstFindsRates(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 20
	rates := slices.Repeat([]float64{0.005}, n)
	rates[0], rates[1] = 0.5, 0.1
	for _, spacing := range []Spacing{Even, Random} {
		const perPage = 20_000
		e := must(NewEstimateFirst(n, EstimateFirstConfig{Phase: perPage * n, Slot: -1, Spacing: spacing}, rand.NewPCG(1, 2)))
		rng := rand.New(rand.NewPCG(3, 4))
		last := make([]float64, n)
		for k := 1; k <= perPage*n; k++ {
			now := float64(k)
			page := must(e.Next(now))
			require.NoError(t, e.Observe(page, now, rng.Float64() < -math.Expm1(-rates[page]*(now-last[page]))))
			last[page] = now
		}
		for page := range 3 {
			information := 0.0
			for gap := 1.0; gap < 40*n; gap++ {
				share := math.Pow(1-1./n, gap-1) / n
				if spacing == Even {
					share = 0
					if gap == n {
						share = 1
					}
				}
				information += share * gap * gap / math.Expm1(rates[page]*gap)
			}
			sd := 1 / math.Sqrt(perPage*information)
			if spacing == Random {
				require.Less(t, 3*sd, 0.1*rates[page])
			}
			require.InDelta(t, rates[page], must(e.Frequency(page)), 3*sd+0.003*rates[page], "%v, page %d", spacing, page)
		}
	}
}

// What is put together is less than an eighth apart, keeps its place, and is refused at load if it
// does not.
func TestEstimateFirstGaps(t *testing.T) {
	t.Parallel()
	e := must(NewEstimateFirst(1, EstimateFirstConfig{Phase: 100, Spacing: Random}, rand.NewPCG(1, 1)))
	now := 0.0
	for _, gap := range []float64{0, 8, 9, 1, 16, 17, 8, 17.25, 18} { // the first poll has no gap
		now += gap
		require.NoError(t, e.Observe(must(e.Next(now)), now, true))
	}
	require.Equal(t, []alike{{1, 1}, {2, 8}, {1, 9}, {3, 16.75}, {1, 18}}, e.gaps[0].changed)
	require.NoError(t, new(EstimateFirst).UnmarshalBinary(saved(t, e)))
	for _, broken := range [][]alike{{{0, 1}}, {{1, 0}}, {{1, math.Inf(1)}}, {{1, 2}, {1, 1}}, {{1, 16}, {1, 17}}} {
		e.gaps[0].changed = broken
		require.ErrorIs(t, new(EstimateFirst).UnmarshalBinary(saved(t, e)), ErrCorrupt, "%v", broken)
	}
}

// What estimating is for: after the phase more than twice as many polls find a change as before,
// and with a longer phase more again. But pages of rates 90 times apart are told apart by no more
// than a factor of 2.
func TestEstimateFirstLearns(t *testing.T) {
	t.Parallel()
	shares := map[int]float64{}
	for _, phase := range []int{5000, 40_000} {
		env := must(webenv.NewZipf(webenv.ZipfConfig{Alpha: 0.9}, rand.NewPCG(4, 1)))
		e := must(NewEstimateFirst(500, EstimateFirstConfig{Phase: phase}, nil))
		found := [2]int{}
		for k := 1; k <= phase+20_000; k++ {
			now := float64(k)
			page := must(e.Next(now))
			_, changed := env.Poll(page, now)
			require.NoError(t, e.Observe(page, now, changed))
			if changed && k <= phase {
				found[0]++
			} else if changed {
				found[1]++
			}
		}
		before, after := float64(found[0])/float64(phase), float64(found[1])/20_000
		require.Greater(t, after, 2*before)
		shares[phase] = after
		// The page of rank 1 changes in 9 slots of 10, that of rank 20 in 1 of 100: both at all
		// polls of the shorter phase but one or two.
		ratio := must(e.Frequency(0)) / must(e.Frequency(19))
		require.Less(t, ratio, 2., "the estimates saturate")
	}
	// Both shares have standard errors below .0035.
	require.Greater(t, shares[40_000], shares[5000]+0.02)
}

// Estimates and slots are within 1e-100 to 1e100, whatever the unit of time.
func TestEstimateFirstScales(t *testing.T) {
	t.Parallel()
	for _, slot := range []float64{9e-101, 1.1e100, math.Inf(1), math.NaN()} {
		_, err := NewEstimateFirst(1, EstimateFirstConfig{Slot: slot}, nil)
		require.ErrorIs(t, err, ErrConfig, "%v", slot)
		e := must(NewEstimateFirst(1, EstimateFirstConfig{}, nil))
		e.period = slot
		require.ErrorIs(t, new(EstimateFirst).UnmarshalBinary(must(e.MarshalBinary())), ErrCorrupt, "%v", slot)
	}
	for _, slot := range []float64{-1, 1e-100, 1e100} {
		for _, unit := range []float64{1e-310, 1e-100, 1e100, 1e295} {
			for _, spacing := range []Spacing{Even, Random} {
				e := must(NewEstimateFirst(3, EstimateFirstConfig{Slot: slot, Phase: 30, Spacing: spacing}, rand.NewPCG(2, 1)))
				count := make([]int, 3)
				for k := range 300 {
					now := float64(k+1) * unit
					page := must(e.Next(now))
					require.NoError(t, e.Observe(page, now, page < 2))
					if k >= 30 {
						count[Slot(page)]++
					}
				}
				require.Zero(t, count[2])
				off := 10.
				if spacing == Random { // the estimates of the two depend on the draws
					off = 110
				}
				require.InDelta(t, 135, count[0], off, "%v, a slot of %v, polls %v apart: %v", spacing, slot, unit, count)
				data := must(e.MarshalBinary())
				require.NoError(t, new(EstimateFirst).UnmarshalBinary(data))
			}
		}
	}
}

// Where a page has as many polls as are counted, its estimate stays as it is.
func TestEstimateFirstCountsNoFurther(t *testing.T) {
	t.Parallel()
	e := must(NewEstimateFirst(1, EstimateFirstConfig{Phase: 3, Slot: -1}, nil))
	e.polls[0], e.changes[0], e.start = math.MaxUint32-1, math.MaxUint32/2, 0
	for now := 1.; now <= 3; now++ {
		require.NoError(t, e.Observe(must(e.Next(now)), now, true))
	}
	// Half of the polls found a change, and the latest that counts was at 1.
	require.InEpsilon(t, math.Ln2*math.MaxUint32, must(e.Frequency(0)), 1e-6)
	require.NoError(t, new(EstimateFirst).UnmarshalBinary(saved(t, e)))
}

// A phase without end is saved and loaded.
func TestEstimateFirstWithoutEnd(t *testing.T) {
	t.Parallel()
	e := must(NewEstimateFirst(1, EstimateFirstConfig{Phase: math.MaxInt}, nil))
	require.NoError(t, new(EstimateFirst).UnmarshalBinary(saved(t, e)))
	e.left = -1
	require.ErrorIs(t, new(EstimateFirst).UnmarshalBinary(saved(t, e)), ErrCorrupt)
}
