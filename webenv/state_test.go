package webenv

import (
	"encoding"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/webenv/internal/check"
)

// saver is an environment that can be saved.
type saver interface {
	Env
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// empty returns an environment of the same type, to restore into.
func empty(env Env) saver {
	switch env.(type) {
	case *memorylessEnv:
		return new(memorylessEnv)
	case *zipfEnv:
		return new(zipfEnv)
	case *burstyEnv:
		return new(burstyEnv)
	}
	return nil
}

// reached returns the time up to which a page has been polled.
func reached(env Env, page int) float64 {
	switch e := env.(type) {
	case *memorylessEnv:
		return e.last[page]
	case *zipfEnv:
		return max(e.now, e.time[page])
	case *burstyEnv:
		return e.last[page]
	}
	return 0
}

// outcomes polls every page a few times and returns what it found.
func outcomes(env saver) any {
	var found []float64
	for k := range 8 * min(env.Len(), 10) {
		page, step := k%env.Len(), float64(k%3)/2
		latest := math.MaxFloat64
		if b, ok := env.(*burstyEnv); ok { // a poll takes as long as there are stays before it
			step = min(step, 1000*min(b.cfg.QuietStay, b.cfg.ActiveStay))
			latest = b.cfg.latest()
		}
		since, _ := env.Poll(page, min(reached(env, page)+step, latest))
		found = append(found, since)
	}
	return found
}

// savedEnv is the case of an environment in the middle of a run.
func savedEnv(t testing.TB, make func(n int, src rand.Source) (Env, error)) *codectest.Case {
	env, err := make(3, rand.NewPCG(1, 2))
	require.NoError(t, err)
	for k := range 50 {
		env.Poll(k%3, float64(k+1)*0.25)
	}
	return codectest.Of(env.(saver), func() saver { return empty(env) }, outcomes)
}

func FuzzSaved(f *testing.F) {
	var cases []*codectest.Case
	for _, e := range envs() {
		if e.simulated {
			cases = append(cases, savedEnv(f, e.make))
		}
	}
	codectest.Fuzz(f, cases...)
}

func TestSaved(t *testing.T) {
	t.Parallel()
	for _, e := range envs() {
		if !e.simulated {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			codectest.Run(t, e.name, savedEnv(t, e.make))
		})
	}
	m, err := NewPoisson([]float64{1}, rand.New(check.Source(1)))
	require.NoError(t, err)
	_, err = m.MarshalBinary()
	require.ErrorContains(t, err, "use *rand.PCG or *rand.ChaCha8")
}

// State with a right checksum but values that contradict each other.
func TestRestoreContradictions(t *testing.T) {
	t.Parallel()
	memoryless := func() *memorylessEnv {
		m, _ := NewSlots([]float64{0.1, 0.2}, AtMostOnce, 3, check.Source(1))
		return m.(*memorylessEnv)
	}
	zipf := func(swapEvery int) *zipfEnv {
		z, _ := NewZipf(ZipfConfig{Pages: 3, Alpha: 0.5, Beta: 1, SwapEvery: swapEvery}, check.Source(1))
		return z.(*zipfEnv)
	}
	bursty := func() *burstyEnv {
		b, _ := NewBursty([]float64{1, 2}, BurstyConfig{1, 2, 3, 4}, check.Source(1))
		return b.(*burstyEnv)
	}
	var bad []saver
	for _, change := range []func(m *memorylessEnv){
		func(m *memorylessEnv) { m.rates = m.rates[:1] },
		func(m *memorylessEnv) { m.rates, m.last = nil, nil },
		func(m *memorylessEnv) { m.rates[1] = -1 },
		func(m *memorylessEnv) { m.last[1] = -1 },
		func(m *memorylessEnv) { m.law = 2 },
		func(m *memorylessEnv) { m.shift = 1.5 },
		func(m *memorylessEnv) { m.shift = -1 },
		func(m *memorylessEnv) { m.rng = random{} },
	} {
		m := memoryless()
		change(m)
		bad = append(bad, m)
	}
	for _, change := range []func(z *zipfEnv){
		func(z *zipfEnv) { z.cfg.Pages = 1 << 30 },
		func(z *zipfEnv) { z.cfg.Alpha = 2 },
		func(z *zipfEnv) { z.time[0] = 1 }, // after now
		func(z *zipfEnv) { z.time[0] = -1 },
		func(z *zipfEnv) { z.now = -1 },
		func(z *zipfEnv) { z.polls = 2 },
		func(z *zipfEnv) { z.polls = -1 },
		func(z *zipfEnv) { z.rank = z.rank[:2] },
		func(z *zipfEnv) { z.rank[0] = 1 },
		func(z *zipfEnv) { z.rank[0] = 3 },
	} {
		z := zipf(2)
		change(z)
		bad = append(bad, z)
	}
	static := zipf(0)
	static.rank = []uint32{0, 1, 2}
	bad = append(bad, static)
	for _, change := range []func(b *burstyEnv){
		func(b *burstyEnv) { b.rates = b.rates[:1] },
		func(b *burstyEnv) { b.rates[1] = -1 },
		func(b *burstyEnv) { b.last[0] = -1 },
		func(b *burstyEnv) { b.cfg.QuietStay = 0 },
		func(b *burstyEnv) { b.active = b.active[:1] },
	} {
		b := bursty()
		change(b)
		bad = append(bad, b)
	}
	for i, env := range bad {
		saved, err := env.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, empty(env).UnmarshalBinary(saved), ErrCorrupt, "case %d", i)
	}
}
