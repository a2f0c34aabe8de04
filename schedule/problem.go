package schedule

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/exp/constraints"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// Number is any integer or floating-point type; time.Duration is one.
type Number interface {
	constraints.Integer | constraints.Float
}

// A Problem is a set of sites to be scanned and a set of clients to scan them. Make one with
// [NewIdentical], [NewUniform] or [NewUnrelated], and give its clients start times with
// [Problem.WithStarts]. Sites and clients are numbered from 0. A Problem never changes, so
// goroutines may share it.
//
// Client j finishes its batch U at
//
//	T_j(U) = start_j + setup_j + Σ_{z∈U} duration(z, j),
//
// and at 0 if the batch is empty. The makespan is the largest T_j. All algorithms of this package
// minimise it.
//
// # Guarantees
//
// The algorithms work on integers. Integers and dyadic fractions are represented exactly if their
// sum has at most 52 bits. Other durations are rounded to 2⁻⁵² of their sum. On unrelated clients,
// a duration that no good plan uses counts little in that sum. So a huge number for a client that
// should not do a site costs the other durations no precision.
//
// Every lower bound accounts for the effect of rounding on a makespan. If that effect is too large,
// no plan is called [Optimal]: for instance if a site is below 2⁻⁵² of the sum and a client is so
// slow that the site matters there.
type Problem struct {
	*kind
	start, setup []float64
	grid         *instance.Instance
}

// kind is the part of a problem that WithStarts does not change.
type kind struct {
	n, m      int
	unrelated bool
	size      []float64 // n sizes, or n·m durations, site by site, if unrelated
	unit      []float64 // time per unit of size; 1 on identical and unrelated clients
}

// mostClients bounds the memory of a problem of identical clients.
const mostClients = 1e8

// NewIdentical returns the problem of sites with the given durations on m identical clients
// (P||Cmax). Durations are positive, and m is at most 10^8.
func NewIdentical[T Number](durations []T, m int) (*Problem, error) {
	if m < 1 || m > mostClients {
		return nil, fmt.Errorf("%w: %d clients, not 1 to %d", ErrProblem, m, int(mostClients))
	}
	return newProblem(false, floats(durations), slices.Repeat([]float64{1}, m))
}

// NewUniform returns the problem of sites with the given sizes on clients of different speed, one
// for each of unitTimes (Q||Cmax). A unit time is the time that the client takes for one unit of
// size: for example, its time for a reference site divided by the size of that site.
func NewUniform[T, U Number](sizes []T, unitTimes []U) (*Problem, error) {
	return newProblem(false, floats(sizes), floats(unitTimes))
}

// NewUnrelated returns the problem in which site z takes durations[z][j] on client j
// (R||Cmax); +Inf means that client j cannot do site z.
func NewUnrelated[T Number](durations [][]T) (*Problem, error) {
	if len(durations) == 0 {
		return nil, fmt.Errorf("%w: no sites", ErrProblem)
	}
	m := len(durations[0])
	if m == 0 {
		return nil, fmt.Errorf("%w: no clients", ErrProblem)
	}
	all := make([]float64, 0, len(durations)*m)
	for z, row := range durations {
		if len(row) != m {
			return nil, fmt.Errorf("%w: site %d has %d durations, want %d", ErrProblem, z, len(row), m)
		}
		for _, d := range row {
			all = append(all, float64(d))
		}
	}
	return newProblem(true, all, slices.Repeat([]float64{1}, m))
}

func floats[T Number](v []T) []float64 {
	f := make([]float64, len(v))
	for i, x := range v {
		f[i] = float64(x)
	}
	return f
}

func newProblem(unrelated bool, size, unit []float64) (*Problem, error) {
	p := &Problem{kind: &kind{n: len(size), m: len(unit), unrelated: unrelated, size: size, unit: unit}}
	if p.m == 0 {
		return nil, fmt.Errorf("%w: no clients", ErrProblem)
	}
	if unrelated {
		p.n /= p.m
	}
	if p.n == 0 {
		return nil, fmt.Errorf("%w: no sites", ErrProblem)
	}
	for j, u := range unit {
		if !positive(u) {
			return nil, fmt.Errorf("%w: client %d: time per unit %v%s", ErrDuration, j, u, tooSmall(u))
		}
	}
	for k, d := range size {
		if !positive(d) && !(unrelated && math.IsInf(d, 1)) {
			if unrelated {
				return nil, fmt.Errorf("%w: site %d on client %d: %v%s", ErrDuration, k/p.m, k%p.m, d, tooSmall(d))
			}
			return nil, fmt.Errorf("%w: site %d: %v%s", ErrDuration, k, d, tooSmall(d))
		}
	}
	if u, d := slices.Min(unit), slices.Min(size); u*d < leastDuration {
		return nil, fmt.Errorf("%w: a size of %v at %v per unit%s", ErrDuration, d, u, tooSmall(u*d))
	}
	for z := 0; unrelated && z < p.n; z++ {
		if math.IsInf(slices.Min(size[z*p.m:(z+1)*p.m]), 1) {
			return nil, fmt.Errorf("%w: no client can do site %d", ErrDuration, z)
		}
	}
	p.start, p.setup = make([]float64, p.m), make([]float64, p.m)
	var err error
	if p.grid, err = instance.New(unrelated, size, unit); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDuration, err)
	}
	return p, nil
}

// leastDuration is the least duration or size. With it, times on a grid of 2⁻⁵² of a duration, and
// their products with a time per unit, are normal numbers. Subnormal numbers, below 2⁻¹⁰²², would
// lose bits.
const leastDuration = 0x1p-900

// tooSmall returns the reason why a positive number is refused if it is too small, and ""
// otherwise.
func tooSmall(x float64) string {
	if x > 0 && x < leastDuration {
		return fmt.Sprintf(", below the least time of %.2g: choose a smaller unit of time", leastDuration)
	}
	return ""
}

func positive(x float64) bool { return x >= leastDuration && !math.IsInf(x, 1) }

// made returns p. It panics if p is a zero value.
func (p *Problem) made() *Problem {
	if p.kind == nil {
		panic("schedule: a Problem that is a zero value: make it with NewIdentical, NewUniform or NewUnrelated")
	}
	return p
}

// WithStarts returns the same problem with start times and setups for the clients. A client is free
// at its start time, and pays its setup once for a batch that is not empty. Nil stands for zeros.
func (p *Problem) WithStarts(start, setup []float64) (*Problem, error) {
	q := &Problem{kind: p.made().kind}
	var err error
	if q.start, err = p.times("start", start); err != nil {
		return nil, err
	}
	if q.setup, err = p.times("setup", setup); err != nil {
		return nil, err
	}
	off := slices.Clone(q.start)
	for j, v := range q.setup {
		off[j] += v
	}
	if q.grid, err = p.grid.WithOff(off); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDuration, err)
	}
	return q, nil
}

// times returns a copy of times of the clients, or zeros for nil.
func (p *Problem) times(name string, v []float64) ([]float64, error) {
	if v == nil {
		return make([]float64, p.m), nil
	}
	if len(v) != p.m {
		return nil, fmt.Errorf("%w: %d %ss for %d clients", ErrProblem, len(v), name, p.m)
	}
	for j, x := range v {
		if !(x >= 0) || math.IsInf(x, 1) {
			return nil, fmt.Errorf("%w: client %d: %s %v", ErrDuration, j, name, x)
		}
	}
	return slices.Clone(v), nil
}

// Sites returns the number of sites.
func (p *Problem) Sites() int { return p.made().n }

// Clients returns the number of clients.
func (p *Problem) Clients() int { return p.made().m }

// Duration returns the time that a site takes on a client.
func (p *Problem) Duration(site, client int) float64 {
	if p.made().unrelated {
		return p.size[site*p.m+client]
	}
	return p.unit[client] * p.size[site]
}
