package pairs

import (
	"cmp"
	"slices"
)

// node is a node of the tree: a leaf or a decision.
type node struct {
	state
	pair     [2]int32
	together *node
	apart    *node
	value    []int64 // of each item, in a leaf
	penalty  []Penalty
}

const (
	// mostPatterns is the number of patterns, less what each item adds, after which those that are
	// far from useful are dropped.
	mostPatterns, mostPatternsPerItem = 4000, 20
)

func (s *search) verdict(root *node) Verdict {
	switch {
	case s.packing != nil:
		return Packed
	case root != nil && root.state == pruned:
		return Impossible
	}
	return Undecided
}

// node searches below the present decisions. Its state is pruned if there is no packing.
func (s *search) node() *node {
	if s.cfg.Nodes > 0 && s.nodes >= s.cfg.Nodes {
		return &node{}
	}
	s.nodes++
	if s.nodes == 1 && s.sample() {
		return &node{}
	}
	s.forget()
	s.apply()
	n := s.bound()
	if n.state != feasible || s.packing != nil {
		return n
	}
	if s.nodes&(s.nodes-1) == 0 && s.covers(s.coverTries) || s.nodes%s.fixEvery == 1 && s.relaxAndFix() {
		return n
	}
	pair, ok := s.pick()
	if !ok {
		n.state = unknown
		return n
	}
	n.pair = pair
	n.together = s.with(pair)
	n.state = n.together.state
	if n.state != pruned || s.packing != nil {
		return n
	}
	before := len(s.apart)
	s.part(pair)
	n.apart = s.node()
	s.apart = s.apart[:before]
	n.state = n.apart.state
	return n
}

// part keeps a pair apart, and with it all that are like it: an item that is alone stands for all
// of its weight that are. These are alike in all decisions, so that if any two of them share a
// bin, the pair may as well.
func (s *search) part(pair [2]int32) {
	for _, i := range s.alike(pair[0]) {
		for _, j := range s.alike(pair[1]) {
			if i != j {
				s.apart = append(s.apart, [2]int32{i, j})
			}
		}
	}
}

// alike returns the items that an item stands for.
func (s *search) alike(item int32) []int32 {
	if s.size[s.leader[item]] > 1 {
		return []int32{item}
	}
	var list []int32
	for i, w := range s.w {
		if w == s.w[item] && s.leader[i] == int32(i) && s.size[i] == 1 {
			list = append(list, int32(i))
		}
	}
	return list
}

// with searches with a pair together.
func (s *search) with(pair [2]int32) *node {
	a, b := s.leader[pair[0]], s.leader[pair[1]]
	var moved []int32
	for i, l := range s.leader {
		if l == b {
			s.leader[i] = a
			moved = append(moved, int32(i))
		}
	}
	s.size[a] += int32(len(moved))
	n := s.node()
	s.size[a] -= int32(len(moved))
	for _, i := range moved {
		s.leader[i] = b
	}
	return n
}

// bound solves the linear programme of a node, with cuts.
func (s *search) bound() *node {
	n := &node{}
	for round := 0; ; round++ {
		n.state = s.generate()
		switch n.state {
		case unknown:
			return n
		case pruned:
			n.value, n.penalty = s.values(), s.penalties()
			return n
		}
		if s.rounded() || round >= s.cfg.Cuts || !s.separate() {
			return n
		}
	}
}

func (s *search) penalties() []Penalty {
	var list []Penalty
	for c, v := range s.pricer.penalty {
		if v > 0 {
			list = append(list, Penalty{int(s.cuts[c].name), v})
		}
	}
	return list
}

// rounded reports whether the patterns that are used at least half are a packing, and keeps it.
func (s *search) rounded() bool {
	var packing [][]int32
	covered := make([]bool, len(s.w))
	left := len(s.w)
	for at, k := range s.lp.basis {
		if k < 0 || s.lp.x[at] <= .5 {
			continue
		}
		var bin []int32
		for _, i := range s.items(int(k)) {
			if !covered[i] {
				covered[i] = true
				bin = append(bin, i)
				left--
			}
		}
		packing = append(packing, bin)
	}
	if left > 0 || len(packing) > s.bins {
		return false
	}
	s.packing = packing
	return true
}

// affinity is how far the linear programme has two groups together.
type affinity map[[2]int32]float64

func (s *search) affinities() affinity {
	a := make(affinity)
	for at, k := range s.lp.basis {
		if k < 0 || s.lp.x[at] <= wholeLimit || s.lp.off[k] {
			continue
		}
		items := s.items(int(k))
		for x, i := range items {
			if s.leader[i] != i {
				continue
			}
			for _, j := range items[x+1:] {
				if s.leader[j] == j {
					a[[2]int32{i, j}] += s.lp.x[at]
				}
			}
		}
	}
	return a
}

// pick returns the pair of the largest weight of those that the linear programme has together in
// part.
func (s *search) pick() (pair [2]int32, ok bool) {
	weight := make([]int64, len(s.w))
	for i, l := range s.leader {
		weight[l] += s.w[i]
	}
	heaviest := int64(0)
	for p, x := range s.affinities() {
		if x < wholeLimit*10 || x > 1-wholeLimit*10 {
			continue
		}
		sum := weight[p[0]] + weight[p[1]]
		if sum > heaviest || sum == heaviest && slices.Compare(p[:], pair[:]) < 0 {
			pair, heaviest, ok = p, sum, true
		}
	}
	return pair, ok
}

// separate adds the most violated cuts; it reports whether there are any.
func (s *search) separate() bool {
	a := s.affinities()
	near := make([][]int32, len(s.w)) // larger ones only
	for p, x := range a {
		if x > s.cutViolation {
			near[p[0]] = append(near[p[0]], p[1])
		}
	}
	uses := make([][]int, len(s.w)) // places of the patterns with an item
	for at, k := range s.lp.basis {
		if k >= 0 && s.lp.x[at] > wholeLimit && !s.lp.off[k] {
			for _, i := range s.items(int(k)) {
				uses[i] = append(uses[i], at)
			}
		}
	}
	type broken struct {
		items [3]int32
		by    float64
	}
	var list []broken
	// The violation is that of the three affinities, less twice the use of patterns with all three.
	try := func(t [3]int32) {
		sum := a[[2]int32{t[0], t[1]}] + a[[2]int32{t[0], t[2]}] + a[[2]int32{t[1], t[2]}] - 1
		if sum < s.cutViolation {
			return
		}
		for _, at := range uses[t[0]] {
			items := s.items(int(s.lp.basis[at]))
			if slices.Contains(items, t[1]) && slices.Contains(items, t[2]) {
				sum -= 2 * s.lp.x[at]
			}
		}
		if sum >= s.cutViolation {
			list = append(list, broken{t, sum})
		}
	}
	// Without an affinity of each pair a cut holds.
	for i := range near {
		slices.Sort(near[i])
		for x, j := range near[i] {
			for _, k := range near[i][x+1:] {
				try([3]int32{int32(i), j, k})
			}
		}
	}
	slices.SortFunc(list, func(x, y broken) int {
		return cmp.Or(cmp.Compare(y.by, x.by), slices.Compare(x.items[:], y.items[:]))
	})
	used := make([]int, len(s.w))
	added := 0
	for _, b := range list {
		if added == s.cutsPerRound {
			break
		}
		if max(used[b.items[0]], used[b.items[1]], used[b.items[2]]) >= s.cutsPerItem {
			continue
		}
		for _, i := range b.items {
			used[i]++
		}
		s.addCut(b.items)
		added++
	}
	return added > 0
}

func (s *search) addCut(items [3]int32) {
	name, ok := s.names[items]
	if !ok {
		name = int32(len(s.names))
		s.names[items] = name
	}
	t := cut{items, name}
	row := int32(len(s.w) + len(s.cuts))
	for k := range s.lp.pattern {
		if t.value(s.items(k)) > 0 {
			s.lp.pattern[k] = append(s.lp.pattern[k], row)
		}
	}
	s.cuts = append(s.cuts, t)
	s.lp.addRow(1, noiseScale*(1+float64(s.rng.Float64())), 0, s.excess())
}

// excess returns what it costs now to break a cut.
func (s *search) excess() float64 {
	cost := float64(excessCost)
	for range s.hardened {
		cost *= harder
	}
	return cost
}

// forget drops the cuts that are slack, and patterns that are far from useful where they are many.
func (s *search) forget() {
	n := len(s.w)
	slack := func(row int32) bool { return int(row) >= n && s.lp.units[0][row] >= 0 }
	if len(s.cuts) > 0 {
		kept := s.cuts[:0]
		for c, t := range s.cuts {
			if !slack(int32(n + c)) {
				kept = append(kept, t)
			}
		}
		if len(kept) < len(s.cuts) {
			s.lp.dropRows(slack)
			s.cuts = kept
		}
	}
	if len(s.lp.pattern) < mostPatterns+mostPatternsPerItem*n {
		return
	}
	cost := make([]float64, len(s.lp.pattern))
	for k := range cost {
		cost[k] = s.lp.reduced(int32(k))
	}
	limit := slices.Sorted(slices.Values(cost))[len(cost)/3]
	clear(s.key)
	s.lp.dropPatterns(func(k int) bool {
		return cost[k] <= limit || slices.ContainsFunc(s.fixed, func(f []int32) bool { return slices.Equal(f, s.items(k)) })
	}, func(_, to int) {
		s.key[keyOf(s.items(to))] = to
	})
}
