package solver

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/recrawl/recrawl/internal/portable"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A pricing is what is done on unrelated clients where the linear program is too large: a
// bound and a plan from prices of the clients, in passes over the pairs that keep O(n + m)
// beside them.
//
// With prices λ ≥ 0 of sum 1 no plan ends before Σ_j λ_j·off_j + Σ_z min_j λ_j·d_zj. The
// prices of clients that the cheapest choices overload are raised, and the others lowered, by
// factors. Then the sites are assigned one after the other to the client that is cheapest,
// with prices that also follow the loads so far: many sites have clients that are equally
// cheap, or nearly, and these are shared out only so. The prices that this takes are averaged
// over a sweep and are those of the next. Last, sites are moved off clients that are above a
// target, those for which that costs least first, and the target is lowered.
type pricing struct {
	x     *search
	price []float64
	load  []float64
	off   []float64 // at most the lower bound known: see relaxation.solve
	plan  []int32
}

// pairsLimit is the number of pairs from which on the linear program gives way to a pricing.
const pairsLimit = 1 << 18

// The tuned values of pricings. What they leave of the gap, halved, as they are and doubled, on
// 10,000 × 50 with uniform, correlated and tied durations, is measured by
//
//	go test ./schedule/internal/solver -v -run SweepPrices -sweep
var (
	// pricePasses is the number of passes for the bound, firstRate the power of the imbalance
	// by which the first changes prices, and rateDecay the passes after which that is half.
	pricePasses          = 10
	firstRate, rateDecay = .3, 5.0
	// boundPasses and boundRate are the same for the prices that an assignment ends with.
	boundPasses, boundRate = 3, .01
	// sweeps is the number of assignments, and loadRefresh the number of sites after which
	// one looks at the loads anew.
	sweeps, loadRefresh = 7, 50
	// loadWeight is the relative rise of a price for a client whose load is ahead by the
	// bound, in the first sweep. It is half that in the next, and so on: with correlated
	// clients 1 to 2 is best, with others .05.
	loadWeight = 2.0
	// targets is the number of targets tried in the repair of a plan, and firstShuffle the
	// number of steps of the first search among pairs of clients.
	targets, firstShuffle = 12, 10_000_000
)

func newPricing(x *search) *pricing {
	p := x.p
	v := &pricing{x: x, price: slices.Repeat([]float64{1 / float64(p.M)}, p.M),
		load: make([]float64, p.M), off: make([]float64, p.M), plan: make([]int32, p.N)}
	v.elementary()
	v.start()
	return v
}

// elementary raises the lower bound to what each site takes by itself, and to the mean load if
// every site takes its shortest duration: in one pass over the durations as they are.
func (v *pricing) elementary() {
	p := v.x.p
	longest, sum := 0.0, 0.0
	for z := range p.N {
		if v.x.watch.Spend(p.M) && z > 0 {
			break // the sites so far are a bound, too
		}
		soonest, shortest := math.Inf(1), math.Inf(1)
		for j, d := range p.Durations(z) {
			soonest = min(soonest, p.Off[j]+d)
			shortest = min(shortest, d)
		}
		longest = max(longest, soonest)
		sum += shortest
	}
	v.x.raise(max(float64(longest*(1-0x1p-50)), float64(sum/float64(p.M)*(1-float64(0x1p-50*float64(p.N))))) - p.Rounding)
}

// start sets prices at which every client costs the same in the mean over the sites that it
// can do in a good plan, of up to startSites.
func (v *pricing) start() {
	p := v.x.p
	stride := max(1, p.N/startSites)
	for j := range v.price {
		if v.x.watch.Spend(boundSteps * startSites) {
			break
		}
		sum, count := 0.0, 0.0
		for z := 0; z < p.N; z += stride {
			if d := p.Durations(z)[j]; d <= p.Most {
				sum += d
				count++
			}
		}
		if sum > 0 {
			v.price[j] = count / sum
		}
	}
	normalise(v.price)
}

const startSites = 1000

// cheapest returns the client of the least price for a site.
func cheapest(price, durations []float64) (client int, cost float64) {
	cost = math.Inf(1)
	for j, d := range durations {
		if c := price[j] * d; c < cost {
			client, cost = j, c
		}
	}
	return client, cost
}

// normalise makes the sum of the prices 1.
func normalise(price []float64) {
	sum := 0.0
	for _, l := range price {
		sum += l
	}
	for j := range price {
		price[j] /= sum
	}
}

// interrupted counts the work on a site and reports whether the search is over.
func (v *pricing) interrupted(z int) bool {
	x := v.x
	if x.watch.Spend(x.p.M) {
		return true
	}
	if z%256 != 0 {
		return false
	}
	x.steps += int64(64 * x.p.M)
	if x.best == nil { // which over takes for a gap that is closed
		return x.steps >= x.limit || x.ctx.Err() != nil
	}
	return x.over()
}

// bound raises the lower bound of the search by passes over all pairs, and keeps the best
// prices.
func (v *pricing) bound(passes int, first float64) {
	p := v.x.p
	for j := range v.off {
		v.off[j] = min(p.Off[j], v.x.lower)
	}
	best, most := slices.Clone(v.price), 0.0
	for pass := range passes {
		total := 0.0
		for j, l := range v.price {
			v.load[j] = p.Off[j]
			total += float64(l * v.off[j])
		}
		for z := range p.N {
			if v.interrupted(z) {
				copy(v.price, best)
				return
			}
			durations := p.Durations(z)
			j, cost := cheapest(v.price, durations)
			v.load[j] += durations[j]
			total += cost
		}
		if total > most {
			most = total
			copy(best, v.price)
			// A margin for every rounding: the prices sum to 1 but for m roundings.
			v.x.raise(float64(total*(1-float64(0x1p-52*float64(p.N+3*p.M+16)))) - p.Rounding)
		}
		v.adjust(first / (1 + float64(pass)/rateDecay))
	}
	copy(v.price, best)
}

// adjust raises the prices of clients with more than the mean load and lowers the others.
func (v *pricing) adjust(rate float64) {
	mean := 0.0
	for _, t := range v.load {
		mean += t / float64(len(v.load))
	}
	for j, t := range v.load {
		v.price[j] *= portable.Exp(rate * max(-1, min(1, t/mean-1)))
	}
	normalise(v.price)
}

// assign assigns all sites several times, improves the bound and repairs the plans.
func (v *pricing) assign() {
	order := v.x.rng.Perm(v.x.p.N)
	weight := loadWeight
	for range sweeps {
		if !v.sweep(order, weight) {
			return
		}
		v.bound(boundPasses, boundRate)
		v.repair()
		weight /= 2
	}
}

// sweep assigns all sites in the given order, offers the plan, and sets the prices to the means
// of those that this took. It reports whether it came to its end.
func (v *pricing) sweep(order []int, weight float64) bool {
	p := v.x.p
	now, sum := make([]float64, p.M), make([]float64, p.M)
	copy(v.load, p.Off)
	refreshes := 0
	for k, z := range order {
		if v.interrupted(k) {
			return false
		}
		if k%loadRefresh == 0 {
			v.follow(weight, now, sum)
			refreshes++
		}
		durations := p.Durations(z)
		j, _ := cheapest(now, durations)
		v.load[j] += durations[j]
		v.plan[z] = int32(j)
	}
	for j := range v.price {
		v.price[j] = sum[j] / float64(refreshes)
	}
	normalise(v.price)
	v.offer()
	return true
}

// follow sets now to prices that follow the loads, and adds them to sum.
func (v *pricing) follow(weight float64, now, sum []float64) {
	mean := 0.0
	for _, t := range v.load {
		mean += t / float64(len(v.load))
	}
	for j, t := range v.load {
		now[j] = float64(v.price[j] * max(leastFollow, 1+weight*(t-mean)/v.x.lower))
		sum[j] += now[j]
	}
}

// leastFollow keeps prices positive.
const leastFollow = 1e-3

func (v *pricing) offer() {
	plan := make([]int, len(v.plan))
	for z, j := range v.plan {
		plan[z] = int(j)
	}
	v.x.offer(plan)
}

// repair lowers the target between the bound and the best plan for as long as sites can be
// moved off the clients above it.
func (v *pricing) repair() {
	x := v.x
	copy(v.load, x.p.Off)
	for z, j := range v.plan {
		if x.watch.Spend(moveSteps) {
			return
		}
		v.load[j] += x.p.Durations(z)[j]
	}
	start, load := slices.Clone(v.plan), slices.Clone(v.load)
	low, high := x.lower, slices.Max(v.load) // invariant: moves reach high, not low
	for range targets {
		if x.over() || high-low <= bisectionGap*high {
			break
		}
		target := low + float64((high-low)/2)
		copy(v.plan, start)
		copy(v.load, load)
		if !v.reach(target) {
			low = target
			continue
		}
		high = slices.Max(v.load)
		v.offer()
		copy(start, v.plan)
		copy(load, v.load)
	}
}

// A relief is a site to be moved off a client, and what that costs relative to what it takes
// off.
type relief struct {
	site int32
	loss float64
}

// reach moves sites off the clients above a target. It reports whether none is left.
func (v *pricing) reach(target float64) bool {
	x, p := v.x, v.x.p
	jobs := make([][]relief, p.M)
	for z, j := range v.plan {
		if v.load[j] <= target {
			continue
		}
		if v.interrupted(z) {
			return false
		}
		to, cost := v.roomFor(z, int(j), target)
		if to < 0 {
			continue
		}
		own := v.price[j] * p.Durations(z)[j]
		jobs[j] = append(jobs[j], relief{int32(z), cost / own})
	}
	for j := range jobs {
		if x.watch.Spend(2 * len(jobs[j]) * bits.Len(uint(len(jobs[j])))) {
			return false
		}
		slices.SortFunc(jobs[j], func(a, b relief) int { return cmp.Or(cmp.Compare(a.loss, b.loss), cmp.Compare(a.site, b.site)) })
		for _, r := range jobs[j] {
			if v.load[j] <= target {
				break
			}
			z := int(r.site)
			if x.watch.Spend(p.M) {
				return false
			}
			if to, _ := v.roomFor(z, j, target); to >= 0 {
				durations := p.Durations(z)
				v.load[j] -= durations[j]
				v.load[to] += durations[to]
				v.plan[z] = int32(to)
			}
		}
		if v.load[j] > target {
			return false
		}
	}
	return true
}

// roomFor returns the client of the least price, other than the site's own, that has room for
// it up to the target; −1 if there is none.
func (v *pricing) roomFor(z, own int, target float64) (to int, cost float64) {
	to, cost = -1, math.Inf(1)
	for j, d := range v.x.p.Durations(z) {
		if c := v.price[j] * d; c < cost && j != own && v.load[j]+d <= target {
			to, cost = j, c
		}
	}
	return to, cost
}

// atSize is the search on unrelated clients where the linear program is too large.
func (x *search) atSize() {
	p := x.p
	v := newPricing(x)
	if x.best == nil && !v.sweep(x.rng.Perm(p.N), loadWeight) {
		return
	}
	v.bound(pricePasses, firstRate)
	x.raise(next(p, instance.Before(x.lower), nil))
	for budget := int64(firstShuffle); !x.over(); budget *= 2 {
		v.assign()
		x.shuffle(budget)
	}
}

// shuffle repartitions the client that ends last and another one, for at most so many steps.
func (x *search) shuffle(steps int64) {
	p := x.p
	if x.over() {
		return
	}
	s, ok := newState(p, x.best, x.watch)
	if !ok {
		return
	}
	end := x.steps + steps
	for tries := 0; !x.over() && x.steps < end; tries++ {
		k, i := s.last(), x.rng.IntN(p.M-1)
		if i >= k {
			i++
		}
		s.ops = 0
		x.repart.pair(s, x.rng, k, i)
		x.steps += s.ops + int64(p.N/p.M)
		if tries%offerEvery == offerEvery-1 && s.makespan() < x.value {
			x.offer(s.plan())
		}
	}
	if s.makespan() < x.value {
		x.offer(s.plan())
	}
}

// offerEvery is the number of repartitions to one offer, which takes O(n).
const offerEvery = 256

// large reports whether a problem is for a pricing.
func large(p *instance.Instance) bool { return p.PerPair && p.N*p.M > pairsLimit }
