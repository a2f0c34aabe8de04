package schedule

import (
	"fmt"
	"slices"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A BatchVariant is a way to carry out steps 4 and 5 of the paper's batch heuristic. The paper leaves
// open how the sites left over are spread.
type BatchVariant uint8

const (
	// Literal is the paper word by word. The first site that exceeds the share ends a batch and is
	// left over. The sites left over are dealt one by one, the smallest first, to the clients in
	// ascending order of performance, again and again. If the largest site exceeds all shares, all
	// batches stay empty, and all sites are dealt in this way.
	Literal BatchVariant = iota
	// FillToShare ends a batch there too, but the first site of a batch stays even if it exceeds the
	// share by itself. It then gives each client, in ascending order of performance, the smallest
	// sites left over that its share still has room for. The last client, the fastest one, takes all
	// remaining sites.
	FillToShare
	// SkipOverflow passes over a site that exceeds the share and goes on with the smaller ones. The
	// first site of a batch stays, as in FillToShare. The sites left over are dealt as in Literal.
	SkipOverflow
)

// Batch is the batch heuristic of Pechnikov et al. (2017, section 5). Take it to reproduce the
// paper; [Solve] finds better plans. Clients and sites are sorted in descending order. Each
// client's share of the total size is proportional to its performance, and each client takes sites
// in descending order up to its share. The sites left over are added from the smallest to the
// largest, in reverse order of the clients.
//
// The sizes may be any measure of complexity, such as numbers of pages ("Batch job 1") or mean
// durations of earlier scans ("Batch job 2"). The performance may be measured with a reference
// site: see [Performance].
//
// The section "The five papers" of RESULTS.md compares all variants with Table 1 of the paper; go
// run ./examples/papers -only pechnikov-table repeats that.
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
			if batch[j]+sizes[z] > share[j] && (batch[j] > 0 || variant == Literal) {
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

// part returns total·value/sum. It multiplies first, unless the product would be infinite. So the
// parts of whole numbers are not rounded to less than the sizes that fill them.
func part(total, value, sum float64) float64 {
	if product := total * value; positive(product) {
		return product / sum
	}
	return total * (value / sum)
}

// Performance turns the times that the clients took for a reference site into their performance
// (section 3 of the paper): relative values that are proportional to 1/time and have the sum 1. To
// see it with the times of the paper: go run ./examples/papers -only pechnikov-table.
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
