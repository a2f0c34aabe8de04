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

// polledInTurn lets n pages that change by themselves with probability 0.02 in a cycle be polled in
// turn for so many cycles, each of which an edit changes with some probability at some time. It
// returns the probability that edits changed a page since each of some times.
func polledInTurn(n int, cycles, edit, reach float64, since ...float64) (edited []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := NewLevel(8, 2)
	f := New(&l)
	for k := range int(float64(n) * cycles) {
		now := float64(k) / float64(n)
		from := now - 1
		changed := rng.Float64() < 0.02 || from < edit && edit <= now && rng.Float64() < reach
		f.Edit(&l, from, now, 0.98, changed, 1)
		f.Add(from, now, 0, 0.02, 1, 192)
	}
	for _, t := range since {
		edited = append(edited, f.Edited(f.Since(t).Edits))
	}
	return edited
}

// An edit of 8 pages of 10 is found by what a quarter of the pages say, for pages that were polled
// before it and not for those that were polled since. Where there was none, there is none.
func TestEdits(t *testing.T) {
	t.Parallel()
	for n, least := range map[int]float64{30: 0.3, 300: 0.6} {
		e := polledInTurn(n, 8.25, 8, 0.8, 7.5, 7.9, 8.2)
		t.Logf("%d pages: %.3f", n, e)
		require.Greater(t, e[0], least)
		require.Less(t, e[0], 0.9)
		require.Greater(t, e[1], least/2)
		require.Less(t, e[2], 0.2)
		e = polledInTurn(n, 9.5, 8, 0.8, 8.2, 8.6)
		require.Less(t, e[0], 0.15, "pages that were polled after the edit are found unchanged")
		require.Less(t, e[1], 0.1)
		e = polledInTurn(n, 8.25, 100, 0, 7.5)
		require.Less(t, e[0], 0.03)
	}
}

// Where changes are those of the pages alone, edits are not believed in for long.
func TestEditsAreNotBelievedIn(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	l := NewLevel(8, 2)
	f := New(&l)
	for k := range 40_000 {
		now := float64(k) / 100
		f.Edit(&l, now-1, now, 0.5, rng.Float64() < 0.5, 1)
		f.Add(now-1, now, 0.5, 0.5, 1, 12)
	}
	require.Less(t, l.edited, 0.45)
	require.Less(t, f.Edited(f.Since(399).Edits), 0.03)
}

// A poll shares a change out in proportion to what was expected: with a page of hazard v and edits
// of hazard h over the gap, an interval of hazard x and n polls goes to (x·(n + c) + …)/(n + 1), where
// c is the number of changes to be expected, given that there was one, over v + h.
func TestEditIsAStepOfEM(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	f := New(&l)
	f.begin(0)
	f.knots = append(f.knots, knot{time: 1, edits: 0.25, polls: 3}, knot{time: 2, edits: 0.5, polls: 1})
	f.knots[0].polls = 7
	f.last = knot{time: 3, edits: 1}
	const stay = 0.9
	c := 1 / (1 - stay*math.Exp(-0.875))
	f.Edit(&l, 0.5, 3, stay, true, 1)
	first := 0.25 * (7 + editPull + c/2) / (7 + editPull + 0.5)
	second := 0.25 * (3 + editPull + c) / (3 + editPull + 1)
	third := 0.5 * (1 + editPull + c) / (1 + editPull + 1)
	require.InEpsilon(t, first, f.knots[1].edits, 1e-6)
	require.InEpsilon(t, first+second, f.knots[2].edits, 1e-6)
	require.InEpsilon(t, first+second+third, f.last.edits, 1e-6)
	require.InDelta(t, 7.5, f.knots[0].polls, 1e-6)
	require.InDelta(t, 2, f.knots[2].polls, 1e-6)
	require.InEpsilon(t, second+third, f.Since(1).Edits, 1e-6)
	require.InEpsilon(t, first/2+second+third, f.Since(0.5).Edits, 1e-6)
	require.InEpsilon(t, first+second+third, f.Since(-1).Edits, 1e-6)
	require.Zero(t, f.Since(3).Edits)
	before, level := f, l
	f.Edit(&l, 3, 3, stay, true, 1)
	require.Equal(t, before, f, "no gap")
	require.Equal(t, level, l, "no gap")
}

// Where a gap begins within an interval of any length, at any time, that interval is polled in part.
func TestEditInPartOfAnInterval(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	f := New(&l)
	f.begin(2)
	f.knots = append(f.knots, knot{time: 4, edits: 0.25, polls: 3})
	f.last = knot{time: 8, edits: 0.75}
	f.Edit(&l, 5, 8, 0.9, false, 1)
	require.InEpsilon(t, 0.25, f.knots[1].edits, 1e-6, "before the gap")
	require.InEpsilon(t, 3.75, f.knots[1].polls, 1e-6)
	require.InEpsilon(t, 0.25+0.5*(3+editPull)/(3+editPull+0.75), f.last.edits, 1e-6)
}

// Sums count from some time before the first knot.
func TestEditsSince(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	f := New(&l)
	f.knots = []knot{{time: 0, edits: 0.25}, {time: 2, edits: 0.5}}
	f.last = knot{time: 4, edits: 1}
	for _, c := range [][2]float64{{-1, 0.75}, {0, 0.75}, {1, 0.625}, {2, 0.5}, {3, 0.25}, {4, 0}} {
		require.InDelta(t, c[1], f.Since(c[0]).Edits, 1e-6, "since %v", c[0])
		require.InDelta(t, 0.5*(1-math.Exp(-c[1])), f.Edited(f.Since(c[0]).Edits), 1e-6, "since %v", c[0])
	}
}

// An edit is as likely before the first poll as in any other gap of that length.
func TestEditAtTheFirstPoll(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	f := New(&l)
	f.Edit(&l, 0, 2, 0.9, true, 1)
	const come = 2 * editRate
	found := 1 / (1 - 0.9*math.Exp(-come))
	require.InEpsilon(t, come*(editPull+found)/(editPull+1), f.last.edits, 1e-6)
	require.Equal(t, 2., f.last.time)
}

// No sum is above mostEdits, however much a poll finds.
func TestEditsAreBounded(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	f := New(&l)
	f.begin(0)
	f.knots = append(f.knots, knot{time: 1, edits: mostEdits - 0.001})
	f.last = knot{time: 2, edits: mostEdits}
	f.Edit(&l, 1, 2, 1, true, 1)
	require.Equal(t, float32(mostEdits), f.last.edits)
}

// Edits are believed in by Bayes' rule, of likelihoods that are forgotten bit by bit, and the level
// follows its groups slowly.
func TestEditsAreBelievedInByBayes(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	l.edited = 0.2
	f := New(&l)
	f.odds = 0.5
	f.believe(&l, 0.75, 0.25, false)
	odds := 0.5*forget - math.Log(3)
	require.InEpsilon(t, odds, f.odds, 1e-6)
	edited := 0.2 * math.Exp(odds) / (0.2*math.Exp(odds) + 0.8)
	require.InEpsilon(t, edited, f.edited, 1e-6)
	require.InEpsilon(t, 0.2+learn*(edited-0.2), l.edited, 1e-9)
	f.believe(&l, 0.75, 0.25, true)
	require.InEpsilon(t, odds*forget+math.Log(3), f.odds, 1e-6)
}

// A level is never certain about edits, so that it can change its mind, and be saved.
func TestEditsAreNeverCertain(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		l := NewLevel(8)
		f := New(&l)
		for range 40_000 {
			f.believe(&l, 0.9, 0.1, changed)
		}
		if changed {
			require.Equal(t, 1-leastEdited, l.edited)
		} else {
			require.Equal(t, leastEdited, l.edited)
		}
	}
}

// Whatever polls find, sums stay in order and in bounds, and what is saved is the same when loaded.
func TestEditsAreSaved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := NewLevel(8, 2)
		f := New(&l)
		now := rapid.Float64Range(-100, 100).Draw(t, "start")
		for range rapid.IntRange(1, 60).Draw(t, "polls") {
			now += math.Exp(rapid.Float64Range(-9, 9).Draw(t, "log step"))
			from := now - math.Exp(rapid.Float64Range(-9, 9).Draw(t, "log gap"))
			f.Edit(&l, from, now, rapid.Float64Range(1e-6, 1).Draw(t, "stay"), rapid.Bool().Draw(t, "changed"), 1)
			f.Add(from, now, 0.5, 0.5, 1, 9)
			edits := f.Since(from).Edits
			p := f.Edited(edits)
			require.GreaterOrEqual(t, f.MostEdited(edits), p)
			require.GreaterOrEqual(t, p, 0.)
			require.LessOrEqual(t, p, 1.)
		}
		d := codectest.Decoder(t, func(e *codec.Encoder) { f.Encode(e); l.Encode(e) })
		var back Factor
		level := NewLevel(8, 2)
		back.Decode(d)
		level.Decode(d)
		require.NoError(t, d.Done())
		require.Equal(t, f, back)
		require.Equal(t, l, level)
	})
}

// As a knot is dropped, the interval before it has the polls of both, by their lengths.
func TestJoinedPolls(t *testing.T) {
	t.Parallel()
	e := Evidence{knots: []knot{{time: 0, polls: 8}, {time: 1, polls: 2}, {time: 4, polls: 100}}}
	e.join(1)
	require.InDelta(t, 0.25*8+0.75*2, float64(e.knots[0].polls), 1e-6)
	require.InDelta(t, 2, float64(e.knots[1].polls), 1e-6, "dropped by thin, not here")
	e.last.time = 5
	e.join(2)
	require.InDelta(t, 0.75*2+0.25*100, float64(e.knots[1].polls), 1e-5)
}

// Thinning leaves the polls as they are in the mean over time.
func TestThinningKeepsPolls(t *testing.T) {
	t.Parallel()
	const most = 6
	var e Evidence
	mean := func() (sum float64) {
		for i, k := range e.knots {
			sum += float64(k.polls) * (e.after(i).time - k.time)
		}
		return sum
	}
	sum := 0.0
	for i := range 40 { // less than memory
		from, to := 2*width*float64(i), 2*width*float64(i+1)
		if i > 0 {
			polls := float64(i % 7)
			e.knots[len(e.knots)-1].polls = float32(polls)
			sum += polls * (to - from)
		}
		e.Add(from, to, 0, 0, 1, most)
		require.LessOrEqual(t, len(e.knots), most)
		require.InDelta(t, sum, mean(), 1e-4)
	}
}

// Edits come at editRate in each cycle, and a poll that finds nothing makes them less likely.
func TestEditsComeByCycles(t *testing.T) {
	t.Parallel()
	l := NewLevel(8)
	f := New(&l)
	f.Edit(&l, 0, 10, 0.9, false, 100)
	require.Greater(t, float64(f.last.edits), 0.5*editRate*10/100)
	require.Less(t, float64(f.last.edits), editRate*10/100)
}
