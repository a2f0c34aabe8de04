package binpack

import (
	"cmp"
	"math"
	"slices"

	"github.com/recrawl/recrawl/binpack/internal/order"
)

// trials is how many nodes are tried for a site: that many of the emptiest, and half as many of the
// roomiest, which may be other nodes if capacities differ. If all nodes have one capacity, the
// emptiest is the best, unless a rule or a further resource forbids it. Then the search goes on.
const trials = 8

// The breadth of a search. Closing a node is not worth a look at more than some nodes.
const (
	everyNode = math.MaxInt
	someNodes = 8 * trials
)

// newHeadrooms is how much room a new site leaves on its node, in headrooms. With 1 there are more
// overloads under churn and drift together: .2 % of node-steps instead of .1 %. With 4 there are up
// to twice as many moves (go run ./examples/binpack -suite -fleets small -seed 1001, the workloads
// with churn; 5 seeds).
//
// Nodes are filled in the order of their slots, so while sites come and go the last nodes in use
// become empty. To fill the emptiest node first takes six to twelve times as many moves, and 5 %
// more nodes.
const newHeadrooms = 2

// heaviest returns the site slots of a node by decreasing weight, equal ones by slot.
func (p *Packer) heaviest(n int) []int {
	sites := make([]int, 0, p.state[n].sites)
	p.resource[0].sites.All(n, func(s int) bool { sites = append(sites, s); return true })
	byWeight(sites, p.resource[0].weight)
	return sites
}

// byWeight sorts sites by decreasing weight, equal ones by slot.
func byWeight(sites []int, w []int64) {
	slices.SortFunc(sites, func(a, b int) int {
		return cmp.Or(cmp.Compare(w[b], w[a]), cmp.Compare(a, b))
	})
}

// targets yields the nodes to try for a site: the nodes in use that take sites, the emptiest first,
// then the roomiest. If sites differ in more than their weights, it yields up to breadth nodes.
func (p *Packer) targets(except, breadth int, yield func(n int) bool) {
	p.sync()
	on := true
	first := func(t *order.Tree, most int) {
		k := 0
		t.Ascend(func(n int) bool {
			if n == except {
				return true
			}
			k++
			on = yield(n)
			return on && k < most
		})
	}
	if !p.plain() {
		first(&p.emptiest, breadth)
	} else if first(&p.emptiest, trials); on {
		first(&p.roomiest, trials/2)
	}
}

// keeps returns the node in use that is the least full with the candidate on it, if it is filled to
// no more than most. Otherwise it returns −1.
func (p *Packer) keeps(c candidate, except int, most float64, breadth int) int {
	best, least := -1, most
	p.targets(except, breadth, func(n int) bool {
		if best >= 0 && p.emptiest.Key(n) >= least {
			return false
		}
		if f := p.fill(n, c.need, 1); (f < least || f == least && best < 0) && p.allowed(c, n) {
			best, least = n, f
		}
		return true
	})
	return best
}

// spare returns the largest node without sites that may take a candidate, or −1. If holds is set,
// it returns only a node that the candidate does not overload.
func (p *Packer) spare(c candidate, holds bool) int {
	p.sync()
	best := -1
	p.spares.Ascend(func(n int) bool {
		if p.allowed(c, n) && (!holds || p.fill(n, c.need, 1) <= 1) {
			best = n
		}
		return best < 0 && !(p.plain() && holds)
	})
	return best
}

// choose returns the node for a candidate that must leave its node or has none (see AddSite), or
// −1.
func (p *Packer) choose(c candidate, except int) int {
	most := 1 - p.headroom()
	if c.site < 0 {
		if n := p.first(c); n >= 0 {
			return n
		}
	}
	if n := p.keeps(c, except, most, everyNode); n >= 0 {
		return n
	}
	if n := p.closing; n >= 0 && n != except && p.fill(n, c.need, 1) <= most && p.allowed(c, n) {
		return n
	}
	if n := p.spare(c, true); n >= 0 {
		return n
	}
	best := p.keeps(c, except, math.Inf(1), everyNode)
	for _, n := range [...]int{p.spare(c, false), p.closing} {
		if n >= 0 && n != except && p.allowed(c, n) && (best < 0 || p.fill(n, c.need, 1) < p.fill(best, c.need, 1)) {
			best = n
		}
	}
	return best
}

// first returns the node in use with the lowest slot on which a new site leaves two headrooms, or
// −1. The second headroom is for changes of weights before the node must be relieved.
func (p *Packer) first(c candidate) int {
	n := p.firstWith(c, newHeadrooms*p.headroom())
	if n >= 0 && p.fill(n, c.need, 1) <= 1-p.headroom() {
		return n
	}
	return -1
}

// firstWith returns the node in use with the lowest slot on which a candidate leaves free the given
// share of the largest capacity. It returns −1 if there is none, and also if the candidate may not
// go there.
func (p *Packer) firstWith(c candidate, left float64) int {
	p.sync()
	slot, largest := p.largest.Least()
	if slot < 0 {
		return -1
	}
	n := p.roomiest.First(float64(left*largest) - float64(c.need[0]))
	if n >= 0 && p.allowed(c, n) {
		return n
	}
	return -1
}
