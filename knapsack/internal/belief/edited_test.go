package belief

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What an edit adds to the worth of a poll is, of a page whose rate is known, the difference of what
// polls are worth with the probability that it makes and without.
func TestEdited(t *testing.T) {
	t.Parallel()
	chance := NewTable(func(v float64) float64 { return Gain(-math.Expm1(-v)) / v })
	delay := NewTable(func(v float64) float64 { return v / 2 })
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.Bool().Draw(t, "delay")
		m := NewModel(Worth{Table: chance, Power: 1, Slowest: 64})
		if plain {
			m = NewModel(Worth{Table: delay, Power: 1, Plain: true, Many: 4, Slowest: 64})
		}
		m.Begin(2)
		p := drawPolled(t, &m, 2)
		var b Belief
		m.Unpack(&p, &b)
		gap := math.Exp(rapid.Float64Range(-3, 1).Draw(t, "log gap"))
		a, back := rapid.Float64Range(0.05, 1).Draw(t, "edited"), rapid.Float64Range(0.01, 1).Draw(t, "back")
		var worth Row
		landed, want := 0.0, 0.0
		for k := range worth {
			v := m.Rate(float64(k)) * gap
			more := Gain(a+(1-a)*-math.Expm1(-v)) - Gain(-math.Expm1(-v))
			if plain {
				more = ((v+a)*(v+a) - v*v) / 2 / (1 + v/4)
			}
			worth[k] = more / (v/gap + back)
			land := 1.0 / Cells
			if plain {
				land = m.land[k]
			}
			landed += land * worth[k]
		}
		for c, k := range Hypothesis {
			stay := math.Exp(-gap / (2 * switching[c]))
			want += b.w[c][k] * (stay*worth[k] + (1-stay)*landed)
		}
		got := m.Edited(see(&m, &p, Leaning(0, 1)), gap, gap, a, back)
		require.InEpsilon(t, want, got, 0.002)
	})
}

// A change that an edit of many pages may have made tells less of the page's own rate, and nothing
// if it made it for certain.
func TestLearnEdited(t *testing.T) {
	t.Parallel()
	m := begun(1)
	fresh := m.Fresh()
	mean := func(edited float64, changed bool) float64 {
		var b Belief
		m.Unpack(&fresh, &b)
		m.LearnEdited(&b, 1, 1, edited, changed)
		return b.MeanCell()
	}
	var b Belief
	m.Unpack(&fresh, &b)
	m.Pass(&b, 1)
	require.InDelta(t, b.MeanCell(), mean(1, true), 1e-9)
	require.Greater(t, mean(0.5, true), mean(1, true)+0.5)
	require.Greater(t, mean(0, true), mean(0.5, true)+0.5)
	require.Equal(t, mean(0, false), mean(0.9, false))
}
