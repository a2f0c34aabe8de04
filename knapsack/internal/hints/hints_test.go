package hints

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

// answers scores n answers of slot 0: with a hint or not, a change or not.
func answers(h *Hints, n int, hint, changed bool) {
	for range n {
		if hint {
			h.Add(0, 100)
		}
		h.Score(0, changed)
	}
}

func TestQuality(t *testing.T) {
	t.Parallel()
	var h Hints
	answers(&h, 5, false, true)
	require.False(t, h.On())
	p, r := h.Quality()
	require.True(t, math.IsNaN(p) && math.IsNaN(r), "nothing counts before the first hint")
	answers(&h, 30, true, true)
	answers(&h, 10, true, false)
	answers(&h, 20, false, true)
	answers(&h, 40, false, false)
	p, r = h.Quality()
	require.EqualValues(t, 0.75, p)
	require.EqualValues(t, 0.6, r)
	require.True(t, h.Telling())
	answers(&h, 200, true, false)
	require.False(t, h.Telling(), "hints that come whether or not")
}

// Correct is Bayes's rule on the probability of a change.
func TestCorrect(t *testing.T) {
	t.Parallel()
	var h Hints
	answers(&h, 80, true, true)
	answers(&h, 20, false, true)
	answers(&h, 10, true, false)
	answers(&h, 90, false, false)
	yes, no := 81.0/102, 10.1/102
	h.Add(70, 100)
	const p = 0.3
	require.InEpsilon(t, p*yes/(p*yes+(1-p)*no), h.Correct(70, p, p), 1e-12)
	require.InEpsilon(t, p*(1-yes)/(p*(1-yes)+(1-p)*(1-no)), h.Correct(71, p, p), 1e-12)
	require.InEpsilon(t, 5*yes/(p*yes+(1-p)*no), h.Correct(70, p, 5), 1e-12, "another value than the probability")
	require.Zero(t, h.Correct(70, 0, 0))
	h.Clear(70)
	require.Equal(t, h.Correct(71, p, p), h.Correct(70, p, p))
	h.Grow(1000)
	require.Zero(t, h.has(127))
}

func TestDecode(t *testing.T) {
	t.Parallel()
	load := func(h *Hints, slots int) (*Hints, error) {
		e := codec.NewEncoder(nil, "h", 1)
		h.Encode(e)
		b, err := e.Finish()
		require.NoError(t, err)
		d, err := codec.NewDecoder(b, "h", 1)
		require.NoError(t, err)
		got := new(Hints)
		got.Decode(d, slots)
		return got, d.Done()
	}
	var h Hints
	answers(&h, 3, true, true)
	h.Add(7, 100)
	got, err := load(&h, 100)
	require.NoError(t, err)
	require.Equal(t, &h, got)
	_, err = load(&h, 200)
	require.ErrorIs(t, err, codec.ErrCorrupt)
	h.counts[0][1] = math.NaN()
	_, err = load(&h, 100)
	require.ErrorIs(t, err, codec.ErrCorrupt)
}
