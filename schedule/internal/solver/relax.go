package solver

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/linalg"
	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A relaxation is the linear program
//
//	min C  with  Σ_j x_zj = 1 for each site z,
//	             off_j + Σ_z d_zj·x_zj + slack_j = C for each client j,
//	             x ≥ 0, slack ≥ 0
//
// solved by the primal simplex method with one key variable per site (generalised upper
// bounds, Dantzig and Van Slyke 1967): the basis that is factored has one row per client
// only. Its dual prices λ give the Lagrangian bound Σ_j λ_j·off_j + Σ_z min_j λ_j·d_zj,
// which holds whatever they are worth.
type relaxation struct {
	p      *instance.Instance
	n, m   int
	time   []float64 // d_zj, site-major
	off    []float64 // at most the lower bound known: see solve
	fixed  []int32   // client that a site is bound to, or −1
	cutoff float64   // a site that a client cannot finish by then is not for it
	key    []int32   // the key variable's client of each site
	basis  []column  // the m other basic variables
	value  []float64 // their values
	matrix []float64 // m×m, the basis without the key variables, inverted in place
	lambda []float64
	column []float64
	cursor int // where pricing goes on
	work   int64
	watch  *work.Watch
}

// A column is the makespan C, the slack of a client, or a pair.
type column struct {
	site   int32 // the site of a pair, or one of:
	client int32
}

const (
	// pivotWork limits the work on one relaxation, in multiplications. It ends a simplex
	// method that cycles or creeps; the prices so far give a bound all the same.
	pivotWork = 1 << 31
	// pivotsPerRow and pivotsAtLeast limit the pivots of one relaxation, to the same end.
	pivotsPerRow, pivotsAtLeast = 20, 200
	// pivotSteps is what a pivot costs for each pair of clients, beside the factors, in steps of a
	// watch.
	pivotSteps = 4
	// leastPivot is the pivot below which a basis counts as singular: smaller ones have
	// reciprocals that overflow.
	leastPivot = 1e-300
	// leastCost is the reduced cost, relative to the duration of the site, from which on a
	// pair may enter the basis; leastRate is the rate of change from which on a variable
	// may leave; leastPart is the share of a site that counts as none. All are far above
	// the 1e-15 that one operation loses by rounding and far below what matters in a bound
	// of [Config.Tolerance].
	leastCost, leastRate, leastPart = 1e-11, 1e-11, 1e-9
	// pricingBlock is the number of sites of which the best pair enters the basis.
	pricingBlock = 64
)

const (
	makespanColumn = -1
	slackColumn    = -2
)

func newRelaxation(p *instance.Instance, watch *work.Watch) *relaxation {
	r := &relaxation{p: p, n: p.N, m: p.M, cutoff: math.Inf(1), watch: watch}
	r.time = make([]float64, p.N*p.M)
	for z := range p.N {
		for j := range p.M {
			a := p.At(z, j)
			if r.time[z*p.M+j] = p.Unit[j] * (p.Grid * float64(a)); a == instance.Forbidden {
				r.time[z*p.M+j] = math.Inf(1)
			}
		}
	}
	r.off, r.lambda = make([]float64, p.M), make([]float64, p.M)
	r.fixed, r.key = make([]int32, p.N), make([]int32, p.N)
	for z := range r.fixed {
		r.fixed[z] = -1
	}
	r.basis, r.value, r.column = make([]column, p.M), make([]float64, p.M), make([]float64, p.M)
	r.matrix = make([]float64, p.M*p.M)
	return r
}

// allowed reports whether site z may go to client j.
func (r *relaxation) allowed(z, j int) bool {
	t := r.p.Off[j] + r.time[z*r.m+j]
	return (r.fixed[z] < 0 || int(r.fixed[z]) == j) && t <= r.cutoff && t <= math.MaxFloat64
}

// relaxed is the outcome: the bound, the prices it holds for and, for each site that is
// divided, how.
type relaxed struct {
	bound float64
	split []int32 // sites divided between clients
}

// root solves the relaxation without any site fixed, from the plan of the earliest
// completion of the sites in this order. If the watch ends before, it says nothing.
func (r *relaxation) root(order []int, lower, cutoff float64) relaxed {
	plan := earliestCompletion(r.p, order, r.watch)
	if plan == nil {
		return relaxed{}
	}
	for z, j := range plan {
		r.key[z] = int32(j)
	}
	return r.solve(lower, cutoff)
}

// solve solves the relaxation from the key variables as they are, for plans whose makespan
// is at least lower and at most cutoff. An infinite bound says that there are none.
//
// A client with an empty batch does not count, whatever its start time: for it C ≥ off_j
// need not hold. With min(off_j, lower) in place of off_j it does.
func (r *relaxation) solve(lower, cutoff float64) relaxed {
	r.cutoff = cutoff
	for j := range r.off {
		r.off[j] = min(r.p.Off[j], lower)
	}
	if !r.allowKeys() {
		return relaxed{bound: math.Inf(1)}
	}
	r.crash()
	// Whatever ends the loop early, the prices so far give a bound.
	start := r.work
	for pivots := 0; pivots < pivotsPerRow*(r.n+r.m)+pivotsAtLeast && r.work-start < pivotWork; pivots++ {
		if !r.factor() || r.watch.Spend(pivotSteps*r.m*r.m) {
			break
		}
		z, j := r.price()
		if j < 0 {
			break
		}
		if !r.pivot(z, j) {
			break
		}
	}
	out := relaxed{bound: r.bound()}
	for b, c := range r.basis {
		if c.site >= 0 && r.value[b] > leastPart && r.value[b] < 1-leastPart && !slices.Contains(out.split, c.site) {
			out.split = append(out.split, c.site)
		}
	}
	return out
}

// allowKeys replaces key variables that are not allowed by the shortest that are; false if
// some site has none.
func (r *relaxation) allowKeys() bool {
	for z := range r.key {
		if r.allowed(z, int(r.key[z])) {
			continue
		}
		best := -1
		for j := range r.m {
			if r.allowed(z, j) && (best < 0 || r.time[z*r.m+j] < r.time[z*r.m+best]) {
				best = j
			}
		}
		if best < 0 {
			return false
		}
		r.key[z] = int32(best)
	}
	return true
}

// crash starts from every site on its key client: C is basic for the client that finishes
// last, and the slack for the others.
func (r *relaxation) crash() {
	load := slices.Clone(r.off)
	for z, j := range r.key {
		load[j] += r.time[z*r.m+int(j)]
	}
	last := 0
	for j := range load {
		if load[j] > load[last] {
			last = j
		}
		r.basis[j] = column{slackColumn, int32(j)}
	}
	r.basis[last] = column{makespanColumn, int32(last)}
}

// factor inverts the basis and computes the values and prices; false if the basis is
// singular in floating point.
func (r *relaxation) factor() bool {
	m := r.m
	clear(r.matrix)
	for b, c := range r.basis {
		switch c.site {
		case makespanColumn:
			for i := range m {
				r.matrix[i*m+b] = -1
			}
		case slackColumn:
			r.matrix[int(c.client)*m+b] = 1
		default:
			row := r.time[int(c.site)*m:]
			k := r.key[c.site]
			r.matrix[int(c.client)*m+b] = row[c.client]
			r.matrix[int(k)*m+b] = -row[k]
		}
	}
	if !linalg.Invert(r.matrix, m, leastPivot, r.watch.Spend) {
		return false
	}
	r.work += int64(m * m * m / 4)
	for i := range m {
		r.column[i] = -r.off[i]
	}
	for z, k := range r.key {
		r.column[k] -= r.time[z*m+int(k)]
	}
	for b, c := range r.basis {
		v := 0.0
		for i := range m {
			v += float64(r.matrix[b*m+i] * r.column[i])
		}
		r.value[b] = v
		if c.site == makespanColumn {
			for i := range m {
				r.lambda[i] = -r.matrix[b*m+i]
			}
		}
	}
	return true
}

// price returns a variable whose reduced cost is negative: a pair, or with site −1 the
// slack of a client; client −1 if there is none. It looks at blocks of sites in turn and
// takes the best of the first block that has any.
func (r *relaxation) price() (site, client int) {
	site, client = -1, -1
	worst := -leastCost
	for j, l := range r.lambda {
		if l < worst {
			worst, client = l, j
		}
	}
	if client >= 0 {
		return
	}
	for seen := 0; seen < r.n; seen++ {
		z := r.cursor
		if r.cursor++; r.cursor == r.n {
			r.cursor = 0
		}
		row, k := r.time[z*r.m:(z+1)*r.m], int(r.key[z])
		mu := float64(r.lambda[k] * row[k])
		for j, d := range row {
			// Relative to the site's size, so that small sites count too.
			if cost := float64(r.lambda[j]*d) - mu; cost < worst*row[k] && j != k && r.allowed(z, j) {
				worst, site, client = cost/row[k], z, j
			}
		}
		if site >= 0 && seen%pricingBlock == pricingBlock-1 {
			r.work += int64(seen * r.m)
			r.watch.Spend(seen * r.m)
			return
		}
	}
	r.work += int64(r.n * r.m)
	r.watch.Spend(r.n * r.m)
	return
}

// pivot brings a variable into the basis; false if none leaves.
func (r *relaxation) pivot(z, j int) bool {
	m := r.m
	d := r.column // the change of the basic variables per unit of the new one, negated
	for b := range m {
		d[b] = r.matrix[b*m+j]
		if z >= 0 {
			k := int(r.key[z])
			d[b] = float64(r.matrix[b*m+j]*r.time[z*m+j]) - float64(r.matrix[b*m+k]*r.time[z*m+k])
		}
	}
	step, leave, leaveKey := math.Inf(1), -1, int32(-1)
	for b, c := range r.basis {
		if c.site == makespanColumn {
			continue
		}
		if d[b] > leastRate {
			if t := max(0, r.value[b]) / d[b]; t < step {
				step, leave, leaveKey = t, b, -1
			}
		}
		if c.site < 0 {
			continue
		}
		// The key variable of this site makes up for all its others.
		value, rate := 1.0, 0.0
		for e, o := range r.basis {
			if o.site == c.site {
				value -= r.value[e]
				rate -= d[e]
			}
		}
		if int(c.site) == z {
			rate++
		}
		if rate > leastRate {
			if t := max(0, value) / rate; t < step {
				step, leave, leaveKey = t, b, c.site
			}
		}
	}
	if z >= 0 && step > 1 && !r.isBasic(z) {
		// Only the site's own key stands in the way: it moves as a whole.
		r.key[z] = int32(j)
		return true
	}
	if leave < 0 {
		return false
	}
	entering := column{slackColumn, int32(j)}
	if z >= 0 {
		entering.site = int32(z)
	}
	if leaveKey < 0 {
		r.basis[leave] = entering
		return true
	}
	// The key leaves: another variable of its site takes its place.
	if int(leaveKey) == z {
		r.key[z] = int32(j)
		return true
	}
	r.key[leaveKey] = r.basis[leave].client
	r.basis[leave] = entering
	return true
}

func (r *relaxation) isBasic(z int) bool {
	return slices.ContainsFunc(r.basis, func(c column) bool { return int(c.site) == z })
}

// sample returns a client of a divided site: the one at which the shares of the clients,
// added up, pass u in [0, 1).
func (r *relaxation) sample(z int32, u float64) int32 {
	for b, c := range r.basis {
		if c.site == z {
			if u -= r.value[b]; u < 0 {
				return c.client
			}
		}
	}
	return r.key[z]
}

// bound evaluates the Lagrangian function at the prices, clipped to be valid, with a margin
// for every rounding on the way.
func (r *relaxation) bound() float64 {
	sum, total := 0.0, 0.0
	for j, l := range r.lambda {
		r.lambda[j] = max(l, 0)
		sum += r.lambda[j]
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return 0
	}
	for j := range r.lambda {
		r.lambda[j] /= sum
		total += float64(r.lambda[j] * r.off[j])
	}
	for z := range r.n {
		best := math.Inf(1)
		for j := range r.m {
			if c := r.lambda[j] * r.time[z*r.m+j]; c < best && r.allowed(z, j) {
				best = c
			}
		}
		total += best
	}
	r.work += int64(r.n * r.m)
	return total * (1 - float64(0x1p-52*float64(r.n+3*r.m+16)))
}

// reduced returns what the bound rises by if site z goes to client j.
func (r *relaxation) reduced(z, j int) float64 {
	best := math.Inf(1)
	for i := range r.m {
		if r.allowed(z, i) {
			best = min(best, r.lambda[i]*r.time[z*r.m+i])
		}
	}
	return float64(r.lambda[j]*r.time[z*r.m+j]) - best
}
