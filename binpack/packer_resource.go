package binpack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/binpack/internal/order"
	"github.com/recrawl/recrawl/internal/packing"
)

const (
	// mostQuanta is the most quanta of a weight or a capacity. All such numbers are exact as a
	// float64.
	mostQuanta = 1 << 53
	// unlimited is the capacity of a node without a limit on a resource. room never returns that
	// number, and the sum of all weights is at most that.
	unlimited = packing.MaxTotal
	// digits is how many digits the largest capacity has when it is counted in quanta. With 12
	// digits, 2^53 leaves a factor of 9000 for larger capacities and weights told later, and all
	// weights together may be 4·10^6 such capacities.
	digits = 12
	// leastExp and mostExp bound the exponents that a capacity can ask for, so that 10^exp and its
	// inverse are finite.
	leastExp, mostExp = -300, 300
	// mostCapacity and mostQuantum keep every sum of weights finite, as it is at most 2^62 quanta.
	// mostCapacity is a little above 10^300, because a capacity of 10^300 may grow a little when it
	// is converted into quanta and back.
	mostCapacity, mostQuantum = 1.001e300, 1e289
	// nearly is how far a float may be from a whole number of quanta, as a share, and still count
	// as that number. It is the error of three roundings, so that .2 is 2·10^11 units of 10^−12.
	nearly = 1. / (1 << 51)
)

// A resource is what sites need and nodes have, in whole quanta.
type resource struct {
	fixed    float64 // PackerConfig.Quantum, 0 for a quantum of 10^exp
	exp      int
	known    bool    // exp was chosen
	bound    bool    // the resource is the weight: only capacities set its quantum
	weight   []int64 // of each site slot
	total    int64   // sum of the weights, at most packing.MaxTotal, so that no load overflows
	capacity []int64 // of each node slot
	load     []int64
	change   []int64 // change of each node's load since the last Rebalance, by set only
	sites    order.Shelves
}

// quantum returns the quantum as a float, for messages.
func (q *resource) quantum() float64 {
	if q.fixed > 0 {
		return q.fixed
	}
	return math.Pow10(q.exp)
}

// quanta returns x in quanta. A power of ten below 1 is not exact as a float, but its inverse is.
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

// follow sets the quantum that suits x, the first or largest number told.
func (q *resource) follow(x float64) {
	if q.fixed == 0 && x > 0 {
		q.exp, q.known = exponent(x), true
	}
}

// exponent returns the exponent of the quantum that suits x, the one in which x has as many digits
// as the constant digits says. It is at least leastExp.
func exponent(x float64) int { return max(decade(x)+1-digits, leastExp) }

// decade returns the greatest k with 10^k ≤ x. The logarithm alone may be off by one, for different
// x on different processors.
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

// ample returns the number whose quantum a further resource takes after a need of w. It is larger
// than w, because a need that is told before any capacity may be much smaller than the capacities,
// or than other needs.
func ample(w float64) float64 { return min(1000*w, math.MaxFloat64) }

// An amount is a number in quanta, together with the quantum that the resource takes with it.
type amount struct {
	units int64
	exp   int
	known bool
	anew  bool // nothing is counted in the present quantum yet
}

// units converts a weight that takes the place of the weight old. It changes nothing.
func (q *resource) units(w float64, old int64) (amount, error) {
	if !(w >= 0) || math.IsInf(w, 1) {
		return amount{}, fmt.Errorf("%w: weight %v", ErrConfig, w)
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
		return amount{}, fmt.Errorf("%w: weight %v is more than 2^53 quanta of %v", ErrConfig, w, q.quantum())
	}
	r.units = int64(math.Round(x))
	if math.Abs(x-float64(r.units)) > x*nearly {
		r.units = int64(math.Ceil(x))
	}
	if w > 0 {
		r.units = max(r.units, 1) // x may be too small for a float
	}
	if r.units > packing.MaxTotal-(q.total-old) {
		return amount{}, fmt.Errorf("%w: weight %v: the sum is more than 2^62 quanta of %v", ErrConfig, w, q.quantum())
	}
	return r, nil
}

// room converts a capacity. The first capacity sets the quantum, unless keep is set because
// something is counted in the present one. A much larger capacity makes the quantum coarser. room
// itself changes nothing; settle does.
func (q *resource) room(capacity float64, keep bool) (amount, error) {
	if !(capacity > 0 && capacity <= mostCapacity) {
		return amount{}, fmt.Errorf("%w: capacity %v", ErrConfig, capacity)
	}
	anew := !q.known || !keep && q.total == 0
	if anew || q.quanta(capacity) > mostQuanta {
		as := *q
		as.follow(capacity)
		q = &as
	}
	x := q.quanta(capacity)
	if x > mostQuanta {
		return amount{}, fmt.Errorf("%w: capacity %v is more than 2^53 quanta of %v (see PackerConfig.Quantum)", ErrConfig, capacity, q.quantum())
	}
	u := int64(math.Round(x))
	if math.Abs(x-float64(u)) > x*nearly {
		u = int64(math.Floor(x))
	}
	if u < 1 {
		return amount{}, fmt.Errorf("%w: capacity %v is less than the quantum, %v (see PackerConfig.Quantum)", ErrConfig, capacity, q.quantum())
	}
	return amount{u, q.exp, q.known, anew}, nil
}

// settle makes the quantum of an amount the quantum of the resource.
func (q *resource) settle(r amount) {
	if r.anew {
		q.exp, q.known = r.exp, r.known
	} else if r.exp != q.exp {
		q.coarsen(r.exp)
	}
}

// factor returns how many of the present quanta make one quantum of 10^exp. If that is too large,
// it returns a number larger than any weight or capacity.
func (q *resource) factor(exp int) int64 { return int64(math.Pow10(min(exp-q.exp, 18))) }

// coarsen makes the quantum larger. It rounds weights up and capacities down. It happens at most
// once for every factor of 10^3 or more by which capacities grow. The capacities of all present
// nodes have at least one of the new quanta (see Packer.tiny).
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

// grow makes room for the given numbers of slots.
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

// even returns the weight that, moved from node a to node b, leaves both equally full.
func (q *resource) even(a, b int) float64 {
	ca, cb := float64(q.capacity[a]), float64(q.capacity[b])
	return (float64(q.load[a])/ca - float64(q.load[b])/cb) / (1/ca + 1/cb)
}

func (q *resource) attach(s, n int) {
	q.load[n] += q.weight[s]
	q.sites.Add(n, s, q.weight[s])
}

func (q *resource) detach(s, n int) {
	q.load[n] -= q.weight[s]
	q.sites.Remove(n, s, q.weight[s])
}
