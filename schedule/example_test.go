package schedule_test

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/recrawl/recrawl/schedule"
)

// Sites of known sizes, clients of known speeds: who scans what, when does the last one finish, and
// could it be earlier?
func Example() {
	pages := []int{5200, 3100, 2600, 1800, 900, 850, 400, 310, 150, 90}
	secondsPerPage := []float64{.12, .11, .13}
	p, err := schedule.NewUniform(pages, secondsPerPage)
	if err != nil {
		panic(err)
	}
	r, err := schedule.Solve(context.Background(), p, schedule.SolveConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f s, %v\n", r.Makespan, r.Status)
	for client, sites := range r.Plan.Batches(3) {
		fmt.Println("client", client, "scans", sites)
	}
	// Output:
	// 616.0 s, optimal
	// client 0 scans [1 4 5 8 9]
	// client 1 scans [0 6]
	// client 2 scans [2 3 7]
}

// The paper's five clients, of which each took so many seconds for a reference site of 800 pages,
// scan ten sites. A deadline comes in with the context.
func ExampleSolve() {
	unit := []float64{95.0 / 800, 84.6 / 800, 105.7 / 800, 110.4 / 800, 85.8 / 800}
	pages := []int{5200, 3100, 2600, 1800, 900, 850, 400, 310, 150, 90}
	p, err := schedule.NewUniform(pages, unit)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := schedule.Solve(ctx, p, schedule.SolveConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f s, %v\n", r.Makespan, r.Status)
	fmt.Println("the largest site goes to client", r.Plan[0]+1)
	// Output:
	// 549.9 s, optimal
	// the largest site goes to client 2
}

// A plan that is made at once may be good enough: the lower bound tells.
func ExampleLowerBound() {
	p, err := schedule.NewIdentical([]time.Duration{9 * time.Minute, 7 * time.Minute, 6 * time.Minute, 5 * time.Minute, 5 * time.Minute}, 2)
	if err != nil {
		panic(err)
	}
	plan := schedule.LPT(p)
	fmt.Println(time.Duration(p.Makespan(plan)), "and no plan ends before", time.Duration(schedule.LowerBound(p)))
	// Output: 18m0s and no plan ends before 16m0s
}

// The first client is busy for another 6 minutes, and the second one takes 1 minute to log in.
func ExampleProblem_WithStarts() {
	idle, err := schedule.NewIdentical([]int{5, 4, 3, 3, 2}, 2)
	if err != nil {
		panic(err)
	}
	p, err := idle.WithStarts([]float64{6, 0}, []float64{0, 1})
	if err != nil {
		panic(err)
	}
	fmt.Println("free now:", idle.Finish(schedule.LPT(idle)))
	plan := schedule.LPT(p)
	fmt.Println("as they are:", p.Finish(plan), plan)
	// Output:
	// free now: [8 9]
	// as they are: [12 12] [1 0 1 1 0]
}

// A result that was stored is checked before it is used: here the durations have changed since.
func ExampleProblem_CheckResult() {
	p, _ := schedule.NewIdentical([]int{5, 4, 3, 3, 2}, 2)
	r, err := schedule.Solve(context.Background(), p, schedule.SolveConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Makespan, r.Status, p.CheckResult(r))

	now, _ := schedule.NewIdentical([]int{5, 4, 3, 3, 4}, 2)
	fmt.Println(now.CheckResult(r))
	// Output:
	// 9 optimal <nil>
	// schedule: invalid plan: makespan 9, the plan has 11
}

func ExampleBatch() {
	performance, _ := schedule.Performance([]float64{105.7, 110.4, 85.8})
	plan, err := schedule.Batch([]float64{900, 800, 500, 400, 200, 100, 50}, performance, schedule.Literal)
	if err != nil {
		panic(err)
	}
	for j, batch := range plan.Batches(3) {
		fmt.Println(j+1, batch)
	}
	// Output:
	// 1 [1 5]
	// 2 [2 3 6]
	// 3 [0 4]
}

// Four sites on three unrelated clients; each better plan or bound is printed when found.
func ExampleImprove() {
	p, _ := schedule.NewUnrelated([][]float64{{4, 7, 9}, {6, 3, 8}, {5, 5, 2}, {3, 6, 4}})
	start, _ := schedule.RoundRobin(p, nil)
	r, _ := schedule.Improve(context.Background(), p, schedule.SolveConfig{
		Start:    start,
		Steps:    10_000,
		Progress: func(r schedule.Result) { fmt.Printf("makespan %v, bound %.2f\n", r.Makespan, r.Lower) },
	})
	fmt.Println("at most", int(100*r.Gap()), "% above the optimum")
	// Output:
	// makespan 7, bound 0.00
	// makespan 7, bound 6.00
	// makespan 6, bound 6.00
	// at most 0 % above the optimum
}

// The first site has grown and there is a new one.
func ExampleReplan() {
	before, _ := schedule.NewIdentical([]int{7, 6, 5, 4, 3}, 2)
	plan := schedule.LPT(before)
	now, _ := schedule.NewIdentical([]int{12, 6, 5, 4, 3, 2}, 2)
	r, err := schedule.Replan(now, append(plan, schedule.None), 1)
	if err != nil {
		panic(err)
	}
	fmt.Println("makespan", r.Makespan, "bound", r.Lower, "moved", r.Moved)
	// Output: makespan 16 bound 16 moved 1
}

// A client that is through with its own batch takes a site from another one's, and in the end
// a copy of the site that the other one works on.
func ExampleDispatcher() {
	predicted, _ := schedule.NewIdentical([]int{8, 6, 4, 2}, 2)
	d, err := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.DispatcherConfig{})
	if err != nil {
		panic(err)
	}
	a, _ := d.Next(0, 0)
	b, _ := d.Next(1, 0)
	fmt.Println("client 0 scans", a, "and client 1 scans", b)
	for now := 3.; ; now += 2 { // client 1 is twice as fast as predicted
		if _, _, err := d.Observe(1, b, now); err != nil {
			panic(err)
		}
		if b, _ = d.Next(1, now); b == schedule.None {
			break
		}
		fmt.Println("then client 1 scans", b)
	}
	fmt.Println(d.Open(), "sites are open")
	// Output:
	// client 0 scans 0 and client 1 scans 1
	// then client 1 scans 2
	// then client 1 scans 3
	// then client 1 scans 0
	// 0 sites are open
}

// Without a plan each client that is free pulls the next site of a list, here the longest.
func ExampleNewPullDispatcher() {
	predicted, _ := schedule.NewIdentical([]int{2, 8, 4, 6}, 2)
	d, err := schedule.NewPullDispatcher(predicted, predicted.LongestFirst(), schedule.DispatcherConfig{})
	if err != nil {
		panic(err)
	}
	for client := range 2 {
		site, _ := d.Next(client, 0)
		fmt.Println("client", client, "pulls", site)
	}
	// Output:
	// client 0 pulls 1
	// client 1 pulls 3
}

// A client is lost with the site that it works on. The others get what it had to do.
func ExampleDispatcher_RemoveClient() {
	predicted, _ := schedule.NewIdentical([]int{8, 6, 4, 2}, 2)
	d, err := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.DispatcherConfig{})
	if err != nil {
		panic(err)
	}
	lost, _ := d.Next(0, 0)
	site, _ := d.Next(1, 0)
	if err := d.RemoveClient(0, 5); err != nil {
		panic(err)
	}
	if _, _, err := d.Observe(1, site, 6); err != nil {
		panic(err)
	}
	again, _ := d.Next(1, 6)
	fmt.Println("client 1 scans site", again, "which client 0 did not finish:", again == lost)

	err = d.RestoreClient(0, 7)
	site, _ = d.Next(0, 7)
	fmt.Println("client 0 is back and scans site", site, err)
	// Output:
	// client 1 scans site 0 which client 0 did not finish: true
	// client 0 is back and scans site 2 <nil>
}

// A site does not answer client 1, which gives it back. The client is not given it again, and the
// other one scans it.
func ExampleDispatcher_GiveBack() {
	predicted, _ := schedule.NewIdentical([]int{8, 6, 4}, 2)
	d, err := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.DispatcherConfig{})
	if err != nil {
		panic(err)
	}
	first, _ := d.Next(0, 0)
	site, _ := d.Next(1, 0)
	if err := d.GiveBack(1, 1); err != nil {
		panic(err)
	}
	other, _ := d.Next(1, 1)
	fmt.Println("client 1 gave back", site, "and scans", other)
	if _, _, err := d.Observe(0, first, 8); err != nil {
		panic(err)
	}
	again, _ := d.Next(0, 8)
	fmt.Println("client 0 scans", again)
	// Output:
	// client 1 gave back 1 and scans 2
	// client 0 scans 1
}

// A client dies without a word. Alarm says when to look, and the other one gets its site.
func ExampleDispatcher_Alarm() {
	predicted, _ := schedule.NewIdentical([]int{8, 6}, 2)
	d, err := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.DispatcherConfig{Copies: 1})
	if err != nil {
		panic(err)
	}
	_, _ = d.Next(0, 0)
	site, _ := d.Next(1, 0)
	if _, _, err := d.Observe(1, site, 6); err != nil {
		panic(err)
	}
	nothing, _ := d.Next(1, 6)
	fmt.Println("client 1 has nothing to do:", nothing == schedule.None)

	now := d.Alarm() // set a timer
	silent, _ := d.Silent(now)
	again, _ := d.Next(1, now)
	fmt.Printf("at %v clients %v are silent, and client 1 scans site %d\n", now, silent, again)
	// Output:
	// client 1 has nothing to do: true
	// at 24 clients [0] are silent, and client 1 scans site 0
}

// A client and a site come while the crawl runs.
func ExampleDispatcher_AddClient() {
	predicted, _ := schedule.NewUniform([]int{8, 6, 4}, []float64{2})
	d, err := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.DispatcherConfig{})
	if err != nil {
		panic(err)
	}
	_, _ = d.Next(0, 0)
	site, _ := d.AddSite([]float64{10}, 3)     // its size
	client, _ := d.AddClient([]float64{.5}, 3) // its time per unit of size
	next, _ := d.Next(client, 3)
	fmt.Println("client", client, "scans the new site:", next == site)
	// Output: client 1 scans the new site: true
}

// The state of a crawl is saved and restored with two clients at work.
func ExampleDispatcher_MarshalBinary() {
	predicted, _ := schedule.NewIdentical([]int{8, 6, 4, 2}, 2)
	d, _ := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.DispatcherConfig{})
	_, _ = d.Next(0, 0)
	site, _ := d.Next(1, 0)
	saved, err := d.MarshalBinary()
	if err != nil {
		panic(err)
	}

	restored, _ := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.DispatcherConfig{})
	if err := restored.UnmarshalBinary(saved); err != nil {
		panic(err)
	}
	_, _, err = restored.Observe(1, site, 6)
	fmt.Println(restored.Open(), "sites are open", err)
	// Output: 3 sites are open <nil>
}

// How long does a crawl take if the first client turns out half as fast as predicted and the second
// one is lost after 10 minutes?
func ExampleSimulate() {
	predicted, _ := schedule.NewIdentical([]float64{20, 18, 16, 14, 12, 10, 8, 6, 4, 2}, 3)
	world := schedule.World{
		Duration: func(site, client int, _ float64) float64 {
			if client == 0 {
				return 2 * predicted.Duration(site, client)
			}
			return predicted.Duration(site, client)
		},
		Lost: []float64{math.Inf(1), 10, math.Inf(1)},
	}
	plan := schedule.LPT(predicted)
	fmt.Println("predicted:", predicted.Makespan(plan))
	for _, static := range []bool{true, false} {
		d, err := schedule.NewDispatcher(predicted, plan, schedule.DispatcherConfig{Static: static})
		if err != nil {
			panic(err)
		}
		s, err := schedule.Simulate(d, world)
		if err != nil {
			panic(err)
		}
		fmt.Printf("static %v: %v\n", static, s.Makespan)
	}
	// Output:
	// predicted: 38
	// static true: 100
	// static false: 76
}

// Durations are learned from earlier scans.
func ExampleDurationPredictor() {
	var e schedule.DurationPredictor
	for run := range 6 {
		if err := e.Observe(0, float64(100+20*run)); err != nil { // a site that grows
			panic(err)
		}
	}
	next, err := e.Predict(0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.0f ± %.0f by %v\n", next.Mean, next.SD, next.Method)
	fmt.Printf("a new site: %.0f\n", e.PredictNew().Mean)
	// Output:
	// 201 ± 37 by Holt
	// a new site: 190
}

// Which method predicts one's own sites best? The spread of its errors goes into the dispatcher's
// config.
func ExampleBacktest() {
	e, err := schedule.Backtest([][]float64{
		{60, 62, 58, 61, 600, 60, 59}, // one run hung
		{30, 31, 30, 29, 30, 31, 30},
	})
	if err != nil {
		panic(err)
	}
	for _, s := range e.Scores()[:2] {
		fmt.Printf("%v: off by %.0f %%\n", s.Method, 100*s.AbsError)
	}
	cfg := schedule.DispatcherConfig{Spread: e.Scores()[0].Spread}
	fmt.Printf("spread %.1f\n", cfg.Spread)
	// Output:
	// median: off by 21 %
	// truncated: off by 37 %
	// spread 0.7
}

func ExampleFullModel() {
	sites := []schedule.SiteCost{{Name: "a.example", Size: 1000, Result: 50}, {Name: "b.example", Size: 400, Result: 8}}
	clients := []schedule.ClientCost{
		{ServerResponse: .5, ServerSpeed: 10, DNS: .1, Compute: 100,
			Connect: []float64{.2, .3}, WebResponse: []float64{.4, .6}, WebSpeed: []float64{50, 25}},
		{ServerResponse: .7, ServerSpeed: 20, DNS: .2, Compute: 200,
			Connect: []float64{.1, .1}, WebResponse: []float64{.1, .1}, WebSpeed: []float64{10, 80}},
	}
	p, err := schedule.FullModel(sites, clients)
	if err != nil {
		panic(err)
	}
	r, err := schedule.Solve(context.Background(), p, schedule.SolveConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v %.2f s\n", r.Plan, r.Makespan)
	// Output: [0 1] 36.20 s
}

// Long sites first, each to the client that finishes it first: client 1 is twice as fast as client 0.
func ExampleLPT() {
	pages := []int{200, 800, 100, 400, 500}
	secondsPerPage := []float64{.2, .1}
	p, err := schedule.NewUniform(pages, secondsPerPage)
	if err != nil {
		panic(err)
	}
	plan := schedule.LPT(p)
	for client, sites := range plan.Batches(2) {
		fmt.Println("client", client, "scans", sites)
	}
	fmt.Println("the last one is done after", p.Makespan(plan), "s")
	// Output:
	// client 0 scans [0 4]
	// client 1 scans [1 2 3]
	// the last one is done after 140 s
}
