package factor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Since a knot as much time counts as passed as, by the factor alone, since that or a later one: the most. Since no
// moment is it less than by the factor alone.
func TestPassed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := NewLevel(8, 2, 0.5)
		f := New(&l)
		var p Passed
		now := 0.0
		for range rapid.IntRange(1, 60).Draw(t, "polls") {
			from := max(0, now-rapid.Float64Range(0, 3).Draw(t, "gap"))
			now += rapid.Float64Range(0.01, 0.3).Draw(t, "step")
			found := float64(rapid.IntRange(0, 1).Draw(t, "found"))
			f.Add(from, now, found, rapid.Float64Range(0.01, 2).Draw(t, "expected"), 1, 30)
			each, _ := f.Each(&l, from, 1, 1)
			f.Learn(&l, &each)
			p.Forget()
		}
		require.False(t, p.Known())
		p.Follow(&f, &l)
		require.True(t, p.Known())
		times := func(from float64) float64 {
			m, _ := f.Mean(&l, from, 1, 1)
			return p.Times(&f, from, m)
		}
		most := 0.0
		for i := len(f.knots) - 1; i >= 0; i-- {
			from := f.knots[i].time
			m, _ := f.Mean(&l, from, 1, 1)
			alone := m * (f.last.time - from)
			most = max(most, alone)
			require.InDelta(t, most, times(from)*(f.last.time-from), 1e-6*(1+most))
		}
		for k := range 50 { // also between knots, and before the first one
			from := now - float64(k)*(now+0.5)/50
			m, _ := f.Mean(&l, from, 1, 1)
			require.GreaterOrEqual(t, times(from), m)
		}
	})
}

// Of a factor that has no evidence all time counts.
func TestPassedWithoutEvidence(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	f := New(&l)
	var p Passed
	p.Follow(&f, &l)
	require.EqualValues(t, 1, p.Times(&f, 3, 1))
	f.Add(1, 2, 0, 1, 1, 10)
	p.Follow(&f, &l)
	require.EqualValues(t, 1, p.Times(&f, 2, 1), "after the evidence")
}
