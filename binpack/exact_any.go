package binpack

import (
	"context"
	"fmt"
)

// search assigns items to bins of any kind, depth first.
type search struct {
	*table
	ctx     context.Context
	order   []int
	suffix  []int64 // weight of the items from here on
	largest int64
	lower   int
	used    int   // bins that hold an item
	free    int64 // room in them
	best    []int
	bins    int // of best
	nodes   int
	limit   int
}

// solveAny searches for the fewest bins of different capacities, with conflicts
// and pins.
func (in *instance) solveAny(ctx context.Context, nodes int) (Solution, error) {
	b := in.bounds()
	s := &search{table: in.newTable(), ctx: ctx, lower: b.Best(), limit: nodes, bins: in.bins() + 1}
	for rule := range rules {
		if p, err := in.pack(rule); err == nil && p.Bins < s.bins {
			s.best, s.bins = p.Bin, p.Bins
		}
	}
	for _, x := range decreasing(in.w) {
		if s.bin[x.item] < 0 {
			s.order = append(s.order, int(x.item))
		}
	}
	s.suffix = make([]int64, len(s.order)+1)
	for k := len(s.order) - 1; k >= 0; k-- {
		s.suffix[k] = s.suffix[k+1] + in.w[s.order[k]]
	}
	for b, open := range s.open {
		s.largest = max(s.largest, in.capacity(b))
		if open {
			s.used++
			s.free += s.room[b]
		}
	}
	complete := s.bins == s.lower || s.branch(0)
	switch {
	case s.best == nil && complete:
		return Solution{}, fmt.Errorf("%w: there is no packing", ErrNoRoom)
	case s.best == nil:
		return Solution{}, fmt.Errorf("%w: no packing was found", ErrNoRoom)
	}
	sol := Solution{Packing: packing(s.best, in.bins()), Lower: s.lower, Certificate: b.Certificate, Nodes: s.nodes}
	if complete && in.exact {
		sol.Lower = s.bins
	}
	sol.Proved = sol.Lower == sol.Bins
	return sol, nil
}

// branch places the items from position k on, and says whether it tried all that
// could be better than the best.
func (s *search) branch(k int) (complete bool) {
	if s.nodes++; s.nodes > s.limit || s.nodes%1024 == 0 && s.ctx.Err() != nil {
		return false
	}
	// Bins needed for what the open ones cannot take.
	need := s.used
	if over := s.suffix[k] - s.free; over > 0 {
		need += ceilDiv(over, s.largest)
	}
	if need >= s.bins {
		return true
	}
	if k == len(s.order) {
		s.best, s.bins = append(s.best[:0:0], s.bin...), s.used
		return true
	}
	i := s.order[k]
	w := s.in.w[i]
	complete = true
	empty := make(map[int64]bool) // capacities of empty bins tried: one of each will do
	for b := range s.room {
		if s.room[b] < w || s.enemy(i, b) {
			continue
		}
		opened := !s.open[b]
		if opened {
			if empty[s.room[b]] {
				continue
			}
			empty[s.room[b]] = true
			s.used++
			s.free += s.room[b]
		}
		s.open[b] = true
		s.bin[i] = b
		s.room[b] -= w
		s.free -= w
		complete = s.branch(k+1) && complete
		s.free += w
		s.room[b] += w
		s.bin[i] = -1
		if opened {
			s.open[b] = false
			s.used--
			s.free -= s.room[b]
		}
		if s.bins == s.lower {
			return true
		}
		if !complete {
			return false
		}
	}
	return complete
}

func (s *search) enemy(i, bin int) bool {
	if s.in.conflict == nil {
		return false
	}
	for _, j := range s.in.conflict[i] {
		if s.bin[j] == bin {
			return true
		}
	}
	return false
}
