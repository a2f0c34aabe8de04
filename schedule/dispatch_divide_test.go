package schedule

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/work"
)

// A division counts the setup of each client that has not started, once it is free.
func TestDivisionCountsSetups(t *testing.T) {
	t.Parallel()
	p, err := must(NewIdentical([]int{6, 4, 3}, 3)).WithStarts(nil, []float64{5, 7, 9})
	require.NoError(t, err)
	d, err := NewDispatcher(p, Plan{0, 1, 1}, DispatcherConfig{})
	require.NoError(t, err)
	require.Equal(t, []float64{5, 7, 9}, newDivision(d, 0).free)

	z, err := d.Next(0, 0)
	require.NoError(t, err)
	require.Equal(t, 0, z)
	require.Equal(t, []float64{7, 9}, newDivision(d, 0).free[1:])
	_, _, err = d.Observe(0, z, 11)
	require.NoError(t, err)
	free := newDivision(d, 0).free
	require.Equal(t, 11., free[0], "it has started")

	require.NoError(t, d.RemoveClient(2, 11))
	require.True(t, math.IsInf(newDivision(d, 0).free[2], 1))
}

// crawl has clients ask in turn, each done with its site when it comes again, and returns how many times
// they and sites were looked at for each site.
func crawl(t testing.TB, d *Dispatcher) float64 {
	d.looks = work.NewWatch(t.Context())
	holds := slices.Repeat([]int{None}, d.m)
	for now := 0.0; d.Open() > 0; now++ {
		for j := range holds {
			if holds[j] != None {
				_, _, err := d.Observe(j, holds[j], now)
				require.NoError(t, err)
			}
			holds[j] = must(d.Next(j, now))
		}
	}
	return float64(d.looks.Spent) / float64(d.n)
}

// What Next looks at for a site does not grow with the number of sites: not where unrelated clients come
// without a batch, and not where a client cannot do the sites that come first in the list.
func TestNextOfManySites(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, m = 4096, 5
	rows := func(n int) [][]float64 {
		rng := rand.New(rand.NewPCG(1, 1))
		rows := make([][]float64, n)
		for z := range rows {
			for range m {
				rows[z] = append(rows[z], .5+rng.Float64())
			}
		}
		return rows
	}
	dispatcher := func(n, with int) *Dispatcher { // with so many clients that have batches
		plan := make(Plan, n)
		for z := range plan {
			plan[z] = z % with
		}
		return must(NewDispatcher(must(NewUnrelated(rows(n))), plan, DispatcherConfig{}))
	}
	for name, c := range map[string]struct {
		make func(n int) *Dispatcher
		most float64 // looks at a site
	}{
		"all have batches": {func(n int) *Dispatcher { return dispatcher(n, m) }, 200},
		"one has none":     {func(n int) *Dispatcher { return dispatcher(n, m-1) }, 3 * forcedShare},
		"one has a batch":  {func(n int) *Dispatcher { return dispatcher(n, 1) }, 3 * forcedShare},
		"one is added": {func(n int) *Dispatcher {
			d := dispatcher(n, m)
			must(d.AddClient(slices.Repeat([]float64{.8}, n), 0))
			return d
		}, 3 * forcedShare},
		"half of the list is for one": {func(n int) *Dispatcher {
			rows := slices.Repeat([][]float64{{1, math.Inf(1), 1}}, n)
			for z := n / 2; z < n; z++ {
				rows[z] = []float64{1, 1, 1}
			}
			return must(NewPullDispatcher(must(NewUnrelated(rows)), nil, DispatcherConfig{}))
		}, 50},
	} {
		few, many := crawl(t, c.make(n)), crawl(t, c.make(8*n))
		t.Logf("%s: %.0f looks for a site of %d, %.0f of %d", name, few, n, many, 8*n)
		require.LessOrEqual(t, many, c.most, name)
		require.LessOrEqual(t, many, 2.5*few, "%s: 8 times as much if it grew with the number", name)
	}
}

// Clients that come without a batch are given sites that suit them, many as there are, for as long as
// there are some.
func TestSitesForClientsWithoutABatch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, m, slow = 1 << 14, 4, 50
	for without := 1; without < m; without++ {
		rows, plan := make([][]float64, n), make(Plan, n)
		for z := range rows {
			plan[z] = z % (m - without)
			for j := range m {
				d := 1 + float64(z%17)/100
				if j >= m-without && z%5 == 0 {
					d *= slow
				}
				rows[z] = append(rows[z], d)
			}
		}
		p := must(NewUnrelated(rows))
		run := must(Simulate(must(NewDispatcher(p, plan, DispatcherConfig{Copies: 1})), World{}))
		lower := LowerBound(p)
		for _, s := range run.Spans {
			if s.Start < .95*lower { // at the end a site that does not suit is better than nothing
				require.Less(t, p.Duration(s.Site, s.Client), float64(slow), "client %d of %d without", s.Client, without)
			}
		}
		require.Less(t, run.Makespan, 1.02*lower)
	}
}

// Of the sites of one client no more are moved than it would finish later: each that moves lets it end
// earlier, and the other client later.
func TestStealLeavesWhatEndsSooner(t *testing.T) {
	t.Parallel()
	p := must(NewUnrelated([][]float64{{10, 8}, {10, 8}, {10, 8}, {10, 8}}))
	d := must(NewDispatcher(p, Plan{0, 0, 0, 0}, DispatcherConfig{}))
	d.now = 0
	newDivision(d, 1).steal(4)
	require.Equal(t, [][]int32{{2, 3}, {0, 1}}, d.queue, "a third one would end at 24 there, and at 20 here")
}

// A client that comes and goes, and leaves what it was given, costs no more than its part.
func TestClientThatComesAndGoes(t *testing.T) {
	t.Parallel()
	const n, turns = 1 << 15, 500
	rows := slices.Repeat([][]float64{{1, 1}}, n)
	d := must(NewDispatcher(must(NewUnrelated(rows)), make(Plan, n), DispatcherConfig{}))
	d.looks = work.NewWatch(t.Context())
	for k := range turns {
		site := must(d.Next(1, float64(k)))
		_, _, err := d.Observe(1, site, float64(k))
		require.NoError(t, err)
		require.NoError(t, d.RemoveClient(1, float64(k)))
		require.NoError(t, d.RestoreClient(1, float64(k)))
	}
	require.LessOrEqual(t, d.looks.Spent, turns*4*forcedShare+2*(d.m+2)*n)
}

// A dispatcher of many sites that is saved and restored every now and then goes on as one that is not.
func TestRestoredDispatchersOfManySites(t *testing.T) {
	t.Parallel()
	const n, m = 2500, 4
	rng := rand.New(rand.NewPCG(2, 1))
	rows, plan := make([][]float64, n), make(Plan, n)
	for z := range rows {
		for j := range m {
			d := 1 + rng.Float64()
			if j > 0 && rng.IntN(2) == 0 {
				d = math.Inf(1)
			}
			rows[z] = append(rows[z], d)
		}
	}
	p := must(NewUnrelated(rows))
	pulled := func() *Dispatcher { return must(NewPullDispatcher(p, nil, DispatcherConfig{})) }
	for _, made := range []func() *Dispatcher{pulled, func() *Dispatcher { return must(NewDispatcher(p, plan, DispatcherConfig{})) }} {
		a, b := made(), made()
		holds := slices.Repeat([]int{None}, m)
		for now := 0.0; a.Open() > 0; now++ {
			if int(now)%97 == 0 {
				saved := must(b.MarshalBinary())
				require.Equal(t, must(a.MarshalBinary()), saved)
				b = pulled()
				require.NoError(t, b.UnmarshalBinary(saved))
			}
			for j := range holds {
				back := j > 0 && rng.IntN(20) == 0 // client 0 can do all sites
				for _, d := range []*Dispatcher{a, b} {
					switch {
					case holds[j] == None:
					case back:
						require.NoError(t, d.GiveBack(j, now))
					default:
						_, _, err := d.Observe(j, holds[j], now)
						require.NoError(t, err)
					}
				}
				holds[j] = must(a.Next(j, now))
				require.Equal(t, holds[j], must(b.Next(j, now)))
			}
		}
	}
}
