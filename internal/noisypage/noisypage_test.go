package noisypage

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Noise changes the bytes and no paragraph; an edit changes the text; what detectors that err in
// a known way make of it is counted.
func TestPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("forty polls of all kinds take long under the race detector")
	}
	type falsely struct{ raw, text bool }
	all, markup, none := falsely{true, true}, falsely{true, false}, falsely{}
	want := []falsely{none, markup, all, all, all, all, all, all, all, all, none, markup, all, all, all, all, all, all, all}
	require.Len(t, want, len(Noises()))
	for i, n := range Noises() {
		raw := Measure(1, 0.2, Raw, n)
		require.Zero(t, raw.Missed, n.Name)
		require.Equal(t, Pages*(Polls-1), raw.Polls+raw.Changes)
		text := Measure(1, 0.2, Text, n)
		require.Zero(t, text.Missed, n.Name)
		require.Equal(t, raw.Changes, text.Changes)
		require.Equal(t, want[i].raw, raw.False > 0, n.Name)
		require.Equal(t, want[i].text, text.False > 0, n.Name)
		if want[i].text {
			require.Equal(t, raw.False, text.False, n.Name)
			require.Greater(t, raw.FalseShare(), 0.1)
			require.Equal(t, n.Name != "clock, in a cache for 8 polls", raw.Early > 0)
		}
	}
	blind := Measure(1, 0.2, func(*Page) Detector { return func([]byte) bool { return false } })
	require.Equal(t, 1.0, blind.MissedShare())
	require.InDelta(t, 0.2*Pages*(Polls-1), blind.Changes, 4*17.3) // four standard deviations
}

func TestEditsAreSeen(t *testing.T) {
	t.Parallel()
	for i, n := range Noises() {
		if i%10 != 0 {
			continue // the others change by themselves
		}
		p := New(rand.NewPCG(1, 1), n)
		before := string(p.Poll())
		require.Equal(t, before, string(p.Poll()))
		for range 100 {
			p.Edit()
			now := string(p.Poll())
			require.NotEqual(t, before, now)
			if i == 10 {
				require.Equal(t, price.ReplaceAllString(before, ""), price.ReplaceAllString(now, ""), "in place")
			}
			before = now
		}
	}
}

var price = regexp.MustCompile(`\$\d+`)
