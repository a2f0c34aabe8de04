package rates

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// each runs a test for evidence of every type.
func each(t *testing.T, test func(t *testing.T, make func() Evidence)) {
	for name, make := range map[string]func() Evidence{
		"mle": func() Evidence { return new(MLE) }, "gamma": func() Evidence { return new(Gamma) },
		"cho": func() Evidence { return new(Cho) }, "avrachenkov": func() Evidence { return new(Avrachenkov) },
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, make) })
	}
}

// In another unit of time the same polls give the same rate, in that unit: next to the least and
// the greatest numbers, too.
func TestUnits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, make func() Evidence) {
		rate := func(unit float64) float64 {
			m := make()
			m.Add()
			for k, gap := range []float64{3, 1, 0.2, 7, 90, 2e-4, 1, 5000} {
				m.Observe(0, gap*unit, k%3 > 0, 0.4/unit)
			}
			return m.Rate(0, 0.4/unit) * unit
		}
		for _, unit := range []float64{0x1p-400, 1e-9, 1e9, 0x1p400} {
			require.InEpsilon(t, rate(1), rate(unit), 2e-6, "unit %v", unit)
		}
	})
}

// Where all gaps with a change are alike, the root is that of the likelihood itself, to a millionth:
// from a guess far above it and far below.
func TestRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gap, unchanged, prior float64
		changes               int
	}{{2, 30, 0.1, 7}, {2, 1e6, 100, 1}, {1e-3, 1e-3, 1e-4, 50}, {5, 0.01, 0.01, 3}} {
		m := new(MLE)
		m.Add()
		for range c.changes {
			m.Observe(0, c.gap, true, c.prior)
		}
		if c.unchanged > 0 {
			m.Observe(0, c.unchanged, false, c.prior)
		}
		f := func(l float64) float64 {
			return float64(c.changes)*c.gap/math.Expm1(l*c.gap) + 0.5/c.prior/math.Expm1(l/c.prior) - c.unchanged - 0.5/c.prior
		}
		got := m.Rate(0, 0)
		require.Positive(t, f(got*(1-1e-7)), "%+v: %v", c, got)
		require.Negative(t, f(got*(1+1.1e-6)), "%+v: %v", c, got)
	}
}

// Gaps lie in octaves of the page's first one with a change.
func TestOctaves(t *testing.T) {
	t.Parallel()
	for k := -20; k <= 20; k++ {
		gap := math.Ldexp(1, k)
		want := min(max(k+13, 0), octaves-1)
		require.Equal(t, want, octave(gap))
		require.Equal(t, want, octave(1.99*gap))
	}
	// What lies beyond a float32 is cut off at its ends.
	m := new(MLE)
	m.Add()
	m.Observe(0, 1, true, 1)
	m.Observe(0, 1e-200, true, 1)
	m.Observe(0, 1e200, true, 1)
	p := &m.page[0]
	require.EqualValues(t, 1, p.sum[13])
	require.EqualValues(t, float32(1e-30), p.sum[0])
	require.EqualValues(t, float32(1e30), p.sum[octaves-1])
	for k, count := range map[int]uint32{0: 1, 13: 1, octaves - 1: 1} {
		require.Equal(t, count, p.count[k])
	}
}

// Evidence of so many changes that the variance is lost in rounding grows by one change.
func TestGammaOfManyChanges(t *testing.T) {
	t.Parallel()
	m := &Gamma{a: []float64{1e15}, b: []float64{1e15}}
	m.Observe(0, 1, true, 1)
	require.Equal(t, 1e15+1, m.a[0])
	require.InEpsilon(t, 1, m.Rate(0, 5), 1e-12)
}

// What contradicts itself is refused at load, and what lies at the edge is not.
func TestContradictions(t *testing.T) {
	t.Parallel()
	page := func(change func(p *mlePage)) *MLE {
		m := new(MLE)
		m.Add()
		m.Observe(0, 1, true, 1)
		change(&m.page[0])
		return m
	}
	inf := math.Inf(1)
	one := func(x float64) []float64 { return []float64{x} }
	count := func(x uint32) []uint32 { return []uint32{x} }
	for _, c := range []struct {
		m    Evidence
		want error
	}{
		{&Avrachenkov{count(0), one(0), one(0)}, nil},
		{&Avrachenkov{count(1), one(1e-300), one(1e-300)}, nil},
		{&Avrachenkov{count(1), one(0), one(1)}, codec.ErrCorrupt},
		{&Avrachenkov{count(1), one(1), one(0)}, codec.ErrCorrupt},
		{&Avrachenkov{count(0), one(-1), one(1)}, codec.ErrCorrupt},
		{&Avrachenkov{count(1), one(1), one(inf)}, codec.ErrCorrupt},
		{&Avrachenkov{count(1), nil, one(1)}, codec.ErrCorrupt},
		{&Avrachenkov{[]uint32{1, 1}, one(1), one(1)}, codec.ErrCorrupt},
		{&Cho{count(3), nil, one(1)}, codec.ErrCorrupt},
		{&Gamma{nil, one(0)}, codec.ErrCorrupt},
		{&MLE{page: make([]mlePage, 2)}, codec.ErrCorrupt},
		{&Cho{count(3), count(3), one(1)}, nil},
		{&Cho{count(3), count(4), one(1)}, codec.ErrCorrupt},
		{&Cho{count(0), count(0), one(-1)}, codec.ErrCorrupt},
		{&Gamma{one(0), one(0)}, nil},
		{&Gamma{one(math.NaN()), one(0)}, codec.ErrCorrupt},
		{&Gamma{one(1), one(-1)}, codec.ErrCorrupt},
		{&Gamma{one(1), one(1)}, nil},
		{&Gamma{one(0), one(1)}, codec.ErrCorrupt},
		{&Gamma{one(1), one(0)}, codec.ErrCorrupt},
		{page(func(*mlePage) {}), nil},
		{page(func(p *mlePage) { p.sum[0], p.count[0] = math.MaxFloat32, 1 }), nil},
		{page(func(p *mlePage) { p.sum[0] = 1 }), codec.ErrCorrupt},
		{page(func(p *mlePage) { p.count[0] = 1 }), codec.ErrCorrupt},
		{page(func(p *mlePage) { p.sum[0], p.count[0] = -1, 1 }), codec.ErrCorrupt},
		{page(func(p *mlePage) { p.sum[0], p.count[0] = float32(inf), 1 }), codec.ErrCorrupt},
		{page(func(p *mlePage) { p.unchanged = -1 }), codec.ErrCorrupt},
		{page(func(p *mlePage) { p.last = math.NaN() }), codec.ErrCorrupt},
		{page(func(p *mlePage) { p.unit = -1 }), codec.ErrCorrupt},
		{page(func(p *mlePage) { p.unit = 0 }), codec.ErrCorrupt},
		{&MLE{[]mlePage{{unit: 1}}}, codec.ErrCorrupt},
	} {
		d := codectest.Decoder(t, c.m.Encode)
		to := reflect.New(reflect.TypeOf(c.m).Elem()).Interface().(Evidence)
		to.Decode(d, 1)
		require.ErrorIs(t, d.Done(), c.want, "%+v", c.m)
	}
}

// A change after a gap that is nothing beside the time before counts as one, and the estimate is a number.
func TestGammaOfShortGaps(t *testing.T) {
	t.Parallel()
	m := new(Gamma)
	m.Add()
	m.Observe(0, 1e100, false, 1)
	m.Observe(0, 1e-300, true, 1)
	require.Equal(t, &Gamma{[]float64{2}, []float64{1e100}}, m)
}
