package binpack

// leafSearch looks for a set of groups whose value is above a limit and whose load is in the
// window. A table that ignores penalties and parted groups bounds what the rest of the search can
// reach.
type leafSearch struct {
	groups           []merged
	capacity, window int64
	penalty          map[int]int64
	limit            int64
	order            []int // simple groups first, because the search begins at the end
	most             []int64
	held             map[int]int // number of items taken of each cut
	barred           []int       // of each group: how many groups taken it is parted from
	steps            *int
}

// tooLarge reports whether the table is too large or there are too many groups.
func (s *leafSearch) tooLarge() bool {
	return len(s.groups) > proofDepth || s.capacity >= proofTable/int64(len(s.groups)+1)
}

// prepare fills the table: most[k·(C+1)+room] is the greatest value of a choice among the first k
// groups of the order that fits the room and leaves at most the window of it free.
func (s *leafSearch) prepare() {
	s.barred = make([]int, len(s.groups))
	for _, simple := range [2]bool{true, false} {
		for g, x := range s.groups {
			if (len(x.parted) == 0 && len(x.holds) == 0) == simple {
				s.order = append(s.order, g)
			}
		}
	}
	width := s.capacity + 1
	s.most = make([]int64, int64(len(s.order)+1)*width)
	for room := s.window + 1; room < width; room++ {
		s.most[room] = noValue
	}
	for k, g := range s.order {
		x := &s.groups[g]
		before, after := s.most[int64(k)*width:int64(k+1)*width], s.most[int64(k+1)*width:int64(k+2)*width]
		for room := range after {
			after[room] = before[room]
			if rest := int64(room) - x.weight; rest >= 0 {
				after[room] = max(after[room], before[rest]+x.value)
			}
		}
	}
}

// more reports whether some of the first k groups of the order, added to the groups taken, give a
// value above the limit.
func (s *leafSearch) more(k int, room, value int64) bool {
	for ; k > 0; k-- {
		if value+s.most[int64(k)*(s.capacity+1)+room] <= s.limit {
			return false
		}
		g := s.order[k-1]
		x := &s.groups[g]
		if x.weight > room || s.barred[g] > 0 {
			continue
		}
		if *s.steps--; *s.steps < 0 {
			return false
		}
		gain := x.value
		for cut, n := range x.holds {
			if s.held[cut] < 2 && s.held[cut]+n >= 2 {
				gain -= s.penalty[cut]
			}
			s.held[cut] += n
		}
		for _, o := range x.parted {
			s.barred[o]++
		}
		found := s.more(k-1, room-x.weight, value+gain)
		for cut, n := range x.holds {
			s.held[cut] -= n
		}
		for _, o := range x.parted {
			s.barred[o]--
		}
		if found {
			return true
		}
	}
	return room <= s.window && value > s.limit
}
