package schedule

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"golang.org/x/exp/constraints"
)

// Number is any integer or floating-point type; time.Duration is one.
type Number interface {
	constraints.Integer | constraints.Float
}

// Kind says how the clients of a problem differ.
type Kind int

const (
	Identical Kind = iota // P||Cmax: a site takes the same time on every client
	Uniform               // Q||Cmax: each client has its time per unit of size
	Unrelated             // R||Cmax: each pair of site and client has its duration
)

func (k Kind) String() string { return name("Kind", int(k), "P", "Q", "R") }

// name returns the name of a constant of a type, or Type(k) for a number that is
// none.
func name(kind string, k int, names ...string) string {
	if k < 0 || k >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, k)
	}
	return names[k]
}

// A Problem is a set of sites to be scanned and of clients to scan them.
//
// Client j finishes its batch U at
//
//	T_j(U) = start_j + setup_j + Σ_{z∈U} duration(z, j),
//
// and a client with an empty batch does not count. The makespan is the largest
// T_j; all solvers minimise it. A Problem is never changed after it was made.
//
// The solvers work on integers: sizes are multiples of one grid, a power of two
// (times a common divisor) chosen so that integers and dyadic fractions are
// represented exactly wherever their sum has at most 52 bits. Other durations
// are rounded to a grid of 2⁻⁵² of the sum; [Problem.Rounding] bounds what
// that does to any makespan, and every lower bound accounts for it.
type Problem struct {
	kind         Kind
	n, m         int
	size         []float64 // n sizes (P, Q), or n·m durations, site-major (R)
	unit         []float64 // time per unit of size; 1 for P and R
	start, setup []float64
	off          []float64 // start + setup
	grid         float64
	amount       []int64 // size in units of grid
	total        int64   // no batch has more than this
	rounding     float64
}

// NewIdentical returns the problem of sites with the given durations on m
// identical clients (P||Cmax). Durations are positive.
func NewIdentical[T Number](durations []T, m int) (*Problem, error) {
	if m < 1 {
		return nil, fmt.Errorf("%w: %d", ErrNoClients, m)
	}
	unit := make([]float64, m)
	for j := range unit {
		unit[j] = 1
	}
	return newProblem(Identical, floats(durations), unit)
}

// NewUniform returns the problem of sites with the given sizes on one client
// per unitTimes, which is the time that the client takes for one unit of size
// (Q||Cmax). A client's performance is the reciprocal of its unit time; the
// times that the clients need for a reference site can be given as they are,
// divided by that site's size.
func NewUniform[T, U Number](sizes []T, unitTimes []U) (*Problem, error) {
	return newProblem(Uniform, floats(sizes), floats(unitTimes))
}

// NewUnrelated returns the problem in which site z takes durations[z][j] on
// client j (R||Cmax).
func NewUnrelated[T Number](durations [][]T) (*Problem, error) {
	if len(durations) == 0 {
		return nil, ErrNoSites
	}
	m := len(durations[0])
	if m == 0 {
		return nil, ErrNoClients
	}
	all := make([]float64, 0, len(durations)*m)
	for z, row := range durations {
		if len(row) != m {
			return nil, fmt.Errorf("%w: site %d has %d durations, want %d", ErrShape, z, len(row), m)
		}
		for _, d := range row {
			all = append(all, float64(d))
		}
	}
	unit := make([]float64, m)
	for j := range unit {
		unit[j] = 1
	}
	return newProblem(Unrelated, all, unit)
}

func floats[T Number](v []T) []float64 {
	f := make([]float64, len(v))
	for i, x := range v {
		f[i] = float64(x)
	}
	return f
}

func newProblem(kind Kind, size, unit []float64) (*Problem, error) {
	p := &Problem{kind: kind, m: len(unit), size: size, unit: unit, n: len(size)}
	if p.m == 0 {
		return nil, ErrNoClients
	}
	if kind == Unrelated {
		p.n /= p.m
	}
	if p.n == 0 {
		return nil, ErrNoSites
	}
	for j, u := range unit {
		if !positive(u) {
			return nil, fmt.Errorf("%w: client %d: time per unit %v", ErrDuration, j, u)
		}
	}
	for k, d := range size {
		if !positive(d) {
			if kind == Unrelated {
				return nil, fmt.Errorf("%w: site %d on client %d: %v", ErrDuration, k/p.m, k%p.m, d)
			}
			return nil, fmt.Errorf("%w: site %d: %v", ErrDuration, k, d)
		}
	}
	if u, d := slices.Min(unit), slices.Min(size); u*d < leastDuration {
		return nil, fmt.Errorf("%w: a size of %v at %v per unit", ErrDuration, d, u)
	}
	p.start, p.setup, p.off = make([]float64, p.m), make([]float64, p.m), make([]float64, p.m)
	if err := p.scale(); err != nil {
		return nil, err
	}
	return p, nil
}

// leastDuration is the least duration or size: the grid of subnormal numbers would underflow.
const leastDuration = 0x1p-900

func positive(x float64) bool { return x >= leastDuration && !math.IsInf(x, 1) }

// WithStarts returns the same problem with clients that are free at the given
// start times and pay setup once for a batch that is not empty; nil stands for
// zeros.
func (p *Problem) WithStarts(start, setup []float64) (*Problem, error) {
	q := *p
	q.start, q.setup, q.off = make([]float64, p.m), make([]float64, p.m), make([]float64, p.m)
	for _, s := range []struct {
		name     string
		from, to []float64
	}{{"start", start, q.start}, {"setup", setup, q.setup}} {
		if s.from == nil {
			continue
		}
		if len(s.from) != p.m {
			return nil, fmt.Errorf("%w: %d %ss for %d clients", ErrShape, len(s.from), s.name, p.m)
		}
		for j, v := range s.from {
			if !(v >= 0) || math.IsInf(v, 1) {
				return nil, fmt.Errorf("%w: client %d: %s %v", ErrDuration, j, s.name, v)
			}
			s.to[j] = v
		}
	}
	for j := range q.off {
		q.off[j] = q.start[j] + q.setup[j]
	}
	if err := q.bound(); err != nil {
		return nil, err
	}
	return &q, nil
}

// scale chooses the grid and computes the amounts.
func (p *Problem) scale() error {
	sum, low := 0.0, math.MaxInt // low: exponent of the lowest bit set in any size
	for z := range p.n {
		largest := 0.0
		for _, d := range p.row(z) {
			largest = max(largest, d)
			frac, exp := math.Frexp(d)
			low = min(low, exp-53+bits.TrailingZeros64(uint64(frac*(1<<53))))
		}
		sum += largest
	}
	if math.IsInf(sum, 1) {
		return ErrOverflow
	}
	_, exp := math.Frexp(sum * (1 + 1e-9)) // sum < 2^exp, whatever the summation lost
	coarse := exp - 52
	p.grid = math.Ldexp(1, max(low, coarse))
	p.amount = make([]int64, len(p.size))
	var gcd uint64
	for k, d := range p.size {
		p.amount[k] = max(1, int64(math.Round(d/p.grid)))
		gcd = divisor(gcd, uint64(p.amount[k]))
	}
	exact := low >= coarse
	if exact && gcd > 1 {
		p.grid *= float64(gcd)
		for k := range p.amount {
			p.amount[k] /= int64(gcd)
		}
	}
	p.total = 0
	for z := range p.n {
		largest := int64(0)
		for _, a := range p.amounts(z) {
			largest = max(largest, a)
		}
		p.total += largest
	}
	if !exact {
		p.rounding = 1 // bound works it out
	}
	return p.bound()
}

// bound checks that the largest time is finite and bounds the rounding.
func (p *Problem) bound() error {
	largest, unit := 0.0, 0.0
	for j := range p.m {
		largest = max(largest, p.off[j]+p.unit[j]*(p.grid*float64(p.total)))
		unit = max(unit, p.unit[j])
	}
	if math.IsInf(largest*float64(p.m), 1) {
		return ErrOverflow
	}
	if p.rounding > 0 {
		// Each size is off by at most one grid, and a sum of n sizes by n
		// roundings of at most 2⁻⁵³ of the largest time.
		p.rounding = float64(p.n+4) * (unit*p.grid + 0x1p-52*largest)
	}
	return nil
}

func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (p *Problem) row(z int) []float64 {
	if p.kind == Unrelated {
		return p.size[z*p.m : (z+1)*p.m]
	}
	return p.size[z : z+1]
}

func (p *Problem) amounts(z int) []int64 {
	if p.kind == Unrelated {
		return p.amount[z*p.m : (z+1)*p.m]
	}
	return p.amount[z : z+1]
}

// Kind returns how the clients differ.
func (p *Problem) Kind() Kind { return p.kind }

// Sites returns the number of sites.
func (p *Problem) Sites() int { return p.n }

// Clients returns the number of clients.
func (p *Problem) Clients() int { return p.m }

// Duration returns the time that site takes on client.
func (p *Problem) Duration(site, client int) float64 {
	if p.kind == Unrelated {
		return p.size[site*p.m+client]
	}
	return p.unit[client] * p.size[site]
}

// Start returns when the client is free, and Setup what a batch costs it
// before the first site.
func (p *Problem) Start(client int) float64 { return p.start[client] }

// Setup returns the fixed cost of a batch on the client.
func (p *Problem) Setup(client int) float64 { return p.setup[client] }

// Rounding bounds how much any makespan can differ between the durations and
// the grid on which the solvers work; 0 if all durations lie on the grid.
func (p *Problem) Rounding() float64 { return p.rounding }

// at returns the amount of a site on a client.
func (p *Problem) at(site, client int) int64 {
	if p.kind == Unrelated {
		return p.amount[site*p.m+client]
	}
	return p.amount[site]
}

// finish returns when a client with this sum of amounts finishes. It grows with
// the sum, rounding included, so that the solvers can compare its values
// exactly.
func (p *Problem) finish(client int, sum int64) float64 {
	if sum == 0 {
		return 0
	}
	return p.off[client] + float64(p.unit[client]*(p.grid*float64(sum)))
}

// capacity returns the largest sum of amounts with which a client finishes at
// or before t.
func (p *Problem) capacity(client int, t float64) int64 {
	x := (t - p.off[client]) / (p.unit[client] * p.grid)
	if !(x > 0) {
		x = 0
	}
	s := p.total
	if x < float64(p.total) {
		s = int64(x)
	}
	// The division is off by one at most, unless the start time dwarfs the sizes.
	for _, guess := range [3]int64{s, s - 1, s + 1} {
		if guess >= 0 && guess <= p.total && p.finish(client, guess) <= t &&
			(guess == p.total || p.finish(client, guess+1) > t) {
			return guess
		}
	}
	low, high := int64(0), p.total // invariant: low ends by t, all above high do not
	for low < high {
		mid := low + (high-low+1)/2
		if p.finish(client, mid) <= t {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// before returns the largest number below t, so that capacity(j, before(t)) is
// what a client may do to finish earlier than t.
func before(t float64) float64 { return math.Nextafter(t, math.Inf(-1)) }
