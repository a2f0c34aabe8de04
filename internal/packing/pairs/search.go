// Package pairs decides whether items fit into a given number of bins of one capacity, by branch
// and price over pairs of items, and proves a no in whole numbers.
//
// # How it works
//
// With a target of K bins, no bin may leave more than the window, K·C − Σw, of its capacity C.
// A linear programme over the patterns that obey this is solved by column generation. It is
// tightened by subset rows (Jepsen, Petersen, Spoorendonk & Pisinger 2008): of three items, at most
// one pattern may hold two or more. Where it leaves open whether two items are together, both
// answers are tried. A part of the tree is cut off only if the duals, rounded to whole numbers,
// prove in whole numbers that no packing is there.
//
// # Source
//
// The ingredients are those of da Silva & Schouery (2025), A Branch-and-Cut-and-Price Algorithm
// for Cutting Stock and Related Problems, arXiv 2308.03595; the proofs are new.
package pairs

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// A Problem asks whether items fit into a number of bins.
type Problem struct {
	Weights  []int64 // positive, at most Capacity
	Capacity int64
	Bins     int
}

// A Verdict is the answer to a problem.
type Verdict uint8

// The verdicts.
const (
	Undecided Verdict = iota
	Packed
	Impossible
)

// Config limits a search.
type Config struct {
	Nodes    int       // the most, 0 for no limit
	Patterns [][]int32 // to start from, sets of items
	Cuts     int       // the most rounds of cuts at a node: 0 for the default, negative for none
	NoPool   bool      // draw no patterns before the tree, to look for a packing among them
	effort   *effort   // nil for standard
}

// An Answer is what a search came to.
type Answer struct {
	Verdict
	Packing [][]int32 // the items of each bin, if Packed
	Proof   Proof     // if Impossible
	Nodes   int
}

const (
	// one is the value of a bin in whole numbers.
	one = 1 << 40
	// priceLimit is the value from which on a pattern improves the linear programme.
	priceLimit = one + one>>30
	// valueLimit is how far, relatively, the value of the linear programme may be above the bins
	// and still be that.
	valueLimit = 2e-9
	// tableLimit is the largest table of the pricing, in entries of 8 bytes: 512 MiB.
	tableLimit = 1 << 26
	// wholeLimit is how far from a whole number the use of a pattern may be.
	wholeLimit = 1e-4
)

// InReach reports whether the tables of a problem are not too large.
func (p *Problem) InReach() bool {
	return p.Capacity < tableLimit/int64(len(p.Weights)+1)
}

// Decide answers a problem, or gives up when the context ends or the limit is reached.
func Decide(ctx context.Context, p *Problem, cfg Config) Answer {
	s := newSearch(ctx, p, cfg)
	if s.window < 0 {
		return Answer{Verdict: Impossible, Proof: s.overweight()}
	}
	root := s.node()
	a := Answer{Verdict: s.verdict(root), Packing: s.packing, Nodes: s.nodes + s.below}
	if a.Verdict == Impossible {
		a.Proof = s.proof(root)
	}
	return a
}

// search is the state of a search.
type search struct {
	ctx context.Context
	cfg Config
	effort
	w      []int64
	c      int64
	bins   int
	window int64
	lp     simplex
	key    map[string]int // column of each pattern
	cuts   []cut
	names  map[[3]int32]int32 // of all cuts ever
	nodes  int
	below  int // nodes of searches for what is not fixed
	pricer pricer
	rng    *rand.Rand

	// The present node.
	leader   []int32 // of the group of each item
	size     []int32 // of the group of each leader
	apart    [][2]int32
	fixed    [][]int32 // patterns that are in the packing
	isFixed  []bool    // items in them
	packing  [][]int32
	scratch  []int32
	hardened int    // times
	pool     *cover // nil if there is none
}

// cut is a subset row: of its three items, one pattern may hold two or more.
type cut struct {
	items [3]int32
	name  int32
}

func newSearch(ctx context.Context, p *Problem, cfg Config) *search {
	n := len(p.Weights)
	e := standard
	if cfg.effort != nil {
		e = *cfg.effort
	}
	if cfg.Cuts == 0 {
		cfg.Cuts = e.cutRounds
	}
	s := &search{ctx: ctx, cfg: cfg, effort: e, pricer: pricer{effort: e}, w: p.Weights, c: p.Capacity, bins: p.Bins, key: make(map[string]int),
		names: make(map[[3]int32]int32), rng: rand.New(rand.NewPCG(uint64(n), uint64(p.Capacity))),
		leader: make([]int32, n), size: make([]int32, n), isFixed: make([]bool, n), scratch: make([]int32, n)}
	s.window = int64(p.Bins) * p.Capacity
	for _, w := range p.Weights {
		s.window -= w
	}
	s.window = min(s.window, p.Capacity)
	if s.window < 0 {
		return s
	}
	s.lp.offCost = prohibitive
	s.pricer.capacity, s.pricer.window = p.Capacity, s.window
	for i, w := range p.Weights {
		s.lp.addRow(1, noiseScale*(1+float64(s.rng.Float64())), underCost*float64(w)/float64(max(p.Capacity-s.window, w)), 0)
		s.leader[i], s.size[i] = int32(i), 1
	}
	for _, p := range cfg.Patterns {
		s.add(p)
	}
	return s
}

const (
	// underCost is what it costs, per share of the least load of a bin, to leave an item out. With a
	// window of 0 any cost above 1 will do.
	underCost = 2
	// excessCost is what it costs to break a cut once.
	excessCost = 1
	// harder multiplies these costs, and that of what is off, where the linear programme prefers to
	// pay them; hardest is the most times of that.
	harder, hardest = 4, 4
)

// add makes a set of items a column, unless it is one or leaves too much room.
func (s *search) add(items []int32) {
	load := int64(0)
	for _, i := range items {
		load += s.w[i]
	}
	if load > s.c || load < s.c-s.window {
		return
	}
	rows := slices.Clone(items)
	slices.Sort(rows)
	key := keyOf(rows)
	if _, ok := s.key[key]; ok {
		return
	}
	for c, t := range s.cuts {
		if t.value(rows) > 0 {
			rows = append(rows, int32(len(s.w)+c))
		}
	}
	k := s.lp.addPattern(rows)
	s.key[key] = k
	s.lp.off[k] = !s.admits(s.items(k))
}

// value returns 1 if the items have two or more of the cut, else 0.
func (t *cut) value(items []int32) int {
	n := 0
	for _, i := range items {
		if i == t.items[0] || i == t.items[1] || i == t.items[2] {
			n++
		}
	}
	return n / 2
}

// items returns the items of a column.
func (s *search) items(k int) []int32 {
	rows := s.lp.pattern[k]
	end := len(rows)
	for end > 0 && int(rows[end-1]) >= len(s.w) {
		end--
	}
	return rows[:end]
}

// admits reports whether a pattern obeys the decisions of the node.
func (s *search) admits(items []int32) bool {
	for _, i := range items {
		s.scratch[s.leader[i]]++
	}
	ok := true
	for _, i := range items {
		l := s.leader[i]
		ok = ok && s.scratch[l] == s.size[l] && !s.isFixed[i]
	}
	for _, f := range s.apart {
		ok = ok && (s.scratch[s.leader[f[0]]] == 0 || s.scratch[s.leader[f[1]]] == 0)
	}
	for _, i := range items {
		s.scratch[s.leader[i]] = 0
	}
	return ok
}

// apply switches the columns on that obey the node, and the others off.
func (s *search) apply() {
	for k := range s.lp.pattern {
		s.lp.off[k] = !s.admits(s.items(k))
	}
	for _, f := range s.fixed {
		s.lp.off[s.column(f)] = false
	}
}

// column returns the column of a pattern that is one.
func (s *search) column(items []int32) int { return s.key[keyOf(items)] }

// keyOf names a set of items in ascending order.
func keyOf(items []int32) string {
	b := make([]byte, 0, 64)
	for _, i := range items {
		b = append(b, byte(i), byte(i>>8), byte(i>>16))
	}
	return string(b)
}

// groups prepares the pricer for the node and the duals, and returns the sum B of the values less
// what the cuts and the fixed patterns take off it, and the number of bins that are not fixed. It
// has many branches because cuts, fixed patterns and pairs kept apart are gone through one after
// another; each loop is short, and they share the places of the groups.
func (s *search) groups() (sum int64, bins int) {
	n := len(s.w)
	p := &s.pricer
	p.penalty = p.penalty[:0]
	active := make([]bool, n)
	for c := range s.cuts {
		v := int64(math.Ceil(max(-s.lp.y[n+c], 0) * one))
		p.penalty = append(p.penalty, v)
		sum -= v
		if v > 0 {
			for _, i := range s.cuts[c].items {
				active[s.leader[i]] = true
			}
		}
	}
	value := s.values()
	for _, u := range value {
		sum += u
	}
	for _, f := range s.fixed {
		for _, i := range f {
			sum -= value[i]
		}
		for c := range s.cuts {
			if s.cuts[c].value(f) > 0 {
				sum += p.penalty[c]
			}
		}
	}
	for _, f := range s.apart {
		active[s.leader[f[0]]], active[s.leader[f[1]]] = true, true
	}
	at := make([]int32, n)
	p.groups = p.groups[:0]
	for _, second := range []bool{false, true} {
		for i := range int32(n) {
			if s.leader[i] == i && active[i] == second && !s.isFixed[i] {
				at[i] = int32(len(p.groups))
				p.groups = append(p.groups, group{leader: i})
			}
		}
	}
	for i := range int32(n) {
		if !s.isFixed[i] {
			g := &p.groups[at[s.leader[i]]]
			g.weight += s.w[i]
			g.value += value[i]
			g.items = append(g.items, i)
		}
	}
	for _, f := range s.apart {
		a, b := s.leader[f[0]], s.leader[f[1]]
		if !s.isFixed[a] && !s.isFixed[b] {
			p.groups[at[a]].foes = append(p.groups[at[a]].foes, at[b])
			p.groups[at[b]].foes = append(p.groups[at[b]].foes, at[a])
		}
	}
	for c := range s.cuts {
		if p.penalty[c] == 0 {
			continue
		}
		for _, i := range s.cuts[c].items {
			if !s.isFixed[i] {
				p.groups[at[s.leader[i]]].addShare(int32(c))
			}
		}
	}
	return sum, s.bins - len(s.fixed)
}

func (g *group) addShare(c int32) {
	if k := len(g.cuts) - 1; k >= 0 && g.cuts[k].cut == c {
		g.cuts[k].count++
		return
	}
	g.cuts = append(g.cuts, share{c, 1})
}

// values returns the duals of the items in whole numbers.
func (s *search) values() []int64 {
	value := make([]int64, len(s.w))
	for i := range value {
		value[i] = int64(math.Floor(s.lp.y[i] * one))
	}
	return value
}

// state is what the linear programme of a node says.
type state uint8

const (
	unknown  state = iota // the search must end
	feasible              // it leaves the node open
	pruned                // there is no packing below, as the duals prove
)

// generate adds patterns until the linear programme leaves the node open or the duals prove that
// no packing obeys it.
func (s *search) generate() state {
	stuck := 0
	for {
		s.lp.optimize(s.ctx)
		if s.lp.failed || s.ctx.Err() != nil {
			return unknown
		}
		z := s.lp.value()
		if z <= float64(s.bins)*(1+valueLimit) && s.whole() {
			return feasible
		}
		sum, bins := s.groups()
		// The patterns of a packing have the sum or more in value, so one has as much as the mean.
		proves := floorDiv(sum-1, int64(bins))
		found, complete := s.pricer.price(s.ctx, max(priceLimit, proves))
		if !complete {
			return unknown
		}
		if len(found) == 0 {
			if proves >= priceLimit {
				return pruned
			}
			if found, complete = s.pricer.price(s.ctx, proves); !complete {
				return unknown
			}
			if len(found) == 0 {
				return pruned
			}
			if s.whole() || s.hardened == hardest {
				return feasible
			}
			s.harden()
		}
		before := len(s.lp.pattern)
		for _, path := range found {
			var items []int32
			for _, j := range path {
				items = append(items, s.pricer.groups[j].items...)
			}
			s.add(items)
		}
		if len(found) > 0 && len(s.lp.pattern) == before {
			if stuck++; stuck > 2 {
				return feasible // rounding
			}
		}
	}
}

// harden raises the cost of what a packing does not have.
func (s *search) harden() {
	s.hardened++
	s.lp.offCost *= harder
	for i := range s.lp.right {
		if i < len(s.w) {
			s.lp.more[0][i] *= harder
		} else {
			s.lp.more[1][i] *= harder
		}
	}
}

// whole reports whether the linear programme packs every item, and uses no pattern that is off.
func (s *search) whole() bool {
	for at, k := range s.lp.basis {
		if s.lp.x[at] > wholeLimit && (k < 0 && (-1-k)%2 == 0 && int((-1-k)/2) < len(s.w) ||
			k < 0 && (-1-k)%2 == 1 && int((-1-k)/2) >= len(s.w) || k >= 0 && s.lp.off[k]) {
			return false
		}
	}
	return true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}
