package schedule

import (
	"cmp"
	"math"
	"slices"
)

// Constants of how often what waits is divided anew.
const (
	// divideShare is the share of the waiting sites, as a divisor, that is handed out between
	// two divisions: few enough that a division follows what was learned, and many enough
	// that all divisions together cost O(divideShare·n·m).
	divideShare = 64
	// forcedShare is the same for a client without a batch.
	forcedShare = 1024
)

// sort puts the longest site of client j first.
func (d *Dispatcher) sort(j int) {
	slices.SortFunc(d.queue[j], func(a, b int32) int {
		return cmp.Or(cmp.Compare(d.duration(b, j), d.duration(a, j)), cmp.Compare(a, b))
	})
}

// divide divides what waits anew, if enough was handed out since the last time. On unrelated
// clients, where a batch suits its client, it only helps out one that has none.
func (d *Dispatcher) divide(client int) {
	batches, dry := d.waiting-len(d.pool), len(d.queue[client]) == 0
	share := divideShare
	if dry && len(d.back) == 0 {
		share = forcedShare
	}
	due := d.replaned >= batches/share
	if batches == 0 || !due && !(d.p.unrelated && dry) {
		return
	}
	d.replaned = 0
	v := newDivision(d, client)
	v.place()
	switch {
	case !d.p.unrelated:
		v.rebuild()
	case len(d.queue[client]) == 0:
		v.steal()
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
		for _, z := range queue {
			v.end[j] += v.time(z, j)
		}
	}
	return v
}

// time returns how long a site is expected to take on a client.
func (v *division) time(z int32, j int) float64 { return v.factor[j] * v.d.duration(z, j) }

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

// steal moves a site to the client that asks, of those that it is expected to finish before
// their clients are through with their batches: the one with the largest
//
//	time there / time here · √(time there).
//
// The ratio keeps sites with clients that suit them. The root has long sites moved first:
// short ones can still be moved when little time is left.
func (v *division) steal() {
	d, from, at, most := v.d, -1, -1, math.Inf(-1)
	for j, queue := range d.queue {
		for k, z := range queue {
			here, there := v.time(z, v.client), v.time(z, j)
			if v.free[v.client]+here >= v.end[j] || !d.may(v.client, z) {
				continue
			}
			if worth := there / here * math.Sqrt(there); worth > most {
				from, at, most = j, k, worth
			}
		}
	}
	if from < 0 {
		return
	}
	z := d.queue[from][at]
	d.queue[from] = slices.Delete(d.queue[from], at, at+1)
	d.queue[v.client] = append(d.queue[v.client], z)
}
