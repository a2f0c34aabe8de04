package partition

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// crawlPairs accesses every object once, in random pairs.
func crawlPairs(t testing.TB, p *PairTWOMA, env *webenv.Durations, rng *rand.Rand) (placed int) {
	order := rng.Perm(env.Len())
	for _, i := range order {
		j, err := p.Next(i)
		require.NoError(t, err)
		if j == env.Perfect(i) {
			placed++
		}
		require.NoError(t, p.Observe(i, env.Access(i, j)))
	}
	env.EndCrawl()
	return placed
}

// With as many sites best at each arm as it holds, the pair-wise variant places all. With numbers
// drawn independently it cannot: an arm holds 50 sites, whatever is best for it.
func TestPairTWOMAConverges(t *testing.T) {
	t.Parallel()
	run := func(balanced bool) (placed int, arms [4]int, best [4]int) {
		env := durations(t, 4, 200, 1, func(c *webenv.DurationsConfig) { c.Balanced = balanced })
		p, err := NewPairTWOMA(4, 200, PairTWOMAConfig{})
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(1, 3))
		for range 4000 {
			if placed = crawlPairs(t, p, env, rng); placed == 200 {
				break
			}
		}
		for i := range 200 {
			j, err := p.Next(i)
			require.NoError(t, err)
			arms[j]++
			best[env.Perfect(i)]++
		}
		return placed, arms, best
	}
	placed, arms, _ := run(true)
	require.Equal(t, 200, placed)
	require.Equal(t, [4]int{50, 50, 50, 50}, arms)
	placed, arms, best := run(false)
	most := 0
	for _, n := range best {
		most += min(50, n)
	}
	require.NotEqual(t, 200, most, "the draw is not balanced by chance")
	require.Equal(t, [4]int{50, 50, 50, 50}, arms)
	require.LessOrEqual(t, placed, most)
	require.Greater(t, placed, most-10)
}

func TestPairTWOMACases(t *testing.T) {
	t.Parallel()
	p, err := NewPairTWOMA(2, 4, PairTWOMAConfig{States: 3})
	require.NoError(t, err)
	step := func(i, j int, di, dj float64) {
		require.NoError(t, p.Observe(i, di))
		require.NoError(t, p.Observe(j, dj))
	}
	// The first crawl sets the averages: 20 in arm 0 (objects 0, 2), 40 in arm 1.
	step(0, 2, 10, 30)
	step(1, 3, 20, 60)
	require.Equal(t, []uint8{1, 1, 0, 0}, p.depth, "the slow ones stay at the boundary")
	step(2, 0, 30, 10)
	require.Equal(t, []uint8{2, 1, 0, 0}, p.depth, "one waiting object stays")
	require.Equal(t, []uint8{0, 1, 0, 1}, p.arm)
	step(2, 3, 30, 60)
	require.Equal(t, []uint8{0, 1, 1, 0}, p.arm, "two waiting objects of different arms change places")
	require.Equal(t, []uint8{2, 1, 0, 0}, p.depth)

	for _, bad := range []int{-1, 4} {
		_, err := p.Next(bad)
		require.ErrorIs(t, err, ErrUnknown)
	}
	require.ErrorIs(t, p.Observe(4, 1), ErrUnknown)
	require.ErrorIs(t, p.Observe(-1, 1), ErrUnknown)
	require.ErrorIs(t, p.Observe(1, math.NaN()), ErrDuration)
	require.ErrorIs(t, p.Observe(0, -1), ErrDuration)
	require.Equal(t, []uint8{2, 1, 0, 0}, p.depth)
	for _, c := range [][3]int{{1, 4, 5}, {257, 4, 5}, {2, 1, 5}, {2, 4, -1}, {2, 4, 256}} {
		_, err := NewPairTWOMA(c[0], c[1], PairTWOMAConfig{States: c[2]})
		require.ErrorIs(t, err, ErrConfig, "%v", c)
	}
}

func TestPairTWOMAContinues(t *testing.T) {
	t.Parallel()
	env := durations(t, 3, 60, 1, nil)
	p, err := NewPairTWOMA(3, 60, PairTWOMAConfig{})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 3))
	for range 5 {
		crawlPairs(t, p, env, rng)
	}
	b, err := p.MarshalBinary()
	require.NoError(t, err)
	var q PairTWOMA
	require.NoError(t, q.UnmarshalBinary(b))
	for i := range 59 {
		require.NoError(t, p.Observe(i, float64(i)))
		require.NoError(t, q.Observe(i, float64(i)))
	}
	require.Equal(t, *p, q)
	// In the middle of a pair, whose first object waits.
	require.Equal(t, 58, p.first)
	p.depth[58], p.slow = 0, true
	b, err = p.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, q.UnmarshalBinary(b))
	require.Equal(t, *p, q)
	arm, other := p.arm[58], 0
	for p.arm[other] == arm {
		other++
	}
	was := p.arm[other]
	p.depth[other], q.depth[other] = 0, 0
	require.NoError(t, p.Observe(other, 1e6))
	require.NoError(t, q.Observe(other, 1e6))
	require.Equal(t, *p, q)
	require.Equal(t, []uint8{was, arm}, []uint8{q.arm[58], q.arm[other]})
}

// The object that gives way is the first of those nearest to the boundary, counted from j on.
func TestPairTWOMANearest(t *testing.T) {
	t.Parallel()
	p, err := NewPairTWOMA(2, 8, PairTWOMAConfig{States: 5})
	require.NoError(t, err)
	for _, c := range []struct {
		depth []uint8 // of the objects of arm 0: 0, 2, 4, 6
		want  int
	}{
		{[]uint8{0, 3, 2, 2}, 4}, {[]uint8{0, 1, 2, 3}, 2}, {[]uint8{0, 3, 0, 0}, 4}, {[]uint8{4, 4, 4, 1}, 6},
	} {
		for k, depth := range c.depth {
			p.depth[2*k] = depth
		}
		require.Equal(t, c.want, p.nearest(0))
	}
	// Alone in its arm, an object has nobody who could give way.
	p, err = NewPairTWOMA(2, 2, PairTWOMAConfig{Displace: true})
	require.NoError(t, err)
	require.Equal(t, -1, p.nearest(1))
	for range 20 {
		require.NoError(t, p.Observe(0, 1))
		require.NoError(t, p.Observe(1, 2))
		require.Equal(t, []uint8{0, 1}, p.arm)
	}
}

// The rules that the report adds: a pair from one arm is rewarded whatever it took, and case (c) of
// the object migration automaton displaces a third object.
func TestPairTWOMAAsReported(t *testing.T) {
	t.Parallel()
	p, err := NewPairTWOMA(2, 6, PairTWOMAConfig{States: 3, Together: true, Displace: true})
	require.NoError(t, err)
	states := func() (s []int) {
		for i := range 6 {
			v, err := p.State(i)
			require.NoError(t, err)
			s = append(s, v)
		}
		return s
	}
	step := func(i, j int, di, dj float64) {
		require.NoError(t, p.Observe(i, di))
		require.NoError(t, p.Observe(j, dj))
	}
	require.Equal(t, []int{3, 3, 3, 3, 3, 3}, states(), "all at the boundary, which is state N")
	// The first crawl sets the averages of 20 and 40. Objects 0, 2, 4 are in arm 0.
	step(0, 2, 10, 30)
	require.Equal(t, []int{2, 3, 2, 3, 3, 3}, states(), "both of arm 0 are rewarded, the slow one too")
	step(1, 3, 20, 60)
	require.Equal(t, []int{2, 2, 2, 2, 3, 3}, states())
	step(4, 5, 20, 40)
	require.Equal(t, []int{2, 2, 2, 2, 2, 2}, states(), "of two arms, each by its own duration")
	step(0, 1, 30, 30)
	require.Equal(t, []int{3, 1, 2, 2, 2, 2}, states())
	step(0, 3, 30, 60)
	require.Equal(t, []int{3, 1, 2, 3, 2, 2}, states(), "case (b): one at the boundary, the other moves outward")
	require.Equal(t, []uint8{0, 1, 0, 1, 0, 1}, p.arm)
	step(0, 3, 30, 60)
	require.Equal(t, []uint8{1, 1, 0, 1, 0, 0}, p.arm, "case (c): 0 moves, 3 stays, 5, the nearest to the boundary, gives way")
	require.Equal(t, []int{3, 1, 2, 3, 2, 3}, states())

	for object := range 6 {
		_, err := p.State(object + 6)
		require.ErrorIs(t, err, ErrUnknown)
	}
}
