package solver

import (
	"cmp"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A knapsackBound is the Lagrangian bound of the assignment rows. With a price μ_z for each
// site, a plan that ends by t earns Σμ, and no more than
//
//	Σ_j max{ Σ_z μ_z·x_z : Σ_z d_zj·x_z ≤ t, x ∈ {0,1} },
//
// one knapsack per client. If that is less than Σμ there is no such plan. As the knapsacks
// are solved in whole numbers (by a table over the capacity, so for durations that are
// small on the grid), this is stronger than the linear relaxation. Prices are whole numbers
// too: the test is exact.
type knapsackBound struct {
	x      *search
	price  []int64
	count  []int // clients whose knapsack holds the site
	client []int // one of them
	table  []int64
	taken  []uint64 // bit (site, capacity): taken there

	// The state of the subgradient method, from one turn to the next.
	theta  float64 // its step
	target float64 // the time to exclude
	least  int64   // excess at the target
	best   []int64 // prices of it
	stale  int     // rounds without a lesser one
	round  int
}

// newKnapsackBound starts from the prices of the linear relaxation; nil if the tables would
// be too large.
func newKnapsackBound(x *search, r *relaxation) *knapsackBound {
	p := x.p
	var cells, widest int64
	for j := range p.M {
		c := p.Capacity(j, x.value)
		widest = max(widest, c)
		if c > knapsackCells {
			return nil
		}
		cells += (c + 1) * int64(p.N)
	}
	if cells > knapsackCells {
		return nil
	}
	k := &knapsackBound{x: x, price: make([]int64, p.N), count: make([]int, p.N), client: make([]int, p.N),
		table: make([]int64, widest+1), taken: make([]uint64, int64(p.N)*(widest/64+1)), theta: 1}
	sum, prices := 0.0, make([]float64, p.N)
	for z := range prices {
		prices[z] = math.Inf(1)
		for j := range p.M {
			if t := r.time[z*p.M+j]; !math.IsInf(t, 1) {
				prices[z] = min(prices[z], r.lambda[j]*t)
			}
		}
		sum += prices[z]
	}
	for z := range prices {
		if !(sum > 0) || math.IsInf(sum, 1) { // the relaxation prices one client only
			k.price[z] = priceSum / int64(p.N)
			continue
		}
		k.price[z] = int64(prices[z] / sum * priceSum)
	}
	k.best = slices.Clone(k.price)
	return k
}

// cost returns the steps of a round.
func (k *knapsackBound) cost() int64 {
	cost, p := int64(0), k.x.p
	for j := range p.M {
		cost += fillSteps(p.Capacity(j, k.x.lower), p.N)
	}
	return cost
}

// fillSteps is what it takes to solve a knapsack problem.
func fillSteps(capacity int64, sites int) int64 { return capacity * int64(sites) / 4 }

// excess returns by how much the knapsacks by time t earn more than all prices; a negative
// value excludes t. It is the largest number if the context ends.
func (k *knapsackBound) excess(t float64) int64 {
	excess := int64(0)
	clear(k.count)
	for _, v := range k.price {
		excess -= v
	}
	for j := range k.x.p.M {
		capacity := k.x.p.Capacity(j, t)
		if k.x.watch.Spend(int(capacity) * k.x.p.N) {
			return math.MaxInt64
		}
		excess += k.fill(j, capacity)
	}
	return excess
}

// fill solves the knapsack of client j and counts the sites in it.
func (k *knapsackBound) fill(j int, capacity int64) int64 {
	p, words := k.x.p, len(k.taken)/k.x.p.N
	table := k.table[:capacity+1]
	clear(table)
	k.x.steps += fillSteps(capacity, p.N)
	for z, v := range k.price {
		marks := k.taken[z*words : (z+1)*words]
		clear(marks)
		if v > 0 {
			subsetsum.AddItemMarked(table, marks, p.At(z, j), v)
		}
	}
	c := capacity
	for z := p.N - 1; z >= 0; z-- {
		if subsetsum.Marked(k.taken[z*words:], c) {
			c -= p.At(z, j)
			k.count[z]++
			k.client[z] = j
		}
	}
	return table[capacity]
}

// run raises the lower bound of the search for as long as the subgradient method finds
// prices that exclude it, and makes plans of the knapsacks on the way: for the given number of
// steps, in whole rounds. It goes on where it was, unless it has ended.
func (k *knapsackBound) run(steps int64) {
	if k == nil {
		return
	}
	x := k.x
	x.raise(next(x.p, instance.Before(x.lower), nil))
	cost, end := k.cost(), x.limit
	if steps < x.limit-x.steps {
		end = x.steps + steps
	}
	for ; !x.over() && k.theta > leastStep && cost <= end-x.steps; k.round++ {
		if k.target != x.lower { // raised meanwhile
			k.target, k.least, k.stale = x.lower, math.MaxInt64, 0
		}
		excess := k.excess(k.target)
		if excess < 0 {
			x.raise(next(x.p, k.target, nil))
			k.theta = 1
			continue
		}
		if k.round%repairEvery == 0 {
			k.repair()
		}
		if excess < k.least {
			k.least, k.stale = excess, 0
			copy(k.best, k.price)
		} else if k.stale++; k.stale > halfLife {
			k.theta, k.stale = k.theta/2, 0
			copy(k.price, k.best)
			excess = k.excess(k.target)
		}
		norm := 0
		for _, c := range k.count {
			norm += (c - 1) * (c - 1)
		}
		if norm == 0 {
			k.theta = 0 // the knapsacks are a plan, and repair has found it
			return
		}
		step := k.theta * (float64(excess) + float64(priceSum*leastExcess)) / float64(norm)
		for z, c := range k.count {
			k.price[z] = int64(min(priceMost, max(0, float64(k.price[z])-float64(step*float64(c-1)))))
		}
	}
}

// repair makes a plan: sites in a knapsack stay there, the others, the longest first, go
// where they finish first.
func (k *knapsackBound) repair() {
	x, p := k.x, k.x.p
	plan, load := make([]int, p.N), make([]int64, p.M)
	var left []int
	for z, c := range k.count {
		if c == 0 {
			left = append(left, z)
			continue
		}
		plan[z] = k.client[z]
		load[plan[z]] += p.At(z, plan[z])
	}
	shortest := p.Shortest()
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(shortest[b], shortest[a]) })
	for _, z := range left {
		plan[z] = p.Earliest(z, load)
		load[plan[z]] += p.At(z, plan[z])
	}
	x.construct(plan)
}
