package factor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The estimate for a page of which nothing is known, by its group, is that of least squares: in
// groups drawn as the type says, no multiple of it is better. Where groups have nothing in
// common there is none. Both are so wherever the mean of the prior is.
func TestStanding(t *testing.T) {
	t.Parallel()
	const groups, pages, part = 4000, 5, 0.6
	for _, between := range []float64{1, 0} {
		for _, offset := range []float64{0, -2} {
			rng := rand.New(rand.NewPCG(1, 2))
			var l Likeness
			means, marks, all := make([]float64, groups), make([][pages]Mark, groups), make([]Standing, groups)
			for g := range groups {
				means[g] = rng.NormFloat64() * math.Sqrt(between)
				for k := range pages {
					own := offset + means[g] + rng.NormFloat64()*math.Sqrt(ratio)
					// Polls of the page tell as much as makes the posterior variance 1 − part of that of all.
					noise := (between + ratio) * (1 - part) / part
					m := MarkOf(part, part*(own+rng.NormFloat64()*math.Sqrt(noise)))
					all[g].Add(m)
					l.Replace(Mark{}, m)
					marks[g][k] = m
				}
			}
			product, square := 0.0, 0.0
			for g := range groups {
				for _, m := range marks[g] {
					l.Learn(&all[g], m, groups)
				}
				estimate := l.Lean(&all[g], Mark{})
				product += estimate * means[g]
				square += estimate * estimate
			}
			if between == 0 {
				require.Less(t, square/groups, 0.002, "offset %v", offset)
				continue
			}
			require.InDelta(t, 1, product/square, 0.15, "offset %v", offset)
			require.Greater(t, square/groups, 0.3, "of a variance of 1, offset %v", offset)
		}
	}
}

// What a page says of itself does not count for it, and marks can be taken out again.
func TestMarks(t *testing.T) {
	t.Parallel()
	var s Standing
	alike := Likeness{product: 1e6, square: 1e6}
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

// The sums of a group of ten million pages have room.
func TestStandingOfManyPages(t *testing.T) {
	t.Parallel()
	var s Standing
	m := MarkOf(1, 2)
	for range 10_000_000 {
		s.Add(m)
	}
	require.InEpsilon(t, 2, s.of(Mark{}, 0), 1e-6)
}

// What was learnt of likeness fades with the answers, by a share that is less the more pages there
// are, from four on.
func TestLikenessForgets(t *testing.T) {
	t.Parallel()
	for pages, keep := range map[int]float64{1: 1 - 1./80, 4: 1 - 1./80, 100: 1 - 1./2000} {
		l := Likeness{product: 3, square: 5}
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
	whole := Likeness{product: 1e6, square: 1e6}
	require.Positive(t, whole.Lean(&s, Mark{}))
	for _, c := range []struct {
		name string
		l    Likeness
		part float64
	}{
		{"away", Likeness{product: -1e6, square: 1e6}, 0},
		{"farther", Likeness{product: 3e6, square: 1e6}, 1},
		{"half", Likeness{product: 5e5, square: 1e6}, 0.5},
	} {
		require.InDelta(t, c.part*whole.Lean(&s, Mark{}), c.l.Lean(&s, Mark{}), 1e-4, c.name)
	}
}
