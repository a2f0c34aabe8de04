package factor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
)

// The sums since a time are those of the evidence, each piece spread evenly over its gap, as long as
// no knot is dropped.
func TestSince(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var f Factor
		type piece struct{ from, to, found float64 }
		var all []piece
		now := 0.0
		for range rapid.IntRange(1, 30).Draw(t, "polls") {
			now += rapid.Float64Range(0.05, 1).Draw(t, "step")
			p := piece{max(0, now-rapid.Float64Range(0.01, 3).Draw(t, "gap")), now, float64(rapid.IntRange(0, 1).Draw(t, "found"))}
			if len(all) == 0 {
				p.from = 0
			}
			f.Add(p.from, p.to, p.found, 0.5, 1, 100)
			all = append(all, p)
		}
		for _, k := range f.knots { // between knots it is a straight line
			found, expected := 0.0, 0.0
			for _, p := range all {
				part := max(0, min(1, (p.to-k.time)/(p.to-p.from)))
				found += part * p.found
				expected += part * 0.5
			}
			gotFound, gotExpected := f.since(k.time)
			require.InDelta(t, found, gotFound, 1e-9)
			require.InDelta(t, expected, gotExpected, 1e-9)
		}
	})
}

// drive lets n pages be polled in turn for so many cycles, expected to change with probability
// 0.2 each, and to do so times the factor of the cycle. It returns the mean error of the log
// factor before each poll of the last half.
func drive(f *Factor, n, cycles int, factor func(cycle int) float64) (err float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range n * cycles {
		to := float64(k) / float64(n)
		truth := factor(k / n)
		stay := func(x float64) float64 { return math.Pow(0.8, x) }
		changed := rng.Float64() > stay(truth)
		mean := f.Poll(to-0.5, to, 1, 1, changed, stay, 0.8, &Even, 48)
		if k > n*cycles/2 {
			err += math.Abs(math.Log(mean/truth)) / float64(n*cycles/2)
		}
	}
	return err
}

// Where pages have something in common the factor follows it; where they have nothing, it stays
// near 1. The mean of 100 polls, each of a change at 0.2, has a standard error of 0.2.
func TestFactorFollows(t *testing.T) {
	t.Parallel()
	var same, common Factor
	require.Less(t, drive(&same, 200, 40, func(int) float64 { return 1 }), 0.15)
	swings := func(cycle int) float64 { return []float64{0.2, 0.2, 0.2, 5}[cycle/2%4] }
	wrong := (3*math.Log(5) + math.Log(5)) / 4 // of a factor of 1
	require.Less(t, drive(&common, 200, 40, swings), 0.6*wrong)
}

// However long it goes on, there are no more knots than asked for.
func TestKnotsAreFew(t *testing.T) {
	t.Parallel()
	var f Factor
	drive(&f, 50, 400, func(int) float64 { return 1 })
	require.LessOrEqual(t, len(f.knots), 48)
	require.Greater(t, f.last.time-f.knots[0].time, 60.0)
}

func TestSaved(t *testing.T) {
	t.Parallel()
	var f, g Factor
	drive(&f, 20, 5, func(int) float64 { return 2 })
	e := codec.NewEncoder(nil, "f", 1)
	f.Encode(e)
	d, err := codec.NewDecoder(must(e.Finish()), "f", 1)
	require.NoError(t, err)
	g.Decode(d)
	require.NoError(t, d.Done())
	require.Equal(t, f, g)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
