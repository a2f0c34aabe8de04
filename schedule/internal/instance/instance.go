// Package instance has scheduling problems as the solvers see them: in whole numbers.
//
// A public problem has real durations. An [Instance] has the same durations as multiples of
// one grid, so that the solvers can compare sums exactly. The plans of this package and of
// the solvers are slices that give each site its client.
package instance

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/internal/grid"
)

// ErrOverflow reports an instance whose latest time, summed over the clients, is not
// finite.
var ErrOverflow = errors.New("the sum of all times overflows")

// An Instance is n sites and m clients. Client j with the sum s > 0 of amounts finishes at
//
//	Off[j] + Unit[j]·Grid·s
//
// and at 0 if its sum is 0. An Instance is never changed after New or WithOff made it.
type Instance struct {
	N, M    int
	PerPair bool      // unrelated clients: each pair of site and client has its amount
	Amount  []int64   // N amounts, or N·M site by site if PerPair; nil if these are too many
	Total   int64     // no client's sum is larger
	Grid    float64   // the time of an amount of 1 on a client of unit 1
	Unit    []float64 // time per unit of size of each client
	Off     []float64 // when each client begins with its first site
	// Rounding bounds how much the makespan of a plan that ends before Most differs from that of
	// the real durations; 0 if all of them lie on the grid.
	Rounding float64
	// Most is above the makespan of some plan, so that the best plans have no longer duration.
	// Longer ones of unrelated clients count as Most if clipped. Then the makespans of plans that end
	// at Most or later say nothing: see Reaching and Tells.
	Most    float64
	clipped bool
	greedy  []int32 // the client of each site in a plan, if PerPair

	size  []float64 // N sizes, or N·M durations if PerPair, as they are
	units grid.Grid
	gcd   int64 // of the amounts in units
}

// Forbidden is the amount of a site on a client that cannot do it. Sums of a few are no
// overflow, and a client that has one finishes at +Inf.
const Forbidden = 1 << 57

// amountsLimit is the number of amounts from which on they are not kept but worked out when
// they are asked for, which takes some four times as long: 16 MB.
const amountsLimit = 1 << 21

// mantissa is the number of bits that a sum of sizes may have: one less than a float64
// holds, so that a sum of whole numbers is exact, rounding up included.
const mantissa = 52

// New returns the instance of clients with these times per unit that are free at 0, and of
// sites with these sizes: one per site, or if perPair one per site and client, site by
// site. Sizes and units are positive and finite, but that with perPair a size may be +Inf for
// a client that cannot do the site; another one can. New keeps sizes, which must not change.
// The error is ErrOverflow.
//
// The grid is a power of two times a common divisor, chosen so that integers and dyadic
// fractions are represented exactly wherever their sum has at most 52 bits. Other sizes are
// rounded to 2⁻⁵² of the sum.
func New(perPair bool, sizes, unit []float64) (*Instance, error) {
	p := &Instance{N: len(sizes), M: len(unit), PerPair: perPair, Unit: unit, Most: math.Inf(1)}
	off := make([]float64, p.M)
	p.size = sizes
	if perPair {
		p.N /= p.M
		p.Most = above(p.place(off))
	}
	if err := p.scale(sizes); err != nil {
		return nil, err
	}
	return p.WithOff(off)
}

// row returns the values of site z: one, or one per client.
func row[T any](p *Instance, values []T, z int) []T {
	if p.PerPair {
		return values[z*p.M : (z+1)*p.M]
	}
	return values[z : z+1]
}

// scale chooses the grid and computes the amounts.
func (p *Instance) scale(sizes []float64) error {
	sum, low := p.span(sizes, math.MaxFloat64)
	if math.IsInf(sum, 1) {
		return ErrOverflow
	}
	if low < grid.Above(sum)-mantissa && !math.IsInf(p.Most, 1) {
		// A few durations that no good plan has may leave the others no bits.
		if least, lowest := p.span(sizes, p.Most); least < sum*clipFrom {
			p.clipped, sum, low = true, least, lowest
		}
	}
	coarse := grid.Above(sum) - mantissa
	p.units, p.gcd = grid.New(max(low, coarse)), 1
	p.Grid = p.units.Quantum
	if low < coarse {
		p.Rounding = 1 // WithOff works it out
	} else {
		p.Rounding = 0
		gcd := int64(0)
		for _, d := range sizes {
			if a := p.amount(d); a != Forbidden {
				gcd = grid.GCD(a, gcd)
			}
		}
		p.gcd = gcd
		p.Grid *= float64(gcd)
	}
	p.Amount, p.Total = nil, 0
	if !p.PerPair || len(sizes) <= amountsLimit {
		p.Amount = make([]int64, len(sizes))
		for k, d := range sizes {
			p.Amount[k] = p.amount(d)
		}
	}
	for z := range p.N {
		largest := int64(0)
		for _, d := range row(p, sizes, z) {
			if a := p.amount(d); a != Forbidden {
				largest = max(largest, a)
			}
		}
		p.Total += largest
	}
	return nil
}

// amount returns the amount of a size.
func (p *Instance) amount(d float64) int64 {
	if d > math.MaxFloat64 {
		return Forbidden
	}
	if p.clipped {
		d = min(d, p.Most)
	}
	a, _ := p.units.Nearest(d)
	if a = max(1, a); p.gcd > 1 {
		a /= p.gcd
	}
	return a
}

// WithOff returns the same instance with clients that begin at these times.
func (p *Instance) WithOff(off []float64) (*Instance, error) {
	q := *p
	q.Off = off
	switch {
	case !p.PerPair:
		q.Most = above(min(q.alone(), q.shared()))
	case slices.Max(off) > 0:
		if err := q.raise(above(q.place(off))); err != nil {
			return nil, err
		}
	}
	largest := 0.0
	for j := range q.M {
		largest = max(largest, q.Off[j]+float64(q.Unit[j]*(q.Grid*float64(q.Total))))
	}
	if math.IsInf(largest*float64(q.M), 1) {
		return nil, ErrOverflow
	}
	switch {
	case q.Rounding == 0:
	case q.PerPair:
		if q.Most < largest*clipFrom {
			largest = q.Most
		}
		q.Rounding = q.roundingOf(q.N, 1, largest)
	default:
		q.Rounding = q.roundingBefore(min(largest, q.Most))
	}
	return &q, nil
}

// roundingOf bounds the error of when a client with so many sites finishes, no later than latest: each
// size is off by at most one grid, and a sum of n sizes by n roundings of at most 2⁻⁵³ of the time.
func (p *Instance) roundingOf(sites int, unit, latest float64) float64 {
	return float64(sites+4) * (float64(unit*p.Grid) + float64(0x1p-52*latest))
}

// roundingBefore returns Rounding of identical and uniform clients, in plans that end before
// Most. A client so slow that it does few sites by then has the errors of these few only.
func (p *Instance) roundingBefore(latest float64) float64 {
	sum := slices.Clone(p.size) // sum[k] becomes the sum of the k+1 smallest sizes
	slices.Sort(sum)
	for k := 1; k < p.N; k++ {
		sum[k] += sum[k-1]
	}
	rounding := 0.0
	for j := range p.M {
		if j > 0 && p.Unit[j] == p.Unit[j-1] && p.Off[j] == p.Off[j-1] {
			continue
		}
		most := sort.Search(p.N, func(k int) bool { return p.Off[j]+float64(p.Unit[j]*sum[k]) > p.Most })
		if most > 0 {
			rounding = max(rounding, p.roundingOf(most, p.Unit[j], latest))
		}
	}
	return rounding
}

// raise makes Most at least so much, on a new grid if durations were clipped.
func (p *Instance) raise(most float64) error {
	if most <= p.Most {
		return nil
	}
	p.Most = most
	if !p.clipped {
		return nil
	}
	p.clipped = false
	return p.scale(p.size)
}

// Tells reports whether a plan that has this makespan here has no duration that counts as Most, so that
// a plan with a smaller one is better.
func (p *Instance) Tells(makespan float64) bool { return !p.clipped || makespan < p.Most }

// Reaching returns the instance if it tells plans of this makespan apart, and otherwise one with a
// coarser grid that does. That one has no Rounding of its own.
func (p *Instance) Reaching(makespan float64) *Instance {
	if p.Tells(makespan) {
		return p
	}
	q := *p
	if err := q.raise(above(makespan)); err != nil {
		return p // never: New found that the sizes have a sum
	}
	return &q
}

// At returns the amount of a site on a client.
func (p *Instance) At(site, client int) int64 {
	switch {
	case !p.PerPair:
		return p.Amount[site]
	case p.Amount == nil:
		return p.amount(p.size[site*p.M+client])
	}
	return p.Amount[site*p.M+client]
}

// Durations returns how long a site takes each of unrelated clients, before it is rounded to
// the grid.
func (p *Instance) Durations(z int) []float64 { return p.size[z*p.M : (z+1)*p.M] }

// Shortest returns for each site the smallest of its amounts.
func (p *Instance) Shortest() []int64 {
	if !p.PerPair {
		return p.Amount
	}
	key := make([]int64, p.N)
	for z := range key {
		key[z] = p.Least(z)
	}
	return key
}

// Least returns the smallest of a site's amounts.
func (p *Instance) Least(z int) int64 {
	if !p.PerPair {
		return p.Amount[z]
	}
	return p.amount(slices.Min(p.Durations(z)))
}

// Finish returns when a client with this sum of amounts finishes. It grows with the sum,
// rounding included, so that the solvers can compare its values exactly.
func (p *Instance) Finish(client int, sum int64) float64 {
	if sum == 0 {
		return 0
	}
	if sum >= Forbidden {
		return math.Inf(1)
	}
	return p.Off[client] + float64(p.Unit[client]*(p.Grid*float64(sum)))
}

// Capacity returns the largest sum of amounts with which a client finishes at or before t.
func (p *Instance) Capacity(client int, t float64) int64 {
	x := (t - p.Off[client]) / (p.Unit[client] * p.Grid)
	if !(x > 0) {
		x = 0
	}
	s := p.Total
	if x < float64(p.Total) {
		s = int64(x)
	}
	// The division is off by one at most, unless the start time dwarfs the sizes.
	for _, guess := range [3]int64{s, s - 1, s + 1} {
		if guess >= 0 && guess <= p.Total && p.Finish(client, guess) <= t &&
			(guess == p.Total || p.Finish(client, guess+1) > t) {
			return guess
		}
	}
	low, high := int64(0), p.Total // invariant: low ends by t, all above high do not
	for low < high {
		mid := low + (high-low+1)/2
		if p.Finish(client, mid) <= t {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// Before returns the largest number below t: Capacity(j, Before(t)) is what client j may do
// to finish earlier than t.
func Before(t float64) float64 { return math.Nextafter(t, math.Inf(-1)) }

// Makespan returns when the last client finishes.
func (p *Instance) Makespan(plan []int) float64 {
	load := make([]int64, p.M)
	for z, j := range plan {
		load[j] += p.At(z, j)
	}
	last := 0.0
	for j, sum := range load {
		last = max(last, p.Finish(j, sum))
	}
	return last
}

// Earliest returns the client that finishes site z first if it comes after these loads.
func (p *Instance) Earliest(z int, load []int64) int {
	best, soonest := 0, math.Inf(1)
	if !p.PerPair { // the same without the calls: this is all that LPT does
		a := p.Amount[z]
		for j, sum := range load {
			if t := p.Off[j] + float64(p.Unit[j]*(p.Grid*float64(sum+a))); t < soonest {
				best, soonest = j, t
			}
		}
		return best
	}
	for j := range load {
		if t := p.Finish(j, load[j]+p.At(z, j)); t < soonest {
			best, soonest = j, t
		}
	}
	return best
}

// Descending returns the indices of values in descending order of value, equal ones in
// ascending order of index.
func Descending[T cmp.Ordered](values []T) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}
