package solver

import (
	"slices"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A placement bounds identical and uniform clients by where the largest sites can go. It
// places them one by one in every way that leaves the clients enough room for the rest,
// where room counts only as far as a sum of the other sites can fill it: beside a site that
// takes nearly all of a client's time nothing else may fit.
type placement struct {
	p      *instance.Instance
	amount []int64            // descending
	rest   []int64            // rest[d] is the sum of amount[d:]
	reach  []*subsetsum.Reach // reach[d] has the sums of amount[d:] up to fineRoom
	room   []int64
	depth  int   // number of sites placed
	looked int64 // rooms looked at by the test under way
	work   int64 // and by all tests of one bound
	limit  int64 // on work
	watch  *work.Watch
}

// newPlacement prepares the placement of up to most sites, from all in descending order of amount.
// It returns nil if the watch ends. It takes O(n·fineRoom/64 + most·fineRoom/64).
func newPlacement(p *instance.Instance, order []int, most int, watch *work.Watch) *placement {
	b := &placement{p: p, amount: make([]int64, p.N), rest: make([]int64, p.N+1), room: make([]int64, p.M), watch: watch}
	for k, z := range order {
		b.amount[k] = p.Amount[z]
	}
	for d := p.N - 1; d >= 0; d-- {
		b.rest[d] = b.rest[d+1] + b.amount[d]
	}
	b.reach = make([]*subsetsum.Reach, min(most, p.N)+1)
	deepest := len(b.reach) - 1
	b.reach[deepest] = subsetsum.Reachable(nil, int64(fineRoom))
	for _, a := range b.amount[deepest:] {
		if watch.Spend(fineRoom / 64) {
			return nil
		}
		b.reach[deepest].Add(a)
	}
	for d := deepest - 1; d >= 0; d-- {
		if watch.Spend(4 * fineRoom / 64) {
			return nil
		}
		b.reach[d] = b.reach[d+1].Clone()
		b.reach[d].Add(b.amount[d])
	}
	return b
}

// bound returns the least time at or above low that the placement of the depth largest
// sites does not exclude, or an earlier one if it would have to look at more rooms than
// limit.
func (b *placement) bound(low float64, depth int, limit int64) float64 {
	b.depth, b.limit, b.work = min(depth, len(b.reach)-1), limit, 0
	return leastTime(low, b.excludes)
}

// excludes reports whether no plan ends by t; false may also mean that the test was too long, or
// that the watch ended.
func (b *placement) excludes(t float64) bool {
	if b.work >= b.limit || b.watch.Spend(boundSteps*len(b.room)) {
		return false
	}
	for j := range b.room {
		b.room[j] = b.p.Capacity(j, t)
	}
	b.looked = 0
	possible := b.place(0)
	b.work += b.looked
	return !possible
}

// place reports whether the sites from position d on may fit into the room left.
func (b *placement) place(d int) bool {
	if b.looked += int64(len(b.room)); b.looked > int64(placementLimit) {
		return true
	}
	var held int64
	for _, room := range b.room {
		held += min(b.filled(d, room), b.rest[d]-held) // the sum of all rooms may overflow
	}
	if held < b.rest[d] {
		return false
	}
	if d == b.depth {
		return true
	}
	for j, room := range b.room {
		if b.watch.Spend(4 + j) {
			return true
		}
		if room < b.amount[d] || b.alike(j) {
			continue
		}
		b.room[j] -= b.amount[d]
		possible := b.place(d + 1)
		b.room[j] = room
		if possible {
			return true
		}
	}
	return false
}

// filled returns how much of a room the sites from position d on can fill.
func (b *placement) filled(d int, room int64) int64 {
	if d == len(b.amount) || room < b.amount[len(b.amount)-1] {
		return 0
	}
	if room > int64(fineRoom) {
		return room
	}
	return b.reach[d].AtMost(room)
}

// alike reports whether an earlier client has the same room as client j.
func (b *placement) alike(j int) bool { return slices.Contains(b.room[:j], b.room[j]) }
