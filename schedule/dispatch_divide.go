package schedule

import (
	"cmp"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// Constants of how often what waits is divided anew.
const (
	// divideShare is the share of the waiting sites, as a divisor, that is handed out between
	// two divisions: few enough that a division follows what was learned, and many enough
	// that all divisions together cost O(divideShare·n·m).
	divideShare = 64
	// forcedShare is the same for a client without a batch. On unrelated clients it is how many sites and
	// pairs may be looked at for each site handed out, to help those without a batch.
	forcedShare = 1024
)

// sort puts the longest site of client j first.
func (d *Dispatcher) sort(j int) {
	slices.SortFunc(d.queue[j], func(a, b int32) int {
		return cmp.Or(cmp.Compare(d.duration(b, j), d.duration(a, j)), cmp.Compare(a, b))
	})
}

// divide divides what waits anew, if enough was handed out since the last time. On unrelated
// clients, where a batch suits its client, it only helps out one that has none. That one does not wait
// until enough was handed out. It owes as many sites as pay for the division, as long as no more is owed
// than two divisions per client cost, and takes the more sites at once the more is owed. So the clients
// that live on it take as many as pay for it. Of 30,000 sites whose durations vary a lot the last ends .9 %
// later for that in the mean of 12 runs, up to 4 % (8 clients, by a program that is not kept), and of 2000
// at the same time.
func (d *Dispatcher) divide(client int) {
	batches, dry := d.waiting-d.pool.left, len(d.queue[client]) == 0
	share := divideShare
	if dry && len(d.back) == 0 {
		share = forcedShare
	}
	if batches == 0 {
		return
	}
	if d.replaned < batches/share {
		cost := 2 * (batches / forcedShare) // newDivision and steal look at each site
		if !d.p.unrelated || !dry || d.owed > 2*d.m*cost {
			return
		}
		d.owed += cost + d.m*len(d.back)/forcedShare // place looks at each pair
	}
	d.replaned = 0
	v := newDivision(d, client)
	v.place()
	switch {
	case !d.p.unrelated:
		v.rebuild()
	case len(d.queue[client]) == 0:
		v.steal(1 + d.owed/d.m)
	}
}

// A division is what the clients are expected to do with what waits.
type division struct {
	d      *Dispatcher
	client int       // who asks; comes first among equals
	free   []float64 // when each client is through with what it holds
	end    []float64 // and with its batch
	factor []float64 // by which each exceeds predictions
}

func newDivision(d *Dispatcher, client int) *division {
	v := &division{d: d, client: client, free: make([]float64, d.m), factor: make([]float64, d.m)}
	for j := range v.free {
		v.free[j], v.factor[j] = d.ends(j), d.expect(j)
	}
	v.end = slices.Clone(v.free)
	for j, queue := range d.queue {
		d.looks.Spend(len(queue))
		for _, z := range queue {
			v.end[j] += v.time(z, j)
		}
	}
	return v
}

// time returns how long a site is expected to take on a client.
func (v *division) time(z int32, j int) float64 {
	return float64(v.factor[j] * v.d.duration(z, j))
}

// earliest returns the client that is expected to finish a site first after what it has, or
// −1 if none may.
func (v *division) earliest(z int32, end []float64) int {
	best, soonest := -1, math.Inf(1)
	for j, t := range end {
		if t += v.time(z, j); (t < soonest || t == soonest && j == v.client) && v.d.may(j, z) && !math.IsInf(t, 1) {
			best, soonest = j, t
		}
	}
	return best
}

// place puts sites that wait for anyone, the longest first, into batches.
func (v *division) place() {
	d := v.d
	if len(d.back) == 0 {
		return
	}
	left := d.back[:0]
	touched := make([]bool, d.m)
	for _, z := range d.back {
		d.looks.Spend(d.m)
		j := v.earliest(z, v.end)
		if j < 0 {
			left = append(left, z)
			continue
		}
		v.end[j] += v.time(z, j)
		d.queue[j] = append(d.queue[j], z)
		touched[j] = true
	}
	d.back = left
	for j, t := range touched {
		if t {
			d.sort(j)
		}
	}
}

// rebuild divides all sites anew by earliest completion, the longest first, and keeps that if
// the last of the clients with a batch ends earlier.
func (v *division) rebuild() {
	d := v.d
	all := make([]int32, 0, d.waiting)
	last := math.Inf(-1)
	for j, queue := range d.queue {
		all = append(all, queue...)
		if len(queue) > 0 {
			last = max(last, v.end[j])
		}
	}
	slices.SortFunc(all, d.longer)
	sites, end := make([][]int32, d.m), slices.Clone(v.free)
	for _, z := range all {
		j := v.earliest(z, end)
		if j < 0 {
			return // it stays with a client that is expected never to come
		}
		end[j] += v.time(z, j)
		if end[j] >= last {
			return
		}
		sites[j] = append(sites[j], z)
	}
	d.queue = sites
}

// A loot is a site that waits for one client and may be moved to another one.
type loot struct {
	worth    float64
	from, at int // its client and its place in that one's queue
}

// compare orders sites by worth, the least first, equal ones from the last to the first.
func (l loot) compare(o loot) int {
	return cmp.Or(cmp.Compare(l.worth, o.worth), cmp.Compare(o.from, l.from), cmp.Compare(o.at, l.at))
}

// Before makes the least worth come first in a heap.
func (l loot) Before(o loot) bool { return l.compare(o) < 0 }

// steal moves up to so many sites to the client that asks, of those that it is expected to finish
// before their clients are through with their batches: the ones with the largest
//
//	time there / time here · √(time there).
//
// The ratio keeps sites with clients that suit them. The root has long sites moved first:
// short ones can still be moved when little time is left.
//
// Time: O(n log count).
func (v *division) steal(count int) {
	d, c := v.d, v.client
	var best heap.Heap[loot] // the count most worth of those seen
	for j, queue := range d.queue {
		d.looks.Spend(len(queue))
		for k, z := range queue {
			here, there := v.time(z, c), v.time(z, j)
			if v.end[c]+here >= v.end[j] || !d.may(c, z) {
				continue
			}
			l := loot{there / here * math.Sqrt(there), j, k}
			switch {
			case len(best) < count:
				best.Push(l)
			case best[0].Before(l):
				best[0] = l
				best.Fix(0)
			}
		}
	}
	slices.SortFunc(best, loot.compare)
	touched := make([]bool, d.m)
	for _, l := range slices.Backward(best) { // as if each was asked for when those before are done
		z := d.queue[l.from][l.at]
		here, there := v.time(z, c), v.time(z, l.from)
		if v.end[c]+here >= v.end[l.from] {
			continue
		}
		v.end[c] += here
		v.end[l.from] -= there
		d.queue[c] = append(d.queue[c], z)
		d.queue[l.from][l.at], touched[l.from] = None, true
	}
	for j, t := range touched {
		if t {
			d.queue[j] = slices.DeleteFunc(d.queue[j], func(z int32) bool { return z == None })
		}
	}
	d.sort(c)
}
