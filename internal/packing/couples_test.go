package packing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/internal/worktest"
)

// drawCouples returns a linear programme whose duals are nearly weight per capacity, where hardly a
// search of rounded rooms finds anything.
func drawCouples(rng *rand.Rand, kinds int, c int64, low, high int64, copies int) *master {
	k := newKinds(between(rng, kinds, low, high))
	count := make([]int, len(k.w))
	for j := range count {
		count[j] = 1 + rng.IntN(copies)
	}
	m := newMaster(k.w, count, c, standard)
	for j, w := range m.w {
		m.dual[j] = (1 + 1e-4*rng.Float64()) * float64(w) / float64(c)
	}
	return m
}

// From no item at all, four items are the best four of all, unless these are more of a kind than
// there are.
func TestJoinIsTheBest(t *testing.T) {
	t.Parallel()
	const c = 1 << 20
	found := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 91))
		m := drawCouples(rng, 12, c, c/6, c/2, 4)
		for j := range m.demand {
			m.demand[j] = 4
			m.dual[j] *= .95 + .2*rng.Float64()
		}
		rare := rng.IntN(m.m)
		m.demand[rare] = int(seed % 2)
		want := 1 + epsilon
		pick := make([]int, 4)
		var try func(k, from int, room int64, value float64)
		try = func(k, from int, room int64, value float64) {
			want = max(want, value)
			for j := from; j < m.m && k < len(pick); j++ {
				pick[k] = j
				if m.w[j] <= room && (j != rare || m.demand[j] > 0 && !slices.Contains(pick[:k], j)) {
					try(k+1, j, room-m.w[j], value+m.dual[j])
				}
			}
		}
		try(0, 0, c, 0)
		var u couples
		require.True(t, u.update(m))
		u.room = c
		p := u.join(m)
		got := 1 + epsilon
		if p != nil {
			got = m.worth(p)
			found++
		}
		if m.demand[rare] == 0 {
			require.InDelta(t, want, got, 1e-12, "seed %d", seed)
		}
		require.LessOrEqual(t, got, want+1e-12)
	}
	require.Greater(t, found, 100)
}

// Four items may be of one kind, one is enough if the path leaves room for no more, and of what there
// is one of no couple is made that would hide others.
func TestJoinFewAndAlike(t *testing.T) {
	t.Parallel()
	m := newMaster([]int64{25}, []int{4}, 100, standard)
	m.dual[0] = .26
	u := couples{room: 100}
	require.True(t, u.update(m))
	require.Equal(t, pattern{{0, 4}}, u.join(m))

	m = newMaster([]int64{60, 40}, []int{1, 1}, 100, standard)
	m.dual = []float64{.7, .4}
	u = couples{}
	require.True(t, u.update(m))
	u.path, u.value, u.room = pattern{{0, 1}}, .7, 40
	require.Equal(t, pattern{{0, 1}, {1, 1}}, u.join(m))

	m = newMaster([]int64{40, 30}, []int{1, 1}, 75, standard)
	m.dual = []float64{.5, .6}
	u = couples{room: 75}
	require.True(t, u.update(m))
	require.Equal(t, pattern{{0, 1}, {1, 1}}, u.join(m))
}

// Where nothing is to be found, the search ends after as many steps as it may take.
func TestCouplesGiveUp(t *testing.T) {
	t.Parallel()
	m := drawCouples(rand.New(rand.NewPCG(1, 95)), 60, 1<<20, 1<<15, 1<<19, 3)
	for j := range m.dual {
		m.dual[j] /= 2
	}
	m.watch = work.NewWatch(worktest.NewCountdown(4 * joinSteps / work.Interval))
	var u couples
	require.True(t, u.update(m))
	before := m.watch.Spent
	require.Empty(t, u.find(m, []int32{0, 1, 2}, rand.New(rand.NewPCG(1, 96))))
	spent := m.watch.Spent - before - 4*len(u.all)
	require.GreaterOrEqual(t, spent, joinSteps)
	require.Less(t, spent, joinSteps+len(u.front)+3)
}

// Where the guided search gives up, couples give columns: patterns that fit, are demanded and are
// worth more than 1.
func TestCouplesFound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 92))
		const c = 500_000
		m := drawCouples(rng, 150, c, c/20, c/2-c/8*int64(seed%3), 1+int(seed%4))
		_, _, ok := m.pricer.price(m)
		require.True(t, ok)
		again := rand.New(rand.NewPCG(seed, 93))
		found := m.pricer.couples.find(m, m.pricer.kinds, again)
		require.Greater(t, len(found), joinedColumns/2)
		require.LessOrEqual(t, len(found), joinedColumns)
		for _, p := range found {
			load := int64(0)
			for k, e := range p {
				require.Positive(t, e.count)
				require.LessOrEqual(t, int(e.count), m.demand[e.kind])
				require.True(t, k == 0 || p[k-1].kind < e.kind)
				load += int64(e.count) * m.w[e.kind]
			}
			require.LessOrEqual(t, load, int64(c))
			require.Greater(t, m.worth(p), 1.)
		}
	}
}

// Price adds columns of couples to those of a search that gave up with too few.
func TestPriceJoinsCouples(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		const c = 1 << 40
		m := drawCouples(rand.New(rand.NewPCG(seed, 94)), 120, c, c/12, c/6, 3)
		for j := range m.dual {
			m.dual[j] *= 1 - .7e-4
		}
		got, _, ok := m.pricer.price(m)
		searched, _, all := m.pricer.search(m)
		require.False(t, all)
		require.Less(t, len(searched), m.columnsPerRound)
		require.True(t, ok)
		require.Equal(t, searched, got[:len(searched)])
		require.Greater(t, len(got), len(searched)+10)
	}
}

// worth returns the value of a pattern.
func (s *master) worth(p pattern) float64 {
	v := 0.0
	for _, e := range p {
		v += float64(s.dual[e.kind] * float64(e.count))
	}
	return v
}
