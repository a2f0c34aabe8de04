package binpack

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/internal/packing"
)

// SchemeConfig has the settings of a [Scheme]. The paper gives neither the length
// of the register, nor the states and threshold of the overload automaton, nor
// how far a page is stepped down at a time; copy DefaultScheme.
type SchemeConfig struct {
	Capacity       float64 // C of every bin, in pages per slot
	States         int     // N of the walk of a page, at most 65535
	Lambda         float64 // λ: the frequency in state s is (s/N)^λ
	InitialState   int     // of every page
	Register       int     // L, the results remembered of each page, at most 64
	OverloadStates int     // N_b of the automaton of a bin
	Threshold      int     // Th, its first and lowest state
	DecreaseStep   int     // states that a page goes down at a time to relieve a bin
	Walk           PageWalk
}

// DefaultScheme has the settings of Yazidi 2006, test 1, and for those that it
// does not give: a register of 10, an overload automaton of 10 states with
// threshold 2, which at first excludes with probability 4 %, and steps of one state.
var DefaultScheme = SchemeConfig{
	Capacity: 400, States: 8, Lambda: 1, InitialState: 1,
	Register: 10, OverloadStates: 10, Threshold: 2, DecreaseStep: 1,
}

// ErrNotAsked reports an answer about a page that was not asked for.
var ErrNotAsked = errors.New("binpack: no answer is due")

// A Scheme is the two-phase scheme of Yazidi 2006 (section 4.2): every page has
// a walk that learns how often to poll it, the weight of a site is the sum of the
// frequencies of its pages, and the sites are packed on nodes of one capacity.
//
// Phase 1, when it is made: Best Fit Decreasing. Phase 2, in every slot:
//
//  1. [Scheme.Begin] gives the pages to poll, each with probability x; the caller
//     tells what [Scheme.Observe]d: a page that had changed goes up a state, one
//     that had not goes down, and its register takes down which.
//  2. [Scheme.End] looks at every bin. If it is overloaded, its automaton chooses
//     between excluding sites (the subset of largest total that fits stays) and
//     decreasing the frequencies of its most penalised pages until it fits.
//  3. The sites put out are packed again by Best Fit Decreasing.
//
// Weights are sums of whole units (see [FloatBits]); with λ = 1 and N a power of
// two they are exact. A slot takes O(pages + sites log sites) time besides the
// subset sums, and memory is 10 bytes a page and a bit.
//
// For what to do in a real fleet, where moves cost, see [Packer].
type Scheme struct {
	cfg      SchemeConfig
	src      rand.Source
	walk     *automata.Walk
	overload *automata.Overload

	amount  []int64  // frequency of each state in units, amount[s−1]
	chance  []uint64 // a page in state s is polled if a random number is below chance[s−1]
	up      []uint64 // likewise, and after a change goes up
	down    []uint64 // and after none goes down
	c       int64
	quantum float64

	first    []int    // first page of each site, and the number of pages at the end
	siteOf   []int32  // of each page
	state    []uint16 // of each page
	register []uint64 // last results of each page, a set bit is a penalty
	pending  []uint64 // bit set: polled in this slot and not answered
	asked    []int    // pages polled in this slot

	weight []int64 // of each site
	bin    []int   // of each site
	alarm  []int   // state of the automaton of each bin; bins without sites keep Th

	slot Slot // counts of the slot that runs
}

// A Slot tells what happened in a slot.
type Slot struct {
	Polls      int // answers told
	Changed    int // of these, changed
	Overloaded int // bins above the capacity before relief
	Decreased  int // bins relieved by decreasing frequencies
	Excluded   int // bins relieved by putting sites out
	Moved      int // sites that changed their bin
	Bins       int // bins with sites at the end
}

// NewScheme starts the scheme for sites with the given numbers of pages, which are
// numbered site after site. Errors are ErrNoItems, ErrParameter, and those of the
// packing of the initial weights. A nil source panics.
func NewScheme(pages []int, cfg SchemeConfig, src rand.Source) (*Scheme, error) {
	if src == nil {
		panic("binpack: nil source of randomness")
	}
	s := &Scheme{cfg: cfg, src: src, first: make([]int, 1, len(pages)+1)}
	if err := s.configure(); err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, ErrNoItems
	}
	for i, n := range pages {
		if n < 0 || n > math.MaxInt32-s.first[i] {
			return nil, fmt.Errorf("%w: site %d: %d pages", ErrParameter, i, n)
		}
		s.first = append(s.first, s.first[i]+n)
	}
	s.allocate()
	for i := range pages {
		s.weight[i] = int64(pages[i]) * s.amount[cfg.InitialState-1]
	}
	for p := range s.state {
		s.state[p] = uint16(cfg.InitialState)
	}
	packed, err := Pack(Problem[int64]{Weights: s.weight, Capacity: s.c}, BestFitDecreasing)
	if err != nil {
		return nil, err
	}
	s.bin = packed.Bin
	for range packed.Bins {
		s.alarm = append(s.alarm, cfg.Threshold)
	}
	return s, nil
}

// configure checks the settings and makes what follows from them.
func (s *Scheme) configure() (err error) {
	c := s.cfg
	switch {
	case c.States > math.MaxUint16:
		return fmt.Errorf("%w: %d states", ErrParameter, c.States)
	case c.InitialState < 1 || c.InitialState > c.States:
		return fmt.Errorf("%w: initial state %d of %d", ErrParameter, c.InitialState, c.States)
	case c.Register < 1 || c.Register > 64:
		return fmt.Errorf("%w: register of %d", ErrParameter, c.Register)
	case c.DecreaseStep < 1:
		return fmt.Errorf("%w: decrease by %d states", ErrParameter, c.DecreaseStep)
	case c.Walk >= pageWalks:
		return fmt.Errorf("%w: page walk %d", ErrParameter, c.Walk)
	}
	if s.walk, err = automata.NewWalk(c.States, c.Lambda); err != nil {
		return fmt.Errorf("%w: %w", ErrParameter, err)
	}
	if s.overload, err = automata.NewOverload(c.OverloadStates, c.Threshold); err != nil {
		return fmt.Errorf("%w: %w", ErrParameter, err)
	}
	x := amounts(s.walk)
	up, down := c.Walk.steps(x)
	s.chance, s.up, s.down = probabilities(x), probabilities(up), probabilities(down)
	u, err := toUnits(x, []float64{c.Capacity})
	if err != nil {
		return err
	}
	s.amount, s.c, s.quantum = u.w, u.c[0], u.quantum
	return nil
}

// probabilities returns the numbers below which a random Uint64 is with probabilities
// x; 1 is taken for certain, and all ones stand for it.
func probabilities(x []float64) []uint64 {
	below := make([]uint64, len(x))
	for i, p := range x {
		below[i] = math.MaxUint64
		if p < 1 {
			below[i] = uint64(math.Ldexp(p, 64))
		}
	}
	return below
}

// allocate makes the arrays that follow from s.first.
func (s *Scheme) allocate() {
	sites, pages := len(s.first)-1, s.first[len(s.first)-1]
	s.siteOf = make([]int32, pages)
	for i := range sites {
		for p := s.first[i]; p < s.first[i+1]; p++ {
			s.siteOf[p] = int32(i)
		}
	}
	s.state, s.register = make([]uint16, pages), make([]uint64, pages)
	s.pending = make([]uint64, (pages+63)/64)
	s.weight = make([]int64, sites)
}

// Pages returns the number of pages.
func (s *Scheme) Pages() int { return len(s.state) }

// Frequency returns the frequency x of a page, in polls per slot.
func (s *Scheme) Frequency(page int) float64 { return s.walk.Amount(int(s.state[page])) }

// Weight returns the weight of a site, the sum of the frequencies of its pages.
func (s *Scheme) Weight(site int) float64 { return float64(s.weight[site]) * s.quantum }

// Bin returns the bin of a site.
func (s *Scheme) Bin(site int) int { return s.bin[site] }

// Loads appends the load of each bin to dst; bins without sites have 0.
func (s *Scheme) Loads(dst []float64) []float64 {
	at := len(dst)
	for range s.alarm {
		dst = append(dst, 0)
	}
	for i, b := range s.bin {
		dst[at+b] += float64(s.weight[i]) * s.quantum
	}
	return dst
}

// Begin starts a slot and returns the pages to poll in it, increasing. The slice
// is valid until the next Begin. Answers that did not come are forgotten.
func (s *Scheme) Begin() []int {
	clear(s.pending)
	s.slot = Slot{}
	s.asked = s.asked[:0]
	for p, st := range s.state {
		if s.src.Uint64() < s.chance[st-1] {
			s.asked = append(s.asked, p)
			s.pending[p/64] |= 1 << (p % 64)
		}
	}
	return s.asked
}

// Observe tells whether a page asked for in this slot had changed since it was
// last polled. ErrNotAsked if it was not asked for, or was answered.
func (s *Scheme) Observe(page int, changed bool) error {
	if page < 0 || page >= len(s.state) || s.pending[page/64]>>(page%64)&1 == 0 {
		return fmt.Errorf("%w: page %d", ErrNotAsked, page)
	}
	s.pending[page/64] &^= 1 << (page % 64)
	s.slot.Polls++
	state := int(s.state[page])
	s.register[page] <<= 1
	moves := s.down[state-1]
	if changed {
		s.slot.Changed++
		moves = s.up[state-1]
	} else {
		s.register[page] |= 1
	}
	if moves == math.MaxUint64 || s.src.Uint64() < moves {
		s.move(page, s.walk.Next(state, changed))
	}
	return nil
}

// move puts a page into a state.
func (s *Scheme) move(page, state int) {
	s.weight[s.siteOf[page]] += s.amount[state-1] - s.amount[s.state[page]-1]
	s.state[page] = uint16(state)
}

// End ends the slot: overloaded bins are relieved, and what was put out is packed
// again.
func (s *Scheme) End() Slot {
	load := make([]int64, len(s.alarm))
	for i, b := range s.bin {
		load[b] += s.weight[i]
	}
	var out []int // sites put out
	for b := range s.alarm {
		overloaded := load[b] > s.c
		if overloaded {
			s.slot.Overloaded++
			if s.overload.Select(s.alarm[b], s.src) {
				s.slot.Excluded++
				out = s.exclude(b, out)
			} else {
				s.slot.Decreased++
				s.decrease(s.sites(b), load[b])
			}
		}
		s.alarm[b] = s.overload.Next(s.alarm[b], overloaded)
	}
	s.repack(out)
	return s.slot
}

// sites returns the sites of a bin.
func (s *Scheme) sites(bin int) []int {
	var sites []int
	for i, b := range s.bin {
		if b == bin {
			sites = append(sites, i)
		}
	}
	return sites
}

// exclude keeps the sites of the largest total that fits and appends the rest to
// out.
func (s *Scheme) exclude(bin int, out []int) []int {
	sites := s.sites(bin)
	w := make([]int64, len(sites))
	for k, i := range sites {
		w[k] = s.weight[i]
	}
	for _, k := range leftOut(w, s.c) {
		out = append(out, sites[k])
	}
	return out
}

// repack packs sites into the bins by Best Fit Decreasing. A site heavier than a
// bin is decreased first.
func (s *Scheme) repack(out []int) {
	for _, i := range out {
		if s.weight[i] > s.c {
			s.decrease([]int{i}, s.weight[i])
		}
	}
	room := make([]int64, len(s.alarm))
	for b := range room {
		room[b] = s.c
	}
	used := make([]bool, len(s.alarm))
	from := make([]int, len(out))
	w := make([]int64, len(out))
	for k, i := range out {
		from[k], s.bin[i] = s.bin[i], -1
		w[k] = s.weight[i]
	}
	for i, b := range s.bin {
		if b >= 0 {
			room[b] -= s.weight[i]
			used[b] = true
		}
	}
	for _, x := range packing.Decreasing(w) {
		i, best := out[x.Item], -1
		for b := range room {
			// Of the bins with room the fullest; empty ones, which have the most
			// room, come last.
			if room[b] >= x.Weight && (best < 0 || room[b] < room[best] || room[b] == room[best] && used[b] && !used[best]) {
				best = b
			}
		}
		if best < 0 {
			best = len(room)
			room, used = append(room, s.c), append(used, false)
			s.alarm = append(s.alarm, s.cfg.Threshold)
		}
		s.bin[i] = best
		room[best] -= x.Weight
		used[best] = true
		if best != from[x.Item] {
			s.slot.Moved++
		}
	}
	for b, u := range used {
		if u {
			s.slot.Bins++
		} else {
			s.alarm[b] = s.cfg.Threshold
		}
	}
}
