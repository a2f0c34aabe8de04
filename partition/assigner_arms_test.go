package partition

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

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
	require.NoError(t, a.Defer(0, math.MaxInt), "for good")
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, new(Assigner).UnmarshalBinary(data))
}
