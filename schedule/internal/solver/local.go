package solver

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// LocalSearch improves a plan until no step of its neighbourhoods does, and returns the new
// plan.
func LocalSearch(p *instance.Instance, plan []int) []int {
	s, _ := newState(p, plan, nil)
	s.descend()
	return s.plan()
}

// A state is a plan under improvement.
type state struct {
	p    *instance.Instance
	at   []int32   // client of each site
	jobs [][]int32 // sites of each client, the largest amount there first
	load []int64
	end  []float64
	ops  int64 // pairs of sites looked at
	most int64 // ops after which a descent ends
	held []bool
	path []hop
	good float64 // makespan that needs no improvement

	watch *work.Watch // ends a descent early
}

// newState returns the state of a plan, and what reset does.
func newState(p *instance.Instance, plan []int, watch *work.Watch) (s *state, ok bool) {
	s = &state{p: p, at: make([]int32, p.N), jobs: make([][]int32, p.M),
		load: make([]int64, p.M), end: make([]float64, p.M), held: make([]bool, p.M), most: math.MaxInt64, watch: watch}
	return s, s.reset(plan)
}

// reset makes plan the current one. It is not ok if the watch ends, and nothing works then.
func (s *state) reset(plan []int) (ok bool) {
	for j := range s.jobs {
		s.jobs[j] = s.jobs[j][:0]
		s.load[j] = 0
	}
	for z, j := range plan {
		if s.watch.Spend(4) {
			return false
		}
		s.at[z] = int32(j)
		s.jobs[j] = append(s.jobs[j], int32(z))
		s.load[j] += s.p.At(z, j)
	}
	for j := range s.jobs {
		if !s.sort(j) {
			return false
		}
		s.end[j] = s.p.Finish(j, s.load[j])
	}
	return true
}

// sortedAtOnce is the number of sites of a client from which on they are merged, which takes memory.
const sortedAtOnce = 1 << 13

// sort sorts the sites of a client, until the watch ends.
func (s *state) sort(j int) (ok bool) {
	compare, n := func(a, b int32) int { return s.compare(j, a, b) }, len(s.jobs[j])
	if n > sortedAtOnce {
		s.jobs[j], ok = work.Sorted(s.jobs[j], compare, s.watch)
		return ok
	}
	if s.watch.Spend(work.Comparison * n * bits.Len(uint(n))) {
		return false
	}
	slices.SortFunc(s.jobs[j], compare)
	return true
}

// compare orders the sites of a client.
func (s *state) compare(j int, a, b int32) int {
	if x, y := s.p.At(int(a), j), s.p.At(int(b), j); x != y {
		return cmp.Compare(y, x)
	}
	return cmp.Compare(a, b)
}

func (s *state) plan() []int {
	plan := make([]int, s.p.N)
	for z, j := range s.at {
		plan[z] = int(j)
	}
	return plan
}

// move puts site z on client j.
func (s *state) move(z int32, j int) {
	i := int(s.at[z])
	if i == j {
		return
	}
	k, _ := slices.BinarySearchFunc(s.jobs[i], z, func(a, b int32) int { return s.compare(i, a, b) })
	s.jobs[i] = slices.Delete(s.jobs[i], k, k+1)
	k, _ = slices.BinarySearchFunc(s.jobs[j], z, func(a, b int32) int { return s.compare(j, a, b) })
	s.jobs[j] = slices.Insert(s.jobs[j], k, z)
	s.at[z] = int32(j)
	s.load[i] -= s.p.At(int(z), i)
	s.load[j] += s.p.At(int(z), j)
	s.end[i], s.end[j] = s.p.Finish(i, s.load[i]), s.p.Finish(j, s.load[j])
}

// last returns the client that finishes last.
func (s *state) last() int {
	last := 0
	for j, t := range s.end {
		if t > s.end[last] {
			last = j
		}
	}
	return last
}

func (s *state) makespan() float64 { return s.end[s.last()] }

// descend improves the plan until it is locally optimal or good, or the ops are used up. Each
// step makes the sorted list of finishing times smaller in lexicographic order, so it ends.
func (s *state) descend() {
	for !s.watch.Spend(len(s.end)) && s.ops < s.most && s.makespan() > s.good && s.step() {
	}
}

func (s *state) step() bool {
	k := s.last()
	if s.p.PerPair {
		return s.moveOrSwap(k) || s.chain(k)
	}
	return s.exchange(k, false) || s.exchange(k, true) || s.chain(k)
}

// moveSteps is what a pair of sites costs that is looked at, in steps of a watch.
const moveSteps = 8

// An exchange moves at most two sites from the last client to another one and at most two
// back; −1 stands for none.
type exchange struct {
	to         int
	out1, out2 int32
	in1, in2   int32
	shift      int64 // amount that leaves the last client
	worse      float64
}

// exchange applies the best exchange between client k and any other, of one site against
// none or one, or if three is set of two against one and one against two. On identical and
// uniform clients only the amount shifted matters.
func (s *state) exchange(k int, three bool) bool {
	best := exchange{worse: s.end[k]}
	for i := range s.p.M {
		if i == k {
			continue
		}
		// Shifts from 1 to limit improve; the nearest to ideal is best.
		limit := s.p.Capacity(i, instance.Before(s.end[k])) - s.load[i]
		if s.watch.Spend(boundSteps) {
			break
		}
		if limit < 1 {
			continue
		}
		ideal := s.balance(k, i)
		if three {
			if len(s.jobs[k])*(len(s.jobs[k])+len(s.jobs[i])) <= pairLimit {
				s.threes(&best, k, i, ideal, limit)
			}
		} else {
			s.ones(&best, k, i, ideal, limit)
		}
	}
	if best.shift == 0 {
		return false
	}
	for _, z := range []int32{best.out1, best.out2} {
		if z >= 0 {
			s.move(z, best.to)
		}
	}
	for _, z := range []int32{best.in1, best.in2} {
		if z >= 0 {
			s.move(z, k)
		}
	}
	return true
}

// balance returns the shift at which clients k and i would finish together.
func (s *state) balance(k, i int) int64 {
	u, v := float64(s.p.Unit[k]*s.p.Grid), float64(s.p.Unit[i]*s.p.Grid)
	from := s.end[k]
	to := s.p.Off[i] + float64(v*float64(s.load[i]))
	return max(1, int64((from-to)/(u+v)))
}

// offer keeps an exchange that shifts d if it is the best so far.
func (s *state) offer(best *exchange, k int, e exchange) {
	s.ops++
	e.worse = max(s.p.Finish(k, s.load[k]-e.shift), s.p.Finish(e.to, s.load[e.to]+e.shift))
	if e.worse < best.worse {
		*best = e
	}
}

// ones looks at moves and swaps. Both lists descend, so that the partner whose amount is
// nearest to a − ideal moves one way only.
func (s *state) ones(best *exchange, k, i int, ideal, limit int64) {
	w, b := s.p.Amount, 0
	if s.watch.Spend(moveSteps*len(s.jobs[k]) + len(s.jobs[i])) {
		return
	}
	for _, z := range s.jobs[k] {
		a := w[z]
		if a <= limit {
			s.offer(best, k, exchange{to: i, out1: z, out2: -1, in1: -1, in2: -1, shift: a})
		}
		for b < len(s.jobs[i]) && w[s.jobs[i][b]] > a-ideal {
			b++
		}
		// The neighbours of the ideal partner, the larger and the smaller.
		for c := max(0, b-1); c <= b && c < len(s.jobs[i]); c++ {
			if d := a - w[s.jobs[i][c]]; d >= 1 && d <= limit {
				s.offer(best, k, exchange{to: i, out1: z, out2: -1, in1: s.jobs[i][c], in2: -1, shift: d})
			}
		}
	}
}

// threes looks at exchanges of two sites for one and, if client i has not too many, of one for two.
func (s *state) threes(best *exchange, k, i int, ideal, limit int64) {
	w, from, to := s.p.Amount, s.jobs[k], s.jobs[i]
	for x, z := range from {
		if s.watch.Spend(moveSteps*(len(from)-x) + len(to)) {
			return
		}
		b := 0
		for _, y := range from[x+1:] {
			a := w[z] + w[y]
			for b < len(to) && w[to[b]] > a-ideal {
				b++
			}
			for c := max(0, b-1); c <= b && c < len(to); c++ {
				if d := a - w[to[c]]; d >= 1 && d <= limit {
					s.offer(best, k, exchange{to: i, out1: z, out2: y, in1: to[c], in2: -1, shift: d})
				}
			}
		}
	}
	if len(to)*(len(to)+len(from)) > pairLimit {
		return
	}
	for x, z := range to {
		if s.watch.Spend(moveSteps*(len(to)-x) + len(from)) {
			return
		}
		b := 0
		for _, y := range to[x+1:] {
			a := w[z] + w[y]
			for b < len(from) && w[from[b]] > a+ideal {
				b++
			}
			for c := max(0, b-1); c <= b && c < len(from); c++ {
				if d := w[from[c]] - a; d >= 1 && d <= limit {
					s.offer(best, k, exchange{to: i, out1: from[c], out2: -1, in1: z, in2: y, shift: d})
				}
			}
		}
	}
}

// moveOrSwap applies the best move or swap of client k on unrelated clients.
func (s *state) moveOrSwap(k int) bool {
	p, t, looked := s.p, s.end[k], s.ops
	worse, to, out, in := t, -1, int32(-1), int32(-1)
	for _, a := range s.jobs[k] {
		rest := s.load[k] - p.At(int(a), k)
		if p.Finish(k, rest) >= worse {
			continue
		}
		for i := range p.M {
			if i == k {
				continue
			}
			if s.watch.Spend(2*boundSteps + moveSteps*int(s.ops-looked)) {
				return false
			}
			looked = s.ops
			with := s.load[i] + p.At(int(a), i)
			s.ops++
			if e := max(p.Finish(k, rest), p.Finish(i, with)); e < worse {
				worse, to, out, in = e, i, a, -1
			}
			room := p.Capacity(k, instance.Before(worse)) - rest
			need := with - p.Capacity(i, instance.Before(worse))
			for _, b := range s.jobs[i] {
				if p.At(int(b), i) < need {
					break // in descending order: the others free even less
				}
				s.ops++
				if p.At(int(b), k) > room {
					continue
				}
				e := max(p.Finish(k, rest+p.At(int(b), k)), p.Finish(i, with-p.At(int(b), i)))
				if e < worse {
					worse, to, out, in = e, i, a, b
				}
			}
		}
	}
	if to < 0 {
		return false
	}
	s.move(out, to)
	if in >= 0 {
		s.move(in, k)
	}
	return true
}

// A hop is a site and the client it is to go to.
type hop struct {
	site int32
	to   int
}

// chain applies the first chain of moves found that makes client k finish earlier: a site
// of k goes to a second client, which passes one on, and so on, until a client has room or,
// the chain closing, k itself.
func (s *state) chain(k int) bool {
	tries := int64(chainLimit)
	t := instance.Before(s.end[k])
	s.held[k] = true
	s.path = s.path[:0]
	for _, a := range s.jobs[k] {
		room := s.p.Capacity(k, t) - s.load[k] + s.p.At(int(a), k)
		if room < 0 || s.extend(k, a, room, t, 3, &tries) {
			break // in descending order: the others leave even less room
		}
	}
	s.held[k] = false
	s.ops += int64(chainLimit) - tries
	s.watch.Spend(moveSteps * (chainLimit - int(tries)))
	if len(s.path) == 0 {
		return false
	}
	for _, h := range s.path {
		s.move(h.site, h.to)
	}
	return true
}

// extend looks for a client that takes site a; room is the amount that the first client k
// could take back. At most depth−1 further clients pass a site on.
func (s *state) extend(k int, a int32, room int64, t float64, depth int, tries *int64) bool {
	p := s.p
	for i := range p.M {
		if s.held[i] {
			continue
		}
		if *tries--; *tries < 0 {
			return false
		}
		over := s.load[i] + p.At(int(a), i) - p.Capacity(i, t) // what i has to pass on
		s.path = append(s.path, hop{a, i})
		if over <= 0 {
			return true
		}
		s.held[i] = true
		// A site freed here may also close the cycle on k.
		for _, b := range s.jobs[i] {
			if p.At(int(b), i) < over || *tries < 0 {
				break
			}
			*tries--
			if depth < 3 && p.At(int(b), k) <= room {
				s.path = append(s.path, hop{b, k})
				s.held[i] = false
				return true
			}
			if depth > 1 && s.extend(k, b, room, t, depth-1, tries) {
				s.held[i] = false
				return true
			}
		}
		s.held[i] = false
		s.path = s.path[:len(s.path)-1]
	}
	return false
}
