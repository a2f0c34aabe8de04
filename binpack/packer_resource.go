package binpack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/binpack/internal/order"
	"github.com/recrawl/recrawl/internal/packing"
)

const (
	// mostQuanta bounds a weight and a capacity: all are exact as a float64.
	mostQuanta = 1 << 53
	// unlimited is the capacity of a node that has no limit of a resource. It is no multiple that
	// room returns, and the sum of all weights is at most that.
	unlimited = packing.MaxTotal
	// digits is how many digits the largest capacity has in quanta: 2^53 leave a factor of 9000 for
	// capacities and weights told later, and all weights together may be 4·10^6 such capacities.
	digits = 12
	// leastExp and mostExp bound the exponents that a capacity can ask for, so that 10^exp and its
	// inverse are finite.
	leastExp, mostExp = -300, 300
	// mostCapacity and mostQuantum keep every sum of weights finite: 2^62 quanta at most. A capacity of
	// 10^300 may be a little more once it was converted into quanta and back.
	mostCapacity, mostQuantum = 1.001e300, 1e289
	// nearly is how far from a whole number of quanta a float may be to be taken for it: the errors
	// of three roundings, so that .2 is 2·10^11 units of 10^−12.
	nearly = 1. / (1 << 51)
)

// A resource is what sites need and nodes have, in whole quanta.
type resource struct {
	fixed    float64 // PackerConfig.Quantum, 0 for a quantum of 10^exp
	exp      int
	known    bool    // exp was chosen
	bound    bool    // it is the weight, which only capacities give a quantum
	weight   []int64 // of each site slot
	total    int64   // of the weights, at most packing.MaxTotal, so that no load overflows
	capacity []int64 // of each node slot
	load     []int64
	change   []int64 // of the load since the last Rebalance, as far as set told it
	sites    order.Shelves
}

// quantum is for messages.
func (q *resource) quantum() float64 {
	if q.fixed > 0 {
		return q.fixed
	}
	return math.Pow10(q.exp)
}

// quanta returns x in quanta. Of a power of ten below 1 the inverse is exact, itself it is not.
func (q *resource) quanta(x float64) float64 {
	switch {
	case q.fixed > 0:
		return x / q.fixed
	case q.exp < 0:
		return x * math.Pow10(-q.exp)
	}
	return x / math.Pow10(q.exp)
}

// value is the inverse of quanta.
func (q *resource) value(u int64) float64 {
	switch {
	case q.fixed > 0:
		return float64(float64(u) * q.fixed)
	case q.exp < 0:
		return float64(u) / math.Pow10(-q.exp)
	}
	return float64(float64(u) * math.Pow10(q.exp))
}

// follow makes a quantum that suits x, the first or largest number told.
func (q *resource) follow(x float64) {
	if q.fixed == 0 && x > 0 {
		q.exp, q.known = exponent(x), true
	}
}

// exponent returns that of the quantum which suits x: the least for which an int64 holds the scale
// exactly enough.
func exponent(x float64) int { return max(decade(x)+1-digits, leastExp) }

// decade returns the greatest k with 10^k ≤ x. The logarithm alone may be off by one, and that in
// other places on other processors.
func decade(x float64) int {
	k := int(math.Floor(math.Log10(x)))
	for x < math.Pow10(k) {
		k--
	}
	for x >= math.Pow10(k+1) {
		k++
	}
	return k
}

// ample returns the number that the quantum of a further resource suits after a need of w. What is
// told before any capacity may be much less than that, or than other needs.
func ample(w float64) float64 { return min(1000*w, math.MaxFloat64) }

// An amount is a number in quanta, and what the quantum becomes with it.
type amount struct {
	units int64
	exp   int
	known bool
	anew  bool // nothing was bound to the quantum
}

// units converts a weight that takes the place of another, old. It changes nothing.
func (q *resource) units(w float64, old int64) (amount, error) {
	if !(w >= 0) || math.IsInf(w, 1) {
		return amount{}, fmt.Errorf("%w: %v", ErrWeight, w)
	}
	r := amount{exp: q.exp, known: q.known, anew: !q.known}
	if further := !q.bound; further && (!q.known || q.quanta(w) > mostQuanta) {
		as := *q // as settle will make it
		as.follow(ample(w))
		r.exp, r.known = as.exp, as.known
		q = &as
	}
	x := q.quanta(w)
	if x > mostQuanta {
		return amount{}, fmt.Errorf("%w: %v is more than 2^53 quanta of %v", ErrWeight, w, q.quantum())
	}
	r.units = int64(math.Round(x))
	if math.Abs(x-float64(r.units)) > x*nearly {
		r.units = int64(math.Ceil(x))
	}
	if r.units > packing.MaxTotal-(q.total-old) {
		return amount{}, fmt.Errorf("%w: %v: the sum is more than 2^62 quanta of %v", ErrWeight, w, q.quantum())
	}
	return r, nil
}

// room converts a capacity. The first one sets the quantum, unless something bound to the present
// one is kept; a much larger one makes it coarser. It changes nothing: that is up to settle.
func (q *resource) room(capacity float64, keep bool) (amount, error) {
	if !(capacity > 0 && capacity <= mostCapacity) {
		return amount{}, fmt.Errorf("%w: %v", ErrCapacity, capacity)
	}
	anew := !q.known || !keep && q.total == 0
	if anew || q.quanta(capacity) > mostQuanta {
		as := *q
		as.follow(capacity)
		q = &as
	}
	x := q.quanta(capacity)
	if x > mostQuanta {
		return amount{}, fmt.Errorf("%w: %v is more than 2^53 quanta of %v (see PackerConfig.Quantum)", ErrCapacity, capacity, q.quantum())
	}
	u := int64(math.Round(x))
	if math.Abs(x-float64(u)) > x*nearly {
		u = int64(math.Floor(x))
	}
	if u < 1 {
		return amount{}, fmt.Errorf("%w: %v is less than the quantum, %v (see PackerConfig.Quantum)", ErrCapacity, capacity, q.quantum())
	}
	return amount{u, q.exp, q.known, anew}, nil
}

// settle makes the quantum that of an amount.
func (q *resource) settle(r amount) {
	if r.anew {
		q.exp, q.known = r.exp, r.known
	} else if r.exp != q.exp {
		q.coarsen(r.exp)
	}
}

// factor returns how many of the present quanta make one of 10^exp, or more than any number has.
func (q *resource) factor(exp int) int64 { return int64(math.Pow10(min(exp-q.exp, 18))) }

// coarsen makes the quantum larger, weights rounded up and capacities down. It happens at most once
// for every factor of 10^3 or more by which capacities grow. The capacities of nodes that there are
// have at least one of the new quanta (see Packer.tiny).
func (q *resource) coarsen(exp int) {
	by := q.factor(exp)
	q.exp = exp
	up := func(x int64) int64 { return (x + by - 1) / by }
	for n, c := range q.capacity {
		if c != unlimited {
			q.capacity[n] = max(c/by, 1)
		}
		q.change[n] /= by
		var sites []int
		q.sites.All(n, func(s int) bool { sites = append(sites, s); return true })
		q.load[n] = 0
		for _, s := range sites {
			w := up(q.weight[s])
			q.sites.Change(n, s, q.weight[s], w)
			q.total += w - q.weight[s]
			q.load[n] += w
			q.weight[s] = w
		}
	}
}

// grow makes room for so many slots.
func (q *resource) grow(sites, nodes int) {
	for len(q.weight) < sites {
		q.weight = append(q.weight, 0)
	}
	for len(q.capacity) < nodes {
		q.capacity, q.load, q.change = append(q.capacity, 1), append(q.load, 0), append(q.change, 0)
	}
	q.sites.GrowSites(sites)
	q.sites.GrowNodes(nodes)
}

// set changes the weight of a site of a node.
func (q *resource) set(s, n int, w int64) {
	change := w - q.weight[s]
	q.sites.Change(n, s, q.weight[s], w)
	q.load[n] += change
	q.change[n] += change
	q.total += change
	q.weight[s] = w
}

func (q *resource) attach(s, n int) {
	q.load[n] += q.weight[s]
	q.sites.Add(n, s, q.weight[s])
}

func (q *resource) detach(s, n int) {
	q.load[n] -= q.weight[s]
	q.sites.Remove(n, s, q.weight[s])
}
