package belief

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// ramp is a belief whose log weights differ from cell to cell, and from class to class.
func ramp() (p Packed) {
	i := 0
	for c, k := range Hypothesis {
		p.w[i] = uint8(7*k + c)
		i++
	}
	return p
}

// The grid moves when the unit of time is off by more than three cells, and by a move at a time.
func TestGridMoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cells float64 // that the unit of time is shorter by
		moved int
	}{{0, 0}, {2.99, 0}, {-2.99, 0}, {3.01, 1}, {-3.01, -1}, {9, 1}} {
		m := begun(5)
		at := m.Rate(0)
		require.InEpsilon(t, 1/(64*5.), at, 1e-12)
		require.Equal(t, c.moved, m.Rescale(5*math.Exp(-Step*c.cells)), "%v cells", c.cells)
		require.InEpsilon(t, at*math.Exp(Step*float64(4*c.moved)), m.Rate(0), 1e-12)
		require.InEpsilon(t, 5*math.Exp(-Step*c.cells), m.Cycle(), 1e-12)
	}
}

// A belief of another grid is shifted by cells of its classes; what enters takes the weight of the
// end that it enters at. Packed anew it is of the grid as it is.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, by := range []int{1, -1, 2, -9} {
		m := begun(1)
		m.moves = by
		p, old := ramp(), ramp()
		var b Belief
		m.Unpack(&p, &b)
		i := 0
		for c, k := range Hypothesis {
			first, last := stride[c]/2, Cells-stride[c]+stride[c]/2
			require.Equal(t, uint8(7*max(first, min(last, k+by*gridMove))+c), p.w[i], "class %d, cell %d", c, k)
			i++
		}
		require.NotEqual(t, old, p)
		again := p
		m.follow(&again)
		require.Equal(t, p, again, "it is followed once")
		var packed Packed
		m.Pack(&b, &packed, 1)
		require.EqualValues(t, by, packed.moves)
		require.EqualValues(t, by, m.Fresh().moves)
	}
}

// Numbers by cell move along with the grid: sums stay what they are, and of others the one at the end
// is repeated.
func TestSlideAndStretch(t *testing.T) {
	t.Parallel()
	var numbers Row
	for k := range numbers {
		numbers[k] = float64(1 + k)
	}
	for by := -2; by <= 2; by++ {
		sum, level := numbers, numbers
		Slide(&sum, by)
		Stretch(&level, by)
		var want Row
		for k := range want {
			want[max(0, min(Cells-1, k+4*by))] += numbers[k]
			require.Equal(t, float64(1+max(0, min(Cells-1, k-4*by))), level[k])
		}
		require.Equal(t, want, sum)
	}
}

// By hypothesis, too, but within the cells of each class.
func TestSlidePriorByHand(t *testing.T) {
	t.Parallel()
	for by := -6; by <= 6; by++ {
		var p, want Prior
		for c, k := range Hypothesis {
			p[c][k] = float64(1 + k + 100*c)
			first, last := stride[c]/2, Cells-stride[c]+stride[c]/2
			want[c][max(first, min(last, k+4*by))] += p[c][k]
		}
		p.Slide(by)
		require.Equal(t, want, p, "by %d", by)
	}
}

// The worth of a page whose belief is of another grid is that of the belief that follows it.
func TestValueFollows(t *testing.T) {
	t.Parallel()
	m := begun(1)
	m.moves = 2
	p, followed := ramp(), ramp()
	var b Belief
	m.Unpack(&followed, &b)
	want, wantSpread := m.Value(see(m, &followed, Leaning(0, 1)), 0.3, 0.4, 1, 0, 0)
	got, spread := m.Value(see(m, &p, Leaning(0, 1)), 0.3, 0.4, 1, 0, 0)
	require.Equal(t, want, got)
	require.Equal(t, wantSpread, spread)
}

// A belief that comes from another grid is interpolated between cells of its class.
func TestAdoptBetweenCells(t *testing.T) {
	t.Parallel()
	for _, off := range []float64{0.25, 1, -0.5, 2.75, -30} {
		from, to := begun(1), begun(1)
		to.anchor += off
		p := ramp()
		page := from.Page(p)
		got := to.Adopt(&page)
		i := 0
		for c, k := range Hypothesis {
			first, last := stride[c]/2, Cells-stride[c]+stride[c]/2
			at := max(float64(first), min(float64(last), float64(k)+off))
			require.InDelta(t, 7*at+float64(c), float64(got.w[i]), 0.5, "class %d, cell %d, off %v", c, k, off)
			i++
		}
	}
}

// Mean and variance of the cell by hand.
func TestMoments(t *testing.T) {
	t.Parallel()
	var b Belief
	b.w[0][2], b.w[1][5], b.w[Steady][5] = 0.5, 0.25, 0.25
	mean, variance := b.Moments()
	require.InDelta(t, 3.5, mean, 1e-12)
	require.InDelta(t, 2.25, variance, 1e-12)
	require.InDelta(t, 3.5, b.MeanCell(), 1e-12)
	require.Equal(t, 0.25, b.Weight(1, 5))
	_, variance = Moments(&Row{7: 1 + 1e-12})
	require.Zero(t, variance, "and not below")
}

// Whatever a poll finds and however long ago the last one was, weights remain that sum to 1.
func TestExtremeGaps(t *testing.T) {
	t.Parallel()
	for _, gap := range []float64{1e-300, 1e-12, 1e12, 1e300} {
		for _, changed := range []bool{true, false} {
			m, fresh := begun(1), Packed{}
			var b Belief
			m.Unpack(&fresh, &b)
			for range 5 {
				m.Learn(&b, gap, gap, changed)
			}
			sum := 0.0
			for c, k := range Hypothesis {
				require.GreaterOrEqual(t, b.Weight(c, k), 0.0)
				sum += b.Weight(c, k)
			}
			require.InDelta(t, 1, sum, 1e-9, "%v %v", gap, changed)
			rates := b.Marginal(0)
			survival := 0.0
			if gap < 1 {
				survival = 1
			}
			require.InDelta(t, survival, m.Survival(&rates, gap), 1e-4)
		}
	}
	seen := 0
	for range Hypothesis {
		seen++
		break
	}
	require.Equal(t, 1, seen)
}

// Beliefs, models and pages are saved, and those of no grid are refused.
func TestSaved(t *testing.T) {
	t.Parallel()
	p := ramp()
	p.moves = -3
	d := codectest.Decoder(t, p.Encode)
	var packed Packed
	packed.Decode(d)
	require.NoError(t, d.Done())
	require.Equal(t, p, packed)
	require.False(t, p.Blank())
	require.True(t, (&Packed{moves: 1}).Blank())

	for _, c := range []struct {
		cycle, off float64 // of the anchor, from where the grid ought to begin
		moves      int
		want       error
	}{
		{3, 0, 0, nil}, {3, -4*gridMove + mostOff, 4, nil}, {3, 5*gridMove - mostOff, -5, nil},
		{leastCycle, 0, 0, nil}, {mostCycle, 0, 0, nil}, {1, 100 * gridMove, -100, nil},
		{-1, 0, 0, codec.ErrCorrupt}, {math.NaN(), 0, 0, codec.ErrCorrupt}, {math.Inf(1), 0, 0, codec.ErrCorrupt},
		{leastCycle / 2, 0, 0, codec.ErrCorrupt}, {mostCycle * 2, 0, 0, codec.ErrCorrupt},
		{1, gridMove + 0.1, 0, codec.ErrCorrupt}, {1, -gridMove - 0.1, 0, codec.ErrCorrupt}, {1, math.NaN(), 0, codec.ErrCorrupt},
		{1, 0, 2, codec.ErrCorrupt}, {1, 0, -2, codec.ErrCorrupt},
		{1, -gridMove * (farthest + 1), farthest + 1, codec.ErrCorrupt}, {1, -farthest - 4, 300, codec.ErrCorrupt},
	} {
		m, back := NewModel(Worth{Slowest: 100}), NewModel(Worth{Slowest: 100})
		m.cycle, m.moves = c.cycle, c.moves
		m.anchor = m.gridStart() + c.off
		d := codectest.Decoder(t, m.Encode)
		back.Decode(d)
		require.ErrorIs(t, d.Done(), c.want, "%+v", c)
		if c.want == nil {
			require.Equal(t, m, back)
			require.True(t, back.Known())
			for _, k := range []float64{-0.5, Cells - 0.5} {
				rate := back.Rate(k)
				require.LessOrEqual(t, max(rate, 1/rate), math.MaxFloat64)
			}
		}
	}
	for _, c := range []struct {
		cycle, anchor float64
		moves         int
		want          error
	}{
		{0, 0, 0, nil}, {0, 1, 0, codec.ErrCorrupt}, {0, 0, 1, codec.ErrCorrupt},
	} {
		m, back := Model{cycle: c.cycle, anchor: c.anchor, moves: c.moves}, Model{}
		d := codectest.Decoder(t, m.Encode)
		back.Decode(d)
		require.ErrorIs(t, d.Done(), c.want, "%+v", c)
		require.False(t, back.Known())
	}
	for _, c := range []struct {
		cycle, slowest float64
		want           error
	}{
		{0, 0, nil}, {3, 4, nil}, {mostCycle, -farthest, nil}, {leastCycle, farthest, nil},
		{leastCycle / 2, 0, codec.ErrCorrupt}, {mostCycle * 2, 0, codec.ErrCorrupt}, {math.NaN(), 0, codec.ErrCorrupt},
		{1, farthest + 1, codec.ErrCorrupt}, {1, -farthest - 1, codec.ErrCorrupt}, {1, math.NaN(), codec.ErrCorrupt},
	} {
		page, again := Page{c.cycle, c.slowest, p}, Page{}
		d := codectest.Decoder(t, page.Encode)
		again.Decode(d)
		require.ErrorIs(t, d.Done(), c.want, "%+v", c)
		if c.want == nil {
			require.Equal(t, page, again)
		}
	}
}

// A unit of time out of its bounds is brought into them, so that all rates of the grid are finite.
func TestCycleIsBounded(t *testing.T) {
	t.Parallel()
	m := NewModel(Worth{Slowest: 64})
	m.Begin(5e-324)
	require.Equal(t, leastCycle, m.Cycle())
	require.LessOrEqual(t, m.Rate(Cells-0.5), math.MaxFloat64)
	m.Begin(math.MaxFloat64)
	require.Equal(t, mostCycle, m.Cycle())
	require.Greater(t, m.Rate(-0.5), 1e-307)
	m.Rescale(math.MaxFloat64)
	require.Equal(t, mostCycle, m.Cycle())
	m.Rescale(0)
	require.Equal(t, leastCycle, m.Cycle())
}
