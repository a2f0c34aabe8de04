package packing

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// A Certificate proves that at least Bound() bins are needed: no set of items that may share a bin
// has more than Max of value in sum. Of bins of different capacities Needs may prove more.
type Certificate struct {
	Value []int64 // of each item, at least 0
	Max   int64   // positive
}

// Bound returns ⌈ΣValue/Max⌉.
func (c Certificate) Bound() int { return ceilDiv(c.sum(), c.Max) }

func (c Certificate) sum() int64 {
	sum := int64(0)
	for _, u := range c.Value {
		sum += u
	}
	return sum
}

const (
	// The most classes of bins for which Needs solves knapsack problems, those of the largest
	// capacities; others take a share of value by their weight.
	needsClasses = 4
	// needsSteps bounds the steps of each of these, needsItems the items, and needsKinds the kinds of
	// them: a millisecond in all. So Needs need not look at a watch, and is always the same.
	needsSteps, needsItems, needsKinds = 1 << 16, 1 << 12, 1 << 8
)

// Needs returns the number of bins that a certificate proves to be necessary. If all that there are
// are not enough, the others count as large as the largest.
//
// A bin of capacity c takes no more value than c times the most value per weight, and no more than
// a larger bin. For the largest capacities the exact most is known as well, if it is found in few
// steps. O(n + bins) and needsClasses·needsSteps.
func (in *Problem) Needs(c Certificate) int { return in.needs(c, nil) }

// needs is Needs, and tells the watch what that takes. It does not stop if the watch ends: a bound
// is to be what Needs says of its certificate.
func (in *Problem) needs(c Certificate, watch *work.Watch) int {
	if in.Uniform {
		return c.Bound()
	}
	watch.Spend(4*len(in.Weights) + 24*len(in.Capacities))
	order := Decreasing(in.high())
	low, rate := in.low(), c.rate(in.low())
	sum, bins, classes := c.sum(), 0, 0
	most, last := c.Max, int64(0)
	var small valued
	for _, b := range order {
		if sum <= 0 {
			return bins
		}
		if b.Weight != last {
			if rate >= 0 && low[rate] > 0 {
				if share := mulDiv(b.Weight, c.Value[rate], low[rate]); share < MaxTotal-1 {
					most = min(most, share)
				}
			}
			if classes++; classes > 1 && classes <= needsClasses && len(low) <= needsItems {
				if classes == 2 {
					watch.Spend(groupSteps * len(low))
					small.w, small.value, small.count = group(low, c.Value, nil)
				}
				if exact, ok := small.most(b.Weight, watch); ok {
					most = min(most, exact)
				}
			}
			last = b.Weight
		}
		sum -= most
		bins++
	}
	return bins + ceilDiv(max(sum, 0), c.Max)
}

// valued has items with their values, grouped.
type valued struct {
	w, value []int64
	count    []int
}

// most returns the most value that fits capacity c, if that is found in few steps.
func (v *valued) most(c int64, watch *work.Watch) (best int64, ok bool) {
	if len(v.w) > needsKinds {
		return 0, false
	}
	watch.Spend(needsSteps + sortKnapsack(len(v.w)))
	return bestKnapsack(v.w, v.value, v.count, c, 0, needsSteps, nil)
}

// rate returns an item of the most value per weight, −1 if none has any value.
func (c Certificate) rate(low []int64) int {
	best := -1
	for i, u := range c.Value {
		if u == 0 {
			continue
		}
		if best >= 0 {
			h, l := bits.Mul64(uint64(u), uint64(low[best]))
			bestH, bestL := bits.Mul64(uint64(c.Value[best]), uint64(low[i]))
			if h < bestH || h == bestH && l <= bestL {
				continue
			}
		}
		best = i
	}
	return best
}

// raise raises the best bound by what the functions do not know: different capacities, conflicts
// and pins.
func (b *Bounds) raise(in *Problem, watch *work.Watch) {
	better := func(c Certificate) {
		if bins := in.needs(c, watch); bins > b.DFF {
			b.DFF, b.Certificate = bins, c
		}
	}
	if !in.Uniform {
		better(b.Certificate)
		better(Certificate{Value: in.low(), Max: slices.Max(in.high())})
	}
	if (in.Conflicts != nil || in.Pins != nil) && !watch.Over() {
		better(in.clique(watch))
	}
}

// Apart reports whether no two of the items of positive value may share a bin: because they are in
// conflict, too heavy together, or pinned to different bins. It is not ok if that takes more than
// about apartLimit steps.
func (in *Problem) Apart(value []int64) (apart, ok bool) {
	var items []int32
	for i, u := range value {
		if u > 0 {
			items = append(items, int32(i))
		}
	}
	if n := len(items); n*n > apartLimit {
		return false, false
	}
	f := in.newFoes()
	for k, i := range items {
		f.of(i)
		for _, j := range items[:k] {
			if !f.apart(j) {
				return false, true
			}
		}
	}
	return true, true
}

const (
	// apartLimit bounds the pairs that Apart looks at: some tenths of a second.
	apartLimit = 1 << 26
	// cliqueSteps bounds the work of clique, and cliqueStarts its tries.
	cliqueSteps, cliqueStarts = 1 << 22, 32
)

// foes answers for one item after the other which may not share its bin.
type foes struct {
	in    *Problem
	low   []int64
	c     int64
	item  int32
	stamp []int32 // item+1 at its enemies
}

func (in *Problem) newFoes() *foes {
	in.Conflicts.index(len(in.Weights), nil)
	f := &foes{in: in, low: in.low(), c: slices.Max(in.high())}
	if in.Conflicts != nil {
		f.stamp = make([]int32, len(in.Weights))
	}
	return f
}

// of prepares the answers for an item.
func (f *foes) of(item int32) {
	f.item = item
	if f.stamp != nil {
		for _, j := range f.in.Conflicts.Of(item) {
			f.stamp[j] = item + 1
		}
	}
}

func (f *foes) apart(other int32) bool {
	if f.low[f.item] > f.c-f.low[other] || f.stamp != nil && f.stamp[other] == f.item+1 {
		return true
	}
	p := f.in.Pins
	return p != nil && p[f.item] >= 0 && p[other] >= 0 && p[f.item] != p[other]
}

// clique returns a certificate of items of which no two may share a bin, as many as a greedy search
// finds that begins in several places: with the heaviest items, with one pinned to each bin, and with
// each of the items of the most conflicts. It may find fewer once the watch ends.
func (in *Problem) clique(watch *work.Watch) Certificate {
	c := Certificate{Value: make([]int64, len(in.Weights)), Max: 1}
	if !in.Conflicts.index(len(in.Weights), watch) {
		return c
	}
	order, ok := decreasing(in.low(), watch)
	if !ok {
		return c
	}
	byWeight := make([]int32, 0, len(order))
	for _, x := range order {
		byWeight = append(byWeight, x.Item)
	}
	var orders [][]int32
	if in.Pins != nil {
		var pinned []int32
		for i, b := range in.Pins {
			if b >= 0 {
				pinned = append(pinned, int32(i))
			}
		}
		orders = append(orders, pinned)
	}
	if in.Conflicts != nil {
		more := func(i, j int32) int { return len(in.Conflicts.Of(j)) - len(in.Conflicts.Of(i)) }
		var starts []int32 // of the most conflicts
		for _, i := range byWeight {
			if watch.Spend(32) {
				return c
			}
			at, _ := slices.BinarySearchFunc(starts, i, func(a, b int32) int { return cmp.Or(more(a, b), -1) })
			if at < cliqueStarts {
				starts = slices.Insert(starts[:min(len(starts), cliqueStarts-1)], at, i)
			}
		}
		for _, i := range starts {
			near, ok := work.Sorted(slices.Clone(in.Conflicts.Of(i)), more, watch)
			if !ok {
				return c
			}
			orders = append(orders, append([]int32{i}, near...))
		}
	}
	search := cliqueSearch{foes: in.newFoes(), steps: cliqueSteps, watch: watch}
	heavy := 0 // than half a bin: no two of these fit
	for heavy < len(byWeight) && search.low[byWeight[heavy]] > search.c-search.low[byWeight[heavy]] {
		heavy++
	}
	best := slices.Clone(byWeight[:heavy])
	search.extend(&best, byWeight[heavy:])
	for _, order := range orders {
		var clique []int32
		search.extend(&clique, order)
		if search.extend(&clique, byWeight); len(clique) > len(best) {
			best = clique
		}
	}
	for _, i := range best {
		c.Value[i] = 1
	}
	return c
}

// cliqueSearch extends cliques.
type cliqueSearch struct {
	*foes
	steps int // left
	watch *work.Watch
}

// extend adds the items of a list, one after the other, that may share a bin with none of a clique.
func (s *cliqueSearch) extend(clique *[]int32, list []int32) {
	for _, i := range list {
		if s.watch.Spend(2 * len(s.in.Conflicts.Of(i))) {
			return
		}
		s.of(i)
		fits, before := false, s.steps
		for k := len(*clique) - 1; k >= 0 && !fits; k-- { // the lightest first
			s.steps--
			fits = !s.apart((*clique)[k]) || (*clique)[k] == i
		}
		if s.steps -= 4; s.steps < 0 || s.watch.Spend(4*(before-s.steps)) {
			return
		}
		if !fits {
			*clique = append(*clique, i)
		}
	}
}
