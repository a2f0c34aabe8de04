package census

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// manyPages are so many that nothing is forgotten.
const manyPages = 1 << 38

// always is a chance that is known.
func always(chance float64) func() float64 { return func() float64 { return chance } }

// story has a page found changed that was to change with a probability of chance after a gap, and polls it
// each step until the given age, of which it earns so much a cycle at each age. Later it is polled no more.
func (s *Sequel) story(rng *rand.Rand, chance, gap, step, until float64, profit func(age float64) float64) {
	t := s.Learn(0, gap, true, always(chance), true, 0.1, manyPages, rng.Uint64())
	for age := 0.0; age < until; age += step {
		p := 0.1 + step*profit(age+step/2) // the price is .1
		t = s.Learn(t, step, rng.Float64() < p, always(1), true, 0.1, manyPages, rng.Uint64())
	}
	s.estimate(1)
}

// What a poll is worth beside the change that it finds is the chance of that over the gap, times the
// integral of what is missed.
func TestSequelIsTheIntegral(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 9))
	profit := func(age float64) float64 { return 4 * math.Exp(-age) }
	var s Sequel
	const stories, chance, gap = 20_000, 0.05, 10.0
	for range stories {
		s.story(rng, chance, gap, 0.125, 4, profit)
	}
	require.True(t, s.Led())
	for _, gap := range []float64{0.25, 0.5, 1, 2, 4, 40} {
		missed := 0.0
		const steps = 4000
		for i := range steps {
			age := min(gap, 4) * (float64(i) + 0.5) / steps
			missed += age * profit(age) * min(gap, 4) / steps
		}
		chance := chance / 10 * gap // of the same kind
		if gap > 10 {
			chance = 0.2
		}
		require.InEpsilon(t, chance*(1-chance)*missed/gap, s.Worth(chance, gap, true), 0.06, "a gap of %v", gap)
	}
}

// Finds of one kind tell nothing of those of others, and in between it goes from one to the other.
func TestSequelsAreOfAKind(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 7))
	var s Sequel
	for range 2000 {
		s.story(rng, 0.1, 3, 0.25, 1, func(float64) float64 { return 3 }) // .035 changes a cycle
		s.story(rng, 0.4, 0.5, 0.25, 1, func(float64) float64 { return 0 })
	}
	each := func(rate float64) float64 {
		const gap = 0.1
		chance := -math.Expm1(-rate * gap)
		return s.Worth(chance, gap, true) / chance
	}
	require.Greater(t, each(0.0313), 0.1)
	require.InDelta(t, 0, each(0.5), 1e-9)
	require.InDelta(t, 0, each(1.0/512), 1e-9)
	half := each(math.Sqrt(0.125 / 32)) // between the kinds of 1/32 and 1/8
	require.InEpsilon(t, each(1.0/32)/2, half, 0.05)
}

// What a page earns as before the find is not due to that.
func TestSequelTakesOffWhatWasToBeExpected(t *testing.T) {
	t.Parallel()
	for _, more := range []float64{0, 1} { // what is found after a find, beyond what always is
		rng := rand.New(rand.NewPCG(3, 7))
		var s Sequel
		const gap = 0.2
		chance := -math.Expm1(-2 * gap) // two changes a cycle are of one kind
		for range 20_000 {
			s.story(rng, chance, gap, gap, 4, func(float64) float64 { return (chance-0.1)/gap + more })
		}
		require.InDelta(t, more*gap/2*chance*(1-chance), s.Worth(chance, gap, true), 0.005, "%v", more)
	}
}

// Finds of untouched pages are of kinds of their own.
func TestSequelOfUntouchedPages(t *testing.T) {
	t.Parallel()
	for _, touched := range []bool{false, true} {
		var s Sequel
		rng := rand.New(rand.NewPCG(4, 1))
		for range 200 {
			trail := s.Learn(0, 1, true, always(0.1), touched, 0.1, manyPages, 0)
			for trail != 0 {
				trail = s.Learn(trail, 0.1, true, nil, true, 0.1, manyPages, rng.Uint64())
			}
		}
		for !s.Led() {
			s.Learn(0, 1, false, nil, true, 0.1, 16, 0)
		}
		require.Positive(t, s.Worth(0.1, 1, touched))
		require.Zero(t, s.Worth(0.1, 1, !touched))
	}
}

// A trail begins with a find that was not likely, and is left after four cycles, on average, whatever the gaps.
func TestTrail(t *testing.T) {
	t.Parallel()
	var s Sequel
	require.Zero(t, s.Learn(0, 3, true, always(likely), true, 0.1, 100, 0))
	require.Zero(t, s.Learn(0, 3, false, nil, true, 0.1, 100, 0))
	require.NotZero(t, s.Learn(0, 3, true, always(likely-0.01), true, 0.1, 100, 0))
	rng := rand.New(rand.NewPCG(2, 2))
	for _, gap := range []float64{0.01, 0.1, 0.7, 1.5} {
		const trails = 4000
		polls := 0.0
		for range trails {
			trail := s.Learn(0, 3, true, always(0.1), true, 0.1, manyPages, 0)
			for trail != 0 && polls < 10*longestTrail/gap*trails {
				trail = s.Learn(trail, gap, false, nil, true, 0.1, manyPages, rng.Uint64())
				polls++
			}
		}
		// It is left in the last interval at the soonest, and in the poll after it at the latest.
		require.Greater(t, polls/trails*gap, ages[intervals-1])
		require.Less(t, polls/trails*gap, longestTrail+gap)
	}
	age := 0.0 // by the beginning of the interval
	const trails = 20_000
	for range trails {
		trail := Trail(1)
		for range 5 {
			trail = s.Learn(trail, 0.1, false, nil, true, 0.1, manyPages, rng.Uint64())
		}
		age += ages[trail&15-1]
	}
	require.InEpsilon(t, 0.5, age/trails, 0.02)
}

// What has been learnt is forgotten in six polls a page, about, and applied in blocks.
func TestSequelForgets(t *testing.T) {
	t.Parallel()
	for _, n := range []int{30, 100, 20_000} {
		var s Sequel
		s.kinds[2].finds, s.kinds[2].earned[3] = 1000, 500
		block := int(blockOf(n))
		s.left = math.MaxUint32 // a block ends when it should, also one that was forged
		for k := range block {
			require.False(t, s.Led(), "after %d polls of %d pages", k, n)
			s.Learn(0, 1, false, nil, true, 0.1, n, 0)
		}
		require.True(t, s.Led())
		for range sequelMemory*max(n, 4) - block {
			s.Learn(0, 1, false, nil, true, 0.1, n, 0)
		}
		require.InEpsilon(t, math.Exp(-1), s.kinds[2].finds/1000, 0.15)
		require.InDelta(t, s.kinds[2].finds/1000, s.kinds[2].earned[3]/500, 1e-9)
	}
}

// Finds count as far as there are enough of them, and what they lead to has a bound.
func TestSequelIsProven(t *testing.T) {
	t.Parallel()
	worth := func(finds, each float64) float64 {
		var s Sequel
		s.kinds[3].finds, s.kinds[3].earned[4] = finds, finds*each
		s.estimate(1)
		const gap = 0.5
		return s.Worth(-math.Expm1(-gap/2), gap, true) // half a change a cycle
	}
	require.InEpsilon(t, worth(1e6, 1)/2, worth(unproven, 1), 1e-3)
	chance := -math.Expm1(-0.25)
	require.InEpsilon(t, mostWorth*chance*(1-chance), worth(1e6, 1e3), 1e-9)
}

// Whatever is learnt, what a poll is worth beside its find is between 0 and its bound, trails are such as
// are read again, and what is saved is read back to the last bit.
func TestSequelIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s Sequel
		n := rapid.IntRange(1, 5000).Draw(t, "n")
		gaps := rapid.OneOf(rapid.Just(0.), rapid.Just(math.Inf(1)), rapid.Custom(func(t *rapid.T) float64 {
			return math.Pow(10, rapid.Float64Range(-320, 300).Draw(t, "log"))
		}), rapid.Float64Range(0.001, 10))
		chances := rapid.OneOf(rapid.Just(0.), rapid.Just(1.), rapid.Float64Range(0, 1))
		var trail Trail
		for range 200 {
			chance, gap := chances.Draw(t, "chance"), gaps.Draw(t, "gap")
			trail = s.Learn(trail, gap, rapid.Bool().Draw(t, "changed"), always(chance), rapid.Bool().Draw(t, "touched"),
				rapid.Float64Range(0, 1).Draw(t, "price"), n, rapid.Uint64().Draw(t, "dither"))
			require.True(t, trail == 0 || trail&15 != 0 && trail>>4 < 2*kinds, "%#x", trail)
			worth := s.Worth(chances.Draw(t, "of"), gaps.Draw(t, "after"), rapid.Bool().Draw(t, "was touched"))
			require.True(t, worth >= 0 && worth <= mostWorth/4., "%v", worth)
		}
		d := codectest.Decoder(t, s.encode)
		var again Sequel
		again.decode(d)
		require.NoError(t, d.Err())
		require.Equal(t, s, again)
	})
}

// States that no polls lead to are refused.
func TestSequelForged(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Sequel{
		"finds":  {kinds: [2 * kinds]leads{1: {finds: -1}}},
		"earned": {kinds: [2 * kinds]leads{2: {earned: [intervals]float64{4: math.NaN()}}}},
		"moment": {kinds: [2 * kinds]leads{3: {moment: [intervals]float64{5: math.Inf(1)}}}},
	} {
		d := codectest.Decoder(t, s.encode)
		new(Sequel).decode(d)
		require.ErrorIs(t, d.Err(), codec.ErrCorrupt, name)
	}
	for _, b := range []byte{0x10, 0xc0 | 1, 0xf0 | 5} {
		d := codectest.Decoder(t, func(e *codec.Encoder) { e.Byte(b) })
		DecodeTrail(d)
		require.ErrorIs(t, d.Err(), codec.ErrCorrupt, "%#x", b)
	}
}
