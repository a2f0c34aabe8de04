package knapsack

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/recrawl/recrawl/webenv"
)

var sweep = flag.Bool("sweep", false, "measure the tuned settings around their defaults")

// TestSweep measures what the default settings of the learners rest on: detections per poll in
// the environments of Granmo et al. 2006, still and with a swap of ranks every 200 polls, around
// each default. It takes a minute or so and checks nothing.
//
//	go test ./knapsack -v -run Sweep -sweep
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("needs -sweep")
	}
	const pages, polls, runs = 500, 40_000, 4
	detections := func(learner func(seed uint64) Learner, swapEvery int) (shares []string) {
		for _, ab := range [][2]float64{{0.3, 1.5}, {0.3, 1}, {0.9, 1.5}} {
			found := 0
			for seed := range uint64(runs) {
				env := must(webenv.NewZipf(webenv.ZipfConfig{Pages: pages, Alpha: ab[0], Beta: ab[1], SwapEvery: swapEvery},
					rand.NewPCG(seed, 1)))
				found += must(webenv.Run(env, learner(seed), webenv.RunConfig{Rate: 1, Polls: polls})).Detected
			}
			shares = append(shares, fmt.Sprintf("%.3f", float64(found)/(polls*runs)))
		}
		return shares
	}
	report := func(setting string, learner func(seed uint64) Learner) {
		t.Logf("%-28s still %v  moving %v", setting, detections(learner, 0), detections(learner, 200))
	}
	for _, states := range []int{150, 300, 750, 1500, 3000} {
		report(fmt.Sprintf("LAKG, %d states", states), func(seed uint64) Learner {
			return must(NewLAKG(pages, LAKGConfig{States: states}, rand.NewPCG(seed, 2)))
		})
	}
	for _, start := range []float64{-1, 0.0002, 0.0005, 0.002, 0.01} {
		report(fmt.Sprintf("LAKG, Start %v", start), func(seed uint64) Learner {
			return must(NewLAKG(pages, LAKGConfig{Start: start}, rand.NewPCG(seed, 2)))
		})
	}
	for _, step := range []float64{0.025, 0.05, 0.1, 0.2, 0.4} {
		report(fmt.Sprintf("VLAKG, step %v", step), func(seed uint64) Learner {
			return must(NewVLAKG(pages, VLAKGConfig{Step: step}, nil))
		})
	}
	for _, states := range []int{60, 125, 250, 500, 1000, 2000} {
		report(fmt.Sprintf("H-TRAA, %d states", states), func(seed uint64) Learner {
			return must(NewHTRAA(pages, HTRAAConfig{States: states}, rand.NewPCG(seed, 2)))
		})
	}
	for _, floor := range []float64{0.01, 0.02, 0.05, 0.1, 0.2} {
		report(fmt.Sprintf("Planner, Floor %v", floor), func(uint64) Learner {
			return must(NewPlanner(pages, PlannerConfig{Objective: Detections, Budget: 1, Method: Gamma, Floor: floor}, nil))
		})
	}
	for _, phase := range []int{2, 5, 10, 20, 40} {
		report(fmt.Sprintf("EstimateFirst, %d a page", phase), func(uint64) Learner {
			return must(NewEstimateFirst(pages, EstimateFirstConfig{Phase: phase * pages}, nil))
		})
	}
}
