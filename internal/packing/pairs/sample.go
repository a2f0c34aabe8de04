package pairs

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/internal/portable"
)

// spread is a distribution over the patterns of a load in the window: the one of the greatest entropy
// under which the bins of a packing hold every item once in the mean. A pattern has the probability
//
//	Π_{i∈p} t_i / Σ over all patterns
//
// and tables over items and loads give the sum, the use of each item, and patterns drawn at random.
// Patterns that no mixture of packings in fractions uses are rare in it. Hence it shows the patterns
// that matter without a linear programme.
type spread struct {
	w      []int64
	bins   float64
	window int
	size   int         // capacity + 1
	t      []float64   // factor of each item
	use    []float64   // of each item, in all bins; 1 at the optimum
	table  [][]float64 // table[k][r]: the sum over sets of the first k items of load r; rows are made by fill
	above  []float64
}

// The constants of the search for the factors are those with which it converged on instances of 201
// to 801 items without waste: the plain steps go most of the way, and Newton's method the rest in 8 to
// 11 steps. More draws make its steps no better.
const (
	firstFactor  = .01 // small, so that patterns of few items weigh most at first
	plainSteps   = 6
	newtonSteps  = 15
	newtonRidge  = 1e-3 // added to the diagonal: what no drawn pattern holds moves little
	newtonReach  = 2    // the most change of a logarithm in a step
	newtonRounds = 200  // the most steps of conjugate gradients
	newtonEnough = 1e-5 // their residual, squared, of the first

	drawsPerItem = 20
	// What is drawn in the last poolSteps steps is the pool, in the last three three times as much.
	poolSteps, poolFactor = 7, 3
	// poolUse is the most by which the use of an item may be off 1 at the end.
	poolUse = .5
)

func newSpread(w []int64, capacity, window int64, bins int) *spread {
	n, size := len(w), int(capacity)+1
	return &spread{w: w, bins: float64(bins), window: int(window), size: size, t: slices.Repeat([]float64{firstFactor}, n),
		use: make([]float64, n), table: make([][]float64, n+1), above: make([]float64, size)}
}

// fill computes the tables and the use of each item. It reports whether it came to an end with numbers
// that are finite. O(items·capacity).
func (d *spread) fill(ctx context.Context) bool {
	n := len(d.w)
	if d.table[0] == nil {
		d.table[0] = make([]float64, d.size)
		d.table[0][0] = 1
	}
	for i, w := range d.w {
		if i%16 == 0 && ctx.Err() != nil {
			return false
		}
		if d.table[i+1] == nil { // made here, as a large table takes long to clear
			d.table[i+1] = make([]float64, d.size)
		}
		below, row := d.table[i], d.table[i+1]
		copy(row, below)
		up, t := row[w:], d.t[i]
		for r, x := range below[:len(up)] {
			up[r] += float64(x * t)
		}
	}
	total := 0.0
	clear(d.above)
	for r := d.size - 1 - d.window; r < d.size; r++ {
		d.above[r] = 1
		total += d.table[n][r]
	}
	if !(total > 0 && total < math.MaxFloat64) {
		return false
	}
	// above[r] is the sum over sets of the items from i on that bring a load r into the window.
	for i := n - 1; i >= 0; i-- {
		if i%16 == 0 && ctx.Err() != nil {
			return false
		}
		t, up := d.t[i], d.above[d.w[i]:]
		sum := 0.0
		for r, x := range d.table[i][:len(up)] {
			sum += float64(x * up[r])
			d.above[r] += float64(up[r] * t)
		}
		d.use[i] = sum * t / total * d.bins
	}
	return true
}

// draw draws a pattern, items ascending; nil if rounding left nothing to draw from.
func (d *spread) draw(rng *rand.Rand) []int32 {
	n, r := len(d.w), d.size-1
	if last := d.table[n]; d.window > 0 {
		sum := 0.0
		for _, x := range last[r-d.window:] {
			sum += x
		}
		for x := rng.Float64() * sum; r > d.size-1-d.window && x >= last[r]; r-- {
			x -= last[r]
		}
	}
	var p []int32
	for i := n; r > 0; {
		// The last item of the rest is the first one with which the sum exceeds x.
		x := rng.Float64() * d.table[i][r]
		if i = sort.Search(i, func(k int) bool { return d.table[k][r] > x }) - 1; i < 0 {
			return nil
		}
		p = append(p, int32(i))
		r -= int(d.w[i])
	}
	slices.Reverse(p)
	return p
}

// plain moves each factor half the way to a use of 1, by its logarithm.
func (d *spread) plain() {
	for i, u := range d.use {
		d.t[i] /= math.Sqrt(max(u, 1e-6))
	}
}

// newton moves the factors by a step of Newton's method, with the second moments of the patterns
// drawn. It solves for the step by conjugate gradients.
func (d *spread) newton(ctx context.Context, drawn [][]int32) {
	n := len(d.w)
	weight := d.bins / float64(len(drawn))
	diag := slices.Repeat([]float64{newtonRidge}, n)
	for _, p := range drawn {
		for _, i := range p {
			diag[i] += weight
		}
	}
	step, rest, dir, image := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	energy := 0.0
	for i, u := range d.use {
		rest[i] = 1 - u
		dir[i] = rest[i] / diag[i]
		energy += float64(rest[i] * dir[i])
	}
	first := energy
	for range newtonRounds {
		if ctx.Err() != nil || energy <= newtonEnough*first {
			break
		}
		for i, x := range dir {
			image[i] = newtonRidge * x
		}
		for _, p := range drawn {
			v := float64(weight * sum(p, dir))
			for _, i := range p {
				image[i] += v
			}
		}
		curve := 0.0
		for i, x := range dir {
			curve += float64(x * image[i])
		}
		next := 0.0
		for i := range rest {
			step[i] += float64(energy / curve * dir[i])
			rest[i] -= float64(energy / curve * image[i])
			next += rest[i] * rest[i] / diag[i]
		}
		for i := range dir {
			dir[i] = rest[i]/diag[i] + float64(next/energy*dir[i])
		}
		energy = next
	}
	far := float64(newtonReach)
	for _, p := range drawn {
		far = max(far, math.Abs(sum(p, step)))
	}
	for _, x := range step {
		far = max(far, math.Abs(x))
	}
	for i, x := range step {
		d.t[i] *= portable.Exp(x * newtonReach / far)
	}
}

// sum returns the sum of what the items of a pattern have.
func sum(p []int32, of []float64) float64 {
	s := 0.0
	for _, i := range p {
		s += of[i]
	}
	return s
}

// pool returns patterns drawn from the distribution, each once; nil if it is not found, as where there
// is no packing in fractions.
func (d *spread) pool(ctx context.Context, rng *rand.Rand) [][]int32 {
	for range plainSteps {
		if !d.fill(ctx) {
			return nil
		}
		d.plain()
	}
	var pool [][]int32
	seen := make(map[string]bool)
	for step := range newtonSteps {
		if !d.fill(ctx) {
			return nil
		}
		draws := drawsPerItem * len(d.w)
		if step >= newtonSteps-3 {
			draws *= poolFactor
		}
		drawn := make([][]int32, 0, draws)
		for k := range draws {
			if k%1024 == 0 && ctx.Err() != nil {
				return nil
			}
			if p := d.draw(rng); p != nil {
				drawn = append(drawn, p)
			}
		}
		for _, p := range drawn {
			if key := keyOf(p); step >= newtonSteps-poolSteps && !seen[key] {
				seen[key] = true
				pool = append(pool, p)
			}
		}
		if step < newtonSteps-1 {
			d.newton(ctx, drawn)
		}
	}
	for _, u := range d.use {
		if math.Abs(u-1) > poolUse {
			return nil
		}
	}
	return pool
}
