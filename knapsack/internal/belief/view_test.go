package belief

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// see returns the view of a packed belief.
func see(m *Model, p *Packed, leaning *Row) *View {
	v := new(View)
	m.See(v, p, leaning)
	return v
}

// Value is the same as a sum over classes and cells in their order, with all functions read from the
// same tables, but for rounding.
func TestValueInPlainSums(t *testing.T) {
	t.Parallel()
	table := NewTable(func(v float64) float64 { return (1 - math.Exp(-v)*(1+v)) / v })
	rapid.Check(t, func(t *rapid.T) {
		cycle := math.Exp(rapid.Float64Range(-5, 5).Draw(t, "cycle"))
		m := NewModel(Worth{Table: table, Power: 1, Chance: rapid.Bool().Draw(t, "chance"), Slowest: 150})
		m.Begin(cycle)
		var prior Prior
		for c, k := range Hypothesis {
			prior[c][k] = rapid.Float64Range(0.01, 3).Draw(t, "prior")
		}
		m.Focus(&prior, nil)
		p := drawPolled(t, &m, cycle)
		gap := cycle * math.Exp(rapid.Float64Range(-12, 12).Draw(t, "gap"))
		counts := gap * rapid.Float64Range(0.3, 3).Draw(t, "counts")
		leaning := Leaning(rapid.Float64Range(-2, 2).Draw(t, "leaning"), 1)

		g := gridAt(m.slowestRate(), counts)
		var v, stay Row
		table.read(&v, g)
		survive().read(&stay, g)
		var w [Classes]Row
		total, current, i := 0.0, 0.0, 0
		for c, k := range Hypothesis {
			w[c][k] = weightOf[p.w[i]] * m.lens[i] * leaning[k]
			total += w[c][k]
			current += w[c][k] * math.Sqrt(stay[k])
			i++
		}
		mean, square := 0.0, 0.0
		for c, step := range stride {
			mass := 0.0
			for _, w := range w[c] {
				mass += w
			}
			stays := staying(gap / cycle)[c]
			for k := step / 2; k < Cells; k += step {
				jumped := v[k]
				if !m.worth.Chance {
					jumped *= (1 - current/total*math.Sqrt(stay[k])) / (1 - stay[k])
				}
				land := mass * (1 - stays) * float64(step) / Cells
				mean += w[c][k]*stays*v[k] + land*jumped
				square += w[c][k]*stays*v[k]*v[k] + land*jumped*jumped
			}
		}
		mean /= total
		spread := math.Sqrt(max(0, square/total-mean*mean))
		got, gotSpread := m.Value(see(&m, &p, leaning), gap, counts, 1, 0, 0)
		require.InEpsilon(t, mean*counts, got, 1e-11)
		require.InDelta(t, spread*counts, gotSpread, 1e-6*mean*counts) // the root of a difference
	})
}
