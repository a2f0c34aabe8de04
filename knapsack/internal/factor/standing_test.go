package factor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The estimate for a page of which nothing is known, by its group, is that of least squares: in
// groups drawn as the type says, no multiple of it is better. Where groups have nothing in
// common there is none.
func TestStanding(t *testing.T) {
	t.Parallel()
	const groups, pages, part = 4000, 5, 0.6
	for _, between := range []float64{1, 0} {
		rng := rand.New(rand.NewPCG(1, 2))
		var l Likeness
		product, square := 0.0, 0.0
		for range groups {
			mean := rng.NormFloat64() * math.Sqrt(between)
			var s Standing
			marks := make([]Mark, pages)
			for k := range marks {
				own := mean + rng.NormFloat64()*math.Sqrt(ratio)
				// Polls of the page tell as much as makes the posterior variance 1 − part of that of all.
				noise := (between + ratio) * (1 - part) / part
				marks[k] = MarkOf(part, part*(own+rng.NormFloat64()*math.Sqrt(noise)))
				s.Add(marks[k])
			}
			for _, m := range marks {
				l.Learn(&s, m, groups)
			}
			estimate := l.Lean(&s, Mark{})
			product += estimate * mean
			square += estimate * estimate
		}
		if between == 0 {
			require.Less(t, square/groups, 0.002)
			continue
		}
		require.InDelta(t, 1, product/square, 0.15)
		require.Greater(t, square/groups, 0.3, "of a variance of 1")
	}
}

// What a page says of itself does not count for it, and marks can be taken out again.
func TestMarks(t *testing.T) {
	t.Parallel()
	var s Standing
	alike := Likeness{1e6, 1e6}
	own, other := MarkOf(0.5, 2), MarkOf(1, 1)
	s.Add(own)
	require.Zero(t, alike.Lean(&s, own))
	s.Add(other)
	require.InEpsilon(t, 1.0/(1+ratio), alike.Lean(&s, own), 0.01)
	require.InEpsilon(t, 2/(0.5+ratio), alike.Lean(&s, other), 0.01)
	require.Zero(t, new(Likeness).Lean(&s, own))
	s.Drop(own)
	s.Drop(other)
	require.Zero(t, s)
	require.Equal(t, own, MarkFrom(own.Bytes()))
	for range 1000 {
		s.Add(MarkOf(0, -1e9))
	}
	require.InEpsilon(t, -float64(mostStanding), alike.Lean(&s, Mark{}), 0.01)
}

// What was learnt of likeness fades with the answers, by a share that is less the more pages there
// are, from four on.
func TestLikenessForgets(t *testing.T) {
	t.Parallel()
	for pages, keep := range map[int]float64{1: 1 - 1./80, 4: 1 - 1./80, 100: 1 - 1./2000} {
		l := Likeness{3, 5}
		for range 10 {
			l.Learn(new(Standing), Mark{}, pages)
		}
		require.InEpsilon(t, 3*math.Pow(keep, 10), l.product, 1e-12)
		require.InEpsilon(t, 5*math.Pow(keep, 10), l.square, 1e-12)
	}
}

// A page leans as its group at most, and never away from it, whatever others did.
func TestLikenessIsAShare(t *testing.T) {
	t.Parallel()
	var s Standing
	s.Add(MarkOf(1, 2))
	whole := Likeness{1e6, 1e6}
	require.Positive(t, whole.Lean(&s, Mark{}))
	for _, c := range []struct {
		name string
		l    Likeness
		part float64
	}{
		{"away", Likeness{-1e6, 1e6}, 0},
		{"farther", Likeness{3e6, 1e6}, 1},
		{"half", Likeness{5e5, 1e6}, 0.5},
	} {
		require.InDelta(t, c.part*whole.Lean(&s, Mark{}), c.l.Lean(&s, Mark{}), 1e-4, c.name)
	}
}
