package packing

import (
	"context"
	"math/bits"
	"slices"
)

// watchInterval is the work between two looks at a context, in steps of some nanoseconds: some
// milliseconds at most, and little against what a look costs.
const watchInterval = 1 << 18

// A watch notices in the middle of long work that a context has ended. It looks after a fixed
// amount of work, so that what takes less is done in full even if the context is over before: a
// problem of a thousand items is packed and bounded then. A nil watch never ends.
type watch struct {
	ctx   context.Context
	left  int // work until the next look
	spent int // work in all
	late  int // of that, what came after the end
	ended bool
}

func newWatch(ctx context.Context) *watch { return &watch{ctx: ctx, left: watchInterval} }

// spend accounts for work that is done next, and reports whether to leave it.
func (w *watch) spend(steps int) (ended bool) {
	if w == nil {
		return false
	}
	w.spent += steps
	if w.ended {
		w.late += steps
	}
	if w.left -= steps; w.left <= 0 && !w.ended {
		w.left = watchInterval
		w.ended = w.ctx.Err() != nil
	}
	return w.ended
}

// over reports whether the context was seen to have ended.
func (w *watch) over() bool { return w != nil && w.ended }

// chunk is how many items a loop without branches takes from one look to the next.
const chunk = 1 << 14

// chunks calls work with the parts of 0..n−1 one after the other, each item of which takes so many
// steps, until the watch ends. It reports whether it came to n.
func (w *watch) chunks(n, steps int, work func(from, to int)) bool {
	for from := 0; from < n; from += chunk {
		to := min(from+chunk, n)
		if w.spend((to - from) * steps) {
			return false
		}
		work(from, to)
	}
	return true
}

// sorting is what a comparison costs in sorted, in steps of a watch, and sortedBlock how many items
// it sorts from one look to the next.
const sorting, sortedBlock = 4, 1 << 10

// sorted sorts items stably by merging, until the watch ends. What it returns holds all of them in
// any case, and is sorted if it is ok.
func sorted[T any](x []T, cmp func(a, b T) int, watch *watch) (all []T, ok bool) {
	n := len(x)
	for from := 0; from < n; from += sortedBlock {
		block := x[from:min(from+sortedBlock, n)]
		if watch.spend(len(block) * sorting * bits.Len(uint(len(block)))) {
			return x, false
		}
		slices.SortStableFunc(block, cmp)
	}
	if n <= sortedBlock {
		return x, true
	}
	merged := make([]T, n)
	for width := sortedBlock; width < n; width *= 2 {
		for from := 0; from < n; from += 2 * width {
			a, b, end := from, min(from+width, n), min(from+2*width, n)
			last := b
			for k := from; k < end; k++ {
				if k%sortedBlock == 0 && watch.spend(sorting*sortedBlock) {
					return x, false
				}
				if b == end || a < last && cmp(x[a], x[b]) <= 0 {
					merged[k] = x[a]
					a++
				} else {
					merged[k] = x[b]
					b++
				}
			}
		}
		x, merged = merged, x
	}
	return x, true
}
