package solver

import (
	"math/bits"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/subsetsum"
)

// A repartitioner divides the sites of two clients between them anew, in the best way that
// leaves all but a few of the sites, chosen at random, in place.
type repartitioner struct {
	subset  subsetsum.Halves
	sites   []int32
	amounts []int64
	onK     []int64
	onI     []int64
}

// pair repartitions clients k and i, unless the later of the two would finish later than now. It
// shuffles their sites if no other way is better than the present one.
func (r *repartitioner) pair(s *state, rng *rand.Rand, k, i int) {
	count, divide := freeSites, r.split
	if s.p.PerPair {
		count, divide = freePairs, r.enumerate
	}
	r.choose(s, rng, k, i, count)
	if end, mask := divide(s, k, i); end <= max(s.end[k], s.end[i]) {
		r.apply(s, k, i, mask)
	}
}

// choose takes count sites of both clients at random.
func (r *repartitioner) choose(s *state, rng *rand.Rand, k, i, count int) {
	r.sites = append(append(r.sites[:0], s.jobs[k]...), s.jobs[i]...)
	count = min(count, len(r.sites))
	for a := range count {
		b := a + rng.IntN(len(r.sites)-a)
		r.sites[a], r.sites[b] = r.sites[b], r.sites[a]
	}
	r.sites = r.sites[:count]
}

// split returns the sites that client k is to have, and when the later of the two clients finishes
// then. It finds the two subsets of the free sites around the balance of two identical or uniform
// clients by meeting in the middle.
func (r *repartitioner) split(s *state, k, i int) (end float64, onK uint64) {
	p := s.p
	var free int64
	fixedK, fixedI := s.load[k], s.load[i]
	r.amounts = r.amounts[:0]
	for _, z := range r.sites {
		w := p.Amount[z]
		r.amounts = append(r.amounts, w)
		free += w
		if int(s.at[z]) == k {
			fixedK -= w
		} else {
			fixedI -= w
		}
	}
	// Where would both finish together? k would get ideal of the free amount.
	shift := s.balance(k, i)
	if s.end[i] > s.end[k] {
		shift = -s.balance(i, k)
	}
	ideal := min(max(s.load[k]-shift-fixedK, 0), free)
	at := func(sum int64) float64 {
		return max(p.Finish(k, fixedK+sum), p.Finish(i, fixedI+free-sum))
	}
	sum, mask, _ := r.subset.Largest(r.amounts, ideal, nil) // of so few that it needs no watch
	best := at(sum)
	if free-ideal-1 >= 0 {
		// The smallest sum above ideal leaves the largest rest below.
		if rest, other, _ := r.subset.Largest(r.amounts, free-ideal-1, nil); at(free-rest) < best {
			best, mask = at(free-rest), ^other
		}
	}
	s.ops += int64(len(r.sites)) << (len(r.sites) / 2)
	return best, mask
}

// enumerate is split for unrelated clients. It tries all ways to divide their free sites, in the
// order of a Gray code, so that each differs from the last in one site.
func (r *repartitioner) enumerate(s *state, k, i int) (end float64, onK uint64) {
	p := s.p
	loadK, loadI := s.load[k], s.load[i]
	r.onK, r.onI = r.onK[:0], r.onI[:0]
	for _, z := range r.sites { // start with all of them on i
		r.onK = append(r.onK, p.At(int(z), k))
		r.onI = append(r.onI, p.At(int(z), i))
		if int(s.at[z]) == k {
			loadK -= p.At(int(z), k)
			loadI += p.At(int(z), i)
		}
	}
	best, mask, gray := max(p.Finish(k, loadK), p.Finish(i, loadI)), uint64(0), uint64(0)
	for c := uint64(1); c < 1<<len(r.sites); c++ {
		g := c ^ c>>1
		b := bits.TrailingZeros64(g ^ gray)
		if gray = g; g>>b&1 == 1 {
			loadK += r.onK[b]
			loadI -= r.onI[b]
		} else {
			loadK -= r.onK[b]
			loadI += r.onI[b]
		}
		if t := max(p.Finish(k, loadK), p.Finish(i, loadI)); t < best {
			best, mask = t, gray
		}
	}
	s.ops += 1 << len(r.sites)
	return best, mask
}

// apply gives client k the sites in the mask and client i the others.
func (r *repartitioner) apply(s *state, k, i int, mask uint64) {
	for b, z := range r.sites {
		if mask>>b&1 == 1 {
			s.move(z, k)
		} else {
			s.move(z, i)
		}
	}
}
