package factor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// The sums since a time are those of the evidence, each piece spread evenly over its gap, as long
// as no knot is dropped.
func TestSince(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var e Evidence
		type piece struct{ from, to, found float64 }
		var all []piece
		now := 0.0
		for range rapid.IntRange(1, 30).Draw(t, "polls") {
			now += rapid.Float64Range(0.05, 0.2).Draw(t, "step")
			p := piece{max(0, now-rapid.Float64Range(0.01, 3).Draw(t, "gap")), now, float64(rapid.IntRange(0, 1).Draw(t, "found"))}
			if len(all) == 0 {
				p.from = 0
			}
			e.Add(p.from, p.to, p.found, 0.5, 1, 100)
			all = append(all, p)
		}
		for _, k := range e.knots { // between knots it is a straight line
			found, expected := 0.0, 0.0
			for _, p := range all {
				part := max(0, min(1, (p.to-k.time)/(p.to-p.from)))
				found += part * p.found
				expected += part * 0.5
			}
			got := e.Since(k.time)
			require.Equal(t, k.time, got.Known)
			require.InDelta(t, found, got.Found, 1e-5)
			require.InDelta(t, expected, got.Expected, 1e-5)
		}
		require.Equal(t, e.knots[0].time, e.Since(-1).Known, "what was before is not known")
		require.Equal(t, Sums{Known: now + 1}, e.Since(now+1))
	})
}

// Knots are few however long the evidence lasts, and the oldest ones the farthest apart; sums
// stay right to the distance of knots, and begin at the first one.
func TestKnotsAreFew(t *testing.T) {
	t.Parallel()
	const most = 20
	for _, cycle := range []float64{1, 1 << 10} {
		var e Evidence
		now := 0.0 // in cycles
		for range 4000 {
			e.last.edits += 0.01
			e.Add(now*cycle, (now+0.01)*cycle, 0.02, 0.01, cycle, most)
			now += 0.01
			require.LessOrEqual(t, len(e.knots), most)
			require.LessOrEqual(t, cap(e.knots), most)
			if n := len(e.knots); n > 1 {
				require.Greater(t, e.knots[n-1].time-e.knots[n-2].time, 0.99*width*cycle)
			}
		}
		for _, age := range []float64{0.1, 0.5, 2, 7} {
			since := e.Since((now - age) * cycle)
			require.InEpsilon(t, 2*age, since.Found, 0.01)
			require.InEpsilon(t, age, since.Expected, 0.01)
		}
		base := &e.knots[0]
		require.Equal(t, [3]float32{}, [...]float32{base.found, base.expected, base.edits})
		known := e.Since(0).Known
		require.Less(t, known, (now-memory)*cycle)
		require.Greater(t, known, (now-2*memory)*cycle)
		first, last := e.knots[1].time-e.knots[0].time, e.last.time-e.knots[len(e.knots)-1].time
		require.Greater(t, first, 4*last)
	}
}

// drive lets n pages be polled in turn for so many cycles, each expected to change with
// probability 0.2 in a cycle, and to do so times the factor of the cycle. It returns the mean
// error of the log factor before each poll of the last half.
func drive(f *Factor, l *Level, n, cycles int, factor func(cycle int) float64) (err float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range n * cycles {
		from := float64(k)/float64(n) - 1
		changed := rng.Float64() < 1-math.Pow(0.8, factor(k/n))
		each, _ := f.Each(l, from, 1, 1)
		if k >= n*cycles/2 {
			err += math.Abs(math.Log(f.Average(l, &each)/factor(k/n))) / float64(n*cycles-n*cycles/2)
		}
		var likelihood Mix
		for i, x := range each {
			stay := math.Pow(0.8, x)
			if changed {
				stay = 1 - stay
			}
			likelihood[i] = stay
		}
		f.Learn(l, &likelihood)
		found := 0.0
		if changed {
			found = -math.Log(0.8) / 0.2
		}
		f.Add(from, from+1, found, -math.Log(0.8), 1, 192)
	}
	return err
}

// Where pages have nothing in common the factor stays near 1, and where they change three times
// as much as expected it is found. A factor that holds for 4 cycles each is followed at a distance.
func TestFactorIsLearnt(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 100} {
		fresh := func() (*Factor, *Level) {
			l := NewLevel(8, 2, 0.5)
			f := New(&l)
			return &f, &l
		}
		f, l := fresh()
		nothing := drive(f, l, n, 20000/n, func(int) float64 { return 1 })
		f, l = fresh()
		thrice := drive(f, l, n, 20000/n, func(int) float64 { return 3 })
		f, l = fresh()
		moving := drive(f, l, n, 20000/n, func(c int) float64 { return []float64{0.3, 3}[c/4%2] })
		t.Logf("%d pages: errors %.2f nats with nothing in common, %.2f of a factor of 3, %.2f of one that moves", n, nothing, thrice, moving)
		require.Less(t, nothing, 0.15)
		require.Less(t, thrice, 0.75)
		require.Less(t, moving, 0.8*math.Log(3))
	}
}

// The infinite pull wins where there is nothing in common, and its level learns it.
func TestLevelLearns(t *testing.T) {
	t.Parallel()
	l := NewLevel(8, 2)
	f := New(&l)
	drive(&f, &l, 5, 4000, func(int) float64 { return 1 })
	require.Greater(t, l.prior[0], 0.45, "a third to begin with")
	g := New(&l)
	m, edits := g.Mean(&l, 3, 1, 1)
	require.Equal(t, 1.0, m, "no evidence, whatever the level")
	require.Zero(t, edits)
	total := 0.0
	for _, p := range l.prior {
		total += p
	}
	require.InEpsilon(t, 1, total, 1e-9)
}

// Mean is the average over what Each returns to the last bit, from within the evidence and from before it.
func TestMean(t *testing.T) {
	t.Parallel()
	l := NewLevel(8, 2, 0.5)
	f := New(&l)
	drive(&f, &l, 9, 30, func(c int) float64 { return float64(c % 3) })
	for from := f.knots[0].time - 20; from < f.last.time+2; from += 0.37 {
		for _, base := range []float64{0.3, 1, 2.7} {
			usual := 0.2 + base
			each, want := f.Each(&l, from, base, usual)
			m, edits := f.Mean(&l, from, base, usual)
			require.Equal(t, f.Average(&l, &each), m)
			require.Equal(t, want, edits)
		}
	}
}

// The time that is not known counts as expected.
func TestFactorOfPartlyKnownTime(t *testing.T) {
	t.Parallel()
	l := NewLevel(8, 2)
	f := New(&l)
	f.Add(10, 12, 4, 2, 1, 9)
	each, _ := f.Each(&l, 10, 1, 1)
	require.InEpsilon(t, (8+4.0)/(8+2), each[1], 1e-6)
	require.InEpsilon(t, (2+4.0)/(2+2), each[2], 1e-9)
	each, _ = f.Each(&l, 6, 1, 1)
	require.InEpsilon(t, 1+(1.2-1)/3, each[1], 1e-9)
	each, _ = f.Each(&l, 10, 0.5, 1)
	require.InEpsilon(t, 0.5, each[0], 1e-9)
	require.InEpsilon(t, (4+4.0)/(8+2), each[1], 1e-9, "the evidence is judged against the base")
	each, _ = f.Each(&l, 10, 1, 2)
	require.InEpsilon(t, 1, each[1], 1e-6, "as many as in all groups")
	require.InEpsilon(t, 1, each[2], 1e-9)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	load := func(f *Factor, l *Level) (got Factor, err error) {
		d := codectest.Decoder(t, func(e *codec.Encoder) { f.Encode(e); l.Encode(e) })
		into := NewLevel(8, 2)
		got.Decode(d)
		into.Decode(d)
		if err = d.Done(); err == nil {
			require.Equal(t, *l, into)
		}
		return got, err
	}
	good := func() (*Factor, *Level) {
		l := NewLevel(8, 2)
		f := New(&l)
		drive(&f, &l, 9, 30, func(int) float64 { return 2 })
		return &f, &l
	}
	f, l := good()
	got, err := load(f, l)
	require.NoError(t, err)
	require.Equal(t, *f, got)
	fresh := New(l)
	got, err = load(&fresh, l)
	require.NoError(t, err)
	require.Equal(t, fresh, got)
	for name, spoil := range map[string]func(f *Factor, l *Level){
		"time":      func(f *Factor, _ *Level) { f.knots[3].time = f.knots[2].time },
		"far":       func(f *Factor, _ *Level) { f.last.time = math.Inf(1) },
		"found":     func(f *Factor, _ *Level) { f.knots[0].found = -1 },
		"falling":   func(f *Factor, _ *Level) { f.last.expected = 0 },
		"doubt":     func(f *Factor, _ *Level) { f.doubt[1] = 1 },
		"unlikely":  func(f *Factor, _ *Level) { f.doubt[1] = -1e9 },
		"edits":     func(f *Factor, _ *Level) { f.last.edits = mostEdits + 1 },
		"fewer":     func(f *Factor, _ *Level) { f.knots[2].edits = 5 },
		"polls":     func(f *Factor, _ *Level) { f.knots[2].polls = -1 },
		"odds":      func(f *Factor, _ *Level) { f.odds = mostOdds + 1 },
		"edited":    func(f *Factor, _ *Level) { f.edited = 2 },
		"believed":  func(_ *Factor, l *Level) { l.edited = 0 },
		"weight":    func(f *Factor, _ *Level) { f.weigh[0] = float32(math.NaN()) },
		"no weight": func(f *Factor, _ *Level) { f.weigh = [mostPulls]float32{} },
		"prior":     func(_ *Factor, l *Level) { l.prior[0] = 2 },
	} {
		f, l := good()
		spoil(f, l)
		_, err := load(f, l)
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
	}
}

// Sums of as many polls as there may be in memory are exact to 1 %.
func TestManyPolls(t *testing.T) {
	t.Parallel()
	var e Evidence
	const n = MostPolls
	for k := range 10 * n {
		now := float64(k) / n
		e.Add(now-1, now, 0.01, 0.3, 1, 192)
	}
	since := e.Since(8)
	require.InEpsilon(t, 0.01*n*2, since.Found, 0.26, "part of the polls since 8 began before")
	require.InEpsilon(t, 30, since.Expected/since.Found, 0.01)
}

// What was certain to happen leaves no strength more likely than all of them: logarithms are rounded.
func TestCertain(t *testing.T) {
	t.Parallel()
	l := NewLevel(1, 4, 16)
	f := New(&l)
	for range 3 {
		f.Learn(&l, &Mix{1, 1, math.Nextafter(1, 2), 1})
		d := codectest.Decoder(t, f.Encode)
		var back Factor
		back.Decode(d)
		require.NoError(t, d.Done())
	}
}
