package partition

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
)

// durations returns an environment with the means that fit the papers.
func durations(t testing.TB, arms, sites int, seed uint64, change func(*webenv.DurationsConfig)) *webenv.Durations {
	t.Helper()
	cfg := webenv.PaperDurations
	cfg.Sites, cfg.Arms = sites, arms
	if change != nil {
		change(&cfg)
	}
	env, err := webenv.NewDurations(cfg, rand.NewPCG(seed, 1))
	require.NoError(t, err)
	return env
}

// assigner is what TWOMA and Assigner have in common.
type assigner interface {
	Arm(int) (int, error)
	Observe(int, float64) error
}

// crawl accesses every site once. It returns how many were in their perfect arms and
// the total of the mean durations.
func crawl(t testing.TB, a assigner, env *webenv.Durations) (placed int, total float64) {
	for i := range env.Len() {
		j, err := a.Arm(i)
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

// expectedCrawls is the number of crawls until all of n objects are in their perfect
// arms when durations are exact: an object stays Entry crawls in each wrong arm, the
// first being wrong with probability (R-1)/R and every later one with probability q,
// and the last of n objects decides.
func expectedCrawls(r Reading, arms, n int) float64 {
	q := float64(arms-1) / float64(arms)
	wrong := q // probability that more than g arms were wrong, for g = 0, 1, …
	if r.NewArm == OtherArm {
		q = float64(arms-2) / float64(arms-1)
	}
	sum := 0.0
	for wrong*float64(n) > 1e-9 {
		sum += 1 - math.Pow(1-wrong, float64(n))
		wrong *= q
	}
	return 1 + float64(r.Entry)*sum
}

// The six numbers of crawls of figure 5.3-7 and the totals of figures 5.3-1 and 5.3-2 of Chen & Wang
// (2006). The published one must lie within two standard deviations of a run, and
// the mean within four standard errors of what the rule implies.
func TestPublishedFigures(t *testing.T) {
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
				a, err := NewTWOMA(p.arms, p.objects, AsPublished, rand.NewPCG(seed, 2))
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
			want := expectedCrawls(AsPublished, p.arms, p.objects)
			t.Logf("published %.0f, measured %.0f ± %.0f, expected %.1f", p.crawls, mean, sd, want)
			require.InDelta(t, p.crawls, mean, 2*sd)
			require.InDelta(t, want, mean, 4*sd/math.Sqrt(runs))
		})
	}
}

// The recommended reading leaves a wrong arm after one crawl.
func TestRecommendedIsFaster(t *testing.T) {
	var crawls []float64
	for seed := range uint64(10) {
		env := durations(t, 5, 1500, seed, nil)
		a, err := NewTWOMA(5, 1500, Recommended, rand.NewPCG(seed, 2))
		require.NoError(t, err)
		n := 1
		for placed, _ := crawl(t, a, env); placed < 1500; placed, _ = crawl(t, a, env) {
			n++
			require.Less(t, n, 2000)
		}
		crawls = append(crawls, float64(n))
	}
	mean, sd := meanSD(crawls)
	require.InDelta(t, expectedCrawls(Recommended, 5, 1500), mean, 4*sd/math.Sqrt(10))
}

// The first flaw: two-sided noise of any size. In a pure arm half of the durations are above
// the average, and a fair walk on N states that is at its boundary one time in N
// leaves with probability 1/(2N) a crawl.
func TestNoiseStallsTWOMA(t *testing.T) {
	boundary := Recommended
	boundary.Average = LastCrawl
	for _, reading := range []Reading{AsPublished, boundary} {
		for _, scatter := range []float64{0.05, 0.2} {
			env := durations(t, 4, 2000, 1, func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, scatter })
			a, err := NewTWOMA(4, 2000, reading, rand.NewPCG(1, 2))
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
	recovery := func(average Average) int {
		env := durations(t, 4, 1000, 1, func(c *webenv.DurationsConfig) { c.Every, c.Switch = 300, webenv.DrawOther })
		reading := AsPublished
		reading.NewArm, reading.Entry, reading.Average = OtherArm, reading.States, average
		a, err := NewTWOMA(4, 1000, reading, rand.NewPCG(1, 2))
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
			if average == LastCrawl && c > 10 {
				require.Zero(t, placed, "none is ever placed again")
			}
		}
		return 0
	}
	require.Zero(t, recovery(LastCrawl))
	n := recovery(History)
	t.Logf("recovered after %d crawls", n)
	require.Positive(t, n)
}

// The rule once more, as plainly as it can be written.
type plainTWOMA struct {
	r          Reading
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
	if p.r.Average == LastCrawl && p.last[j] >= 0 {
		average = p.last[j]
	}
	if d <= average {
		p.depth[i] = min(p.depth[i]+1, p.r.States)
	} else if p.depth[i]--; p.depth[i] == 0 {
		p.depth[i] = p.r.Entry
		rng := rand.New(p.src)
		if p.r.NewArm == AnyArm {
			p.arm[i] = rng.IntN(p.arms)
		} else if k := rng.IntN(p.arms - 1); k == j {
			p.arm[i] = p.arms - 1
		} else {
			p.arm[i] = k
		}
	}
	if p.told++; p.told >= len(p.arm) && p.r.Average == LastCrawl {
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
	r := Reading{
		States: states, Entry: rapid.IntRange(1, states).Draw(t, "entry"),
		NewArm: NewArm(rapid.IntRange(0, 1).Draw(t, "new arm")), Average: Average(rapid.IntRange(0, 1).Draw(t, "average")),
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
	top := n
	t.Repeat(map[string]func(*rapid.T){
		"observe": func(t *rapid.T) {
			for range rapid.IntRange(1, 20).Draw(t, "times") {
				i := rapid.IntRange(-1, top).Draw(t, "object")
				d := float64(rapid.IntRange(0, 3).Draw(t, "duration"))
				if _, ok := p.arm[i]; !ok {
					require.ErrorIs(t, a.Observe(i, d), ErrObject)
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
			top = max(top, id%100)
		},
		"remove": func(t *rapid.T) {
			i := rapid.IntRange(-1, top).Draw(t, "object")
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
			for i, want := range p.arm {
				arm, err := a.Arm(i)
				require.NoError(t, err)
				require.Equal(t, want, arm)
				state, err := a.State(i)
				require.NoError(t, err)
				require.Equal(t, states-p.depth[i]+1, state)
			}
		},
	})
}

func TestTWOMA(t *testing.T) { rapid.Check(t, twomaProperty) }
func FuzzTWOMA(f *testing.F) { f.Fuzz(rapid.MakeFuzz(twomaProperty)) }

func TestTWOMARejects(t *testing.T) {
	src := rand.NewPCG(1, 2)
	for _, c := range []struct {
		arms, objects int
		r             Reading
	}{
		{1, 5, AsPublished}, {257, 5, AsPublished}, {2, -1, AsPublished},
		{2, 5, Reading{}}, {2, 5, Reading{States: 256, Entry: 1}}, {2, 5, Reading{States: 5, Entry: 6}},
		{2, 5, Reading{States: 5, Entry: 1, NewArm: 2}}, {2, 5, Reading{States: 5, Entry: 1, Average: 2}},
	} {
		_, err := NewTWOMA(c.arms, c.objects, c.r, src)
		require.ErrorIs(t, err, ErrParameter, "%+v", c)
	}
	require.Panics(t, func() { _, _ = NewTWOMA(2, 5, AsPublished, nil) })
	_, err := Uniform(3).Arm(-1)
	require.ErrorIs(t, err, ErrObject)
	_, err = Uniform(0).Arm(1)
	require.ErrorIs(t, err, ErrArm)
	arm, err := Uniform(3).Arm(7)
	require.NoError(t, err)
	require.Equal(t, 1, arm)
}

// Two bytes an object, and nothing is allocated on the way.
func TestTWOMAMemory(t *testing.T) {
	const n = 100_000
	a, err := NewTWOMA(30, n, AsPublished, rand.NewPCG(1, 2))
	require.NoError(t, err)
	b, err := a.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, len(b), 2*n+2000)
	require.Equal(t, 2*n, len(a.arm)+len(a.depth))
	i := 0
	require.Zero(t, testing.AllocsPerRun(3*n, func() {
		arm, _ := a.Arm(i)
		_ = a.Observe(i, float64((i+arm)%17))
		i = (i + 1) % n
	}))
}
