package binpack

import "math"

// dive looks for a packing into target bins by fixing patterns of the linear
// programme: those that it uses whole (of more than one copy some are spared), else
// the one it uses most, or (random) one by chance. It stops where the linear
// programme of what is left needs too many.
func (s *solver) dive(target int, random bool, spared int) bool {
	left := append([]int(nil), s.count...)
	var fixed []pattern
	for !s.over() {
		bins := target - len(fixed)
		if s.weight(left) > int64(bins)*s.c {
			return false
		}
		s.nodes++
		s.lp.setDemand(s.ctx, left)
		if _, v := s.lp.generate(s.ctx, bins, true); v == exceeded || v == undecided {
			if s.lp.failed {
				s.restart()
			}
			return false
		}
		before := len(fixed)
		pick, most, sum := -1, 0.0, 0.0
		for i, k := range s.lp.basis {
			x := s.lp.x[i]
			if s.lp.columns[k].cost == 0 || x < 1e-4 {
				continue
			}
			whole := math.Floor(x + 1e-4)
			x -= whole
			if whole > 1 {
				whole -= float64(spared)
			}
			for ; whole > 0; whole-- {
				if p := s.take(s.lp.columns[k].pattern, left); p != nil {
					fixed = append(fixed, p)
				}
			}
			if x < 1e-4 {
				continue
			}
			score := x
			if random {
				// The largest of these is k with probability x²/Σx².
				score = math.Pow(s.rng.Float64(), 1/(x*x))
			}
			if sum += x; pick < 0 || score > most {
				pick, most = k, score
			}
		}
		if len(fixed) == before && pick >= 0 {
			if p := s.take(s.lp.columns[pick].pattern, left); p != nil {
				fixed = append(fixed, p)
			}
		}
		if len(fixed) == before && s.weight(left) > 0 {
			return false
		}
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

// take removes a pattern from what is left. What is not left any more is replaced
// by the heaviest items that fit.
func (s *solver) take(p pattern, left []int) pattern {
	room := s.c
	var got pattern
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
	return got
}
