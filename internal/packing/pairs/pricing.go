package pairs

import (
	"cmp"
	"context"
	"slices"
)

// group is items that are together, as one.
type group struct {
	leader int32
	weight int64
	value  int64
	items  []int32
	foes   []int32 // positions of the groups that it must not share a bin with
	cuts   []share
}

// share is how many items of a cut a group has.
type share struct {
	cut   int32
	count int8
}

// pricer finds patterns of high value: sums of whole values of items, less the penalties of cuts.
//
// A table over the groups that ignores cuts and conflicts bounds a search depth first that
// obeys them. The groups that they concern are decided first.
type pricer struct {
	effort
	capacity, window int64
	groups           []group // those that cuts and conflicts concern come last
	penalty          []int64 // of each cut
	// table[k·(c+1)+r] is the most value of the first k groups that leaves at most window of room r.
	table []int64
	ok    bool // the table is complete

	limit   int64 // patterns of at most this value do not count
	steps   int   // left
	most    int   // patterns left to find
	ctx     context.Context
	stopped bool // by steps or the context
	path    []int32
	count   []int8  // items of each cut on the path
	blocked []int32 // foes of each group on the path
	emit    func(path []int32, value int64)
}

// forbidden is less than every value, also when the values of all items are added.
const forbidden = -1 << 60

// fill computes the table. O(groups·capacity).
func (p *pricer) fill(ctx context.Context) {
	size := int(p.capacity) + 1
	p.table = slices.Grow(p.table[:0], (len(p.groups)+1)*size)[:(len(p.groups)+1)*size]
	row := p.table[:size]
	for r := range row {
		row[r] = forbidden
		if int64(r) <= p.window {
			row[r] = 0
		}
	}
	p.ok = false
	for k, g := range p.groups {
		if k%16 == 0 && ctx.Err() != nil {
			return
		}
		below := p.table[k*size : (k+1)*size]
		row := p.table[(k+1)*size : (k+2)*size]
		w := min(int(g.weight), size)
		copy(row, below[:w])
		above := row[w:]
		without := below[w:][:len(above)]
		with := below[:len(above)]
		for r, x := range with {
			above[r] = max(x+g.value, without[r])
		}
	}
	p.ok = true
	p.count = slices.Grow(p.count[:0], len(p.penalty))[:len(p.penalty)]
	clear(p.count)
	p.blocked = slices.Grow(p.blocked[:0], len(p.groups))[:len(p.groups)]
	clear(p.blocked)
	p.path = p.path[:0]
}

// take puts a group on the path and returns the penalties that this incurs.
func (p *pricer) take(j int32) (penalty int64) {
	g := &p.groups[j]
	for _, c := range g.cuts {
		before := p.count[c.cut]
		if p.count[c.cut] += c.count; before < 2 && p.count[c.cut] >= 2 {
			penalty += p.penalty[c.cut]
		}
	}
	for _, f := range g.foes {
		p.blocked[f]++
	}
	p.path = append(p.path, j)
	return penalty
}

func (p *pricer) untake(j int32) {
	g := &p.groups[j]
	for _, c := range g.cuts {
		p.count[c.cut] -= c.count
	}
	for _, f := range g.foes {
		p.blocked[f]--
	}
	p.path = p.path[:len(p.path)-1]
}

// extend adds groups before position k to the path, of which the value is known.
func (p *pricer) extend(k int, room, value int64) {
	size := int(p.capacity) + 1
	for j := k - 1; j >= 0; j-- {
		if value+p.table[(j+1)*size+int(room)] <= p.limit {
			return
		}
		g := &p.groups[j]
		if g.weight > room || p.blocked[j] > 0 || value+g.value+p.table[j*size+int(room-g.weight)] <= p.limit {
			continue
		}
		if p.steps--; p.steps < 0 || p.steps%4096 == 0 && p.ctx.Err() != nil {
			p.stopped = true
		}
		if p.stopped || p.most == 0 {
			return
		}
		penalty := p.take(int32(j))
		p.extend(j, room-g.weight, value+g.value-penalty)
		p.untake(int32(j))
	}
	if room <= p.window && value > p.limit && p.most > 0 && !p.stopped {
		p.most--
		p.emit(p.path, value)
	}
}

// price returns patterns of more value than limit, as leaders' positions, or none if it is complete
// and there are none. It is complete unless the context ends.
func (p *pricer) price(ctx context.Context, limit int64) (found [][]int32, complete bool) {
	p.ctx = ctx
	p.fill(ctx)
	if !p.ok {
		return nil, false
	}
	size := int(p.capacity) + 1
	type start struct {
		at    int32
		value int64
	}
	var starts []start
	for j, g := range p.groups {
		if g.weight <= p.capacity {
			if v := g.value + p.table[j*size+int(p.capacity-g.weight)]; v > limit {
				starts = append(starts, start{int32(j), v})
			}
		}
	}
	slices.SortStableFunc(starts, func(a, b start) int { return cmp.Compare(b.value, a.value) })
	used := make([]int, len(p.groups))
	p.emit = func(path []int32, _ int64) {
		for _, j := range path[1:] {
			if used[j] >= p.patternsPerGroup {
				p.most++ // one of the others
				return
			}
		}
		for _, j := range path {
			used[j]++
		}
		found = append(found, slices.Clone(path))
	}
	search := func(s start, limit int64, steps, most int) {
		g := &p.groups[s.at]
		p.limit, p.steps, p.most, p.stopped = limit, steps, most, false
		penalty := p.take(s.at)
		p.extend(int(s.at), p.capacity-g.weight, g.value-penalty)
		p.untake(s.at)
	}
	complete = true
	for k, s := range starts {
		if len(found) >= p.patternsPerRound {
			return found, true
		}
		if k%16 == 15 && ctx.Err() != nil {
			return nil, false
		}
		if used[s.at] >= p.patternsPerGroup {
			continue
		}
		before := len(found)
		search(s, limit+(s.value-limit)/2, p.startSteps, p.patternsPerStart)
		if len(found) == before {
			search(s, limit, p.startSteps, p.patternsPerStart)
			complete = complete && !p.stopped
		}
	}
	if len(found) > 0 || complete {
		return found, true
	}
	for _, s := range starts {
		search(s, limit, 1<<62, 1)
		if p.stopped {
			return nil, false
		}
		if len(found) > 0 {
			return found, true
		}
	}
	return nil, true
}
