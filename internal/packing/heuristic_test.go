package packing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/internal/worktest"
)

// wide draws a problem of given bins in which hardly two sums are equal, as with random floats.
func wide(rng *rand.Rand, n, bins int) *Problem {
	in := &Problem{Weights: between(rng, n, 1, 1<<40)}
	for range bins {
		in.Capacities = append(in.Capacities, (1<<40+rng.Int64N(1<<41))*int64(n)/int64(bins)/3+1<<40)
	}
	return in
}

// goodOrder is the problem on which decreasing forms need 11 bins for every 9 (Johnson), in an order in
// which First Fit fills all bins, and Next Fit does not.
func goodOrder(copies int) *Problem {
	const c, e = 1 << 20, 1 << 10
	in := plain(c, nil)
	for range copies {
		for range 3 {
			for _, w := range []int64{c/2 + e, c/4 + e, c/4 - 2*e} {
				in.Weights = append(in.Weights, w, w) // of two bins
			}
		}
		for range 3 {
			in.Weights = append(in.Weights, c/4+2*e, c/4+2*e, c/4-2*e, c/4-2*e)
		}
	}
	return in
}

// triplets are items of which three fill a bin.
func triplets(rng *rand.Rand, bins int) *Problem {
	const c = 1 << 30
	in := plain(c, nil)
	for range bins {
		a := c/4 + rng.Int64N(c/5)
		b := c/4 + rng.Int64N((c-a)/2-c/4+1)
		in.Weights = append(in.Weights, a, b, c-a-b)
	}
	rng.Shuffle(len(in.Weights), func(i, j int) { in.Weights[i], in.Weights[j] = in.Weights[j], in.Weights[i] })
	return in
}

// Trees find the bins that a scan of all finds.
func TestPlaceAgainstScan(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 72))
	packed := 0
	for range 2000 {
		in, _ := anyProblem(rng)
		in.Conflicts = nil
		for _, h := range []Heuristic{FirstFit, BestFit, WorstFit} {
			for _, order := range [][]Ranked{nil, Decreasing(in.Weights)} {
				want, left := in.scan(order, h, nil)
				got, over := in.place(order, h, nil)
				require.Equal(t, left, over)
				require.Equal(t, want, got)
				if left < 0 {
					packed++
				}
			}
		}
	}
	require.Greater(t, packed, 1000)
}

// heuristicWork is what the heuristics take, in steps of a watch, and what they find.
func heuristicWork(in *Problem, trials []Heuristic) (steps, bins int) {
	watch := work.NewWatch(context.Background())
	for _, h := range trials {
		if p, left := in.pack(h, watch); left < 0 && (bins == 0 || p.Bins < bins) {
			bins = p.Bins
		}
	}
	return watch.Spent, bins
}

// Whenever the context ends, Solve has a packing as good as that of every heuristic for which there
// was time. Next Fit is always there.
func TestSolveHasTheHeuristics(t *testing.T) {
	t.Parallel()
	problems := map[string]func(rng *rand.Rand) *Problem{
		"given bins":      func(rng *rand.Rand) *Problem { return wide(rng, 28+rng.IntN(8), 12) },
		"many given bins": func(rng *rand.Rand) *Problem { return wide(rng, 300, 100) },
		"one capacity":    func(rng *rand.Rand) *Problem { return plain(1<<40, between(rng, 200, 1<<34, 1<<40/3*2)) },
		"whole weights":   func(rng *rand.Rand) *Problem { return plain(150, between(rng, 2000, 20, 100)) },
		"good order":      func(*rand.Rand) *Problem { return goodOrder(100) },
		"triplets":        func(rng *rand.Rand) *Problem { return triplets(rng, 400) },
		"conflicts": func(rng *rand.Rand) *Problem {
			in := plain(1<<40, between(rng, 200, 1<<34, 1<<39))
			var pairs [][2]int
			for range 400 {
				if a, b := rng.IntN(200), rng.IntN(200); a != b {
					pairs = append(pairs, [2]int{a, b})
				}
			}
			in.Conflicts = NewConflicts(pairs)
			return in
		},
		"any": func(rng *rand.Rand) *Problem { in, _ := anyProblem(rng); return in },
	}
	for name, draw := range problems {
		rng := rand.New(rand.NewPCG(2, 72))
		for range 6 {
			in := draw(rng)
			size := len(in.Weights) + len(in.Capacities) + in.Bins()
			before := 4*in.reading() + 64*size
			if !in.Uniform {
				before += needsClasses * (needsSteps + sortKnapsack(needsKinds))
			}
			for k := 1; k <= len(trials); k++ {
				steps, bins := heuristicWork(in, trials[:k])
				looks := 0
				if k > 1 {
					looks = (before + steps) / work.Interval
				}
				if k > 8 && bins > slackAll/slackNodes { // Minimum Bin Slack with fewer nodes comes first
					looks += 2 * (slackSteps*slackAll + len(in.Weights)*bins) / work.Interval
				}
				s := in.Solve(worktest.NewCountdown(looks), 1)
				if bins > 0 {
					require.NotNil(t, s.Bin, name)
					require.LessOrEqual(t, s.Bins, bins, fmt.Sprint(name, " ", k))
				}
			}
		}
	}
}

// Bounds take as many steps as they say, however hard the knapsack problems of the values are.
func TestBoundsWork(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 72))
	for _, c := range [][2]int{{32, 12}, {200, 3}, {200, 100}, {1000, 40}, {needsItems, 8}, {20_000, 5000}} {
		in := wide(rng, c[0], c[1])
		watch := work.NewWatch(context.Background())
		in.hastyBounds(watch)
		m := len(newKinds(in.Weights).w)
		functions := 2 * min(functionsTried, functionsWork/m, 6*m) * m * 20
		knapsacks := 2 * needsClasses * (needsSteps + sortKnapsack(needsKinds))
		linear := 200 * (c[0] + c[1])
		require.LessOrEqual(t, watch.Spent, linear+functions+knapsacks, "%v", c)

		pairs := make([][2]int, 0, 10*c[0])
		for range 10 * c[0] {
			if a, b := rng.IntN(c[0]), rng.IntN(c[0]); a != b {
				pairs = append(pairs, [2]int{a, b})
			}
		}
		in.Conflicts = NewConflicts(pairs)
		watch = work.NewWatch(context.Background())
		in.hastyBounds(watch)
		clique := 4*cliqueSteps + 2*(cliqueStarts+2)*(2*c[0]+4*len(pairs))
		require.LessOrEqual(t, watch.Spent, linear+functions+knapsacks+clique, "%v with conflicts", c)
	}
}

// A search for the most value takes so many steps and gives up.
func TestKnapsackWork(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 72))
	const steps = 1 << 16
	for _, n := range []int{30, 300} {
		w := between(rng, n, 1<<39, 1<<40) // a subset sum
		gw, gv, count := group(w, w, nil)
		for j := range count {
			count[j] += rng.IntN(1 << 30)
		}
		watch := work.NewWatch(context.Background())
		_, ok := bestKnapsack(gw, gv, count, 1<<46+1, 0, steps, watch)
		require.False(t, ok)
		require.LessOrEqual(t, watch.Spent, steps+sortKnapsack(n)+2*knapsackNode)
	}
}
