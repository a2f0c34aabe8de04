package pairs

import (
	"cmp"
	"math"
	"slices"
)

// ending searches the rest of a cover exactly: it always covers the item with the fewest sets.
type ending struct {
	sets    [][]int32
	holding [][]int32 // the sets of each item, likeliest first
	blocked []int32   // items of each set that are covered
	count   []int32   // sets of each item that are not blocked, less taken where it is covered
	left    int
	chosen  []int32
	steps   int
}

// taken makes the count of a covered item negative.
const taken = math.MaxInt32 / 2

func newEnding(c *cover) *ending {
	e := &ending{sets: c.sets, holding: make([][]int32, len(c.covered)), blocked: make([]int32, len(c.sets)),
		count: make([]int32, len(c.covered)), left: c.left}
	for i, covered := range c.covered {
		if covered {
			e.count[i] = -taken
		}
	}
	order := slices.Clone(c.alive)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(c.share[b], c.share[a]) })
	for _, k := range order {
		for _, i := range e.sets[k] {
			e.holding[i] = append(e.holding[i], k)
			e.count[i]++
		}
	}
	return e
}

// search covers the items left, or reports that it cannot, or not in so many steps.
func (e *ending) search() bool {
	if e.left == 0 {
		return true
	}
	e.steps++
	item, least := -1, int32(math.MaxInt32)
	for i, n := range e.count {
		if n >= 0 && n < least {
			item, least = i, n
		}
	}
	if least == 0 {
		return false
	}
	for _, k := range e.holding[item] {
		if e.blocked[k] > 0 {
			continue
		}
		if e.steps > endSteps {
			return false
		}
		e.take(k)
		if e.search() {
			return true
		}
		e.giveBack(k)
	}
	return false
}

// take chooses a set.
func (e *ending) take(k int32) {
	e.chosen = append(e.chosen, k)
	for _, i := range e.sets[k] {
		e.count[i] -= taken
		e.left--
		for _, o := range e.holding[i] {
			if e.blocked[o]++; e.blocked[o] == 1 {
				e.countSets(o, -1)
			}
		}
	}
}

// giveBack undoes the last choice.
func (e *ending) giveBack(k int32) {
	e.chosen = e.chosen[:len(e.chosen)-1]
	for _, i := range e.sets[k] {
		for _, o := range e.holding[i] {
			if e.blocked[o]--; e.blocked[o] == 0 {
				e.countSets(o, 1)
			}
		}
		e.count[i] += taken
		e.left++
	}
}

// countSets counts a set at its items.
func (e *ending) countSets(k, by int32) {
	for _, i := range e.sets[k] {
		e.count[i] += by
	}
}
