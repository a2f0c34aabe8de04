package binpack

import (
	"cmp"
	"slices"
)

// subsetBits is the precision of the subset sums. At the full precision of the quanta the weights
// would be so large that a subset sum takes seconds.
const subsetBits = 20

// keepMaximum is PackerConfig.KeepMaximum.
func (r *run) keepMaximum() {
	var out []int
	q := &r.resource[0]
	for _, n := range r.filled(1) {
		sites := r.heaviest(n)
		w := make([]int64, len(sites))
		by := q.capacity[n]>>subsetBits + 1
		for k, s := range sites {
			w[k] = (q.weight[s] + by - 1) / by
		}
		for _, k := range leftOut(w, q.capacity[n]/by) {
			out = append(out, sites[k])
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(q.weight[b], q.weight[a]) })
	for _, s := range out {
		if best := r.bestFit(s); best >= 0 {
			r.move(s, best, overload)
		}
	}
}

// bestFit returns the node in use with the least room for a site, else a spare, or −1.
func (r *run) bestFit(s int) int {
	q, c := &r.resource[0], r.candidate(s)
	best := -1
	for n := range r.state {
		if n != int(r.home[s]) && r.nodes.Live(n) && !r.state[n].drained && r.state[n].sites > 0 && q.load[n]+q.weight[s] <= q.capacity[n] &&
			(best < 0 || q.capacity[n]-q.load[n] < q.capacity[best]-q.load[best]) && r.allowed(c, n) {
			best = n
		}
	}
	if best < 0 {
		if n := r.spare(c, false); n >= 0 && (q.weight[s] <= q.capacity[n] || r.state[r.home[s]].sites > 1 && !r.holds(c, n)) {
			best = n
		}
	}
	return best
}
