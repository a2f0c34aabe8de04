package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

// suite is what -suite runs instead of the experiments.
var suite = []experiment{
	{"worlds", "dispatch in nine worlds where predictions fail: times over what the plan predicts", 4 * time.Minute, worlds},
	{"size", "unrelated clients, 500 × 30, 20,000 × 50 and 100,000 × 100: gap after 5 s of processor time", 7 * time.Minute, atSize},
}

// trouble is what happens in a world.
type trouble struct {
	name                                          string
	sizes, drift, straggler, death, joins, setups bool
}

var troubles = []trouble{
	{name: "nothing happens"},
	{name: "sizes off by 30 %", sizes: true},
	{name: "clients drift", drift: true},
	{name: "one client three times as slow", straggler: true},
	{name: "a client dies without a word", death: true},
	{name: "a quarter of the clients come late", joins: true},
	{name: "all of these", sizes: true, drift: true, straggler: true, death: true, joins: true},
	{name: "clients are set up first", setups: true},
	{name: "all of these, and set up first", sizes: true, drift: true, straggler: true, death: true, joins: true, setups: true},
}

// A troubledWorld is a problem as predicted, its plan, and what happens.
type troubledWorld struct {
	p       *schedule.Problem
	plan    schedule.Plan
	planned float64
	world   func() schedule.World
}

const driftSteps = 100 // steps of a client's random walk in the time that the plan predicts

// sizeLaws draw the size of a site.
var sizeLaws = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"power law", func(rng *rand.Rand) float64 { return 1 / (1/50. - rng.Float64()*(1/50.-1/5e3)) }},
	{"lognormal", func(rng *rand.Rand) float64 { return 100 * math.Exp(rng.NormFloat64()) }},
	{"uniform", func(rng *rand.Rand) float64 { return 1 + 99*rng.Float64() }},
}

// newTroubledWorld draws sites, clients whose speeds differ by 30 %, and what happens:
// site durations off by a lognormal factor of spread .3; clients whose speed is a geometric
// random walk that comes to a spread of .5 by the end; one client three times as slow as
// predicted; one that dies at a random time; a quarter of the clients that join up to 70 % of
// the planned time late; clients that are set up for a time of some 15 % of it, as predicted.
func newTroubledWorld(rng *rand.Rand, n, m int, draw func(*rand.Rand) float64, what trouble) (*troubledWorld, error) {
	sizes, unit := make([]float64, n), make([]float64, m)
	for z := range sizes {
		sizes[z] = draw(rng)
	}
	for j := range unit {
		unit[j] = math.Exp(.3 * rng.NormFloat64())
	}
	p, err := schedule.NewUniform(sizes, unit)
	if err != nil {
		return nil, err
	}
	if what.setups {
		setup, typical := make([]float64, m), .15*schedule.LowerBound(p)
		for j := range setup {
			setup[j] = typical * math.Exp(.5*rng.NormFloat64())
		}
		if p, err = p.WithStarts(nil, setup); err != nil {
			return nil, err
		}
	}
	r, err := schedule.Solve(context.Background(), p, schedule.SolveConfig{Steps: 100_000})
	if err != nil {
		return nil, err
	}
	w := &troubledWorld{p: p, plan: r.Plan, planned: r.Makespan}
	site, walk, factor := make([]float64, n), make([][]float64, m), make([]float64, m)
	for z := range site {
		site[z] = math.Exp(map[bool]float64{true: .3}[what.sizes] * rng.NormFloat64())
	}
	for j := range walk {
		x := 0.0
		for range 30 * driftSteps {
			walk[j] = append(walk[j], math.Exp(x))
			x += map[bool]float64{true: .05}[what.drift] * rng.NormFloat64()
		}
		factor[j] = 1
	}
	slow, dead, late := rng.IntN(m), rng.IntN(m), rng.Perm(m)[:max(1, m/4)]
	if what.straggler {
		factor[slow] = 3
	}
	var silent, joins []float64
	if what.death {
		silent = make([]float64, m)
		for j := range silent {
			silent[j] = math.Inf(1)
		}
		silent[dead] = w.planned * rng.Float64()
	}
	if what.joins {
		joins = make([]float64, m)
		for _, j := range late {
			joins[j] = .7 * w.planned * rng.Float64()
		}
	}
	w.world = func() schedule.World {
		return schedule.World{Silent: silent, Joins: joins, Duration: func(z, j int, now float64) float64 {
			step := min(len(walk[j])-1, int(now/w.planned*driftSteps))
			return p.Duration(z, j) * site[z] * factor[j] * walk[j][step]
		}}
	}
	return w, nil
}

// A policy makes a dispatcher of a plan.
type policy struct {
	name string
	make func(*schedule.Problem, schedule.Plan) (*schedule.Dispatcher, error)
}

func fromPlan(cfg schedule.DispatcherConfig) func(*schedule.Problem, schedule.Plan) (*schedule.Dispatcher, error) {
	return func(p *schedule.Problem, plan schedule.Plan) (*schedule.Dispatcher, error) {
		return schedule.NewDispatcher(p, plan, cfg)
	}
}

func longestFirst(cfg schedule.DispatcherConfig) func(*schedule.Problem, schedule.Plan) (*schedule.Dispatcher, error) {
	return func(p *schedule.Problem, _ schedule.Plan) (*schedule.Dispatcher, error) {
		return schedule.NewPullDispatcher(p, p.LongestFirst(), cfg)
	}
}

var policies = []policy{
	{"Dispatcher, defaults", fromPlan(schedule.DispatcherConfig{})},
	{"Dispatcher, 3 copies", fromPlan(schedule.DispatcherConfig{Copies: 3})},
	{"Dispatcher, no copies", fromPlan(schedule.DispatcherConfig{Copies: 1})},
	{"Dispatcher, patience without end", fromPlan(schedule.DispatcherConfig{Patience: -1})},
	{"Dispatcher, spread .3", fromPlan(schedule.DispatcherConfig{Spread: .3})},
	{"longest first, 3 copies, patience 3", longestFirst(schedule.DispatcherConfig{Static: true, Copies: 3, Patience: 3})},
	{"longest first, no copies, patience 3", longestFirst(schedule.DispatcherConfig{Static: true, Patience: 3})},
}

// worldRuns is how many runs there are in a world for each law of sizes, and worldSizes how many sites
// and clients.
const worldRuns = 40

var worldSizes = []struct{ n, m int }{{99, 5}, {1000, 20}}

// worldName is what -worlds looks for.
func worldName(n, m int, what trouble) string { return fmt.Sprintf("%d × %d, %s", n, m, what.name) }

func worldNames() (names []string) {
	for _, size := range worldSizes {
		for _, what := range troubles {
			names = append(names, worldName(size.n, size.m, what))
		}
	}
	return names
}

// worlds runs all policies in the worlds asked for. The figure is the makespan over the planned one,
// each world by itself and the means over the laws of sizes, and for all policies but the first what
// it is more than the first one's in the same world.
func worlds(l *lab) ([]report.Row, error) {
	runs := pick(l, 1, worldRuns)
	if l.runs > 0 {
		runs = l.runs
	}
	var rows []report.Row
	for _, size := range worldSizes {
		for _, what := range troubles {
			name := worldName(size.n, size.m, what)
			if !strings.Contains(name, l.worlds) {
				continue
			}
			over := make([][]float64, len(policies))
			for i := range runs * len(sizeLaws) {
				law := sizeLaws[i%len(sizeLaws)]
				w, err := newTroubledWorld(l.rng(20+size.m, i), size.n, size.m, law.draw, what)
				if err != nil {
					return nil, err
				}
				for k, policy := range policies {
					d, err := policy.make(w.p, w.plan)
					if err != nil {
						return nil, err
					}
					run, err := schedule.Simulate(d, w.world())
					if err != nil {
						return nil, err
					}
					over[k] = append(over[k], ratio(run.Makespan, w.planned))
				}
			}
			for k, policy := range policies {
				item := name + ": " + policy.name
				rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: "makespan over the planned one", Unit: "1"}.Sample(over[k]))
				if k > 0 {
					for i := range over[k] {
						over[k][i] -= over[0][i]
					}
					rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: "makespan over the planned one, more than the defaults'", Unit: "1"}.Sample(over[k]))
				}
			}
		}
	}
	return rows, nil
}

// sizeFamilies draw a duration from a site's and a client's own number, both of 1 to 100.
var sizeFamilies = []struct {
	name string
	draw func(rng *rand.Rand, site, client float64) float64
}{
	{"U(1,100)", func(rng *rand.Rand, _, _ float64) float64 { return float64(1 + rng.IntN(100)) }},
	{"U(1,1000)", func(rng *rand.Rand, _, _ float64) float64 { return float64(1 + rng.IntN(1000)) }},
	{"tied, U(100,200)", func(rng *rand.Rand, _, _ float64) float64 { return float64(100 + rng.IntN(101)) }},
	{"tied, U(1000,1100)", func(rng *rand.Rand, _, _ float64) float64 { return float64(1000 + rng.IntN(101)) }},
	{"sites correlated", func(rng *rand.Rand, site, _ float64) float64 { return site + float64(1+rng.IntN(20)) }},
	{"clients correlated", func(rng *rand.Rand, _, client float64) float64 { return client + float64(1+rng.IntN(20)) }},
	{"both, real", func(rng *rand.Rand, site, client float64) float64 { return site * client * (1 + rng.Float64()) }},
	{"U(1,1000), a third forbidden", func(rng *rand.Rand, _, _ float64) float64 {
		if rng.IntN(3) == 0 {
			return math.Inf(1)
		}
		return float64(1 + rng.IntN(1000))
	}},
}

// atSize solves large problems with unrelated clients within five seconds of processor time.
func atSize(l *lab) ([]report.Row, error) {
	sizes := pick(l, []struct{ n, m int }{{6000, 50}}, []struct{ n, m int }{{500, 30}, {20_000, 50}, {100_000, 100}})
	var rows []report.Row
	for _, size := range sizes {
		for _, f := range sizeFamilies {
			var gaps, bytes []float64
			for i := range pick(l, 1, 3) {
				rng := l.rng(30+size.m, i)
				p, err := sizeInstance(rng, size.n, size.m, f.draw)
				if err != nil {
					return nil, err
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				ctx, cancel := report.WithProcessorTime(context.Background(), pick(l, time.Second, 5*time.Second))
				r, err := schedule.Solve(ctx, p, schedule.SolveConfig{Steps: -1})
				cancel()
				if err != nil {
					return nil, err
				}
				runtime.ReadMemStats(&after)
				gaps = append(gaps, 100*r.Gap())
				bytes = append(bytes, float64(after.TotalAlloc-before.TotalAlloc)/1e6)
			}
			item := fmt.Sprintf("%d × %d, %s", size.n, size.m, f.name)
			rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: "gap to the bound", Unit: "%"}.Sample(gaps),
				report.Row{Source: "recrawl", Item: item, Quantity: "allocated by Solve, all in all", Unit: "MB"}.Sample(bytes))
		}
	}
	return rows, nil
}

func sizeInstance(rng *rand.Rand, n, m int, draw func(*rand.Rand, float64, float64) float64) (*schedule.Problem, error) {
	client, rows := integers(rng, m, 1, 100), make([][]float64, n)
	for z := range rows {
		site := float64(1 + rng.IntN(100))
		for j := range m {
			rows[z] = append(rows[z], draw(rng, site, client[j]))
		}
	}
	return schedule.NewUnrelated(rows)
}
