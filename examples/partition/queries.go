package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/partition"
)

// mostQueries is where a run of an automaton counts as stuck.
const mostQueries = 500_000

// queries runs the family of object migration automata until they have converged, on
// queries for two objects of the same class with probability p.
func queries(size scale, seed uint64) (rows []report.Row, _ []picture, err error) {
	for _, s := range []struct {
		objects, classes int
		p                float64
	}{{9, 3, .9}, {18, 3, 1}, {18, 3, .9}, {18, 3, .7}, {18, 9, .7}, {30, 3, .8}, {30, 10, .7}} {
		sizes := slices.Repeat([]int{s.objects / s.classes}, s.classes)
		source := func(k uint64) func() (int, int) {
			rng := rand.New(rand.NewPCG(seed*1000+k, 3))
			return func() (i, j int) { return query(rng, s.objects, s.objects/s.classes, s.p) }
		}
		item := func(name string) string {
			return fmt.Sprintf("%d objects in %d classes, p = %v: %s", s.objects, s.classes, s.p, name)
		}
		for _, variant := range []partition.OMAVariant{partition.OMA, partition.EOMA, partition.PEOMA, partition.TPEOMA} {
			name := variant.String()
			limit := mostQueries
			if s.p == 1 {
				limit = 20_000 // stuck is stuck without noise
			}
			var needed []float64
			stuck := 0
			for k := range uint64(size.queryRuns) {
				a, err := partition.NewOMA(variant, sizes, 10, rand.NewPCG(seed*1000+k, 4))
				if err != nil {
					return nil, nil, err
				}
				next := source(k)
				n := 0
				for ; n < limit && !a.Converged(); n++ {
					if err := a.Query(next()); err != nil {
						return nil, nil, err
					}
				}
				if a.Converged() {
					needed = append(needed, float64(n))
				} else {
					stuck++
				}
			}
			if len(needed) > 0 {
				rows = append(rows, report.Row{Source: "recrawl", Item: item(name), Quantity: "queries until converged", Unit: "queries"}.Sample(needed))
			}
			if stuck > 0 {
				rows = append(rows, report.Row{Source: "recrawl", Item: item(name), Quantity: fmt.Sprintf("runs stuck after %d queries", limit),
					Unit: "runs", Measured: stuck, Runs: size.queryRuns})
			}
		}
		var needed []float64
		for k := range uint64(size.queryRuns) {
			c, err := partition.NewCoAccess(sizes)
			if err != nil {
				return nil, nil, err
			}
			next := source(k)
			name := rand.New(rand.NewPCG(seed*1000+k, 5)).Perm(s.objects) // or it would start right
			stable := 0
			for n := 1; n <= 20*s.objects; n++ {
				i, j := next()
				if err := c.Query(name[i], name[j]); err != nil {
					return nil, nil, err
				}
				if !isRight(c, name, s.objects/s.classes) {
					stable = n + 1
				}
			}
			needed = append(needed, float64(stable))
		}
		rows = append(rows, report.Row{Source: "recrawl", Item: item("co-access counts"), Quantity: "queries until right for good", Unit: "queries"}.Sample(needed))
	}
	return rows, nil, nil
}

// query draws two objects, of the same class with probability p; object i is of class i/size.
func query(rng *rand.Rand, objects, size int, p float64) (i, j int) {
	i = rng.IntN(objects)
	together := rng.Float64() < p
	for {
		if j = rng.IntN(objects); j != i && (i/size == j/size) == together {
			return i, j
		}
	}
}

func isRight(c partition.Partitioner, name []int, size int) bool {
	for i := range name {
		a, errA := c.Class(name[i])
		b, errB := c.Class(name[i/size*size])
		if errA != nil || errB != nil || a != b {
			return false
		}
	}
	return true
}
