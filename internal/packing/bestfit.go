package packing

import "github.com/recrawl/recrawl/internal/work"

// bestFit takes the items in their own order. It keeps the bins in a treap sorted
// by room and then by number; node k of the treap is bin k. It is not ok if the watch ends.
func bestFit(w []int64, c int64, watch *work.Watch) (bin []int, bins int, ok bool) {
	bin = make([]int, len(w))
	var t treap
	for i, x := range w {
		if watch.Spend(2 * treeSteps(len(t.room))) {
			return nil, 0, false
		}
		b := t.ceiling(x)
		if b < 0 {
			b = int32(len(t.room))
			t.room = append(t.room, c)
			t.left, t.right = append(t.left, -1), append(t.right, -1)
		} else {
			t.remove(b)
		}
		bin[i] = int(b)
		t.room[b] -= x
		t.insert(b)
	}
	return bin, len(t.room), true
}

// A treap is a binary search tree on (room, bin) and a heap on a hash of the bin,
// which makes its expected depth O(log n) whatever the order of insertions.
type treap struct {
	root        int32 // plus 1, so that the zero value is empty
	room        []int64
	left, right []int32
}

// rank is the heap key: a bijective hash (the finaliser of MurmurHash3), so that
// no two bins tie.
func rank(bin int32) uint32 {
	h := uint32(bin) + 0x9e3779b9
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

func (t *treap) less(a, b int32) bool {
	return t.room[a] < t.room[b] || t.room[a] == t.room[b] && a < b
}

// ceiling returns the bin of least room ≥ x, or −1.
func (t *treap) ceiling(x int64) int32 {
	best := int32(-1)
	for k := t.root - 1; k >= 0; {
		if t.room[k] >= x {
			best, k = k, t.left[k]
		} else {
			k = t.right[k]
		}
	}
	return best
}

// insert puts node b where its rank belongs and splits what is below.
func (t *treap) insert(b int32) {
	k, link := t.root-1, (*int32)(nil)
	for k >= 0 && rank(k) > rank(b) {
		if t.less(b, k) {
			link = &t.left[k]
		} else {
			link = &t.right[k]
		}
		k = *link
	}
	// Everything below k goes left or right of b.
	l, r := &t.left[b], &t.right[b]
	for k >= 0 {
		if t.less(k, b) {
			*l = k
			l = &t.right[k]
			k = *l
		} else {
			*r = k
			r = &t.left[k]
			k = *r
		}
	}
	*l, *r = -1, -1
	if link == nil {
		t.root = b + 1
	} else {
		*link = b
	}
}

// remove merges the subtrees of node b in its place.
func (t *treap) remove(b int32) {
	var link *int32
	for k := t.root - 1; k != b; k = *link {
		if t.less(b, k) {
			link = &t.left[k]
		} else {
			link = &t.right[k]
		}
	}
	merged := int32(-1)
	at := &merged
	for l, r := t.left[b], t.right[b]; ; {
		switch {
		case l < 0:
			*at = r
		case r < 0:
			*at = l
		case rank(l) > rank(r):
			*at = l
			at = &t.right[l]
			l = *at
			continue
		default:
			*at = r
			at = &t.left[r]
			r = *at
			continue
		}
		break
	}
	if link == nil {
		t.root = merged + 1
	} else {
		*link = merged
	}
}
