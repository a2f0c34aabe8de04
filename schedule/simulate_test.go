package schedule

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/work"
)

// asPredicted is the world in which predictions hold.
func asPredicted(p *Problem) World {
	return World{Duration: func(z, j int, _ float64) float64 { return p.Duration(z, j) }}
}

func TestSimulationOfAPlanGivesItsMakespan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		plan := LPT(p)
		d := must(NewDispatcher(p, plan, DispatcherConfig{Static: true}))
		run, err := Simulate(d, asPredicted(p))
		require.NoError(t, err)
		require.InEpsilon(t, p.Makespan(plan), run.Makespan, 1e-9)
		require.Len(t, run.Spans, p.n)
		pull := must(NewPullDispatcher(p, nil, DispatcherConfig{Static: true}))
		run, err = Simulate(pull, asPredicted(p))
		require.NoError(t, err)
		require.Zero(t, pull.Open())
		require.GreaterOrEqual(t, run.Makespan, LowerBound(p)*(1-1e-12))
		for _, setup := range p.setup {
			if setup > 0 {
				return // Pull counts it before the client is free, Simulate after
			}
		}
		pulled := make(Plan, p.n)
		for _, s := range run.Spans {
			pulled[s.Site] = s.Client
		}
		require.Equal(t, must(Pull(p, nil)), pulled)
	})
}

// No run beats the lower bound, also where copies end during a setup: here the second client begins a setup of 1 at 1,
// and its copy of the first site is useless at 1.1.
func TestSimulationPaysInterruptedSetups(t *testing.T) {
	t.Parallel()
	p := must(must(NewUniform([]float64{1, 1}, []float64{.1, .001})).WithStarts([]float64{0, 1}, []float64{1, 1}))
	run := must(Simulate(must(NewDispatcher(p, Plan{0, 0}, DispatcherConfig{})), World{}))
	require.InEpsilon(t, 1.2, run.Makespan, 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		run := must(Simulate(must(NewDispatcher(p, LPT(p), DispatcherConfig{})), World{}))
		require.GreaterOrEqual(t, run.Makespan, LowerBound(p)*(1-1e-9))
	})
}

// A world whose durations are none ends the simulation.
func TestSimulationOfNoDurations(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		p := must(NewIdentical([]int{5, 5}, 2))
		d, err := NewDispatcher(p, Plan{0, 1}, DispatcherConfig{})
		require.NoError(t, err)
		_, err = Simulate(d, World{Duration: func(site, client int, now float64) float64 { return bad }})
		require.ErrorIs(t, err, ErrDuration)
	}
}

func TestSimulationWithLossesAnswersEverySite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		d := must(NewDispatcher(p, LPT(p), DispatcherConfig{Copies: 2}))
		lost := make([]float64, p.m)
		for j := range lost {
			lost[j] = p.Makespan(LPT(p)) * rapid.Float64Range(0, 1.5).Draw(t, "lost")
		}
		lost[rapid.IntRange(0, p.m-1).Draw(t, "survivor")] = math.Inf(1)
		run, err := Simulate(d, World{Duration: asPredicted(p).Duration, Lost: lost})
		require.NoError(t, err)
		useful := map[int]int{}
		for _, s := range run.Spans {
			require.LessOrEqual(t, s.End, max(lost[s.Client], s.Start))
			if s.Useful {
				useful[s.Site]++
			}
		}
		require.Len(t, useful, p.n)
		for z, count := range useful {
			require.Equal(t, 1, count, z)
		}
	})
	p := must(NewIdentical([]int{5, 5}, 2))
	d := must(NewDispatcher(p, Plan{0, 1}, DispatcherConfig{Static: true}))
	run := must(Simulate(d, World{Duration: asPredicted(p).Duration, Lost: []float64{1, 1}}))
	require.Equal(t, Simulation{math.Inf(1), []Span{{0, 0, 0, 1, false}, {1, 1, 0, 1, false}}}, run)
	for _, w := range []World{{Lost: []float64{1}}, {Joins: []float64{1}}, {Silent: []float64{1}}} {
		w.Duration = asPredicted(p).Duration
		_, err := Simulate(d, w)
		require.ErrorIs(t, err, ErrProblem)
	}
	_, err := Simulate(d, World{Duration: asPredicted(p).Duration, Joins: []float64{0, math.NaN()}})
	require.ErrorIs(t, err, ErrTime)
	require.ErrorContains(t, err, "client 1")
}

// A client that falls silent never answers. The other one has nothing to do until the first has had
// its time, and then does its site.
func TestSimulateSilence(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{10, 1}, 2))
	d := must(NewDispatcher(p, Plan{0, 1}, DispatcherConfig{Copies: 1, Patience: 2}))
	run := must(Simulate(d, World{Silent: []float64{3, math.Inf(1)}}))
	require.Equal(t, Simulation{30, []Span{{1, 1, 0, 1, true}, {1, 0, 20, 30, true}}}, run)
}

// The zero World is as predicted. A client that joins at +Inf never does.
func TestSimulateAsPredicted(t *testing.T) {
	t.Parallel()
	p := must(NewUnrelated([][]int{{5, 4}, {2, 3}, {7, 9}}))
	plan := Plan{1, 0, 0}
	fixed := func() *Dispatcher { return must(NewDispatcher(p, plan, DispatcherConfig{Static: true, Copies: 1})) }
	require.Equal(t, must(Simulate(fixed(), World{Duration: asPredicted(p).Duration})), must(Simulate(fixed(), World{})))
	require.Equal(t, 9.0, must(Simulate(fixed(), World{})).Makespan)
	pulled := must(NewPullDispatcher(p, nil, DispatcherConfig{}))
	require.Equal(t, 14.0, must(Simulate(pulled, World{Joins: []float64{0, math.Inf(1)}})).Makespan)
}

// wrongWorld is the paper's setting with site durations off by a factor of the spread, and
// client speeds by one of half of it.
func wrongWorld(m int, seed uint64, spread float64) (p *Problem, actual World) {
	p = paperProblem(m, seed)
	rng := rand.New(rand.NewPCG(2, seed))
	site, client := make([]float64, p.n), make([]float64, p.m)
	for z := range site {
		site[z] = math.Exp(spread * rng.NormFloat64())
	}
	for j := range client {
		client[j] = math.Exp(spread / 2 * rng.NormFloat64())
	}
	return p, World{Duration: func(z, j int, _ float64) float64 { return p.Duration(z, j) * site[z] * client[j] }}
}

// simulateEach is Simulate with a call of Next for each client that is woken. After each event it
// calls check.
func simulateEach(d *Dispatcher, w World, check func()) (Simulation, error) {
	s, err := newSimulation(d, w)
	if err != nil {
		return Simulation{}, err
	}
	for s.goesOn() {
		now := s.events[0].time
		if err := s.event(); err != nil {
			return Simulation{}, err
		}
		for j, w := range s.want {
			if w == woken {
				s.want[j] = busy
				s.push(event{time: now, kind: asks, client: j})
			}
		}
		check()
	}
	return s.end(), nil
}

// crowded draws a problem with about as many clients as sites, and a world in which much goes
// wrong, with events at equal times.
func crowded(rng *rand.Rand) (p *Problem, cfg DispatcherConfig, w World) {
	n, m := 1+rng.IntN(30), 1+rng.IntN(12)
	rows, sizes, units := make([][]float64, n), make([]int, n), make([]int, m)
	for z := range rows {
		sizes[z] = 1 + rng.IntN(20)
		for j := range m {
			rows[z] = append(rows[z], float64(1+rng.IntN(20)))
			if j > 0 && rng.IntN(4) == 0 {
				rows[z][j] = math.Inf(1)
			}
		}
	}
	for j := range units {
		units[j] = 1 + rng.IntN(3)
	}
	p = []*Problem{must(NewIdentical(sizes, m)), must(NewUniform(sizes, units)), must(NewUnrelated(rows))}[rng.IntN(3)]
	one := func(of ...float64) float64 { return of[rng.IntN(len(of))] }
	cfg = DispatcherConfig{Static: rng.IntN(4) == 0, Copies: rng.IntN(5), Spread: one(0, .1, 1, 10), Patience: one(0, 1e-300, .5, 1, 2, -1)}
	factor := make([]float64, n+m)
	for i := range factor {
		factor[i] = one(.25, 1, 1, 1, 2, 8)
	}
	w.Duration = func(z, j int, _ float64) float64 { return p.Duration(z, j) * factor[z] * factor[n+j] }
	for _, times := range []*[]float64{&w.Joins, &w.Lost, &w.Silent} {
		for j := 0; j < m && rng.IntN(12) > 0; j++ {
			*times = append(*times, one(0, 3, 8, 20, 50, math.Inf(1), math.Inf(1), math.Inf(1)))
		}
		if len(*times) < m {
			*times = nil
		}
	}
	return p, cfg, w
}

// That idle clients are told at once that there is nothing for them changes neither what happens
// nor the state of the dispatcher. What a client is to copy is the same as by a look at all pairs.
func TestSimulationAsIfEachAsked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 31))
		p, cfg, w := crowded(rng)
		plan := rng.IntN(2) == 0
		fresh := func() *Dispatcher {
			if plan {
				return must(NewDispatcher(p, LPT(p), cfg))
			}
			return must(NewPullDispatcher(p, p.LongestFirst(), cfg))
		}
		d, each := fresh(), fresh()
		got := must(Simulate(d, w))
		want := must(simulateEach(each, w, func() {
			client := rng.IntN(p.m)
			require.Equal(t, replicateByPairs(each, client), each.replicate(client), seed)
		}))
		require.Equal(t, want, got, seed)
		require.Equal(t, must(each.MarshalBinary()), must(d.MarshalBinary()), seed)
	}
}

// What a simulation looks at grows with its spans and clients, also where most clients are idle.
func TestSimulationCost(t *testing.T) {
	t.Parallel()
	for _, m := range []int{50, 100, 200} {
		p := must(NewIdentical(slices.Repeat([]int{1}, 4*m), m))
		d := must(NewPullDispatcher(p, nil, DispatcherConfig{}))
		d.looks = work.NewWatch(t.Context())
		run := must(Simulate(d, World{Duration: func(z, _ int, _ float64) float64 { return 1 + float64(z%97)/1000 }}))
		require.Less(t, 5*m, len(run.Spans), "copies")
		require.LessOrEqual(t, d.looks.Spent, 3*m*len(run.Spans))
	}
}
