package hints

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// at is a poll a cycle after the last one.
var at = Spans{Last: 10, Now: 11, Cycle: 1}

// answers scores n answers of slot 0 of a group: with a hint of a source or not, a change or not.
func answers(h *Hints, n, from int, group uint32, hint, changed bool) {
	for range n {
		if hint {
			h.Add(0, 100, from, 10.5)
		}
		h.Score(0, group, at, changed)
	}
}

func TestQuality(t *testing.T) {
	t.Parallel()
	var h Hints
	answers(&h, 5, 0, NoGroup, false, true)
	require.False(t, h.On())
	p, r := h.Quality(0)
	require.True(t, math.IsNaN(p) && math.IsNaN(r), "nothing counts before the first hint")
	answers(&h, 30, 0, NoGroup, true, true)
	answers(&h, 10, 0, NoGroup, true, false)
	answers(&h, 20, 0, NoGroup, false, true)
	answers(&h, 40, 0, NoGroup, false, false)
	p, r = h.Quality(0)
	require.InDelta(t, 0.75, p, 0.02, "what came first has faded a little")
	require.Empty(t, h.groups)
	require.InDelta(t, 0.6, r, 0.02)
	require.True(t, h.Telling())
	answers(&h, 300, 0, NoGroup, true, false)
	require.False(t, h.Telling(), "hints that come whether or not")
	answers(&h, 200, 1, NoGroup, true, true)
	require.True(t, h.Telling(), "one of the sources is enough")
	_, r = h.Quality(0)
	require.Less(t, r, 0.2, "silent while there were changes")
}

// evidence returns the probability of a change with what hints tell.
func evidence(h *Hints, slot int, group uint32, t Spans, p float64) float64 {
	return p * h.Evidence(slot, group, t, p).All
}

// Evidence is Bayes's rule on the probability of a change, over all sources.
func TestEvidence(t *testing.T) {
	t.Parallel()
	var h Hints
	answers(&h, 80, 0, NoGroup, true, true)
	answers(&h, 20, 0, NoGroup, false, true)
	answers(&h, 10, 0, NoGroup, true, false)
	answers(&h, 90, 0, NoGroup, false, false)
	rates := func(from int) (yes, no float64) { s := &h.sources[from]; return s.rate(1), s.rate(0) }
	yes, no := rates(0)
	require.InDelta(t, 0.8, yes, 0.03)
	require.InDelta(t, 0.1, no, 0.01)
	h.Add(70, 100, 0, 10.5)
	const p = 0.3
	correct := func(slot int) float64 { return evidence(&h, slot, NoGroup, at, p) }
	// Half a cycle is where all hints were: nothing is to be learnt of it.
	require.InEpsilon(t, p*yes/(p*yes+(1-p)*no), correct(70), 1e-9)
	require.InEpsilon(t, p*(1-yes)/(p*(1-yes)+(1-p)*(1-no)), correct(71), 1e-9)
	e := h.Evidence(70, NoGroup, at, p)
	require.InEpsilon(t, correct(71), p*e.Silent, 1e-9)
	require.InEpsilon(t, e.All, e.Telling, 1e-9)
	require.Zero(t, evidence(&h, 70, NoGroup, at, 0))
	require.Equal(t, correct(71), evidence(&h, 70, NoGroup, Spans{Last: 10, Now: 10.4, Cycle: 1}, p), "before the time of the hint")

	h.Add(70, 100, 1, 10.5) // a source of which nothing is known: 1/2 to 1/20
	yes2, no2 := rates(1)
	require.InEpsilon(t, 10, yes2/no2, 1e-9)
	require.InEpsilon(t, p*yes*yes2/(p*yes*yes2+(1-p)*no*no2), correct(70), 1e-9)
	require.InEpsilon(t, p*(1-yes)*(1-yes2)/(p*(1-yes)*(1-yes2)+(1-p)*(1-no)*(1-no2)), correct(71), 1e-9)
	h.Clear(70)
	require.Equal(t, correct(71), correct(70))
	h.Grow(1000)
	require.False(t, h.has(127))
}

// A hint of a time to come outlives the answers before it.
func TestAhead(t *testing.T) {
	t.Parallel()
	var h Hints
	h.Add(3, 10, 0, 20)
	h.Score(3, NoGroup, at, false)
	require.True(t, h.has(3))
	h.Score(3, NoGroup, Spans{Last: 11, Now: 20, Cycle: 1}, true)
	require.False(t, h.has(3))
	p, r := h.Quality(0)
	require.EqualValues(t, 1, p)
	require.EqualValues(t, 1, r)
}

// A group in which a source lies goes its own way, the others by what is known of the source.
func TestGroups(t *testing.T) {
	t.Parallel()
	var h Hints
	for range 100 {
		for group := range uint32(3) {
			answers(&h, 1, 0, group, true, group > 0)
			answers(&h, 1, 0, group, false, group == 0)
			answers(&h, 2, 0, group, false, false)
		}
	}
	h.Add(5, 100, 0, 10.5)
	const p = 0.2
	require.Less(t, evidence(&h, 5, 0, at, p), p)
	require.Greater(t, evidence(&h, 5, 1, at, p), 2*p)
	require.InEpsilon(t, evidence(&h, 5, NoGroup, at, p), evidence(&h, 5, 77, at, p), 1e-9, "a new group")
	h.ForgetGroup(0)
	require.InEpsilon(t, evidence(&h, 5, NoGroup, at, p), evidence(&h, 5, 0, at, p), 1e-9)
}

// A source that is late: its hints are right only if the answer before is long ago; and one that
// is early: they are right only after a time.
func TestLateAndEarly(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{true, false} {
		var h Hints
		spans := func(short bool) Spans {
			switch {
			case late && short:
				return Spans{Last: 9.99, Now: 11, Cycle: 1}
			case late:
				return Spans{Last: 9, Now: 11, Cycle: 1}
			case short:
				return Spans{Last: 8, Now: 10.01, Cycle: 1}
			default:
				return Spans{Last: 8, Now: 11, Cycle: 1}
			}
		}
		for range 100 {
			for _, short := range []bool{true, false} {
				h.Add(0, 10, 0, 10)
				h.Score(0, NoGroup, spans(short), !short)
				h.Score(0, NoGroup, spans(short), false)
			}
		}
		h.Add(0, 10, 0, 10)
		const p = 0.2
		require.Less(t, evidence(&h, 0, NoGroup, spans(true), p), p, "late %v", late)
		require.Greater(t, evidence(&h, 0, NoGroup, spans(false), p), 3*p, "late %v", late)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	load := func(h *Hints, slots int) (*Hints, error) {
		d := codectest.Decoder(t, h.Encode)
		got := new(Hints)
		got.Decode(d, slots)
		return got, d.Done()
	}
	good := func() *Hints {
		var h Hints
		answers(&h, 3, 0, 4, true, true)
		h.Add(7, 100, 2, 11)
		h.Add(7, 100, 1, 12)
		h.Add(99, 100, 0, 13)
		return &h
	}
	got, err := load(good(), 100)
	require.NoError(t, err)
	require.Equal(t, good(), got)
	got, err = load(new(Hints), 100)
	require.NoError(t, err)
	require.Equal(t, new(Hints), got)
	_, err = load(good(), 128)
	require.NoError(t, err)
	_, err = load(good(), 129)
	require.ErrorIs(t, err, codec.ErrCorrupt)
	for name, spoil := range map[string]func(h *Hints){
		"count":  func(h *Hints) { h.sources[0].tally[0][1] = math.NaN() },
		"bucket": func(h *Hints) { h.sources[0].age[2][1] = -1 },
		"twice":  func(h *Hints) { h.waiting[7] = append(h.waiting[7], hint{1, 3}) },
		"source": func(h *Hints) { h.waiting[7][0].source = 3 }, // of 0 to 2
		"time":   func(h *Hints) { h.waiting[7][0].at = math.Inf(1) },
		"none":   func(h *Hints) { h.waiting[7] = nil },
		"group":  func(h *Hints) { h.groups[3<<32] = new(tally) },
		"off":    func(h *Hints) { h.pending, h.waiting = nil, nil },
		"slot":   func(h *Hints) { h.pending[1] |= 1 << 36; h.waiting[100] = []hint{{0, 1}} },
	} {
		h := good()
		spoil(h)
		_, err := load(h, 100)
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
	}
}

// Slots come without hints, and words of bits only where they are needed.
func TestGrow(t *testing.T) {
	t.Parallel()
	var h Hints
	h.Grow(100)
	require.False(t, h.On())
	h.Add(0, 64, 0, 1)
	require.Len(t, h.pending, 2)
	h.Grow(128)
	require.Len(t, h.pending, 2)
	h.Grow(129)
	require.Len(t, h.pending, 3)
	require.False(t, h.has(128))
}

// Hints about slots in several words of bits, of several sources and groups, are kept apart.
func TestApart(t *testing.T) {
	t.Parallel()
	var h Hints
	for _, slot := range []int{1, 65, 70} {
		h.Add(slot, 100, 1, 10.5)
	}
	h.Clear(70)
	for slot, want := range map[int]bool{1: true, 6: false, 65: true, 70: false} {
		require.Equal(t, want, h.has(slot), slot)
	}
	h.Score(65, 7, at, true)
	require.Contains(t, h.groups, uint64(1)<<32|7)
	require.Len(t, h.groups, 1)
	require.False(t, h.has(65))
	require.True(t, h.has(1))
}

// Tallies by hand: what is known of a source, of a bucket and of a group fades with each answer that
// tells of it, and a group's rates begin at those of its source.
func TestTallies(t *testing.T) {
	t.Parallel()
	const fade = 1 - 1.0/memory
	var h Hints
	answers(&h, 2, 0, 4, true, true)
	answers(&h, 1, 0, 4, true, false)
	answers(&h, 1, 0, 4, false, true)
	answers(&h, 1, 0, 4, false, false) // which tells nothing of the source
	s, g := &h.sources[0], h.groups[4]
	want := tally{{1, 1}, {fade, (fade + 1) * fade * fade}}
	for hinted := range want {
		for c := range want[hinted] {
			require.InDelta(t, want[hinted][c], s.tally[hinted][c], 1e-12)
			require.InDelta(t, want[hinted][c], g[hinted][c], 1e-12)
		}
	}
	k := at.since(hint{0, 10.5})
	require.Equal(t, oneCycle-1, k, "half a cycle to a whole one")
	require.InDelta(t, want[1][1], s.since[k][1], 1e-12)
	require.InDelta(t, want[1][0], s.age[k][0], 1e-12)
	g[0][0], g[0][1], g[1][0], g[1][1] = 5, 1, 2, 6
	recall, alarm := h.rates(0, 4)
	require.InDelta(t, (6+groupPrior*s.rate(1))/(7+groupPrior), recall, 1e-12)
	require.InDelta(t, (2+groupPrior*s.rate(0))/(7+groupPrior), alarm, 1e-12)
	require.InDelta(t, (want[1][1]+1)/(want[1][1]+want[0][1]+2), s.rate(1), 1e-12)
	require.InDelta(t, (want[1][0]+0.1)/(want[1][0]+want[0][0]+2), s.rate(0), 1e-12)
	require.Equal(t, Evidence{1, 1, 1}, h.Evidence(0, 4, at, 0))
	require.Equal(t, Evidence{1, 1, 1}, h.Evidence(0, 4, at, math.NaN()))
	require.InDelta(t, 1, h.Evidence(0, 4, at, 2).All, 1e-12, "what is certain stays so")
}

// Spans lie in octaves of a cycle.
func TestSpans(t *testing.T) {
	t.Parallel()
	s := Spans{Cycle: 3}
	for span, want := range map[float64]int{0: 0, -1: 0, 3: oneCycle, 5.9: oneCycle, 6.1: oneCycle + 1, 2.9: oneCycle - 1, 13: oneCycle + 2,
		1e9: buckets - 1, 1e-9: 0, 3.1 / 2048: 1, 2.9 / 2048: 0} {
		require.Equal(t, want, s.bucket(span), "%v", span)
	}
}

// A bucket by hand: 6 changes in 10 answers where all have 6 in 20, each with three of either kind
// lent, and the others in proportion.
func TestRatio(t *testing.T) {
	t.Parallel()
	x := table{3: {4, 6}, 5: {10, 0}}
	require.InEpsilon(t, (6.+3)/(6+6)/((4.+3)/(14+6)), x.ratio(3), 1e-12)
	require.InEpsilon(t, (0.+3)/(6+6)/((10.+3)/(14+6)), x.ratio(5), 1e-12)
	require.EqualValues(t, 1, x.ratio(4))
}

// A source tells pages apart where changes have more than twice as many hints as the rest; others
// do not count among the hints that tell.
func TestTelling(t *testing.T) {
	t.Parallel()
	var h Hints
	require.False(t, h.Led(0))
	h.Add(0, 10, 1, 10.5)
	h.sources[0].tally = tally{{1.1, 0.5}, {0.9, 1.5}} // 1/4 of the rest and 2.5/4 of the changes
	h.sources[1].tally = tally{{1.1, 1}, {0.9, 1}}     // 1/4 and 2/4
	require.True(t, h.Telling())
	require.True(t, h.Led(0))
	require.False(t, h.Led(1), "no hint")
	require.True(t, h.sources[0].telling())
	require.False(t, h.sources[1].telling())
	const p = 0.2
	yes, no := 0.625, 0.25
	e := h.Evidence(0, NoGroup, at, p) // a hint of source 1 and none of source 0
	require.InEpsilon(t, (1-yes)/2/(p*(1-yes)/2+(1-p)*(1-no)/4), e.All, 1e-12)
	require.InEpsilon(t, (1-yes)/(p*(1-yes)+(1-p)*(1-no)), e.Telling, 1e-12)
	require.Equal(t, e.Telling, e.Silent)
	h.Add(0, 10, 0, 10.5)
	e = h.Evidence(0, NoGroup, at, p)
	require.InEpsilon(t, yes/(p*yes+(1-p)*no), e.Telling, 1e-12)
	require.InEpsilon(t, yes/2/(p*yes/2+(1-p)*no/4), e.All, 1e-12)
	h.sources[0].tally = h.sources[1].tally
	require.False(t, h.Telling())
	require.False(t, h.Led(0))
	for _, unknown := range []int{-1, 2} {
		precision, recall := h.Quality(unknown)
		require.True(t, math.IsNaN(precision) && math.IsNaN(recall))
	}
	for _, likelihood := range []float64{0, math.NaN()} { // rounding may leave none
		require.EqualValues(t, 1, bayes(p, likelihood, 1))
		require.EqualValues(t, 1, bayes(p, 1, likelihood))
	}
}

// What is known of a source by time fades as well, and a group is forgotten for all sources.
func TestForget(t *testing.T) {
	t.Parallel()
	var h Hints
	for from := range 3 {
		answers(&h, 1, from, 4, true, true)
		answers(&h, 1, from, 5, true, false)
	}
	require.Len(t, h.groups, 6)
	h.ForgetGroup(4)
	require.Len(t, h.groups, 3)
	s := &h.sources[2]
	k := at.since(hint{0, 10.5})
	before := *s
	answers(&h, 1, 0, NoGroup, false, true)
	for c := range 2 {
		require.InEpsilon(t, before.since[k][c]*(1-1.0/memory), s.since[k][c], 1e-12)
		require.InEpsilon(t, before.age[k][c]*(1-1.0/memory), s.age[k][c], 1e-12)
	}
}

// Hints of after a time can be dropped, those of before stay.
func TestDropAfter(t *testing.T) {
	t.Parallel()
	var h Hints
	h.DropAfter(3, 5)
	for source, at := range []float64{20, 5, 7} {
		h.Add(3, 10, source, at)
	}
	h.DropAfter(3, 7)
	require.Equal(t, []hint{{1, 5}, {2, 7}}, h.waiting[3])
	h.DropAfter(3, 4)
	require.False(t, h.has(3))
	h.Add(3, 10, 0, 6)
	require.Equal(t, []hint{{0, 6}}, h.waiting[3])
}
