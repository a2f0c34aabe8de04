package pick

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// The kinetic tournament against a search over all pages. It counts times and frequencies in other
// units than the search, so that their product may be beyond all numbers.
func tournament(t *rapid.T) {
	n := rapid.IntRange(0, 9).Draw(t, "n")
	unit := rapid.SampledFrom([]int{0, 0, -900, 900}).Draw(t, "time")
	scale := rapid.SampledFrom([]int{0, 0, -600, 600}).Draw(t, "frequency")
	at := func(t float64) float64 { return math.Ldexp(t, unit) }
	o := NewOverdue(n)
	now := 0.0
	level := func(i int) float64 {
		return (now - math.Ldexp(o.last[i], -unit)) * math.Ldexp(o.x[i], -scale)
	}
	started := false
	var out []int
	idle := func() (best float64, any bool) {
		best = math.Inf(-1)
		for i := range o.x {
			if o.in[i] && o.x[i] > 0 {
				any = true
				if started {
					best = max(best, level(i))
				}
			}
		}
		return best, any
	}
	frequency := rapid.OneOf(rapid.Float64Range(0, 3), rapid.SampledFrom([]float64{0, 1, 1, 2, 1e-6, 1e6}))
	t.Repeat(map[string]func(*rapid.T){
		"pick": func(t *rapid.T) {
			now += rapid.OneOf(rapid.Float64Range(0, 2), rapid.Just(0.0), rapid.Just(1000.0)).Draw(t, "dt")
			best, want := idle()
			slot, ok := o.Pick(at(now))
			require.Equal(t, want, ok)
			if ok {
				if started {
					require.GreaterOrEqual(t, level(slot), best-1e-9*(1+math.Abs(best)))
				}
				out = append(out, slot)
				started = true
			}
		},
		"put": func(t *rapid.T) {
			if len(out) == 0 {
				return
			}
			i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
			o.Put(out[i], at(now+rapid.SampledFrom([]float64{0, 0.5, -0.25}).Draw(t, "off")))
			out = append(out[:i], out[i+1:]...)
		},
		"set": func(t *rapid.T) {
			if len(o.x) > 0 {
				o.Set(rapid.IntRange(0, len(o.x)-1).Draw(t, "slot"), math.Ldexp(frequency.Draw(t, "x"), scale))
			}
		},
		"add": func(t *rapid.T) {
			if started {
				o.Put(len(o.x), at(now))
				o.Set(len(o.x)-1, math.Ldexp(frequency.Draw(t, "x"), scale))
			}
		},
	})
}

func TestTournament(t *testing.T) {
	t.Parallel()
	rapid.Check(t, tournament)
}

// reload saves a tree and loads it.
func reload(t require.TestingT, o *Overdue) error {
	d := codectest.Decoder(t, o.Encode)
	back := DecodeOverdue(d, len(o.x), func(slot int) bool { return o.in[slot] })
	err := d.Done()
	if err == nil {
		require.Equal(t, o, back)
	}
	return err
}

// A saved tree whose winners are not in, or are not those of their matches, is refused: it once
// panicked in Pick.
func TestForgedTournament(t *testing.T) {
	t.Parallel()
	load := func(spoil func(o *Overdue)) error {
		o := NewOverdue(5)
		for slot := range 5 {
			o.Set(slot, float64(1+slot))
		}
		_, ok := o.Pick(1)
		require.True(t, ok)
		spoil(o)
		return reload(t, o)
	}
	require.NoError(t, load(func(*Overdue) {}))
	for name, spoil := range map[string]func(o *Overdue){
		"nobody":             func(o *Overdue) { o.winner[1] = None },
		"of no match":        func(o *Overdue) { o.winner[1] = (o.winner[1] + 1) % 5 },
		"unknown":            func(o *Overdue) { o.winner[2] = 77 },
		"never":              func(o *Overdue) { o.until[1] = math.NaN() },
		"small":              func(o *Overdue) { o.winner, o.until = o.winner[:3], o.until[:3] },
		"polled at NaN":      func(o *Overdue) { o.last[2] = math.NaN() },
		"never polled":       func(o *Overdue) { o.last[2] = math.Inf(-1) },
		"polled ages ago":    func(o *Overdue) { o.last[2] = -1e300 },
		"late":               func(o *Overdue) { o.now = 1e300 },
		"frequency":          func(o *Overdue) { o.x[0] = -1 },
		"sum of frequencies": func(o *Overdue) { o.x[0] = 1e299 },
	} {
		require.ErrorIs(t, load(spoil), codec.ErrCorrupt, name)
	}
}

func FuzzTournament(f *testing.F) { f.Fuzz(rapid.MakeFuzz(tournament)) }

// Matches replayed per poll grow with the logarithm of the number of pages.
func TestTournamentCost(t *testing.T) {
	t.Parallel()
	perPoll := func(n int) float64 {
		rng := rand.New(rand.NewPCG(1, 2))
		f := NewOverdue(n)
		for i := range n {
			f.Set(i, math.Exp(rng.NormFloat64()))
		}
		played := 0
		polls := 20 * n
		for k := range polls {
			now := float64(k)
			f.advance(now)
			played += f.due(1, now+1)
			slot, _ := f.Pick(now)
			f.Put(slot, now)
		}
		return float64(played) / float64(polls)
	}
	small, large := perPoll(64), perPoll(4096)
	// log² n has grown by (12/6)² = 4.
	require.Less(t, large, 6*small+6, "matches overtaken between polls: %v and %v", small, large)
}

// due counts the nodes that advance(now) would replay.
func (o *Overdue) due(k int, now float64) int {
	if k >= o.size || o.until[k] > now {
		return 0
	}
	return 1 + o.due(2*k, now) + o.due(2*k+1, now)
}

// Of pages that are equally late the fastest is first, then the first.
func TestTournamentTies(t *testing.T) {
	t.Parallel()
	x := []float64{1, 3, 2, 3, 1, 3}
	o := NewOverdue(len(x))
	for slot, x := range x {
		o.Set(slot, x)
	}
	for _, want := range []int{1, 3, 5, 2, 0, 4} {
		slot, ok := o.Pick(7)
		require.True(t, ok)
		require.Equal(t, want, slot)
	}
	_, ok := o.Pick(8)
	require.False(t, ok)
}

// Over many polls of pages of all rates no pick is later than need be.
func TestTournamentInTime(t *testing.T) {
	t.Parallel()
	const n = 60
	rng := rand.New(rand.NewPCG(3, 4))
	o := NewOverdue(n)
	sum := 0.0
	for slot := range n {
		x := math.Exp(2 * rng.NormFloat64())
		o.Set(slot, x)
		sum += x
	}
	now := 0.0
	for k := range 5000 {
		now += rng.ExpFloat64() / sum
		best := 0.0
		for slot := range n {
			best = max(best, (now-o.last[slot])*o.x[slot])
		}
		slot, ok := o.Pick(now)
		require.True(t, ok)
		if k > 0 {
			require.InDelta(t, best, (now-o.last[slot])*o.x[slot], 1e-9*best, "pick %d", k)
		}
		o.Put(slot, now)
	}
}

// A subtree of which no page is in has no winner, one of which a page is in has one.
func TestForgedTournamentOfSome(t *testing.T) {
	t.Parallel()
	load := func(out []int, spoil func(o *Overdue)) error {
		o := NewOverdue(8)
		for slot := range 8 {
			x := 1.0
			if slot >= 8-len(out) {
				x = 9
			}
			o.Set(slot, x)
		}
		for range out {
			slot, ok := o.Pick(1)
			require.True(t, ok)
			require.Contains(t, out, slot)
		}
		spoil(o)
		return reload(t, o)
	}
	require.NoError(t, load([]int{6, 7}, func(o *Overdue) { require.EqualValues(t, None, o.winner[7]) }))
	require.NoError(t, load([]int{7}, func(o *Overdue) { require.EqualValues(t, 6, o.winner[7]) }))
	require.ErrorIs(t, load([]int{7}, func(o *Overdue) { o.winner[7], o.winner[3], o.winner[1] = None, 4, 0 }), codec.ErrCorrupt)
}

// By hand: who wins, and when that is over.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	o := NewOverdue(4)
	for slot, x := range []float64{1, 2, 3, 3} {
		o.Set(slot, x)
		o.last[slot] = []float64{0, 5, 6, 6}[slot]
	}
	o.now = 6
	o.rebuild(4)
	require.Equal(t, []uint32{0, 2}, o.winner[2:])
	require.Equal(t, []float64{10, math.Inf(1)}, o.until[2:], "1·t = 2·(t−5), and two alike")
	require.EqualValues(t, 0, o.winner[1])
	require.EqualValues(t, 9, o.until[1], "1·t = 3·(t−6)")
	o.advance(8)
	require.EqualValues(t, 0, o.winner[1])
	o.advance(9)
	require.EqualValues(t, 2, o.winner[1], "the faster one leads from then on")
	require.EqualValues(t, 10, o.until[1])
	require.EqualValues(t, 0, o.winner[2])
	o.advance(10)
	require.EqualValues(t, 1, o.winner[2])
}

// Room is made for a quarter more pages, so that the tree is laid out anew now and then only.
func TestOverdueGrows(t *testing.T) {
	t.Parallel()
	o := NewOverdue(8)
	o.Set(3, 1)
	_, ok := o.Pick(1)
	require.True(t, ok)
	for slot := 8; slot < 13; slot++ {
		o.Put(slot, 2)
		require.Equal(t, map[bool]int{false: 11, true: 14}[slot >= 11], o.size, "slot %d", slot)
		require.Zero(t, o.Frequency(slot))
	}
	require.NoError(t, reload(t, o))
	o.Set(12, 5)
	slot, ok := o.Pick(3)
	require.True(t, ok)
	require.Equal(t, 12, slot)
	o.Put(12, 3)
	o.Drop(12)
	require.Zero(t, o.Frequency(12))
	_, ok = o.Pick(4)
	require.False(t, ok)
	require.NoError(t, reload(t, o))
}
