package packing

import "github.com/recrawl/recrawl/internal/work"

// A Heuristic packs items one after the other, or one bin after the other.
type Heuristic uint8

// The heuristics; what each promises is said in package binpack.
const (
	NextFit Heuristic = iota
	FirstFit
	BestFit
	WorstFit
	NextFitDecreasing
	FirstFitDecreasing
	BestFitDecreasing
	WorstFitDecreasing
	MinimumBinSlack
	MinimumBinSlackPrime
	Heuristics // their number
)

// trials are the heuristics in the order in which Solve tries them: the fast ones first, and of these
// the better ones.
var trials = [...]Heuristic{NextFit, NextFitDecreasing, BestFitDecreasing, FirstFitDecreasing, WorstFitDecreasing,
	FirstFit, BestFit, WorstFit, MinimumBinSlackPrime, MinimumBinSlack}

// Pack packs the items by a heuristic. Pinned items are packed first. Of bins equally
// good it takes the one opened first. If an item is left over the packing is empty, and
// left is that item, else −1. If that may be due to rounding, it packs the weights rounded down, and
// returns that if it holds.
func (in *Problem) Pack(h Heuristic) (packed Packing, left int) { return in.pack(h, nil) }

// pack is Pack. If the watch ends, it leaves an item over or, by Best Fit Decreasing into bins of one
// capacity, packs what is left by Next Fit. NextFit does not look at the watch.
func (in *Problem) pack(h Heuristic, watch *work.Watch) (packed Packing, left int) {
	packed, left = in.packUnits(h, watch)
	if left >= 0 && in.Holds != nil && !watch.Over() {
		if loose, over := in.Loose().packUnits(h, watch); over < 0 && in.Holds(loose, watch) {
			return loose, -1
		}
	}
	return packed, left
}

// packUnits is pack of the weights in units.
func (in *Problem) packUnits(h Heuristic, watch *work.Watch) (packed Packing, left int) {
	if h == MinimumBinSlack || h == MinimumBinSlackPrime {
		return in.minimumSlack(h == MinimumBinSlackPrime, slackNodes, watch)
	}
	var order []Ranked
	if h >= NextFitDecreasing {
		ok := false
		if order, ok = decreasing(in.Weights, watch); !ok {
			return Packing{}, 0
		}
		h -= NextFitDecreasing - NextFit
	}
	if h == NextFit {
		if order == nil {
			watch = nil
		}
		return in.nextFit(order, watch)
	}
	switch {
	case in.Conflicts != nil:
		return in.scan(order, h, watch)
	case !in.Plain():
		return in.place(order, h, watch)
	case h == BestFit && order == nil:
		bin, bins, ok := bestFit(in.Weights, in.Capacities[0], watch)
		if !ok {
			return Packing{}, 0
		}
		return Packing{Bin: bin, Bins: bins}, -1
	}
	if order == nil {
		order = make([]Ranked, len(in.Weights))
		for i := range order {
			order[i] = Ranked{in.Weights[i], int32(i)}
		}
	}
	bins, ok := 0, true
	bin := make([]int, len(in.Weights))
	switch h {
	case FirstFit:
		bins, ok = firstFit(in.Capacities[0], order, bin, watch)
	case BestFit:
		bins = bestFitDecreasing(in.Capacities[0], order, bin, watch)
	case WorstFit:
		bins, ok = worstFit(in.Capacities[0], order, bin, watch)
	}
	if !ok {
		return Packing{}, 0
	}
	return Packing{Bin: bin, Bins: bins}, -1
}
