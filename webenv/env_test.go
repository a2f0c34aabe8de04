package webenv

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv/internal/check"
)

// namedEnv makes one of the environments.
type namedEnv struct {
	name      string
	simulated bool
	make      func(pages int, src rand.Source) (Env, error)
}

func envs() []namedEnv {
	slots := func(law SlotLaw, shift int) func(int, rand.Source) (Env, error) {
		return func(n int, src rand.Source) (Env, error) { return NewSlots(ZipfLaw(n, 0.9, 0.3), law, shift, src) }
	}
	zipf := func(swap int) func(int, rand.Source) (Env, error) {
		return func(n int, src rand.Source) (Env, error) {
			return NewZipf(ZipfConfig{Pages: n, Alpha: 0.9, Beta: 0.3, SwapEvery: swap}, src)
		}
	}
	return []namedEnv{
		{"slots", true, slots(AtMostOnce, 0)},
		{"slots-poisson", true, slots(PoissonInSlot, 0)},
		{"slots-shift", true, slots(AtMostOnce, 5)},
		{"zipf", true, zipf(0)},
		{"zipf-swap", true, zipf(2)},
		{"poisson", true, func(n int, src rand.Source) (Env, error) {
			return NewPoisson(LogNormalLaw(n, 0.3, 1, rand.NewPCG(1, 1)), src)
		}},
		{"bursty", true, func(n int, src rand.Source) (Env, error) {
			return NewBursty(ZipfLaw(n, 0.9, 0.3), BurstyConfig{Quiet: 0.1, Active: 3, QuietStay: 6, ActiveStay: 3}, src)
		}},
		{"replay", false, func(n int, src rand.Source) (Env, error) {
			h := &History{Names: make([]string, n), Times: make([][]float64, n)}
			rng := rand.New(src)
			for i := range h.Times {
				at := 0.0
				for range 10 {
					at += 1 + rng.ExpFloat64()*10
					h.Times[i] = append(h.Times[i], at)
				}
			}
			return NewReplay(h, 0)
		}},
	}
}

// The goldens pin what a seed gives: which of 64 polls of three pages find a
// change.
var goldens = map[string]string{
	"slots":         "0000010111011101110101011101110101011101110111010101000111001101",
	"slots-poisson": "0110001111111111111101101111111101011111111101110101001111101111",
	"slots-shift":   "0000010111011101110101011101110010011101110111001100110111011101",
	"zipf":          "0000010111011101110101011101110101011101110111010101000111001101",
	"zipf-swap":     "0001110111011001110011011101100111011101110101010100100101011101",
	"poisson":       "0110000000000000001000000100001001000011000000000100000001000000",
	"bursty":        "0000000000000000001101101001001000001000000000000000001000010000",
	"replay":        "0000000000000000000000000001000000001001100000000010100000000000",
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	for _, e := range envs() {
		var outcomes [2]string
		for run := range outcomes {
			env, err := e.make(3, rand.NewPCG(1, 2))
			require.NoError(t, err)
			for k := range 64 {
				outcome := "0"
				if _, changed := env.Poll(k%3, float64(k+1)*0.25); changed {
					outcome = "1"
				}
				outcomes[run] += outcome
			}
		}
		require.Equal(t, outcomes[0], outcomes[1], "same seed, same answers")
		require.Equal(t, goldens[e.name], outcomes[0], e.name)
	}
}

// A simulated page takes at most 16 bytes, measured on the heap.
func TestMemory(t *testing.T) {
	const pages = 1_000_000
	for _, e := range envs() {
		if !e.simulated {
			continue
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		env, err := e.make(pages, check.Source(1))
		require.NoError(t, err)
		runtime.GC()
		runtime.ReadMemStats(&after)
		bytes := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / pages
		require.Equal(t, pages, env.Len())
		require.LessOrEqual(t, bytes, 16.1, "%s: the tenth is for the rest of the environment", e.name)
		require.GreaterOrEqual(t, bytes, 7.9, "%s: the measurement sees the pages", e.name)
	}
}

func TestAllocations(t *testing.T) {
	for _, e := range envs() {
		env, err := e.make(100, check.Source(1))
		require.NoError(t, err)
		k := 0
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			k++
			env.Poll(k%100, float64(k)/20)
			env.(interface{ Rate(int, float64) float64 }).Rate(k%100, float64(k)/20)
		}), e.name)
	}
	// A run allocates for its result only, however long it is.
	allocs := func(polls int) float64 {
		return testing.AllocsPerRun(5, func() {
			env, _ := NewPoisson([]float64{1, 2, 3}, rand.NewPCG(1, 1))
			_, _ = Run(env, &roundRobin{pages: 3}, RunConfig{Rate: 1, Polls: polls, Buckets: 4})
		})
	}
	require.Equal(t, allocs(10), allocs(10_000))
}

func TestPollPanics(t *testing.T) {
	t.Parallel()
	for _, e := range envs() {
		env, err := e.make(3, check.Source(1))
		require.NoError(t, err)
		env.Poll(1, 4)
		require.NotPanics(t, func() { env.Poll(1, 4) }, "%s: the same time again", e.name)
		for _, now := range []float64{math.Nextafter(4, 0), -1, math.NaN(), math.Inf(1)} {
			require.Panics(t, func() { env.Poll(1, now) }, "%s at %v", e.name, now)
		}
		require.Panics(t, func() { env.Poll(3, 5) }, e.name)
		require.Panics(t, func() { env.Poll(-1, 5) }, e.name)
	}
	require.PanicsWithValue(t, "webenv: poll of page 0 at time 3 after time 4", func() {
		env, _ := NewZipf(ZipfConfig{Pages: 2, Alpha: 1, Beta: -1, SwapEvery: 1}, check.Source(1))
		env.Poll(1, 4)
		env.Poll(0, 3) // of another page
	})
}

func TestConstructorErrors(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, u := range []float64{nan, -0.1, 1.5, inf} {
		_, err := NewSlots([]float64{0.5, u}, AtMostOnce, 0, check.Source(1))
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "page 1")
		_, err = NewZipf(ZipfConfig{Pages: 1, Alpha: u}, check.Source(1))
		require.ErrorIs(t, err, ErrConfig)
	}
	for _, rate := range []float64{nan, -0.1, inf} {
		_, err := NewPoisson([]float64{0.5, rate}, check.Source(1))
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "page 1")
	}
	for _, cfg := range []ZipfConfig{{Pages: 1, SwapEvery: -1}, {Pages: 1 << 31}, {Pages: 1, Law: 2}, {Pages: -1}, {Beta: nan}, {Beta: inf}, {Beta: -inf}} {
		_, err := NewZipf(cfg, check.Source(1))
		require.ErrorIs(t, err, ErrConfig)
	}
	require.PanicsWithValue(t, "webenv: -1 pages", func() { ZipfLaw(-1, 1, 1) })
	require.PanicsWithValue(t, "webenv: -1 pages", func() { LogNormalLaw(-1, 1, 1, check.Source(1)) })
	env, err := NewPoisson([]float64{1}, check.Source(1))
	require.NoError(t, err)
	_, err = Run(env, &roundRobin{pages: 1}, RunConfig{Rate: 1, Buckets: math.MaxInt})
	require.ErrorIs(t, err, ErrConfig)
	_, err = NewSlots([]float64{0.5}, 2, 0, check.Source(1))
	require.ErrorIs(t, err, ErrConfig)
	_, err = NewSlots([]float64{0.5}, AtMostOnce, -1, check.Source(1))
	require.ErrorIs(t, err, ErrConfig)
	for _, e := range envs() {
		if env, err := e.make(0, check.Source(1)); strings.HasPrefix(e.name, "zipf") {
			require.Equal(t, 500, env.Len(), "the default")
		} else {
			require.ErrorIs(t, err, ErrNoPages, e.name)
		}
		if e.simulated {
			require.PanicsWithValue(t, "webenv: nil source of randomness", func() { _, _ = e.make(1, nil) }, e.name)
		}
	}
}

func BenchmarkPoll(b *testing.B) {
	for _, e := range envs() {
		for _, size := range []struct {
			name  string
			pages int
		}{{"1e3", 1e3}, {"1e6", 1e6}} {
			if !e.simulated && size.pages > 1e5 {
				continue
			}
			b.Run(e.name+"/"+size.name, func(b *testing.B) {
				env, err := e.make(size.pages, check.Source(1))
				require.NoError(b, err)
				step := 2 / float64(size.pages) // a page is polled every other slot
				k := 0
				b.ReportAllocs()
				for b.Loop() {
					k++
					// A stride that is prime to the number of pages visits all.
					env.Poll(k*7919%size.pages, float64(k)*step)
				}
			})
		}
	}
}

func BenchmarkRun(b *testing.B) {
	env, err := NewPoisson(ZipfLaw(1000, 1, 0.5), check.Source(1))
	require.NoError(b, err)
	const polls = 10_000
	start := 0.0
	b.ReportAllocs()
	var result Result
	for b.Loop() {
		result, err = Run(env, &roundRobin{pages: 1000}, RunConfig{Start: start, Rate: 1000, Polls: polls, Buckets: 100})
		if err != nil {
			b.Fatal(err)
		}
		start += polls / 1000
	}
	b.ReportMetric(result.Freshness, "freshness")
}

// The methods beyond Env that the documentation of Env says an environment has.
func TestWhatEnvironmentsKnow(t *testing.T) {
	t.Parallel()
	type lastChanger interface {
		LastChange(page int, now float64) (float64, bool)
	}
	src := rand.NewPCG(1, 2)
	for name, c := range map[string]struct {
		env          Env
		delays, last bool
	}{
		"zipf":    {must(NewZipf(ZipfConfig{}, src)), false, false},
		"bursty":  {must(NewBursty([]float64{1}, BurstyConfig{}, src)), false, false},
		"slots":   {must(NewSlots([]float64{0.5}, AtMostOnce, 0, src)), true, false},
		"poisson": {must(NewPoisson([]float64{1}, src)), true, false},
		"replay":  {must(NewReplay(&History{Times: [][]float64{{1, 2}}}, 0)), true, true},
	} {
		_, rate := c.env.(interface{ Rate(int, float64) float64 })
		require.True(t, rate, name)
		_, delays := c.env.(delayer)
		require.Equal(t, c.delays, delays, name)
		_, last := c.env.(lastChanger)
		require.Equal(t, c.last, last, name)
	}
}
