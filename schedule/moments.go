package schedule

// moments are the number, the mean and the sum of squared deviations of some values.
type moments struct{ n, mean, m2 float64 }

// and returns the moments of all values of a and b. Source: Chan, Golub, LeVeque 1983.
func (a moments) and(b moments) moments {
	if a.n == 0 {
		return b
	}
	n := a.n + b.n
	d := b.mean - a.mean
	return moments{n, a.mean + float64(d*(b.n/n)), a.m2 + b.m2 + float64(d*d*(a.n*b.n/n))}
}

// A momentTree holds the moments of parts that change, and the moments of all parts together.
// Replacing a part leaves no trace of the old one. A plain sum from which values are subtracted
// would keep their rounding errors, and after a large value it would hold nothing but errors.
//
// Invariant: len(nodes) is 0 or 2w, where w is a power of two above every part set. Part k is node
// w + k, and node i < w is the union of nodes 2i and 2i+1. So the bits of all() depend only on the
// present parts, not on earlier ones.
type momentTree struct{ nodes []moments }

// set replaces a part, in amortised O(log parts).
func (t *momentTree) set(part int, m moments) {
	for part >= len(t.nodes)/2 {
		t.grow()
	}
	i := part + len(t.nodes)/2
	t.nodes[i] = m
	for i /= 2; i >= 1; i /= 2 {
		t.nodes[i] = t.nodes[2*i].and(t.nodes[2*i+1])
	}
}

// grow doubles the number of parts.
func (t *momentTree) grow() {
	w := max(1, len(t.nodes))
	nodes := make([]moments, 2*w)
	copy(nodes[w:], t.nodes[len(t.nodes)/2:])
	for i := w - 1; i >= 1; i-- {
		nodes[i] = nodes[2*i].and(nodes[2*i+1])
	}
	t.nodes = nodes
}

// all returns the moments of all parts.
func (t *momentTree) all() moments {
	if len(t.nodes) == 0 {
		return moments{}
	}
	return t.nodes[1]
}
