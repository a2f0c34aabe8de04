package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/schedule"
)

// Times for the reference site of 800 pages on the paper's clients (section 6).
var reference = map[int][]float64{
	3: {105.7, 110.4, 85.8},
	5: {95.0, 84.6, 105.7, 110.4, 85.8},
}

const (
	referencePages = 800
	paperSites     = 99
)

// powerLaw draws n sizes in whole pages from the density ∝ size^−alpha on [50, 5·10⁴].
func powerLaw(rng *rand.Rand, n int, alpha float64) []float64 {
	const low, high = 50.0, 5e4
	sizes := make([]float64, n)
	for z := range sizes {
		e := 1 - alpha
		a, b := math.Pow(low, e), math.Pow(high, e)
		sizes[z] = math.Round(math.Pow(a+rng.Float64()*(b-a), 1/e))
	}
	return sizes
}

// unitTimes are the seconds per page of m of the paper's clients.
func unitTimes(m int) []float64 {
	unit := make([]float64, m)
	for j, t := range reference[m] {
		unit[j] = t / referencePages
	}
	return unit
}

// byValue returns the indices of values in ascending order of value.
func byValue(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// paperInstance is the paper's setting: 99 sites, 3 or 5 clients.
func paperInstance(rng *rand.Rand, m int, alpha float64) *schedule.Problem {
	return must(schedule.NewUniform(powerLaw(rng, paperSites, alpha), unitTimes(m)))
}

// fullModelLike has the time of each pair off the reduced model by a lognormal factor.
func fullModelLike(rng *rand.Rand, m int, alpha, factor float64) *schedule.Problem {
	sizes, unit := powerLaw(rng, paperSites, alpha), unitTimes(m)
	durations := make([][]float64, len(sizes))
	for z, s := range sizes {
		durations[z] = make([]float64, m)
		for j, u := range unit {
			durations[z][j] = s * u * math.Exp(.3*rng.NormFloat64()) * factor
		}
	}
	return must(schedule.NewUnrelated(durations))
}

// smallUniform has weights U(1,100) and unit times U(5,15).
func smallUniform(rng *rand.Rand, n, m int) *schedule.Problem {
	return must(schedule.NewUniform(integers(rng, n, 1, 100), integers(rng, m, 5, 15)))
}

func integers(rng *rand.Rand, n, low, high int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(low + rng.IntN(high-low+1))
	}
	return v
}

// A cell is one setting of a family of instances on identical clients.
type cell struct{ n, m, low, high int }

// identicalFamilies are the families of the literature on P||Cmax.
func identicalFamilies() map[string][]cell {
	f := map[string][]cell{}
	for _, r := range [][2]int{{1, 20}, {20, 50}} {
		for _, m := range []int{3, 4, 5} {
			for _, k := range []int{2, 3, 5} {
				f["E1"] = append(f["E1"], cell{k * m, m, r[0], r[1]})
			}
		}
	}
	for _, nm := range []struct {
		n  int
		ms []int
	}{{10, []int{2, 3}}, {30, []int{2, 4, 6, 8, 10}}, {50, []int{2, 4, 6, 8, 10}}, {100, []int{2, 4, 6, 8, 10}}} {
		for _, m := range nm.ms {
			f["E2"] = append(f["E2"], cell{nm.n, m, 100, 800})
		}
	}
	for _, r := range [][2]int{{1, 100}, {100, 200}} {
		for _, m := range []int{3, 5, 8, 10} {
			for _, k := range []int{3, 4, 5} {
				for _, more := range []int{1, 2} {
					f["E3"] = append(f["E3"], cell{k*m + more, m, r[0], r[1]})
				}
			}
		}
	}
	for _, r := range [][2]int{{1, 20}, {20, 50}, {1, 100}, {50, 100}, {100, 200}, {100, 800}} {
		f["E4"] = append(f["E4"], cell{10, 2, r[0], r[1]}, cell{9, 3, r[0], r[1]})
	}
	for _, m := range []int{25, 50, 75, 100} {
		f["BIG"] = append(f["BIG"], cell{4 * m, m, 1, 1000})
	}
	return f
}

func (c cell) instance(rng *rand.Rand) *schedule.Problem {
	return must(schedule.NewIdentical(integers(rng, c.n, c.low, c.high), c.m))
}

// unrelatedFamilies are those of Fanjul-Peyro and Ruiz (2010) for R||Cmax.
var unrelatedFamilies = []string{"U(1,100)", "U(10,100)", "U(100,120)", "U(100,200)", "U(1000,1100)", "jobs correlated", "machines correlated"}

func unrelatedInstance(rng *rand.Rand, family, n, m int) *schedule.Problem {
	ranges := [][2]int{{1, 100}, {10, 100}, {100, 120}, {100, 200}, {1000, 1100}}
	durations := make([][]float64, n)
	byJob, byMachine := integers(rng, n, 1, 100), integers(rng, m, 1, 100)
	for z := range durations {
		if family < len(ranges) {
			durations[z] = integers(rng, m, ranges[family][0], ranges[family][1])
			continue
		}
		durations[z] = integers(rng, m, 1, 20)
		for j := range durations[z] {
			if family == len(ranges) {
				durations[z][j] += byJob[z]
			} else {
				durations[z][j] += byMachine[j]
			}
		}
	}
	return must(schedule.NewUnrelated(durations))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the generators above make valid instances only
	}
	return v
}
