package schedule

import (
	"fmt"
	"slices"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A BatchVariant says how steps 4 and 5 of the paper's batch heuristic are carried out. The
// paper leaves open whether a client's batch ends with the first site that overflows its
// share, and how the sites left over are spread.
type BatchVariant uint8

const (
	// Literal ends a batch at the first site that exceeds the share and deals the sites
	// left over one by one, the smallest first, to the clients in ascending order of
	// performance, again and again. (A site that exceeds a share by itself stays in all
	// variants: put back, it would keep all batches empty.)
	Literal BatchVariant = iota
	// FillToShare ends a batch there too, but gives each client in ascending order of
	// performance the smallest sites left over that its share still has room for. The last
	// of them, the fastest client, takes what then is left.
	FillToShare
	// SkipOverflow passes over a site that exceeds the share and goes on with the smaller
	// ones. What is left is dealt as in Literal.
	SkipOverflow
)

// Batch is the batch heuristic of Pechnikov et al. (2017, section 5): clients and sites are
// sorted in descending order, each client's share of the total size is proportional to its
// performance, and each takes sites in descending order up to its share. The sites left
// over are added from the smallest to the largest, in reverse order of the clients.
//
// The sizes may be any measure of complexity, as numbers of pages ("Batch job 1") or mean
// durations of earlier scans ("Batch job 2"). The performance may be measured with a
// reference site: see [Performance].
//
// Table 1 of the paper with it, in all variants: "The five papers" in RESULTS.md, and
// go run ./examples/papers -only pechnikov-table.
//
// Time: O(n log n + n·m).
func Batch(sizes, performance []float64, variant BatchVariant) (Plan, error) {
	if err := variantNames.Check(variant); err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, fmt.Errorf("%w: no sites", ErrProblem)
	}
	if len(performance) == 0 {
		return nil, fmt.Errorf("%w: no clients", ErrProblem)
	}
	for z, s := range sizes {
		if !positive(s) {
			return nil, fmt.Errorf("%w: site %d: size %v", ErrDuration, z, s)
		}
	}
	speed := 0.0
	for j, v := range performance {
		if !positive(v) {
			return nil, fmt.Errorf("%w: client %d: performance %v", ErrDuration, j, v)
		}
		speed += v
	}
	// Steps 1 and 2.
	sites, clients := instance.Descending(sizes), instance.Descending(performance)
	total := 0.0
	for _, s := range sizes {
		total += s
	}
	if !positive(total) || !positive(speed) {
		return nil, fmt.Errorf("%w: sizes with sum %v, performances with sum %v", ErrDuration, total, speed)
	}
	// Steps 3 and 4.
	plan := make(Plan, len(sizes))
	batch := make([]float64, len(performance))
	share := make([]float64, len(performance))
	left := sites
	for _, j := range clients {
		share[j] = part(total, performance[j], speed)
		var rest []int
		for k, z := range left {
			if batch[j]+sizes[z] > share[j] && batch[j] > 0 {
				if variant != SkipOverflow {
					rest = left[k:]
					break
				}
				rest = append(rest, z)
				continue
			}
			batch[j] += sizes[z]
			plan[z] = j
		}
		left = rest
	}
	// Step 5.
	slices.Reverse(left)
	slices.Reverse(clients)
	k := 0
	for i, z := range left {
		if variant == FillToShare {
			for k < len(clients)-1 && batch[clients[k]]+sizes[z] > share[clients[k]] {
				k++
			}
			batch[clients[k]] += sizes[z]
		} else {
			k = i % len(clients)
		}
		plan[z] = clients[k]
	}
	return plan, nil
}

// part returns total·value/sum. The product comes first, so that the parts of whole numbers are
// not rounded below sizes that fill them, unless it is no number for a duration.
func part(total, value, sum float64) float64 {
	if product := total * value; positive(product) {
		return product / sum
	}
	return total * (value / sum)
}

// Performance turns the times that the clients took for a reference site into their
// performance (section 3 of the paper): relative values, proportional to 1/time, with sum
// 1. With the times of the paper: go run ./examples/papers -only pechnikov-table.
func Performance(times []float64) ([]float64, error) {
	if len(times) == 0 {
		return nil, fmt.Errorf("%w: no clients", ErrProblem)
	}
	performance, sum := make([]float64, len(times)), 0.0
	for j, t := range times {
		if !positive(t) || !positive(1/t) {
			return nil, fmt.Errorf("%w: client %d: reference time %v", ErrDuration, j, t)
		}
		performance[j] = 1 / t
		sum += performance[j]
	}
	if !positive(sum) {
		return nil, fmt.Errorf("%w: performances with sum %v", ErrDuration, sum)
	}
	for j := range performance {
		performance[j] /= sum
	}
	return performance, nil
}
