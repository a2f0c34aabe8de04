package belief

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A belief that goes from one model into another keeps its mean rate, whatever their grids; into
// the same one it goes as it is.
func TestPage(t *testing.T) {
	t.Parallel()
	worth := Worth{Table: NewTable(func(v float64) float64 { return -math.Expm1(-v) }), Chance: true, Slowest: 64}
	m := NewModel(worth)
	require.Equal(t, Page{}, m.Page(Packed{}))
	m.Begin(10)
	p := m.Fresh()
	var b Belief
	m.Unpack(&p, &b)
	for k := range 60 {
		m.Learn(&b, 7, 7, k%3 > 0)
	}
	m.Pack(&b, &p, 1)
	page := m.Page(p)
	require.EqualValues(t, 10, page.Cycle())
	require.Equal(t, p, m.Adopt(&page))
	mean := func(m *Model, p Packed) float64 {
		var b Belief
		m.Unpack(&p, &b)
		return m.slowestRate() + b.MeanCell()
	}
	for _, cycle := range []float64{10, 13, 25, 40, 2, 0.7} {
		other := NewModel(worth)
		require.Equal(t, other.Fresh(), other.Adopt(&page), "there is no grid yet")
		other.Begin(cycle)
		require.InDelta(t, mean(&m, p), mean(&other, other.Adopt(&page)), 0.35, "log rate in steps, cycle %v", cycle)
		none := Page{}
		require.Equal(t, other.Fresh(), other.Adopt(&none))
	}
}
