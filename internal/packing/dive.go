package packing

import (
	"cmp"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/portable"
)

// dive looks for a packing into target bins by fixing patterns of the linear programme. Random
// dives are no two alike. When a quarter of the bins is fixed it goes on with what is left as a
// problem of its own. It stops where the linear programme of what is left, or that problem, shows
// that more bins are needed.
func (s *solver) dive(target int, random bool) bool {
	left := slices.Clone(s.count)
	var fixed []pattern
	for !s.over() {
		bins := target - len(fixed)
		if 4*bins < 3*target {
			s.finish(fixed, left, bins, random)
			return len(s.best) <= target
		}
		s.nodes++
		s.lp.setDemand(s.ctx, left)
		if _, v := s.lp.generate(s.ctx, bins, true); v == exceeded || v == undecided {
			if s.lp.failed {
				s.restart()
			}
			return false
		}
		more := s.fix(left, int64(bins)*s.c-s.weight(left), random)
		if len(more) == 0 {
			return false
		}
		fixed = append(fixed, more...)
		s.improve(fixed, left)
		if len(s.best) <= target {
			return true
		}
		if s.weight(left) == 0 {
			return false
		}
	}
	return false
}

// finish packs what is left into the given number of bins: by a complete search if that is
// possible, else by a dive.
func (s *solver) finish(fixed []pattern, left []int, bins int, random bool) {
	rest, kind := s.residual(left)
	found, complete := false, false
	if s.c < tableRooms || len(kind) <= fineKinds {
		found, complete = rest.choose(bins, s.nodesPerDive)
	}
	if !found && !complete {
		rest.dive(bins, random)
	}
	s.nodes = rest.nodes
	if len(rest.best) > 0 {
		s.keep(fixed, rename(rest.best, kind))
	}
}

// fix takes the patterns from what is left that the linear programme uses whole, else the one
// that it uses most; or (random) half of those, else one by chance. They waste no more than waste.
func (s *solver) fix(left []int, waste int64, random bool) (fixed []pattern) {
	type part struct {
		column int
		score  float64
	}
	var parts []part
	for i, k := range s.lp.basis {
		x := s.lp.x[i]
		if s.lp.columns[k].cost == 0 || x < leastPart {
			continue
		}
		whole := math.Floor(x + leastPart)
		x -= whole
		for ; whole > 0; whole-- {
			if s.watch.Spend(4 * len(left)) {
				return nil
			}
			if random && s.rng.IntN(2) == 0 {
				continue
			}
			if p, room := s.take(s.lp.columns[k].pattern, left, waste); p != nil {
				fixed = append(fixed, p)
				waste -= room
			}
		}
		if x < leastPart {
			continue
		}
		score := x
		if random {
			// The largest of these is k with probability x²/Σx².
			score = portable.Log(s.rng.Float64()) / (x * x)
		}
		parts = append(parts, part{k, score})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.score, a.score) })
	for i := 0; i < len(parts) && len(fixed) == 0; i++ {
		if p, _ := s.take(s.lp.columns[parts[i].column].pattern, left, waste); p != nil {
			fixed = append(fixed, p)
		}
	}
	return fixed
}

// leastPart is how little of a pattern counts as nothing, and how little less than whole as
// whole: the demand is perturbed by a millionth an item, and rounding is less.
const leastPart = 1e-4

// residual returns the problem of packing what is left, and which kinds its kinds
// are. It has the columns of the linear programme, as far as they fit.
func (s *solver) residual(left []int) (rest *solver, kind []int32) {
	rest = &solver{ctx: s.ctx, in: s.in, c: s.c, nodes: s.nodes, limit: s.limit, rng: s.rng, effort: s.effort, watch: s.watch}
	row := make([]int32, len(left))
	for j, n := range left {
		if n > 0 {
			row[j] = int32(len(kind))
			kind = append(kind, int32(j))
			rest.w = append(rest.w, s.w[j])
			rest.count = append(rest.count, n)
		}
	}
	rest.lp = rest.newMaster()
	for _, c := range s.lp.columns {
		var p pattern
		if c.cost > 0 {
			for _, e := range c.pattern {
				if n := min(int(e.count), left[e.kind]); n > 0 {
					p = append(p, entry{row[e.kind], int32(n)})
				}
			}
		}
		if len(p) > 0 {
			rest.lp.add(p)
		}
	}
	return rest, kind
}

// rename returns the patterns with other names of kinds.
func rename(patterns []pattern, kind []int32) []pattern {
	named := make([]pattern, len(patterns))
	for i, p := range patterns {
		named[i] = make(pattern, len(p))
		for k, e := range p {
			named[i][k] = entry{kind[e.kind], e.count}
		}
	}
	return named
}

// take removes a pattern from what is left. What is not left any more is replaced
// by the heaviest items that fit. If that wastes too much, or holds nothing, it takes nothing.
func (s *solver) take(p pattern, left []int, waste int64) (got pattern, room int64) {
	room = s.c
	for _, e := range p {
		if n := min(int(e.count), left[e.kind]); n > 0 {
			got = append(got, entry{e.kind, int32(n)})
			left[e.kind] -= n
			room -= int64(n) * s.w[e.kind]
		}
	}
	for j, n := range left {
		if n = int(min(int64(n), room/s.w[j])); n > 0 {
			got = append(got, entry{int32(j), int32(n)})
			left[j] -= n
			room -= int64(n) * s.w[j]
		}
	}
	if room > waste {
		for _, e := range got {
			left[e.kind] += int(e.count)
		}
		return nil, 0
	}
	return got, room
}
