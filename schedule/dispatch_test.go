package schedule

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/work"
	"pgregory.net/rapid"
)

func TestPlanIsWorkedOffLongestFirst(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{2, 5, 3, 4}, 2))
	d, err := NewDispatcher(p, Plan{0, 0, 0, 1}, DispatcherConfig{Static: true})
	require.NoError(t, err)
	for _, want := range []int{1, 2, 0, None} {
		z, err := d.Next(0, 1)
		require.NoError(t, err)
		require.Equal(t, want, z)
		if z != None {
			first, void, err := d.Observe(0, z, 1)
			require.NoError(t, err)
			require.True(t, first)
			require.Empty(t, void)
		}
	}
	require.Equal(t, 1, d.Open())
	require.Equal(t, 1, d.waiting)
}

// A site given back comes before those of a client's batch that are shorter, and after one that is as long.
func TestLongSitesGivenBackComeFirst(t *testing.T) {
	t.Parallel()
	d := must(NewDispatcher(must(NewIdentical([]int{5, 5, 4}, 2)), Plan{0, 1, 0}, DispatcherConfig{Static: true}))
	ask, tell := asking(t, d)
	ask(1, 1, 0)
	require.NoError(t, d.GiveBack(1, 0))
	for k, want := range []int{0, 1, 2} {
		ask(0, want, float64(5*k))
		tell(0, want, float64(5*k+5))
	}
}

// asking returns functions that ask for a client, and tell that it is done, and check.
func asking(t *testing.T, d *Dispatcher) (ask func(client, want int, now float64), tell func(client, site int, now float64)) {
	return func(client, want int, now float64) {
			t.Helper()
			z, err := d.Next(client, now)
			require.NoError(t, err)
			require.Equal(t, want, z)
		}, func(client, site int, now float64) {
			t.Helper()
			_, _, err := d.Observe(client, site, now)
			require.NoError(t, err)
		}
}

// TestBatchesFollowWhatIsLearned has a plan that leaves almost everything to one client, and
// a client that turns out four times as fast.
func TestBatchesFollowWhatIsLearned(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{10, 8, 7, 3, 1}, 2))
	d := must(NewDispatcher(p, Plan{0, 0, 0, 0, 1}, DispatcherConfig{Copies: 1}))
	ask, tell := asking(t, d)
	ask(0, 0, 0)
	ask(1, 1, 0) // and not its own 1: with 7 and 3 the two then end at 14 and 15
	tell(1, 1, 2)
	ask(1, 2, 2)
	tell(1, 2, 4)
	ask(1, 3, 4)
	tell(1, 3, 5)
	ask(1, 4, 5)
	tell(0, 0, 5)
	ask(0, None, 5)
}

// TestStealingKeepsSitesWhereTheySuit has a client without a batch take what it does nearly as
// well as the client that has it, and nothing that it would finish too late.
func TestStealingKeepsSitesWhereTheySuit(t *testing.T) {
	t.Parallel()
	p := must(NewUnrelated([][]float64{{20, 90}, {9, 18}, {8, 8}, {7, 90}}))
	d := must(NewDispatcher(p, Plan{0, 0, 0, 0}, DispatcherConfig{Copies: 1}))
	ask, tell := asking(t, d)
	ask(0, 0, 0)
	ask(1, 2, 0)
	tell(1, 2, 8)
	ask(1, 1, 8)
	tell(1, 1, 26)
	ask(1, 3, 26) // it would need 90, but client 0 should have asked at 20 and may never
	tell(0, 0, 27)
	ask(0, None, 27)
}

func TestDispatcherErrors(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{2, 5, 3}, 2))
	_, err := NewDispatcher(p, Plan{0}, DispatcherConfig{Static: true})
	require.ErrorIs(t, err, ErrPlan)
	for _, list := range [][]int{{0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}} {
		_, err = NewPullDispatcher(p, list, DispatcherConfig{Static: true})
		require.ErrorIs(t, err, ErrPlan)
	}
	d, err := NewPullDispatcher(p, []int{2, 1, 0}, DispatcherConfig{Static: true})
	require.NoError(t, err)
	before, err := d.MarshalBinary()
	require.NoError(t, err)
	for _, now := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err = d.Next(0, now)
		require.ErrorIs(t, err, ErrTime)
	}
	_, err = d.Next(2, 0)
	require.ErrorIs(t, err, ErrUnknown)
	_, _, err = d.Observe(0, 0, 0)
	require.ErrorIs(t, err, ErrNotAsked)
	for _, site := range []int{p.Sites(), math.MaxInt, None, math.MinInt} {
		_, _, err = d.Observe(0, site, 0)
		require.ErrorIs(t, err, ErrUnknown)
	}
	require.ErrorIs(t, d.GiveBack(0, 0), ErrNotAsked)
	require.ErrorIs(t, d.RestoreClient(0, 0), ErrUnknown)
	require.ErrorIs(t, d.RestoreClient(2, 0), ErrUnknown)
	require.ErrorIs(t, d.RemoveClient(2, 0), ErrUnknown)
	after, err := d.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, before, after, "errors change nothing")

	z, err := d.Next(0, 5)
	require.NoError(t, err)
	require.Equal(t, 2, z)
	_, err = d.Next(0, 5)
	require.ErrorIs(t, err, ErrBusy)
	_, err = d.Next(1, 4)
	require.ErrorIs(t, err, ErrTime)
	_, _, err = d.Observe(0, 1, 6)
	require.ErrorIs(t, err, ErrNotAsked)
	require.NoError(t, d.RemoveClient(0, 6))
	require.ErrorIs(t, d.RemoveClient(0, 6), ErrUnknown)
	_, err = d.Next(0, 6)
	require.ErrorIs(t, err, ErrUnknown)
	_, _, err = d.Observe(0, 2, 7)
	require.ErrorIs(t, err, ErrNotAsked, "the answer of a lost client is not expected any more")
}

// TestTimesFarApart observes an answer after a time longer than a number can be: what is
// learned of the client stays finite, and the state can be restored.
func TestTimesFarApart(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{2, 5, 3}, 1))
	d := must(NewDispatcher(p, Plan{0, 0, 0}, DispatcherConfig{Spread: .5}))
	for now := -math.MaxFloat64; d.Open() > 0; now = math.MaxFloat64 {
		z, err := d.Next(0, now)
		require.NoError(t, err)
		_, _, err = d.Observe(0, z, math.MaxFloat64)
		require.NoError(t, err)
		data, err := d.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, d.UnmarshalBinary(data))
	}
}

// Durations may be so long that what is expected of a client would be more than the greatest number.
func TestLongestDurations(t *testing.T) {
	t.Parallel()
	p := must(NewUniform([]float64{1.7e308}, []float64{1}))
	fresh := func() *Dispatcher { return must(NewDispatcher(p, LPT(p), DispatcherConfig{})) }
	d := fresh()
	must(d.AddSite([]float64{1}, 0))
	for d.Open() > 0 {
		z := must(d.Next(0, d.now))
		require.False(t, math.IsNaN(d.Alarm()))
		_, _, err := d.Observe(0, z, max(0, d.now)+1)
		require.NoError(t, err)
		require.NoError(t, fresh().UnmarshalBinary(must(d.MarshalBinary())))
	}
}

func TestDispatcherDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg    DispatcherConfig
		copies int
		silent bool
	}{{DispatcherConfig{}, 4, true}, {DispatcherConfig{Static: true}, 1, false}, {DispatcherConfig{Copies: 2}, 2, true},
		{DispatcherConfig{Static: true, Copies: 2, Patience: 2}, 2, true}, {DispatcherConfig{Patience: -1}, 4, false}} {
		cfg, err := c.cfg.resolve()
		require.NoError(t, err)
		require.Equal(t, c.copies, cfg.Copies)
		require.Equal(t, c.silent, !math.IsInf(cfg.Patience, 1))
	}
	for _, bad := range []DispatcherConfig{{Copies: -1}, {Spread: -1}, {Spread: math.NaN()}, {Spread: math.Inf(1)}, {Patience: math.NaN()}} {
		_, err := NewDispatcher(must(NewIdentical([]int{1}, 1)), Plan{0}, bad)
		require.ErrorIs(t, err, ErrConfig)
		_, err = NewPullDispatcher(must(NewIdentical([]int{1}, 1)), []int{0}, bad)
		require.ErrorIs(t, err, ErrConfig)
	}
}

func TestReplanMovesNoMoreThanAllowed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		old := make(Plan, p.n)
		for z := range old {
			old[z] = rapid.IntRange(-1, p.m-1).Draw(t, "client")
		}
		last := math.Inf(1)
		for limit := range p.n + 1 {
			r, err := Replan(p, old, limit)
			require.NoError(t, err)
			require.NoError(t, p.CheckResult(r))
			count := 0
			for z, j := range old {
				if j != None && r.Plan[z] != j {
					count++
				}
			}
			require.Equal(t, count, r.Moved)
			require.LessOrEqual(t, r.Moved, limit)
			if limit == 0 {
				last = r.Makespan
			}
			require.LessOrEqual(t, r.Makespan, last, "moving more is never worse than moving none")
		}
	})
	// Here the search that may move sites is led astray. With it nothing is found to be better than to move none.
	p := must(NewIdentical([]float64{0.6754505915244247, 0.5201209187665589, 0.9691747575459996, 0.669125382329574,
		0.08849570116817085, 0.8853060341316025, 0.5930147072339121, 0.7249941521410498}, 2))
	old := Plan{1, 1, None, None, None, None, None, 0}
	none := must(Replan(p, old, 0))
	for limit := range 5 {
		r := must(Replan(p, old, limit))
		require.Equal(t, none.Plan, r.Plan, limit)
		require.Zero(t, r.Moved)
		require.NoError(t, p.CheckResult(r))
	}
	// A site on a client that cannot do it moves, and that is not one of the moves.
	p = must(NewUnrelated([][]float64{{math.Inf(1), 1}, {1, 2}}))
	r, err := Replan(p, Plan{0, 0}, 0)
	require.NoError(t, err)
	require.Equal(t, Plan{1, 0}, r.Plan)
	require.Zero(t, r.Moved)

	p = must(NewIdentical([]int{5, 5}, 2))
	_, err = Replan(p, Plan{0, 1}, -1)
	require.ErrorIs(t, err, ErrConfig)
	_, err = Replan(p, Plan{0}, 1)
	require.ErrorIs(t, err, ErrPlan)
	_, err = Replan(p, Plan{0, 2}, 1)
	require.ErrorIs(t, err, ErrPlan)
}

// TestContradictionsAreRefused saves dispatchers that were spoiled.
func TestContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{5, 4, 3, 2, 1}, 2))
	fresh := func() *Dispatcher { return must(NewDispatcher(p, Plan{0, 1, 0, 1, 0}, DispatcherConfig{})) }
	for name, spoil := range map[string]func(*Dispatcher){
		"waits twice":              func(d *Dispatcher) { d.pool.add(1) },
		"waits and is done":        func(d *Dispatcher) { d.done[1] = true },
		"waits and is held":        func(d *Dispatcher) { d.client[0].holds = 1 },
		"is missing":               func(d *Dispatcher) { d.queue[0] = d.queue[0][1:] },
		"removed client has sites": func(d *Dispatcher) { d.client[1].gone = true },
		"no such site":             func(d *Dispatcher) { d.queue[0][0] = 9 },
		"no such client":           func(d *Dispatcher) { d.refused[[2]int32{2, 0}] = struct{}{} },
		"too many probes":          func(d *Dispatcher) { d.client[0].probes = mostProbes + 2 },
		"NaN":                      func(d *Dispatcher) { d.client[1].since = math.NaN() },
		"silent with no site":      func(d *Dispatcher) { d.client[1].silent = true },
		"gone with a site":         func(d *Dispatcher) { d.queue[0] = d.queue[0][1:]; d.client[1] = clientState{holds: 0, gone: true} },
		"pace":                     func(d *Dispatcher) { d.client[0].pace.actual = -1 },
		"added site of no size":    func(d *Dispatcher) { d.size = append(d.size, 0) },
		"no time":                  func(d *Dispatcher) { d.now = math.Inf(1) },
		"silent with one of the list": func(d *Dispatcher) {
			d.queue[0] = d.queue[0][1:]
			d.pool.add(0)
			d.client[0].holds, d.client[0].silent = 0, true
		},
	} {
		d := fresh()
		spoil(d)
		require.ErrorIs(t, fresh().UnmarshalBinary(must(d.MarshalBinary())), ErrCorrupt, name)
	}
	other := must(NewDispatcher(must(NewIdentical([]int{1}, 1)), Plan{0}, DispatcherConfig{}))
	require.ErrorIs(t, other.UnmarshalBinary(must(fresh().MarshalBinary())), ErrCorrupt)
	require.NoError(t, fresh().UnmarshalBinary(must(fresh().MarshalBinary())))
	require.ErrorIs(t, new(Dispatcher).UnmarshalBinary(must(fresh().MarshalBinary())), ErrProblem)
}

// A state whose counts are as large as they may be goes on, and what it saves can be loaded.
func TestLargestCounts(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{5, 4, 3, 2, 1}, 2))
	fresh := func() *Dispatcher { return must(NewDispatcher(p, Plan{0, 1, 0, 1, 0}, DispatcherConfig{Static: true})) }
	d := fresh()
	d.replaned, d.misses.count = codec.MostCount, codec.MostCount
	loaded := fresh()
	require.NoError(t, loaded.UnmarshalBinary(must(d.MarshalBinary())))
	ask, tell := asking(t, loaded)
	ask(0, 0, 0)
	tell(0, 0, 5)
	require.NoError(t, fresh().UnmarshalBinary(must(loaded.MarshalBinary())))
}

// A client that asks where all others work and nothing waits looks at each of them a few times,
// not at each pair, and so it does whether or not it finds room for a copy.
func TestNextLooksAtEachClientOnce(t *testing.T) {
	t.Parallel()
	for _, copies := range []int{2, 4} {
		const m = 1000
		p := must(NewIdentical(slices.Repeat([]float64{1}, m), m+6))
		d := must(NewPullDispatcher(p, nil, DispatcherConfig{Copies: copies}))
		for j := range m {
			require.Equal(t, j, must(d.Next(j, float64(j)/(2*m))))
		}
		d.looks = work.NewWatch(t.Context())
		for k := range 6 {
			require.Equal(t, min(k/(copies-1), m-1), m-1-must(d.Next(m+k, .5)), "the last to end, until it has its copies")
		}
		require.LessOrEqual(t, d.looks.Spent, 6*2*d.m)
	}
}

// A Dispatcher that no constructor made says so.
func TestDispatcherZeroValue(t *testing.T) {
	t.Parallel()
	for _, use := range []func(*Dispatcher){
		func(d *Dispatcher) { _, _ = d.AddClient([]float64{1}, 0) },
		func(d *Dispatcher) { _, _ = d.AddSite([]float64{1}, 0) },
		func(d *Dispatcher) { _, _ = d.MarshalBinary() },
	} {
		require.PanicsWithValue(t, "schedule: a Dispatcher that is a zero value: make it with NewDispatcher or NewPullDispatcher",
			func() { use(new(Dispatcher)) })
	}
}
