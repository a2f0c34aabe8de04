package queue

// A node is the place of a page among those of its lot. The pages of a lot form a heap-ordered
// binary tree by x and then by slot, so that the order in which they leave does not depend on its
// shape. Two trees are melded along a random path, of logarithmic length on average. In a set
// that is flat, right is the next page of the list, and left has the bits of the multiplier.
type node struct {
	left, right uint32
	x           float32
}

func (q *Queue) before(a, b uint32) bool {
	x, y := q.nodes[a].x, q.nodes[b].x
	return x < y || x == y && a < b
}

// meld joins two trees, None for an empty one, and returns the root. It does not set its place.
func (q *Queue) meld(a, b uint32) (root uint32) {
	if a == None {
		return b
	}
	if b == None {
		return a
	}
	if q.before(b, a) {
		a, b = b, a
	}
	root = a
	for { // b is to go below a, which is before it
		q.coin = q.coin*1664525 + 1013904223 // a congruential generator; its top bits are random
		side := &q.nodes[a].left
		if q.coin>>31 == 0 {
			side = &q.nodes[a].right
		}
		child := *side
		if child != None && q.before(child, b) {
			a = child
			continue
		}
		*side = b
		q.place[b] = inTree | a
		if child == None {
			return root
		}
		a, b = b, child
	}
}

// plant makes a page a tree of its own.
func (q *Queue) plant(slot uint32, x float32) {
	q.nodes[slot] = node{None, None, x}
}

// uproot takes a page out of its tree. first says whether it was the first one of lot.
func (q *Queue) uproot(slot uint32) (lot uint32, first bool) {
	below := q.meld(q.nodes[slot].left, q.nodes[slot].right)
	above := q.place[slot]
	q.place[slot] = None
	if above&tagMask == inLot {
		lot = above &^ tagMask
		return lot, q.replace(lot, slot, below)
	}
	parent := &q.nodes[above]
	if parent.left == slot {
		parent.left = below
	} else {
		parent.right = below
	}
	if below != None {
		q.place[below] = above
	}
	return 0, false
}

// walk calls visit for all pages of a tree.
func (q *Queue) walk(root uint32, visit func(slot uint32)) {
	if root == None {
		return
	}
	stack := []uint32{root}
	for len(stack) > 0 {
		slot := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit(slot)
		for _, child := range [2]uint32{q.nodes[slot].left, q.nodes[slot].right} {
			if child != None {
				stack = append(stack, child)
			}
		}
	}
}
