package schedule_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/recrawl/recrawl/schedule"
)

// The paper's five clients, of which each took so many seconds for a reference
// site of 800 pages, scan ten sites.
func ExampleSolve() {
	unit := []float64{95.0 / 800, 84.6 / 800, 105.7 / 800, 110.4 / 800, 85.8 / 800}
	pages := []int{5200, 3100, 2600, 1800, 900, 850, 400, 310, 150, 90}
	p, err := schedule.NewUniform(pages, unit)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := schedule.Solve(ctx, p, rand.NewPCG(1, 1), schedule.Settings{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f s, %v\n", r.Makespan, r.Status)
	fmt.Println("the largest site goes to client", r.Plan[0]+1)
	// Output:
	// 549.9 s, optimal
	// the largest site goes to client 2
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

func ExampleImprove() {
	// Four sites on three unrelated clients; each plan is printed when found.
	p, _ := schedule.NewUnrelated([][]float64{{4, 7, 9}, {6, 3, 8}, {5, 5, 2}, {3, 6, 4}})
	r, _ := schedule.Improve(context.Background(), p, rand.NewPCG(1, 1), schedule.Settings{
		Start:    schedule.RoundRobin(p, schedule.Given),
		Steps:    10_000,
		Progress: func(r schedule.Result) { fmt.Printf("makespan %v, bound %.2f\n", r.Makespan, r.Lower) },
	})
	fmt.Println("at most", int(100*r.Gap()), "% above the optimum")
	// Output:
	// makespan 7, bound 0.00
	// makespan 7, bound 4.40
	// makespan 6, bound 4.40
	// at most 36 % above the optimum
}

func ExampleReplan() {
	before, _ := schedule.NewIdentical([]int{7, 6, 5, 4, 3}, 2)
	plan := schedule.LPT(before)
	// The first site has grown and there is a new one.
	now, _ := schedule.NewIdentical([]int{12, 6, 5, 4, 3, 2}, 2)
	r, moved, err := schedule.Replan(now, append(plan, schedule.Unplaced), 1)
	if err != nil {
		panic(err)
	}
	fmt.Println("makespan", r.Makespan, "bound", r.Lower, "moved", moved)
	// Output: makespan 16 bound 16 moved 1
}

func ExampleDispatcher() {
	predicted, _ := schedule.NewIdentical([]int{8, 6, 4, 2}, 2)
	d, err := schedule.NewDispatcher(predicted, schedule.LPT(predicted), schedule.Policy{Steal: true})
	if err != nil {
		panic(err)
	}
	a, _ := d.Ask(0, 0)
	b, _ := d.Ask(1, 0)
	fmt.Println("client 0 scans", a, "and client 1 scans", b)
	if _, _, err := d.Tell(1, b, 3); err != nil { // twice as fast as predicted
		panic(err)
	}
	b, _ = d.Ask(1, 3)
	fmt.Println("then client 1 scans", b)
	// Output:
	// client 0 scans 0 and client 1 scans 1
	// then client 1 scans 2
}

func ExampleEstimator() {
	var e schedule.Estimator
	for run := range 6 {
		if err := e.Observe(0, float64(100+20*run)); err != nil { // a site that grows
			panic(err)
		}
	}
	next := e.Predict(0)
	fmt.Printf("%.0f ± %.0f by %v\n", next.Mean, next.SD, next.Method)
	// Output: 201 ± 37 by Holt
}

func ExampleFullModel() {
	f := schedule.FullModel{
		Sites: []schedule.SiteCost{{Name: "a.example", Size: 1000, Result: 50}, {Name: "b.example", Size: 400, Result: 8}},
		Clients: []schedule.ClientCost{
			{ServerResponse: .5, ServerSpeed: 10, DNS: .1, Compute: 100,
				Connect: []float64{.2, .3}, WebResponse: []float64{.4, .6}, WebSpeed: []float64{50, 25}},
			{ServerResponse: .7, ServerSpeed: 20, DNS: .2, Compute: 200,
				Connect: []float64{.1, .1}, WebResponse: []float64{.1, .1}, WebSpeed: []float64{10, 80}},
		},
	}
	p, err := f.Problem()
	if err != nil {
		panic(err)
	}
	r, err := schedule.Solve(context.Background(), p, rand.NewPCG(1, 1), schedule.Settings{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v %.2f s\n", r.Plan, r.Makespan)
	// Output: [0 1] 36.20 s
}
