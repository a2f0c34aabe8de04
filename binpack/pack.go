package binpack

import (
	"context"
	"fmt"

	"github.com/recrawl/recrawl/internal/enum"
	"github.com/recrawl/recrawl/internal/packing"
)

// A Heuristic is a way of [Pack] to pack items. The decreasing forms take the items in order
// of decreasing weight, the others in the order given. Take [BestFitDecreasing] if unsure.
//
// The bounds on the number of bins are for bins of one capacity without conflicts and pins.
// OPT is the least number (Coffman, Garey & Johnson 1996).
type Heuristic uint8

const (
	// NextFit keeps one bin open: at most 2·OPT. O(n).
	NextFit = Heuristic(packing.NextFit)
	// FirstFit takes the first bin with room: at most ⌊1.7·OPT⌋. O(n log n).
	FirstFit = Heuristic(packing.FirstFit)
	// BestFit takes the bin that the item leaves with the least room: at most ⌊1.7·OPT⌋.
	// O(n log n).
	BestFit = Heuristic(packing.BestFit)
	// WorstFit takes the open bin with the most room: at most 2·OPT. O(n log n).
	WorstFit = Heuristic(packing.WorstFit)
	// NextFitDecreasing is asymptotically 1.691·OPT. O(n log n).
	NextFitDecreasing = Heuristic(packing.NextFitDecreasing)
	// FirstFitDecreasing uses at most 11/9·OPT + 6/9 bins. O(n log n).
	FirstFitDecreasing = Heuristic(packing.FirstFitDecreasing)
	// BestFitDecreasing is asymptotically 11/9·OPT. O(n log n).
	BestFitDecreasing = Heuristic(packing.BestFitDecreasing)
	// WorstFitDecreasing is asymptotically 1.25·OPT. O(n log n).
	WorstFitDecreasing = Heuristic(packing.WorstFitDecreasing)
	// MinimumBinSlack fills one bin at a time, with the subset of the items left that leaves
	// the least room (Gupta & Ho 1999). The search for a subset stops after 20,000 steps with
	// the best found. O(bins·(n + 20,000)).
	MinimumBinSlack = Heuristic(packing.MinimumBinSlack)
	// MinimumBinSlackPrime is MinimumBinSlack where the largest item left is always in the bin
	// (MBS′ of Fleszar & Hindi 2002): faster, and better on most problems.
	MinimumBinSlackPrime = Heuristic(packing.MinimumBinSlackPrime)
)

var heuristics = enum.Of[Heuristic](ErrConfig, "NF", "FF", "BF", "WF", "NFD", "FFD", "BFD", "WFD", "MBS", "MBS′")

// String returns the usual abbreviation.
func (h Heuristic) String() string { return heuristics.String(h) }

// MarshalText returns the name that String gives.
func (h Heuristic) MarshalText() ([]byte, error) { return heuristics.MarshalText(h) }

// UnmarshalText reads the name that String gives.
func (h *Heuristic) UnmarshalText(text []byte) error { return heuristics.UnmarshalText(h, text) }

// Pack packs the items by a heuristic. Of bins equally good it takes the one opened first.
// Pinned items are packed first.
//
// Bins of different capacities are opened by the heuristic as well: FirstFit opens the first
// that holds the item, BestFit the smallest, WorstFit the largest, NextFit goes through them in
// their order, and Minimum Bin Slack fills the largest first.
//
// Errors: [ErrProblem], [ErrWeight] and [ErrCapacity] for the problem; [ErrNoRoom] if an item is
// larger than every bin, or the given bins or the constraints left one over, which does not mean
// that there is no packing; [ErrConfig] for an unknown heuristic.
//
// # Cost
//
// Time: as said with the heuristic for bins of one capacity without conflicts or pins; else
// all bins are scanned for every item, O(n·bins + conflicts). Memory: O(n).
func Pack[W Weight](p Problem[W], h Heuristic) (Packing, error) {
	if err := heuristics.Check(h); err != nil {
		return Packing{}, err
	}
	in, err := inUnits(p)
	if err != nil {
		return Packing{}, err
	}
	packed, left := in.Pack(packing.Heuristic(h))
	if left >= 0 && in.Low != nil {
		// What is rounded may be what does not fit.
		if other, over := loose(in).Pack(packing.Heuristic(h)); over < 0 && holds(context.Background(), p, Packing(other)) {
			return Packing(other), nil
		}
	}
	if left >= 0 {
		return Packing{}, fmt.Errorf("%w: item %d", ErrNoRoom, left)
	}
	return Packing(packed), nil
}
