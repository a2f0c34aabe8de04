package solver

import (
	"cmp"
	"slices"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// verdict is the outcome of a decision problem.
type verdict int

const (
	fits verdict = iota
	fitsNot
	undecided
)

// A packer decides whether sites fit into the capacities that clients have up to a time, by
// completing one client after another (sequential partitioning, Korf, Schreiber and Moffitt
// 2014; bin completion, Korf 2003): a client is given a set of sites that leaves no more
// idle than all clients together may, that has no room for another site and in which no
// site can be exchanged for a larger one. Sets of sites that failed once are remembered.
// The last two clients are a subset-sum problem.
type packer struct {
	p        *instance.Instance
	sites    []int32 // the largest of the problem, descending by amount
	total    int64   // sum of their amounts
	amount   []int64
	clients  []int32 // ascending by capacity
	capacity []int64
	at       []int32 // position in clients for each position in sites
	memo     map[packKey]struct{}
	x        *search
	end      int64 // limit on x.steps
	subset   subsetsum.Halves
	scratch  [][]int32
}

type packKey struct {
	left  [packLimit / 64]uint64
	depth int32
}

// newPacker returns a packer for the largest count sites: what they cannot do, all cannot. The
// search has listed the sites.
func newPacker(x *search, count int) *packer {
	k := &packer{p: x.p, x: x, at: make([]int32, count), scratch: make([][]int32, x.p.M+1)}
	for _, z := range x.order[:count] {
		k.sites = append(k.sites, int32(z))
		k.amount = append(k.amount, x.p.Amount[z])
		k.total += x.p.Amount[z]
	}
	return k
}

// decide looks for a plan of the packer's sites with makespan at most t, taking at most the
// given number of steps. Other sites are on client 0 in the plan.
func (k *packer) decide(t float64, steps int64) (verdict, []int) {
	p := k.p
	k.end = min(k.x.limit-min(k.x.limit, k.x.steps), steps) + k.x.steps
	k.memo = make(map[packKey]struct{})
	k.clients, k.capacity = k.clients[:0], k.capacity[:0]
	room, slack := make([]int64, p.M), -k.total
	for j := range room {
		room[j] = min(p.Capacity(j, t), k.total)
		if room[j] > 0 {
			k.clients = append(k.clients, int32(j))
		}
	}
	slices.SortStableFunc(k.clients, func(a, b int32) int { return cmp.Compare(room[a], room[b]) })
	for _, j := range k.clients {
		k.capacity = append(k.capacity, room[j])
		slack += room[j] // at most m·2^52
	}
	if slack < 0 {
		return fitsNot, nil
	}
	left := make([]int32, len(k.sites))
	for q := range left {
		left[q] = int32(q)
	}
	v := k.fill(0, left, k.total, slack)
	if v != fits {
		return v, nil
	}
	plan := make([]int, p.N)
	for q, c := range k.at {
		plan[k.sites[q]] = int(k.clients[c])
	}
	return fits, plan
}

// stopped counts a step and reports whether the search must end.
func (k *packer) stopped() bool {
	k.x.steps++
	return k.x.steps >= k.end || k.x.watch.Spend(len(k.sites))
}

// fill decides whether the sites left, of this total, fit into the clients from depth on,
// whose capacities exceed the total by slack.
func (k *packer) fill(depth int, left []int32, total, slack int64) verdict {
	if k.stopped() {
		return undecided
	}
	if len(left) == 0 {
		return fits
	}
	bins := k.capacity[depth:]
	if len(bins) == 1 {
		for _, q := range left {
			k.at[q] = int32(depth)
		}
		return fits // slack ≥ 0
	}
	// The r largest sites need the r largest clients.
	var need, held int64
	for r := 0; r < min(len(left), len(bins)); r++ {
		need += k.amount[left[r]]
		held += bins[len(bins)-1-r]
		if need > held {
			return fitsNot
		}
	}
	if len(bins) == 2 {
		if v, ok := k.two(depth, left, total); ok {
			return v
		}
	}
	key := packKey{depth: int32(depth)}
	for _, q := range left {
		key.left[q/64] |= 1 << (q % 64)
	}
	if _, failed := k.memo[key]; failed {
		return fitsNot
	}
	c := &completion{k: k, depth: depth, left: left, total: total, slack: slack, capacity: bins[0]}
	c.suffix = make([]int64, len(left)+1)
	for r := len(left) - 1; r >= 0; r-- {
		c.suffix[r] = c.suffix[r+1] + k.amount[left[r]]
	}
	var v verdict
	if bins[0] == bins[len(bins)-1] {
		// All alike: this client may be the one with the largest site.
		c.in = append(c.in, 0)
		v = c.choose(1, k.amount[left[0]], bins[0]+1)
	} else {
		v = c.choose(0, 0, bins[0]+1)
	}
	if v == fitsNot && len(k.memo) < memoLimit {
		k.memo[key] = struct{}{}
	}
	return v
}

// two decides for the last two clients, if the sites or the capacity are few.
func (k *packer) two(depth int, left []int32, total int64) (verdict, bool) {
	small, large := k.capacity[depth], k.capacity[depth+1]
	amounts := make([]int64, len(left))
	for r, q := range left {
		amounts[r] = k.amount[q]
	}
	in := make([]bool, len(left))
	var sum int64
	switch {
	case len(left) <= subsetsum.MaxHalves:
		k.x.steps += 1 << (len(left) / 2)
		largest, mask, ok := k.subset.Largest(amounts, small, k.x.watch)
		if !ok {
			return undecided, true
		}
		sum = largest
		for r := range in {
			in[r] = mask>>r&1 == 1
		}
	case small < tableLimit:
		k.x.steps += small / 16
		largest, chosen, ok := subsetsum.LargestByTable(amounts, small, nil, k.x.watch)
		if !ok {
			return undecided, true
		}
		sum = largest
		for _, r := range chosen {
			in[r] = true
		}
	default:
		return undecided, false
	}
	if total-sum > large {
		return fitsNot, true
	}
	for r, q := range left {
		k.at[q] = int32(depth + 1)
		if in[r] {
			k.at[q] = int32(depth)
		}
	}
	return fits, true
}

// A completion enumerates the sets of sites for one client.
type completion struct {
	k        *packer
	depth    int
	left     []int32
	suffix   []int64
	in       []int // positions in left
	total    int64
	slack    int64
	capacity int64
}

// choose decides about the sites from position r on, given those in with this sum. The idle
// rest must end up below free, the smallest site that was left out although it would have
// fitted then.
func (c *completion) choose(r int, sum, free int64) verdict {
	if c.k.stopped() {
		return undecided
	}
	need := max(c.capacity-c.slack, c.capacity-free+1)
	for ; r < len(c.left); r++ {
		if sum+c.suffix[r] < need {
			return fitsNot
		}
		a := c.k.amount[c.left[r]]
		if sum+a > c.capacity {
			continue
		}
		c.in = append(c.in, r)
		v := c.choose(r+1, sum+a, free)
		c.in = c.in[:len(c.in)-1]
		if v != fitsNot {
			return v
		}
		// Leave out r, and with it all sites of the same size.
		free = min(free, a)
		need = max(need, c.capacity-free+1)
		for r+1 < len(c.left) && c.k.amount[c.left[r+1]] == a {
			r++
		}
	}
	if sum < need || c.dominated(c.capacity-sum) {
		return fitsNot
	}
	return c.descend(sum)
}

// dominated reports whether one site of the set, or two, could be exchanged for a larger one
// left out that still fits.
func (c *completion) dominated(idle int64) bool {
	amount := func(pos int) int64 { return c.k.amount[c.left[pos]] }
	// Out is what is left out; next reports whether one of them is in [low, high].
	within := func(low, high int64, in []int) bool {
		// The sites are in descending order: find the first of at most high.
		r, found := slices.BinarySearchFunc(c.left, high, func(q int32, t int64) int {
			return cmp.Compare(t, c.k.amount[q])
		})
		if found {
			for r > 0 && amount(r-1) == high {
				r--
			}
		}
		for ; r < len(c.left) && amount(r) >= low; r++ {
			if _, member := slices.BinarySearch(in, r); !member {
				return true
			}
		}
		return false
	}
	for a, x := range c.in {
		if within(amount(x)+1, amount(x)+idle, c.in) {
			return true
		}
		if c.k.x.watch.Spend(boundSteps * (len(c.in) - a)) {
			return false // the search ends, undecided
		}
		for _, y := range c.in[a+1:] {
			if sum := amount(x) + amount(y); within(sum, sum+idle, c.in) {
				return true
			}
		}
	}
	return false
}

// descend gives the set to the client and goes on to the next.
func (c *completion) descend(sum int64) verdict {
	k := c.k
	rest := k.scratch[c.depth][:0]
	next := 0
	for r, q := range c.left {
		if next < len(c.in) && c.in[next] == r {
			next++
			continue
		}
		rest = append(rest, q)
	}
	k.scratch[c.depth] = rest
	v := k.fill(c.depth+1, rest, c.total-sum, c.slack-(c.capacity-sum))
	if v == fits {
		for _, r := range c.in {
			k.at[c.left[r]] = int32(c.depth)
		}
	}
	return v
}
