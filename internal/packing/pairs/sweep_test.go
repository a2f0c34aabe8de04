package pairs

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recrawl/recrawl/internal/packing/petersen"
)

var sweep = flag.Bool("sweep", false, "measure the limits of the search around their values")

// alone draws items that fill all bins, of which 15 cannot be packed, though they can in fractions.
// Their weights are multiples of 5, and those of the triples that fill the other bins are so
// only in sum. With loose set some of the 15 lose a bit of weight, so that there is waste.
func alone(rng *rand.Rand, triples, c int, loose bool) *Problem {
	p := &Problem{Capacity: int64(c), Bins: 3 + triples}
	for _, w := range petersen.Core(rng, c/5) {
		p.Weights = append(p.Weights, 5*int64(w))
	}
	for range triples {
		a, b := 5*rng.Int64N(int64(c)/20)+1, 5*rng.Int64N(int64(c)/20)+1
		p.Weights = append(p.Weights, int64(c)-a-b, a, b)
	}
	if loose {
		for range 3 {
			p.Weights[rng.IntN(15)]--
		}
	}
	return p
}

// Prints for each limit of standard how many of 12 instances are decided, in how many nodes and
// what time, with half and with twice the limit.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("measures for minutes; run with -sweep")
	}
	var instances []*Problem
	for i := range 12 {
		instances = append(instances, alone(rand.New(rand.NewPCG(uint64(i), 73)), 20, 3000, i%2 == 1))
	}
	measure := func(name string, e effort) {
		start, decided, nodes := time.Now(), 0, 0
		for _, p := range instances {
			a := Decide(context.Background(), p, Config{Nodes: 40, effort: &e})
			nodes += a.Nodes
			if a.Verdict != Undecided {
				decided++
			}
		}
		fmt.Printf("%-22s %2d decided, %5d nodes, %6.2f s\n", name, decided, nodes, time.Since(start).Seconds())
	}
	measure("as it is", standard)
	for _, l := range []struct {
		name  string
		limit func(*effort) *int
	}{
		{"cutRounds", func(e *effort) *int { return &e.cutRounds }},
		{"cutsPerRound", func(e *effort) *int { return &e.cutsPerRound }},
		{"cutsPerItem", func(e *effort) *int { return &e.cutsPerItem }},
		{"fixEvery", func(e *effort) *int { return &e.fixEvery }},
		{"fixRuns", func(e *effort) *int { return &e.fixRuns }},
		{"undoShare", func(e *effort) *int { return &e.undoShare }},
		{"restLeast", func(e *effort) *int { return &e.restLeast }},
		{"restNodes", func(e *effort) *int { return &e.restNodes }},
		{"patternsPerRound", func(e *effort) *int { return &e.patternsPerRound }},
		{"patternsPerStart", func(e *effort) *int { return &e.patternsPerStart }},
		{"patternsPerGroup", func(e *effort) *int { return &e.patternsPerGroup }},
		{"startSteps", func(e *effort) *int { return &e.startSteps }},
	} {
		for _, factor := range []float64{.5, 2} {
			e := standard
			limit := l.limit(&e)
			*limit = max(int(float64(*limit)*factor), 1)
			measure(fmt.Sprintf("%s %d", l.name, *limit), e)
		}
	}
	for _, x := range []float64{.005, .08} {
		e := standard
		e.cutViolation = x
		measure(fmt.Sprintf("cutViolation %g", x), e)
	}
	for _, x := range []float64{.3, .7} {
		e := standard
		e.leastFixed = x
		measure(fmt.Sprintf("leastFixed %g", x), e)
	}
}
