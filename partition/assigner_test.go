package partition

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
)

func newAssigner(t testing.TB, arms, sites int, cfg AssignerConfig, seed uint64) *Assigner {
	t.Helper()
	a, err := NewAssigner(arms, sites, cfg, rand.NewPCG(seed, 2))
	require.NoError(t, err)
	return a
}

// run crawls and returns the share of the sites placed in each crawl and the total
// time beyond every site's perfect arm, per site.
func runCrawls(t testing.TB, a assigner, env *webenv.Durations, crawls int) (placed []float64, excess float64) {
	for range crawls {
		best := 0.0
		for i := range env.Len() {
			best += env.Mean(i, env.Perfect(i))
		}
		n, total := crawl(t, a, env)
		placed = append(placed, float64(n)/float64(env.Len()))
		excess += (total - best) / float64(env.Len())
	}
	return placed, excess
}

// Noise of a size that it is not told: 8 arms, 10,000 sites, 300 crawls. A random
// arm would cost 7586 a site, and trying every arm once costs 202.
func TestAssignerNoise(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("3 million accesses each")
	}
	for name, noise := range map[string]func(*webenv.DurationsConfig){
		"uniform 20 %":     func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 },
		"Gaussian 0.3 gap": func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.GaussianNoise, 0.3 },
	} {
		t.Run(name, func(t *testing.T) {
			env := durations(t, 8, 10_000, 1, noise)
			placed, excess := runCrawls(t, newAssigner(t, 8, 10_000, AssignerConfig{}, 1), env, 300)
			last := 0.0
			for _, p := range placed[250:] {
				last += p / 50
			}
			t.Logf("placed %.5f, excess %.0f", last, excess)
			require.GreaterOrEqual(t, last, 0.999)
			require.LessOrEqual(t, excess, 300.0)
		})
	}
}

// Exponential noise, as large as the mean: of 1000 sites, 94.7 % are placed in the last
// crawls, with a standard deviation of .82 % over runs (12 seeds); the bound is 4 of them
// below.
func TestAssignerExponentialNoise(t *testing.T) {
	t.Parallel()
	env := durations(t, 8, 1000, 1, func(c *webenv.DurationsConfig) { c.Noise = webenv.ExponentialNoise })
	placed, _ := runCrawls(t, newAssigner(t, 8, 1000, AssignerConfig{}, 1), env, 300)
	last := 0.0
	for _, p := range placed[250:] {
		last += p / 50
	}
	require.GreaterOrEqual(t, last, 0.914)
}

// All perfect arms switch, whatever the noise: 99 % are placed again 20 crawls later.
func TestAssignerSwitch(t *testing.T) {
	t.Parallel()
	sites, every := 10_000, 50
	if testing.Short() {
		sites, every = 1000, 40
	}
	for name, noise := range map[string]func(*webenv.DurationsConfig){
		"exact":            func(c *webenv.DurationsConfig) {},
		"uniform 20 %":     func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 },
		"Gaussian 0.3 gap": func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.GaussianNoise, 0.3 },
		"sizes": func(c *webenv.DurationsConfig) {
			c.Noise, c.Scatter, c.Sizes = webenv.UniformNoise, 0.2, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := durations(t, 8, sites, 1, func(c *webenv.DurationsConfig) {
				noise(c)
				c.Every, c.AllSwitch = every, true
			})
			placed, _ := runCrawls(t, newAssigner(t, 8, sites, AssignerConfig{}, 1), env, 3*every)
			for _, at := range []int{every, 2 * every} {
				t.Logf("placed %.4f before, %.4f after, %.4f 20 crawls later", placed[at-1], placed[at], placed[at+20])
				require.Less(t, placed[at], 0.2)
				require.GreaterOrEqual(t, placed[at+20], 0.99)
			}
		})
	}
}

// Durations grow with the load of an arm, and access points differ in resources: the
// sites settle close to the social optimum.
func TestAssignerCongestion(t *testing.T) {
	t.Parallel()
	sites, congestions := 2000, []float64{0.2, 2, 10}
	if testing.Short() {
		sites, congestions = 1000, congestions[:2]
	}
	for _, congestion := range congestions {
		for k, resources := range [][]float64{nil, {1, 1, 1, 1, 2, 2, 2, 2}, {1, 1, 1, 1, 2, 2, 2, 2}} {
			env := durations(t, 8, sites, 1, func(c *webenv.DurationsConfig) {
				c.Noise, c.Scatter, c.Congestion, c.Resources = webenv.UniformNoise, 0.2, congestion, resources
				if k == 2 { // exact durations herd most: without damped moves 1.024 at 10
					c.Scatter = 0
				}
			})
			a := newAssigner(t, 8, sites, AssignerConfig{}, 1)
			optimum, _ := env.Optimum()
			mean := 0.0
			for c := range 150 {
				_, total := crawl(t, a, env)
				if c >= 100 {
					mean += total / optimum / 50
				}
			}
			t.Logf("congestion %v, resources %v: %.4f", congestion, resources, mean)
			require.LessOrEqual(t, mean, 1.02)
		}
	}
}

// Half of the sites are worth three times the others. Arm 0 has time for 400 of about
// 950 sites that are fastest from there, arm 3 for 800 of about 1000.
func TestAssignerCapacityAndWeights(t *testing.T) {
	t.Parallel()
	const sites = 4000
	env := durations(t, 4, sites, 1, func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 })
	cfg := AssignerConfig{}
	inf := math.Inf(1)
	cfg.Capacity = []float64{400 * 24.7, inf, inf, 800 * 24.7}
	a := newAssigner(t, 4, sites, cfg, 1)
	for i := range sites {
		if i%2 == 0 {
			require.NoError(t, a.SetWeight(i, 3))
		}
	}
	fast := [4]int{}
	for i := range sites {
		fast[env.Perfect(i)]++
	}
	// Without weights to the contrary the least total leaves 400 and 800 at these arms.
	least := 24.7*sites + (53.6-24.7)*float64(fast[0]-400+fast[3]-800)
	var mean float64
	heavy, light := [4]float64{}, [4]float64{}
	for c := range 150 {
		time := [4]float64{}
		for i := range sites {
			j, err := a.Next(i)
			require.NoError(t, err)
			time[j] += env.Mean(i, j)
			if c >= 100 {
				mean += env.Mean(i, j) / 50
				if j == env.Perfect(i) && i%2 == 0 {
					heavy[j] += 1.0 / 50
				} else if j == env.Perfect(i) {
					light[j] += 1.0 / 50
				}
			}
			require.NoError(t, a.Observe(i, env.Access(i, j)))
		}
		if c >= 60 {
			// By then hardly a site enters that has not been measured there.
			require.LessOrEqual(t, time[0], 1.02*cfg.Capacity[0])
			require.LessOrEqual(t, time[3], 1.02*cfg.Capacity[3])
		}
	}
	t.Logf("%.4f of the least total; heavy %.0f, light %.0f", mean/least, heavy, light)
	require.LessOrEqual(t, mean/least, 1.02)
	require.Less(t, light[0], 0.05*heavy[0], "the heavier sites get the contended arm")
	require.Greater(t, heavy[3], 0.95*480)
}

// A vanished arm's sites go elsewhere, a new arm is tried by all, and found by those
// that it is best for.
func TestAssignerArmsComeAndGo(t *testing.T) {
	t.Parallel()
	const sites = 500
	env := durations(t, 4, sites, 1, func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 })
	a := newAssigner(t, 3, sites, AssignerConfig{}, 1) // the environment's fourth arm comes later
	names := map[int]int{0: 0, 1: 1, 2: 2}             // arm's id to the environment's
	step := func(crawls int) (placed float64) {
		for range crawls {
			n := 0
			for i := range sites {
				id, err := a.Next(i)
				require.NoError(t, err)
				j, ok := names[id]
				require.True(t, ok, "arm %d was removed", id)
				if j == env.Perfect(i) {
					n++
				}
				require.NoError(t, a.Observe(i, env.Access(i, j)))
			}
			placed = float64(n) / sites
		}
		return placed
	}
	without := func(arm int) float64 {
		n := 0
		for i := range sites {
			if env.Perfect(i) != arm {
				n++
			}
		}
		return float64(n) / sites
	}
	require.InDelta(t, without(3), step(20), 0.01)
	id, err := a.AddArm(math.Inf(1))
	require.NoError(t, err)
	names[id] = 3
	require.GreaterOrEqual(t, step(20), 0.99)

	asked, err := a.Next(0)
	require.NoError(t, err)
	require.NoError(t, a.RemoveArm(asked))
	require.ErrorIs(t, a.Observe(0, 30), ErrNotAsked, "the answer from a removed arm comes too late")
	gone := names[asked]
	delete(names, asked)
	require.InDelta(t, without(gone), step(20), 0.01)
	_, _, err = a.Load(asked)
	require.ErrorIs(t, err, ErrUnknown)

	back, err := a.AddArm(math.Inf(1))
	require.NoError(t, err)
	require.NotEqual(t, asked, back, "an id is never given twice")
	names[back] = gone
	require.GreaterOrEqual(t, step(20), 0.99)
	require.Len(t, slices.Collect(a.AllArms()), 4)
	require.Equal(t, Slot(asked), Slot(back), "its slot is")
}

// An arm that slows down for all its sites is seen by all at once, and left by those that
// are better off elsewhere, though no site's CUSUM had to tell.
func TestAssignerTracksSlowness(t *testing.T) {
	t.Parallel()
	const sites = 1000
	cfg := AssignerConfig{Threshold: -1}
	a := newAssigner(t, 3, sites, cfg, 1)
	rng := rand.New(rand.NewPCG(1, 3))
	slow := 1.0
	step := func(crawls int) (at0 int) {
		for range crawls {
			at0 = 0
			for i := range sites {
				j, err := a.Next(i)
				require.NoError(t, err)
				mean := 50.0
				if j == i%3 {
					mean = 25
				}
				if j == 0 {
					mean *= slow
					at0++
				}
				require.NoError(t, a.Observe(i, mean*(0.9+0.2*rng.Float64())))
			}
		}
		return at0
	}
	require.Equal(t, 334, step(20))
	slow = 2.5
	require.Less(t, step(60), 10, "25·2.5 is more than 50")
	mean, tried, err := a.Expected(0, 0)
	require.NoError(t, err)
	require.True(t, tried)
	require.Greater(t, mean, 50.0)
	slow = 1
	require.Equal(t, 334, step(250), "and it is found when it recovers")
}

// downAt runs crawls of sites whose durations differ by arm, of which one is down from a
// crawl on: accesses from there then take ten times the usual time. It returns the mean time
// per site of each crawl over that of the fastest arm that is up, and the accesses from the
// arm in each.
func downAt(t *testing.T, a *Assigner, from, to, crawls int, tell func(crawl int)) (excess []float64, at []int) {
	rng := rand.New(rand.NewPCG(1, 3))
	mean := make([][4]float64, a.Len())
	for i := range mean {
		for j := range mean[i] {
			mean[i][j] = 10 * math.Exp(.4*rng.NormFloat64())
		}
	}
	for c := range crawls {
		tell(c)
		total, best, accesses := 0.0, 0.0, 0
		for i := range a.Len() {
			j, err := a.Next(i)
			require.NoError(t, err)
			least := math.Inf(1)
			for k, m := range mean[i] {
				if k != 0 || c < from || c >= to {
					least = min(least, m)
				}
			}
			took := mean[i][j] * (.8 + .4*rng.Float64())
			if j == 0 {
				accesses++
				if c >= from && c < to {
					took = 100
				}
			}
			total, best = total+took, best+least
			require.NoError(t, a.Observe(i, took))
		}
		excess, at = append(excess, total/best-1), append(at, accesses)
	}
	return excess, at
}

// An arm that is gone for good costs little after the first crawl, and one that comes back is
// found again.
func TestArmsThatAreDown(t *testing.T) {
	t.Parallel()
	excess, _ := downAt(t, newAssigner(t, 4, 400, AssignerConfig{}, 1), 30, 80, 80, func(int) {})
	require.Less(t, excess[30], .25, "the crawl in which it is found out")
	late := 0.0
	for _, e := range excess[31:50] {
		late += e / 19
	}
	require.Less(t, late, .03)
	_, at := downAt(t, newAssigner(t, 4, 400, AssignerConfig{}, 2), 30, 40, 80, func(int) {})
	require.Greater(t, at[29], 60)
	require.Less(t, at[38], 5)
	require.Greater(t, at[79], 60)
}

// An arm that is put off is not used, and is again when the crawls are over.
func TestDefer(t *testing.T) {
	t.Parallel()
	a := newAssigner(t, 4, 400, AssignerConfig{}, 1)
	excess, at := downAt(t, a, 30, 40, 60, func(c int) {
		if c == 30 {
			require.NoError(t, a.Defer(0, 10))
		}
	})
	for c := 30; c < 40; c++ {
		require.Zero(t, at[c])
		require.Less(t, excess[c], .1)
	}
	require.Greater(t, at[29], 60)
	require.Greater(t, at[45], 60)
	require.ErrorIs(t, a.Defer(9, 1), ErrUnknown)
	for j := range a.AllArms() {
		require.NoError(t, a.Defer(j, 3))
	}
	_, err := a.Next(0)
	require.NoError(t, err, "if all are put off, none is")
	require.NoError(t, a.Defer(1, 0))
	for i := range 50 {
		require.NoError(t, a.GiveBack(0))
		arm, err := a.Next(0)
		require.NoError(t, err)
		require.Equal(t, 1, arm, i)
	}
}

// Every site is asked at once. A tenth of the answers never come, half of these without a
// word and half given back; the others come in any order.
func TestAssignerAnswersInAnyOrder(t *testing.T) {
	t.Parallel()
	const sites = 1000
	env := durations(t, 4, sites, 1, func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 })
	a := newAssigner(t, 4, sites, AssignerConfig{}, 1)
	rng := rand.New(rand.NewPCG(1, 3))
	placed := 0
	for range 40 {
		arm := make([]int, sites)
		placed = 0
		for i := range sites {
			j, err := a.Next(i)
			require.NoError(t, err)
			if arm[i] = j; j == env.Perfect(i) {
				placed++
			}
		}
		for _, i := range rng.Perm(sites) {
			switch rng.IntN(20) {
			case 0:
			case 1:
				require.NoError(t, a.GiveBack(i))
				require.ErrorIs(t, a.Observe(i, 1), ErrNotAsked)
			default:
				require.NoError(t, a.Observe(i, env.Access(i, arm[i])))
			}
		}
	}
	require.GreaterOrEqual(t, placed, 990)
}

// The false alarms that AssignerConfig promises: of standard normal residuals.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ threshold, every float64 }{{5, 3000}, {7, 70_000}} {
		a := newAssigner(t, 2, 1, AssignerConfig{Threshold: c.threshold}, 1)
		rng := rand.New(rand.NewPCG(1, 4))
		const alarms = 25
		n := 0
		for k := 0; k < alarms; n++ {
			if a.changed(0, rng.NormFloat64()) {
				a.site.forget(0, a.width)
				k++
			}
		}
		// Run lengths are about exponential: the mean of 25 has an sd of a fifth.
		mean := float64(n) / alarms
		t.Logf("threshold %v: one in %.0f", c.threshold, mean)
		require.InDelta(t, 1, mean/c.every, 4.0/5)
	}
}

// Zeros, and durations at the ends of the range, do no harm.
func TestAssignerExtremes(t *testing.T) {
	t.Parallel()
	for _, d := range [][]float64{{0}, {longest}, {0, longest}, {1e-300, 1}, {math.SmallestNonzeroFloat64}, {0, 0, 0, 1}} {
		a := newAssigner(t, 3, 4, AssignerConfig{}, 1)
		for n := range 3000 {
			_, err := a.Next(n % 4)
			require.NoError(t, err)
			require.NoError(t, a.Observe(n%4, d[n/7%len(d)]))
		}
		b, err := a.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, new(Assigner).UnmarshalBinary(b), "all state finite for %v", d)
	}
}

// Any sequence of calls against a model of what exists and what was asked; loads agree
// with the sites, and a restored copy goes on as the original does. (One function, as the
// actions share the model.)
func assignerProperty(t *rapid.T) {
	arms := rapid.IntRange(1, 3).Draw(t, "arms")
	sites := rapid.IntRange(0, 4).Draw(t, "sites")
	cfg := AssignerConfig{Threshold: rapid.SampledFrom([]float64{1, 10, math.Inf(1)}).Draw(t, "threshold"),
		Explore: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "explore")}
	for range arms {
		cfg.Capacity = append(cfg.Capacity, rapid.SampledFrom([]float64{1, 20, math.Inf(1)}).Draw(t, "capacity"))
	}
	a, err := NewAssigner(arms, sites, cfg, rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	require.NoError(t, err)
	asked := map[int]int{} // site to the arm said, or -1
	armIDs := map[int]bool{}
	for i := range sites {
		asked[i] = -1
	}
	for j := range arms {
		armIDs[j] = true
	}
	site := func(t *rapid.T) (int, bool) {
		ids := []int{-1, 1 << 20}
		for id := range asked {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		id := rapid.SampledFrom(ids).Draw(t, "site")
		_, ok := asked[id]
		return id, ok
	}
	arm := func(t *rapid.T) (int, bool) {
		ids := []int{-1, 1 << 20}
		for id := range armIDs {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		id := rapid.SampledFrom(ids).Draw(t, "arm")
		return id, armIDs[id]
	}
	t.Repeat(map[string]func(*rapid.T){
		"ask": func(t *rapid.T) {
			id, ok := site(t)
			j, err := a.Next(id)
			if !ok {
				require.ErrorIs(t, err, ErrUnknown)
				return
			}
			require.NoError(t, err)
			require.True(t, armIDs[j])
			if asked[id] >= 0 {
				require.Equal(t, asked[id], j, "asked again before the answer")
			}
			asked[id] = j
		},
		"give back": func(t *rapid.T) {
			id, ok := site(t)
			err := a.GiveBack(id)
			switch {
			case !ok:
				require.ErrorIs(t, err, ErrUnknown)
			case asked[id] < 0:
				require.ErrorIs(t, err, ErrNotAsked)
			default:
				require.NoError(t, err)
				asked[id] = -1
			}
		},
		"observe": func(t *rapid.T) {
			id, ok := site(t)
			d := rapid.SampledFrom([]float64{0, 1, 1.5, 7, 1000, -1, math.NaN(), math.Inf(1), 2 * longest}).Draw(t, "duration")
			before, err := a.MarshalBinary()
			require.NoError(t, err)
			err = a.Observe(id, d)
			switch {
			case !ok:
				require.ErrorIs(t, err, ErrUnknown)
			case !(d >= 0 && d <= longest):
				require.ErrorIs(t, err, ErrDuration)
			case asked[id] < 0:
				require.ErrorIs(t, err, ErrNotAsked)
			default:
				require.NoError(t, err)
				asked[id] = -1
				return
			}
			after, err := a.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, before, after, "an error changes nothing")
		},
		"add": func(t *rapid.T) {
			id := a.Add()
			_, ok := asked[id]
			require.False(t, ok)
			asked[id] = -1
		},
		"remove": func(t *rapid.T) {
			id, ok := site(t)
			require.Equal(t, ok, a.Remove(id) == nil)
			delete(asked, id)
		},
		"weigh": func(t *rapid.T) {
			id, ok := site(t)
			require.Equal(t, ok, a.SetWeight(id, rapid.SampledFrom([]float64{0, 1, 5}).Draw(t, "weight")) == nil)
			if ok {
				require.ErrorIs(t, a.SetWeight(id, math.NaN()), ErrWeight)
			}
		},
		"add arm": func(t *rapid.T) {
			if len(armIDs) < 6 {
				j, err := a.AddArm(rapid.SampledFrom([]float64{3, math.Inf(1)}).Draw(t, "capacity"))
				require.NoError(t, err)
				require.False(t, armIDs[j])
				armIDs[j] = true
			}
			_, err := a.AddArm(0)
			require.ErrorIs(t, err, ErrConfig)
		},
		"remove arm": func(t *rapid.T) {
			j, ok := arm(t)
			err := a.RemoveArm(j)
			switch {
			case !ok:
				require.ErrorIs(t, err, ErrUnknown)
			case len(armIDs) == 1:
				require.ErrorIs(t, err, ErrConfig)
			default:
				require.NoError(t, err)
				delete(armIDs, j)
				for id, at := range asked {
					if at == j {
						asked[id] = -1
					}
				}
			}
		},
		"defer": func(t *rapid.T) {
			j, ok := arm(t)
			require.Equal(t, ok, a.Defer(j, rapid.IntRange(0, 3).Draw(t, "crawls")) == nil)
			if ok {
				require.ErrorIs(t, a.Defer(j, -1), ErrConfig)
			}
		},
		"set capacity": func(t *rapid.T) {
			j, ok := arm(t)
			require.Equal(t, ok, a.SetCapacity(j, rapid.SampledFrom([]float64{2, math.Inf(1)}).Draw(t, "capacity")) == nil)
		},
		"save": func(t *rapid.T) {
			b, err := a.MarshalBinary()
			require.NoError(t, err)
			var c Assigner
			require.NoError(t, c.UnmarshalBinary(b))
			// The original goes on for a while, and then the copy in its place.
			ids := make([]int, 0, len(asked))
			for id := range asked {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			for range 3 {
				for _, id := range ids {
					want, err := a.Next(id)
					require.NoError(t, err)
					got, err := c.Next(id)
					require.NoError(t, err)
					require.Equal(t, want, got)
					require.NoError(t, a.Observe(id, float64(1+want)))
					require.NoError(t, c.Observe(id, float64(1+want)))
					asked[id] = -1
				}
			}
			want, err := a.MarshalBinary()
			require.NoError(t, err)
			got, err := c.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, want, got)
			*a = c
		},
		"": func(t *rapid.T) {
			require.Equal(t, len(asked), a.Len())
			require.ElementsMatch(t, slices.Collect(maps.Keys(asked)), slices.Collect(a.All()))
			require.ElementsMatch(t, slices.Collect(maps.Keys(armIDs)), slices.Collect(a.AllArms()))
			total := 0
			for j := range armIDs {
				n, time, err := a.Load(j)
				require.NoError(t, err)
				require.False(t, math.IsNaN(time) || math.IsInf(time, 0))
				total += n
			}
			placed := 0
			for _, at := range a.site.at {
				if at != nowhere {
					placed++
				}
			}
			require.Equal(t, placed, total)
		},
	})
}

func TestAssigner(t *testing.T) { t.Parallel(); rapid.Check(t, assignerProperty) }
func FuzzAssigner(f *testing.F) { f.Fuzz(rapid.MakeFuzz(assignerProperty)) }

func TestAssignerRejects(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 2)
	inf := math.Inf(1)
	for _, c := range []struct {
		arms, sites int
		cfg         AssignerConfig
	}{
		{0, 1, AssignerConfig{}}, {nowhere, 1, AssignerConfig{}}, {2, -1, AssignerConfig{}},
		{2, 1, AssignerConfig{Threshold: math.NaN()}}, {2, 1, AssignerConfig{Explore: -1}}, {2, 1, AssignerConfig{Threshold: 1, Explore: 2}},
		{2, 1, AssignerConfig{Threshold: 1, Capacity: []float64{1}}}, {2, 1, AssignerConfig{Threshold: 1, Capacity: []float64{inf, 0}}},
	} {
		_, err := NewAssigner(c.arms, c.sites, c.cfg, src)
		require.ErrorIs(t, err, ErrConfig, "%+v", c)
	}
	require.Panics(t, func() { _, _ = NewAssigner(2, 1, AssignerConfig{}, nil) })
	a := newAssigner(t, 2, 1, AssignerConfig{}, 1)
	require.Equal(t, AssignerConfig{Threshold: 7}, a.cfg, "the defaults")
	_, _, err := a.Expected(1, 0)
	require.ErrorIs(t, err, ErrUnknown)
	_, _, err = a.Expected(0, 2)
	require.ErrorIs(t, err, ErrUnknown)
}

func TestAssignerAllocatesNothing(t *testing.T) {
	const n = 1000
	a := newAssigner(t, 8, n, AssignerConfig{}, 1)
	i := 0
	access := func() {
		j, _ := a.Next(i)
		_ = a.Observe(i, float64(10+(i+j)%8))
		i = (i + 1) % n
	}
	access()
	for range n {
		access() // the first crawl makes its scratch
	}
	require.Zero(t, testing.AllocsPerRun(20*n, access))
}

// Saved states whose parts are in range but contradict each other are refused.
func TestAssignerContradictions(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Assigner){
		"number of sites in an arm": func(a *Assigner) { a.arm[0].sites++ },
		"site in a missing arm":     func(a *Assigner) { a.site.at[0] = 2 },
		"asked from nowhere":        func(a *Assigner) { a.leave(0); a.site.asked[0] = true },
		"site in a removed arm":     func(a *Assigner) { a.arms.Remove(int(a.site.at[0])) },
		"removed site in an arm":    func(a *Assigner) { a.sites.Remove(0) },
		"no arms":                   func(a *Assigner) { a.leave(0); a.arms.Remove(0); a.arms.Remove(1) },
		"too few weights":           func(a *Assigner) { a.site.weight = []float32{1} },
		"no noise":                  func(a *Assigner) { a.relative.means = 0 },
	} {
		a := newAssigner(t, 2, 3, AssignerConfig{}, 1)
		for site := range a.All() {
			_, err := a.Next(site)
			require.NoError(t, err)
		}
		spoil(a)
		data, err := a.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, new(Assigner).UnmarshalBinary(data), ErrCorrupt, name)
	}
}

// TestExactAmongSkewed has a site whose durations are exact, and 0 from one arm, among
// sites whose noise is large: its standard deviation is 0, which must not become NaN.
func TestExactAmongSkewed(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	a, err := NewAssigner(3, 20, AssignerConfig{Explore: .5}, rand.NewPCG(3, 4))
	require.NoError(t, err)
	for range 2000 {
		for site := range a.Len() {
			arm, err := a.Next(site)
			require.NoError(t, err)
			duration := rng.ExpFloat64()
			if site == 0 {
				duration = float64(arm)
			}
			require.NoError(t, a.Observe(site, duration))
		}
	}
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, new(Assigner).UnmarshalBinary(data))
}

// TestEmptyArm has sites of very different durations come and go: what rounding leaves of
// their sum is not the time of an arm without sites.
func TestEmptyArm(t *testing.T) {
	t.Parallel()
	a, err := NewAssigner(1, 3, AssignerConfig{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	for site, duration := range []float64{.1, 1e15, .3} {
		_, err = a.Next(site)
		require.NoError(t, err)
		require.NoError(t, a.Observe(site, duration))
	}
	for site := range 3 {
		require.NoError(t, a.Remove(site))
	}
	sites, time, err := a.Load(0)
	require.NoError(t, err)
	require.Zero(t, sites)
	require.Zero(t, time)
}

// TestLeastCapacity has rounding leave a negative sum in an arm of the least capacity
// that there is, whose state stays finite all the same.
func TestLeastCapacity(t *testing.T) {
	t.Parallel()
	cfg := AssignerConfig{Capacity: []float64{math.SmallestNonzeroFloat64}}
	a, err := NewAssigner(1, 3, cfg, rand.NewPCG(1, 2))
	require.NoError(t, err)
	access := func(site int, duration float64) {
		_, err := a.Next(site)
		require.NoError(t, err)
		require.NoError(t, a.Observe(site, duration))
	}
	for site, duration := range []float64{1e15, .06, .06} {
		access(site, duration)
	}
	require.NoError(t, a.Remove(0))
	require.NoError(t, a.Remove(1))
	_, time, err := a.Load(0)
	require.NoError(t, err)
	require.Less(t, time, 0.)
	access(2, .06)
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, new(Assigner).UnmarshalBinary(data))
}
