package packing

import "context"

// Fits looks for a packing of a plain problem into so many bins, or the proof that there is none.
// Without an answer, because the context ended or the nodes were used up, both are false. It
// returns the bin of each item if it found one, and the number of nodes searched.
func (in *Problem) Fits(ctx context.Context, bins, nodes int) (bin []int, fits, none bool, searched int) {
	s := newSolver(ctx, in, nodes)
	s.bare = true
	b := s.bound()
	if b == nil {
		return nil, false, false, 0
	}
	if s.first.Bins > max(b.lower(), bins) {
		b.functions()
	}
	if s.lower, s.cert = b.lower(), b.proof(); s.lower > bins {
		return nil, false, in.exact(), 0
	}
	s.lower = bins // the search ends with that many
	s.prepare()
	s.search()
	if p := s.solution(); p.Bins <= bins {
		return p.Bin, true, false, s.nodes
	}
	return nil, false, s.lower > bins, s.nodes
}
