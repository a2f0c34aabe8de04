package packing

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var sweep = flag.Bool("sweep", false, "measure the limits of the solver around their values")

// hard draws items of 1 to 800 for bins of 1000 with little waste, until neither the heuristics
// nor the linear programme decide whether the last bin can be saved, as in Hard28 (Schoenfield
// 2002).
func hard(rng *rand.Rand) *Problem {
	for {
		in := plain(1000, between(rng, 160+20*rng.IntN(3), 1, 800))
		sum := int64(0)
		for _, w := range in.Weights {
			sum += w
		}
		if waste := (1000 - sum%1000) % 1000; waste > 100 || in.Bounds().Best() != ceilDiv(sum, 1000) {
			continue
		}
		if !in.Solve(context.Background(), 1).Proved {
			return in
		}
	}
}

// Prints for each limit of standard how many of 20 instances are proved, in how many nodes and
// what time, with a quarter, half, twice and four times the limit.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("measures for minutes; run with -sweep")
	}
	var instances []*Problem
	for i := range 20 {
		instances = append(instances, hard(rand.New(rand.NewPCG(uint64(i), 71))))
	}
	measure := func(name string, e effort) {
		start, proved, nodes := time.Now(), 0, 0
		for _, in := range instances {
			s := newSolver(context.Background(), in, 2000)
			s.effort = e
			s.solve()
			nodes += s.nodes
			if s.proved() {
				proved++
			}
		}
		fmt.Printf("%-22s %2d proved, %6d nodes, %6.2f s\n", name, proved, nodes, time.Since(start).Seconds())
	}
	measure("as it is", standard)
	for _, l := range []struct {
		name  string
		limit func(*effort) *int
	}{
		{"dives", func(e *effort) *int { return &e.dives }},
		{"divesBefore", func(e *effort) *int { return &e.divesBefore }},
		{"nodesAtRoot", func(e *effort) *int { return &e.nodesAtRoot }},
		{"nodesPerDive", func(e *effort) *int { return &e.nodesPerDive }},
		{"poolPatterns", func(e *effort) *int { return &e.poolPatterns }},
		{"poolSteps", func(e *effort) *int { return &e.poolSteps }},
		{"nodeSteps", func(e *effort) *int { return &e.nodeSteps }},
		{"nodeChildren", func(e *effort) *int { return &e.nodeChildren }},
		{"interiorDuals", func(e *effort) *int { return &e.interiorDuals }},
		{"columnsPerRound", func(e *effort) *int { return &e.columnsPerRound }},
		{"refreshAfter", func(e *effort) *int { return &e.refreshAfter }},
	} {
		for _, factor := range []float64{.25, .5, 2, 4} {
			e := standard
			limit := l.limit(&e)
			*limit = max(int(float64(*limit)*factor), 1)
			measure(fmt.Sprintf("%s %d", l.name, *limit), e)
		}
	}
}
