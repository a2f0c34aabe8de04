package partition

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/webenv"
)

// durations returns an environment with the means that fit the papers.
func durations(t testing.TB, arms, sites int, seed uint64, change func(*webenv.DurationsConfig)) *webenv.Durations {
	t.Helper()
	cfg := webenv.DurationsConfig{Sites: sites, Arms: arms}
	if change != nil {
		change(&cfg)
	}
	env, err := webenv.NewDurations(cfg, rand.NewPCG(seed, 1))
	require.NoError(t, err)
	return env
}

// fitted are the settings that come close to the figures of the papers, recommended those
// that a zero config stands for.
var (
	fitted      = TWOMAConfig{States: 5, Entry: 4, AnyArm: true, LastCrawl: true}
	recommended = TWOMAConfig{States: 5, Entry: 1}
)

// assigner is what Assigner, TWOMA, PairTWOMA and RoundRobin have in common.
type assigner interface {
	Next(int) (int, error)
	Observe(int, float64) error
}

// crawl accesses every site once. It returns how many were in their perfect arms and
// the total of the mean durations.
func crawl(t testing.TB, a assigner, env *webenv.Durations) (placed int, total float64) {
	for i := range env.Len() {
		j, err := a.Next(i)
		if err != nil {
			t.Fatal(err)
		}
		if j == env.Perfect(i) {
			placed++
		}
		total += env.Mean(i, j)
		if err := a.Observe(i, env.Access(i, j)); err != nil {
			t.Fatal(err)
		}
	}
	env.EndCrawl()
	return placed, total
}

// expectedCrawls is what ExpectedCrawls returns.
func expectedCrawls(t testing.TB, c TWOMAConfig, arms, n int) float64 {
	v, err := c.ExpectedCrawls(arms, n)
	require.NoError(t, err)
	return v
}

// The relation of arms, objects and crawls against the process that it describes, in every reading.
// The mean of 200 runs must lie within four standard errors.
func TestExpectedCrawls(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []TWOMAConfig{{}, {Entry: 5}, {Entry: 4, AnyArm: true}} {
		for _, arms := range []int{2, 3, 8} {
			for _, n := range []int{1, 50} {
				var crawls []float64
				for range 200 {
					last := 1
					for i := range n {
						k, perfect, arm := 1, rng.IntN(arms), i%arms
						for ; arm != perfect; k += max(c.Entry, 1) {
							old := arm
							for arm = rng.IntN(arms); arm == old && !c.AnyArm; arm = rng.IntN(arms) {
							}
						}
						last = max(last, k)
					}
					crawls = append(crawls, float64(last))
				}
				mean, sd := meanSD(crawls)
				want := expectedCrawls(t, c, arms, n)
				require.InDelta(t, want, mean, 4*sd/math.Sqrt(200)+1e-9, "%+v, %d arms, %d objects", c, arms, n)
			}
		}
	}
	// With as many arms as an int counts, the sum would have no end.
	for _, bad := range []struct{ arms, n, entry int }{{1, 5, 0}, {3, -1, 0}, {3, 5, 9}, {257, 5, 0}, {math.MaxInt, 5, 0}, {3, 1 << 32, 0}} {
		_, err := TWOMAConfig{Entry: bad.entry}.ExpectedCrawls(bad.arms, bad.n)
		require.ErrorIs(t, err, ErrConfig)
	}
}

// What the documentation of TWOMAConfig prints, and how near the approximation of ExpectedCrawls is.
func TestStatedCrawls(t *testing.T) {
	t.Parallel()
	settings := [][2]int{{3, 300}, {3, 1000}, {5, 300}, {5, 1000}, {8, 625}, {8, 10_000}}
	for entry, want := range map[int][]float64{1: {12, 13, 28, 32, 60, 78}, 5: {54, 62, 137, 158, 294, 384}} {
		for k, s := range settings {
			for _, anyArm := range []bool{false, true} {
				c, arms, n := TWOMAConfig{Entry: entry, AnyArm: anyArm}, float64(s[0]), float64(s[0]*s[1])
				crawls := expectedCrawls(t, c, s[0], s[0]*s[1])
				if !anyArm {
					require.Equal(t, want[k], math.Round(crawls))
				}
				q := (arms - 2) / (arms - 1)
				if anyArm {
					q = (arms - 1) / arms
				}
				about := 1 + float64(entry)*(0.5+(math.Log(n*(arms-1)/arms)+0.577)/-math.Log(q))
				require.InEpsilon(t, crawls, about, 0.01, "%+v", c)
			}
		}
	}
}

// The third flaw: sites that differ in size, with exact durations. TWOMA stalls in every reading;
// Assigner places all.
func TestSizesStallTWOMA(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, c := range []struct{ sizes, least, most float64 }{{0.3, 0.74, 0.9}, {0.5, 0.52, 0.74}, {1, 0.3, 0.48}} {
		for name, make := range map[string]func() (assigner, error){
			"boundary": func() (assigner, error) { return NewTWOMA(4, 2000, recommended, rand.NewPCG(1, 2)) },
			"innermost": func() (assigner, error) {
				return NewTWOMA(4, 2000, TWOMAConfig{Entry: 5, LastCrawl: true}, rand.NewPCG(1, 2))
			},
			"fitted":   func() (assigner, error) { return NewTWOMA(4, 2000, fitted, rand.NewPCG(1, 2)) },
			"assigner": func() (assigner, error) { return NewAssigner(4, 2000, AssignerConfig{}, rand.NewPCG(1, 2)) },
		} {
			env := durations(t, 4, 2000, 1, func(cfg *webenv.DurationsConfig) { cfg.Sizes = c.sizes })
			a, err := make()
			require.NoError(t, err)
			placed := 0.0
			for k := range 150 {
				now, _ := crawl(t, a, env)
				if k >= 100 {
					placed += float64(now) / 2000 / 50
				}
			}
			t.Logf("sizes %v, %s: %.3f placed", c.sizes, name, placed)
			if name == "assigner" {
				require.Greater(t, placed, 0.995)
				continue
			}
			require.Greater(t, placed, c.least, "%s at %v", name, c.sizes)
			require.Less(t, placed, c.most, "%s at %v", name, c.sizes)
		}
	}
}

// The six numbers of crawls of Chen & Wang (2006), section 5.3, under the settings that were fitted
// to them, and its totals under the durations that were. So this shows that they still fit, and
// nothing else. The mean lies within four standard errors of what the rule implies.
func TestPublishedFigures(t *testing.T) {
	t.Parallel()
	const runs = 10 // as in the paper
	published := []struct {
		arms, objects  int
		crawls         float64
		uniform, final float64 // totals, 0 if not stated
	}{
		{3, 900, 74, 40_000, 22_000},
		{3, 3000, 90, 130_000, 75_000},
		{5, 1500, 116, 0, 0},
		{5, 5000, 145, 0, 0},
		{8, 5000, 263, 0, 0},
		{8, 10_000, 299, 0, 0},
	}
	if testing.Short() {
		published = published[:3]
	}
	for _, p := range published {
		t.Run(fmt.Sprintf("%d arms, %d objects", p.arms, p.objects), func(t *testing.T) {
			var crawls []float64
			for seed := range uint64(runs) {
				env := durations(t, p.arms, p.objects, seed, nil)
				a, err := NewTWOMA(p.arms, p.objects, fitted, rand.NewPCG(seed, 2))
				require.NoError(t, err)
				n, placed, first, total := 0, 0, 0.0, 0.0
				for placed < p.objects {
					placed, total = crawl(t, a, env)
					if n++; n == 1 {
						first = total
					}
					require.Less(t, n, 2000)
				}
				crawls = append(crawls, float64(n))
				if p.uniform > 0 {
					require.InEpsilon(t, p.uniform, first, 0.05)
					require.InEpsilon(t, p.final, total, 0.05)
				}
			}
			mean, sd := meanSD(crawls)
			want := expectedCrawls(t, fitted, p.arms, p.objects)
			t.Logf("published %.0f, measured %.0f ± %.0f, expected %.1f", p.crawls, mean, sd, want)
			require.InDelta(t, p.crawls, mean, 2*sd)
			require.InDelta(t, want, mean, 4*sd/math.Sqrt(runs))
		})
	}
}

// With the recommended settings an object leaves a wrong arm after one crawl.
func TestRecommendedIsFaster(t *testing.T) {
	t.Parallel()
	var crawls []float64
	for seed := range uint64(10) {
		env := durations(t, 5, 1500, seed, nil)
		a, err := NewTWOMA(5, 1500, recommended, rand.NewPCG(seed, 2))
		require.NoError(t, err)
		n := 1
		for placed, _ := crawl(t, a, env); placed < 1500; placed, _ = crawl(t, a, env) {
			n++
			require.Less(t, n, 2000)
		}
		crawls = append(crawls, float64(n))
	}
	mean, sd := meanSD(crawls)
	require.InDelta(t, expectedCrawls(t, recommended, 5, 1500), mean, 4*sd/math.Sqrt(10))
}

// The first flaw: two-sided noise of any size. In a pure arm half of the durations are above
// the average, and a fair walk on N states that is at its boundary one time in N
// leaves with probability 1/(2N) a crawl.
func TestNoiseStallsTWOMA(t *testing.T) {
	t.Parallel()
	boundary := recommended
	boundary.LastCrawl = true
	for _, cfg := range []TWOMAConfig{fitted, boundary} {
		for _, scatter := range []float64{0.05, 0.2} {
			env := durations(t, 4, 2000, 1, func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, scatter })
			a, err := NewTWOMA(4, 2000, cfg, rand.NewPCG(1, 2))
			require.NoError(t, err)
			placed := 0
			for c := range 200 {
				now, _ := crawl(t, a, env)
				if c >= 150 {
					placed += now
				}
			}
			share := float64(placed) / 2000 / 50
			t.Logf("±%v: %.3f placed", scatter, share)
			require.Greater(t, share, 0.8)
			require.Less(t, share, 0.97)
		}
	}
}

// The second flaw: exact durations, and all perfect arms change.
func TestSwitchBlindsTWOMA(t *testing.T) {
	t.Parallel()
	recovery := func(lastCrawl bool) int {
		env := durations(t, 4, 1000, 1, func(c *webenv.DurationsConfig) { c.Every, c.AllSwitch = 300, true })
		cfg := fitted
		cfg.AnyArm, cfg.Entry, cfg.LastCrawl = false, cfg.States, lastCrawl
		a, err := NewTWOMA(4, 1000, cfg, rand.NewPCG(1, 2))
		require.NoError(t, err)
		placed := 0
		for range 300 {
			placed, _ = crawl(t, a, env)
		}
		require.Equal(t, 1000, placed)
		for c := 1; c < 300; c++ {
			if placed, _ = crawl(t, a, env); placed == 1000 {
				return c
			}
			if lastCrawl && c > 10 {
				require.Zero(t, placed, "none is ever placed again")
			}
		}
		return 0
	}
	require.Zero(t, recovery(true))
	n := recovery(false)
	t.Logf("recovered after %d crawls", n)
	require.Positive(t, n)
}

// The rule once more, as plainly as it can be written.
type plainTWOMA struct {
	r          TWOMAConfig
	arms       int
	arm, depth map[int]int
	last       []float64
	now        [][]float64
	told       int
	src        rand.Source
}

// runningMean is exact for equal values, where a sum over a number need not be: which of a
// duration and its average is greater may hang on the last bit.
func runningMean(x []float64) (m float64) {
	for k, v := range x {
		m += (v - m) / float64(k+1)
	}
	return m
}

func (p *plainTWOMA) observe(i int, d float64) {
	j := p.arm[i]
	p.now[j] = append(p.now[j], d)
	average := runningMean(p.now[j])
	if p.r.LastCrawl && p.last[j] >= 0 {
		average = p.last[j]
	}
	if d <= average {
		p.depth[i] = min(p.depth[i]+1, p.r.States)
	} else if p.depth[i]--; p.depth[i] == 0 {
		p.depth[i] = p.r.Entry
		rng := rand.New(p.src)
		if p.r.AnyArm {
			p.arm[i] = rng.IntN(p.arms)
		} else if k := rng.IntN(p.arms - 1); k == j {
			p.arm[i] = p.arms - 1
		} else {
			p.arm[i] = k
		}
	}
	if p.told++; p.told >= len(p.arm) && p.r.LastCrawl {
		for k := range p.now {
			p.last[k] = -1
			if len(p.now[k]) > 0 {
				p.last[k] = runningMean(p.now[k])
			}
			p.now[k] = nil
		}
	}
	if p.told >= len(p.arm) {
		p.told = 0
	}
}

func twomaProperty(t *rapid.T) {
	arms := rapid.IntRange(2, 4).Draw(t, "arms")
	n := rapid.IntRange(0, 6).Draw(t, "objects")
	states := rapid.IntRange(1, 4).Draw(t, "states")
	r := TWOMAConfig{
		States: states, Entry: rapid.IntRange(1, states).Draw(t, "entry"),
		AnyArm: rapid.Bool().Draw(t, "any arm"), LastCrawl: rapid.Bool().Draw(t, "last crawl"),
	}
	seed := rapid.Uint64().Draw(t, "seed")
	a, err := NewTWOMA(arms, n, r, rand.NewPCG(seed, 1))
	require.NoError(t, err)
	p := &plainTWOMA{r: r, arms: arms, arm: map[int]int{}, depth: map[int]int{}, src: rand.NewPCG(seed, 1)}
	for i := range n {
		p.arm[i], p.depth[i] = i%arms, r.Entry
	}
	for range arms {
		p.last, p.now = append(p.last, -1), append(p.now, nil)
	}
	given := []int{-1} // and every id ever given out
	for i := range n {
		given = append(given, i)
	}
	t.Repeat(map[string]func(*rapid.T){
		"observe": func(t *rapid.T) {
			for range rapid.IntRange(1, 20).Draw(t, "times") {
				i := rapid.SampledFrom(given).Draw(t, "object")
				d := float64(rapid.IntRange(0, 3).Draw(t, "duration"))
				if _, ok := p.arm[i]; !ok {
					require.ErrorIs(t, a.Observe(i, d), ErrUnknown)
					continue
				}
				require.NoError(t, a.Observe(i, d))
				p.observe(i, d)
			}
		},
		"reject": func(t *rapid.T) {
			if len(p.arm) == 0 {
				return
			}
			for i := range p.arm {
				for _, d := range []float64{math.NaN(), math.Inf(1), -1} {
					require.ErrorIs(t, a.Observe(i, d), ErrDuration)
				}
			}
		},
		"add": func(t *rapid.T) {
			id := a.Add()
			p.arm[id], p.depth[id] = rand.New(p.src).IntN(arms), r.Entry
			require.NotContains(t, given, id)
			given = append(given, id)
		},
		"remove": func(t *rapid.T) {
			i := rapid.SampledFrom(given).Draw(t, "object")
			_, ok := p.arm[i]
			require.Equal(t, ok, a.Remove(i) == nil)
			delete(p.arm, i)
			delete(p.depth, i)
		},
		"save": func(t *rapid.T) {
			b, err := a.MarshalBinary()
			require.NoError(t, err)
			a = new(TWOMA)
			require.NoError(t, a.UnmarshalBinary(b))
		},
		"": func(t *rapid.T) {
			require.Equal(t, len(p.arm), a.Len())
			require.ElementsMatch(t, slices.Collect(maps.Keys(p.arm)), slices.Collect(a.All()))
			for i, want := range p.arm {
				arm, err := a.Next(i)
				require.NoError(t, err)
				require.Equal(t, want, arm)
				require.Equal(t, p.depth[i]-1, int(a.depth[Slot(i)]))
			}
		},
	})
}

func TestTWOMA(t *testing.T) { t.Parallel(); rapid.Check(t, twomaProperty) }
func FuzzTWOMA(f *testing.F) { f.Fuzz(rapid.MakeFuzz(twomaProperty)) }

func TestTWOMARejects(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 2)
	for _, c := range []struct {
		arms, objects int
		r             TWOMAConfig
	}{
		{1, 5, fitted}, {257, 5, fitted}, {2, -1, fitted},
		{2, 5, TWOMAConfig{States: -1}}, {2, 5, TWOMAConfig{Entry: -1}}, {2, 5, TWOMAConfig{States: 256}}, {2, 5, TWOMAConfig{States: 5, Entry: 6}},
	} {
		_, err := NewTWOMA(c.arms, c.objects, c.r, src)
		require.ErrorIs(t, err, ErrConfig, "%+v", c)
	}
	require.Panics(t, func() { _, _ = NewTWOMA(2, 5, fitted, nil) })
	a, err := NewTWOMA(3, 5, TWOMAConfig{}, src)
	require.NoError(t, err)
	for _, bad := range []int{-1, 5} {
		_, err = a.Next(bad)
		require.ErrorIs(t, err, ErrUnknown)
	}
	require.Equal(t, recommended, a.cfg, "the defaults")
}

// What is in range for the constructors is so in a saved state.
func TestEndsOfTheRanges(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 2)
	for _, arms := range []int{2, 256} {
		for _, cfg := range []TWOMAConfig{{States: 1, Entry: 1}, {States: 255, Entry: 1}, {States: 255, Entry: 255}} {
			a, err := NewTWOMA(arms, 600, cfg, src)
			require.NoError(t, err)
			for i := range 600 {
				_, err := a.Next(i)
				require.NoError(t, err)
				require.NoError(t, a.Observe(i, 1))
			}
			restores(t, a, new(TWOMA))
		}
	}
	for _, states := range []int{2, 255} {
		for v := range GCDOMA + 1 {
			a, err := migration(v, []int{2, 2}, states, src)
			require.NoError(t, err)
			restores(t, a, new(objectMigration))
		}
	}
	pairs, err := NewPairTWOMA(256, 2, PairTWOMAConfig{States: 255})
	require.NoError(t, err)
	restores(t, pairs, new(PairTWOMA))
	for _, arms := range []int{1, nowhere - 1} {
		restores(t, newAssigner(t, arms, 3, AssignerConfig{}, 1), new(Assigner))
	}
}

// restores requires that what was saved can be loaded and saved again.
func restores(t *testing.T, a encoding.BinaryMarshaler, empty interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}) {
	t.Helper()
	want, err := a.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, empty.UnmarshalBinary(want))
	got, err := empty.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestRoundRobin(t *testing.T) {
	t.Parallel()
	var a assigner = RoundRobin(3)
	_, err := a.Next(-1)
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorIs(t, a.Observe(-1, 1), ErrUnknown)
	require.ErrorIs(t, a.Observe(1, -1), ErrDuration)
	_, err = RoundRobin(0).Next(1)
	require.ErrorIs(t, err, ErrConfig)
	for _, site := range []int{7, 5<<32 + 7} { // an id and a later one of the same slot
		arm, err := a.Next(site)
		require.NoError(t, err)
		require.Equal(t, 1, arm)
		require.NoError(t, a.Observe(site, 1))
	}
}

func TestOMAVariantNames(t *testing.T) {
	t.Parallel()
	for v := OMA; v <= GCDOMA; v++ {
		text, err := v.MarshalText()
		require.NoError(t, err)
		require.Equal(t, v.String(), string(text))
		var back OMAVariant
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, v, back)
	}
	require.Equal(t, "TPEOMA", TPEOMA.String())
	_, err := (GCDOMA + 1).MarshalText()
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorIs(t, new(OMAVariant).UnmarshalText([]byte("oma")), ErrConfig)
}

// Two bytes an object, and nothing is allocated on the way.
func TestTWOMAMemory(t *testing.T) {
	const n = 100_000
	a, err := NewTWOMA(30, n, fitted, rand.NewPCG(1, 2))
	require.NoError(t, err)
	b, err := a.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, len(b), 2*n+2000)
	require.Equal(t, 2*n, len(a.arm)+len(a.depth))
	i := 0
	require.Zero(t, testing.AllocsPerRun(3*n, func() {
		arm, _ := a.Next(i)
		_ = a.Observe(i, float64((i+arm)%17))
		i = (i + 1) % n
	}))
}

// A state with the largest count that loads can be saved and loaded again after another access.
func TestTWOMAOfTheLargestCount(t *testing.T) {
	t.Parallel()
	a, err := NewTWOMA(2, 3, TWOMAConfig{}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	for j := range a.means.now {
		a.means.now[j] = mean{codec.MostCount, 1}
	}
	for range 2 {
		data, err := a.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, a.UnmarshalBinary(data))
		for object := range 3 {
			require.NoError(t, a.Observe(object, 2))
		}
	}
}
