package binpack

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/enum"
	"github.com/recrawl/recrawl/internal/packing"
)

// A Heuristic is the rule by which [Pack] packs items. The decreasing forms take the items in order
// of decreasing weight, the others in the order given. Take [BestFitDecreasing] if unsure.
//
// The bounds given with the constants hold for bins of one capacity without conflicts and pins. OPT
// is the least possible number of bins (Coffman, Garey & Johnson 1996).
type Heuristic uint8

const (
	// NextFit keeps one bin open: at most 2·OPT. O(n).
	NextFit = Heuristic(packing.NextFit)
	// FirstFit takes the first bin with room: at most ⌊1.7·OPT⌋. O(n log n).
	FirstFit = Heuristic(packing.FirstFit)
	// BestFit takes the bin with the least room of those that the item fits: at most ⌊1.7·OPT⌋. O(n
	// log n).
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
	// MinimumBinSlack fills one bin at a time (Gupta & Ho 1999). Into each bin it puts the subset
	// of the remaining items that leaves the least room. The search for that subset stops after
	// 20,000 steps with the best one found. O(bins·(n + 20,000)).
	MinimumBinSlack = Heuristic(packing.MinimumBinSlack)
	// MinimumBinSlackPrime is MinimumBinSlack that always puts the largest remaining item into the
	// bin (MBS′ of Fleszar & Hindi 2002). It is faster, and better on most problems.
	MinimumBinSlackPrime = Heuristic(packing.MinimumBinSlackPrime)
)

var heuristics = enum.Of[Heuristic](ErrConfig, "NF", "FF", "BF", "WF", "NFD", "FFD", "BFD", "WFD", "MBS", "MBS′")

// String returns the usual abbreviation.
func (h Heuristic) String() string { return heuristics.String(h) }

// MarshalText returns the name that String gives.
func (h Heuristic) MarshalText() ([]byte, error) { return heuristics.MarshalText(h) }

// UnmarshalText reads the name that String gives.
func (h *Heuristic) UnmarshalText(text []byte) error { return heuristics.UnmarshalText(h, text) }

// Pack packs the items by a heuristic. Take it to pack a fixed set of items at once; [Solve] takes
// longer and needs fewer bins. Of equally good bins Pack takes the one opened first. Pinned items
// are packed first.
//
// The heuristic also decides which of several bins of different capacities to open: FirstFit opens
// the first that holds the item, BestFit the smallest, WorstFit the largest. NextFit goes through
// the bins in their order, and Minimum Bin Slack fills the largest first.
//
// Errors: [ErrProblem] for the problem; [ErrConfig] for its weights and capacities and for an unknown
// heuristic; [ErrNoRoom] if an item is larger than every bin, or if an item found no place in the
// given bins or under the constraints. Another packing may exist in the latter case.
//
// # Cost
//
// Time: as stated with the heuristic, for bins of one capacity without conflicts or pins. With
// different capacities or pins FirstFit, BestFit, WorstFit and their decreasing forms take O((n +
// bins)·log bins). With conflicts they take O(n·bins + conflicts), because all bins are scanned for
// every item. With conflicts a step of Minimum Bin Slack that takes an item looks at all conflicts of
// the item. Memory: O(n + bins).
func Pack[W Weight](p Problem[W], h Heuristic) (Packing, error) {
	if err := heuristics.Check(h); err != nil {
		return Packing{}, err
	}
	in, err := inUnits(p)
	if err != nil {
		return Packing{}, err
	}
	packed, left := in.Pack(packing.Heuristic(h))
	if left >= 0 {
		return Packing{}, fmt.Errorf("%w: item %d", ErrNoRoom, left)
	}
	return Packing(packed), nil
}
