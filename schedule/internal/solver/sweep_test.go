package solver

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

var sweep = flag.Bool("sweep", false, "measure the tuned values again")

// TestSweep solves seeded instances with each tuned value halved, as it is, and doubled,
// and prints for each kind of clients the mean gap in thousandths of a per cent and the
// mean steps in thousands.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("only with -sweep")
	}
	families := sweepInstances(t)
	measure := func() (row string) {
		for _, family := range families {
			gap, steps := 0.0, int64(0)
			for k, p := range family {
				o := Solve(t.Context(), p, rand.New(rand.NewPCG(uint64(k), 1)), Config{Steps: 1_000_000, Tolerance: 1e-9})
				gap += 1e5 * (p.Makespan(o.Plan)/o.Lower - 1) / float64(len(family))
				steps += o.Steps / int64(len(family))
			}
			row += fmt.Sprintf(" %9.2f %5d", gap, steps/1000)
		}
		return row
	}
	fmt.Printf("%-20s %8s  gap and steps: identical, uniform, unrelated small, unrelated large\n", "", "")
	for _, v := range []struct {
		name  string
		value any
	}{
		{"firstBudget", &firstBudget}, {"growth", &growth}, {"growthUnrelated", &growthUnrelated}, {"treeShare", &treeShare},
		{"rootShare", &rootShare}, {"knapsackShare", &knapsackShare}, {"firstRounds", &firstRounds}, {"rootStart", &rootStart}, {"patience", &patience}, {"patiencePerClient", &patiencePerClient},
		{"stir", &stir}, {"leastKicks", &leastKicks}, {"moreKicks", &moreKicks}, {"freeSites", &freeSites}, {"freePairs", &freePairs},
		{"pairLimit", &pairLimit}, {"chainLimit", &chainLimit}, {"fineRoom", &fineRoom}, {"placementLimit", &placementLimit},
		{"diveEvery", &diveEvery}, {"coreShare", &coreShare}, {"mostShare", &mostShare}, {"leastShare", &leastShare},
		{"lastStretch", &lastStretch}, {"firstFree", &firstFree}, {"leastFree", &leastFree},
		{"neighbourhoodSteps", &neighbourhoodSteps}, {"exhaust", &exhaust}, {"repairEvery", &repairEvery}, {"halfLife", &halfLife},
		{"leastStep", &leastStep},
	} {
		for _, factor := range []float64{.5, 1, 2} {
			switch p := v.value.(type) {
			case *int:
				old := *p
				*p = max(1, int(float64(old)*factor))
				if v.name == "growth" || v.name == "growthUnrelated" {
					*p = max(2, *p) // a budget that does not grow does not end
				}
				if v.name == "freeSites" {
					*p = min(*p, 36)
				}
				fmt.Printf("%-20s %8d %s\n", v.name, *p, measure())
				*p = old
			case *float64:
				old := *p
				*p = min(1, old*factor)
				fmt.Printf("%-20s %8.3g %s\n", v.name, *p, measure())
				*p = old
			}
		}
	}
}

// TestSweepPrices solves large problems with each tuned value of a pricing halved, as it is, and
// doubled, in thirty million steps each, and prints the gaps in per cent.
func TestSweepPrices(t *testing.T) {
	if !*sweep {
		t.Skip("only with -sweep")
	}
	const n, m = 10_000, 50
	draws := []func(rng *rand.Rand, site, client float64) float64{
		func(rng *rand.Rand, _, _ float64) float64 { return float64(1 + rng.IntN(1000)) },
		func(rng *rand.Rand, _, _ float64) float64 { return float64(100 + rng.IntN(101)) },
		func(rng *rand.Rand, site, _ float64) float64 { return site + float64(1+rng.IntN(20)) },
		func(rng *rand.Rand, _, client float64) float64 { return client + float64(1+rng.IntN(20)) },
		func(rng *rand.Rand, site, client float64) float64 { return site * client * (1 + rng.Float64()) },
	}
	var instances []*instance.Instance
	for k, draw := range draws {
		rng := rand.New(rand.NewPCG(uint64(k), 8))
		client, sizes := make([]float64, m), make([]float64, 0, n*m)
		for j := range client {
			client[j] = float64(1 + rng.IntN(100))
		}
		for range n {
			site := float64(1 + rng.IntN(100))
			for j := range m {
				sizes = append(sizes, draw(rng, site, client[j]))
			}
		}
		instances = append(instances, build(t, true, sizes, slices.Repeat([]float64{1}, m), nil))
	}
	measure := func() (row string) {
		for _, p := range instances {
			o := Solve(t.Context(), p, rand.New(rand.NewPCG(1, 1)), Config{Steps: 30_000_000, Tolerance: 1e-9})
			row += fmt.Sprintf(" %7.3f", 100*(p.Makespan(o.Plan)/o.Lower-1))
		}
		return row
	}
	fmt.Printf("%-20s %8s  uniform, tied, sites correlated, clients correlated, both real\n", "", "")
	for _, v := range []struct {
		name  string
		value any
	}{
		{"pricePasses", &pricePasses}, {"firstRate", &firstRate}, {"rateDecay", &rateDecay}, {"sweeps", &sweeps},
		{"loadRefresh", &loadRefresh}, {"loadWeight", &loadWeight}, {"boundPasses", &boundPasses}, {"boundRate", &boundRate},
		{"firstShuffle", &firstShuffle}, {"targets", &targets},
	} {
		for _, factor := range []float64{.5, 1, 2} {
			switch p := v.value.(type) {
			case *int:
				old := *p
				*p = max(1, int(float64(old)*factor))
				fmt.Printf("%-20s %8d %s\n", v.name, *p, measure())
				*p = old
			case *float64:
				old := *p
				*p = old * factor
				fmt.Printf("%-20s %8.3g %s\n", v.name, *p, measure())
				*p = old
			}
		}
	}
}

// sweepInstances returns instances that are not solved at once, by kind of clients.
func sweepInstances(t *testing.T) [][]*instance.Instance {
	families := make([][]*instance.Instance, 4)
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 6))
		uniform := func(low, high float64) float64 { return low + (high-low)*rng.Float64() }
		whole, sizes, unit := make([]float64, 40), make([]float64, 100), make([]float64, 10)
		for z := range whole {
			whole[z] = math.Floor(uniform(1, 10_000))
		}
		for z := range sizes {
			sizes[z] = uniform(1, 100)
		}
		for j := range unit {
			unit[j] = uniform(5, 15)
		}
		families[0] = append(families[0], build(t, false, whole, slices.Repeat([]float64{1}, 12), nil))
		families[1] = append(families[1], build(t, false, sizes, unit, nil))
		for k, size := range []struct{ n, m int }{{22, 5}, {60, 8}} {
			pairs := make([]float64, 0, size.n*size.m)
			for z := range size.n {
				for j := range size.m {
					pairs = append(pairs, sizes[z]*unit[j]*uniform(.7, 1.4))
				}
			}
			families[2+k] = append(families[2+k], build(t, true, pairs, slices.Repeat([]float64{1}, size.m), nil))
		}
	}
	return families
}
