package binpack

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/packing"
)

// A Rule is a heuristic of [Pack]. FFD, BFD and WFD stand for the same rules
// applied to the items in order of decreasing weight.
//
// The bounds on the number of bins are for bins of one capacity without conflicts
// and pins; OPT is the least number (Coffman, Garey & Johnson 1996).
type Rule int

const (
	// NextFit keeps one bin open: at most 2·OPT. O(n).
	NextFit Rule = iota
	// FirstFit takes the first bin with room: at most ⌊1.7·OPT⌋. O(n log n).
	FirstFit
	// BestFit takes the bin that the item leaves with the least room: at most
	// ⌊1.7·OPT⌋. O(n log n).
	BestFit
	// WorstFit takes the open bin with the most room: at most 2·OPT. O(n log n).
	WorstFit
	// NextFitDecreasing is asymptotically 1.691·OPT. O(n log n).
	NextFitDecreasing
	// FirstFitDecreasing uses at most 11/9·OPT + 6/9 bins. O(n log n).
	FirstFitDecreasing
	// BestFitDecreasing is asymptotically 11/9·OPT. O(n log n).
	BestFitDecreasing
	// WorstFitDecreasing is asymptotically 1.25·OPT. O(n log n).
	WorstFitDecreasing
	// MinimumBinSlack fills one bin at a time, each with a subset of the items
	// left that leaves the least room (Gupta & Ho 1999). The search for a subset
	// stops after [SlackNodes] steps with the best found. O(bins·(n + SlackNodes)).
	MinimumBinSlack
	// MinimumBinSlackPrime is MinimumBinSlack where the largest item left is
	// always in the bin (MBS′ of Fleszar & Hindi 2002): faster, and better on most
	// problems.
	MinimumBinSlackPrime
	rules
)

var ruleNames = [...]string{"NF", "FF", "BF", "WF", "NFD", "FFD", "BFD", "WFD", "MBS", "MBS′"}

// String returns the usual abbreviation.
func (r Rule) String() string {
	if r < 0 || r >= rules {
		return fmt.Sprintf("Rule(%d)", int(r))
	}
	return ruleNames[r]
}

// Pack packs the items by a rule. Of bins equally good it takes the one opened
// first.
//
// Bins of one capacity without conflicts or pins take the time stated with the
// rule. All others are scanned for every item, in O(n·bins + conflicts). Bins of
// different capacities are opened by the rule as well: FirstFit opens the first
// that holds the item, BestFit the smallest, WorstFit the largest, NextFit goes
// through them in their order, and Minimum Bin Slack fills the largest first. Pinned items
// are packed first.
//
// Errors: the problem's (ErrNoItems, ErrWeight, ErrCapacity, ErrTooLarge,
// ErrConstraint), ErrNoRoom if given bins or constraints left an item over,
// ErrParameter for an unknown rule.
func Pack[W Weight](p Problem[W], rule Rule) (Packing, error) {
	if rule < 0 || rule >= rules {
		return Packing{}, fmt.Errorf("%w: rule %d", ErrParameter, int(rule))
	}
	in, err := inUnits(p)
	if err != nil {
		return Packing{}, err
	}
	packed, left := in.Pack(packing.Heuristic(rule))
	if left >= 0 {
		return Packing{}, fmt.Errorf("%w: item %d", ErrNoRoom, left)
	}
	return Packing(packed), nil
}
