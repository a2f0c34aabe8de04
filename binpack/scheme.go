package binpack

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/internal/packing"
	"github.com/recrawl/recrawl/internal/source"
)

// SchemeConfig has the settings of a [Scheme]. The defaults are those of Yazidi 2006, test 1.
// The paper gives neither the length of the register, nor the states and threshold of the
// overload automaton, nor how far a page is stepped down at a time; with the defaults for these a
// bin at first excludes with probability 4 %.
type SchemeConfig struct {
	Capacity       float64 // C of every bin, in pages per slot; 0 means 400
	States         int     // N of the walk of a page, at most 65535; 0 means 8
	Lambda         float64 // λ: the frequency in state s is (s/N)^λ; 0 means 1
	InitialState   int     // of every page; 0 means 1
	Register       int     // L, the results remembered of each page, at most 64; 0 means 10
	OverloadStates int     // N_b of the automaton of a bin; 0 means 10
	Threshold      int     // Th, its first and lowest state; 0 means 2, or N_b if that is less
	DecreaseStep   int     // states that a page goes down at a time to relieve a bin; 0 means 1
	Walk           PageWalk
	// InitialStates are those of the pages, site after site, where they differ by page or by
	// domain; nil for InitialState.
	InitialStates []int
}

// resolve returns the settings with defaults filled in.
func (c SchemeConfig) resolve() SchemeConfig {
	c.Capacity = cmp.Or(c.Capacity, 400)
	c.States = cmp.Or(c.States, 8)
	c.Lambda = cmp.Or(c.Lambda, 1)
	c.InitialState = cmp.Or(c.InitialState, 1)
	c.Register = cmp.Or(c.Register, 10)
	c.OverloadStates = cmp.Or(c.OverloadStates, 10)
	c.Threshold = cmp.Or(c.Threshold, min(2, c.OverloadStates))
	c.DecreaseStep = cmp.Or(c.DecreaseStep, 1)
	return c
}

// A Scheme is the two-phase scheme of Yazidi 2006 (section 4.2): every page has a walk that
// learns how often to poll it, the weight of a site is the sum of the frequencies of its pages,
// and the sites are packed on nodes of one capacity. In every slot call Next for the pages to
// poll, Observe for each answer, and Rebalance at the end. Take it to reproduce the paper; in a
// real fleet, where moves cost, take [Packer].
//
// # How it works
//
// Phase 1, in NewScheme, is Best Fit Decreasing. Phase 2, in every slot:
//
//  1. Next asks for each page with probability x, its frequency. Observe moves a page that had
//     changed up a state, one that had not down, and notes in its register which it was.
//  2. Rebalance looks at every bin. If it is overloaded, its automaton chooses between excluding
//     sites (the subset of largest total that fits stays, as far as a search of bounded size
//     finds it) and decreasing the frequencies of its most penalised pages until it fits.
//  3. The sites put out are packed again by Best Fit Decreasing.
//
// The tests of the paper with it, beside what is published: "The five papers" in RESULTS.md, and
// go run ./examples/papers -only yazidi. Tests 1 and 2 end with more weight and 5 bins, not 4.
//
// Weights are sums of whole units (see [Weight]). With λ = 1 and N a power
// of two they are exact. See [SchemeConfig.MeanFrequency] for where x settles.
//
// # Cost
//
// Time: O(pages + sites·log sites) a slot besides the subset sums. Memory: some 10 bytes a page.
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

	slot SlotReport // counts of the slot that runs
}

// A SlotReport counts what happened in a slot of a [Scheme].
type SlotReport struct {
	Polls      int // answers told
	Changed    int // of these, changed
	Overloaded int // bins above the capacity before relief
	Decreased  int // bins relieved by decreasing frequencies
	Excluded   int // bins relieved by putting sites out
	Moved      int // sites that changed their bin
	Bins       int // bins with sites at the end
}

// NewScheme starts the scheme for sites with the given numbers of pages. Pages are numbered site
// after site. Errors are [ErrProblem], [ErrConfig], and those of the packing of the initial
// weights. A nil source panics.
func NewScheme(pages []int, cfg SchemeConfig, src rand.Source) (*Scheme, error) {
	source.Require(src, "binpack")
	s := &Scheme{cfg: cfg.resolve(), src: src, first: make([]int, 1, len(pages)+1)}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%w: no items", ErrProblem)
	}
	for i, n := range pages {
		if n < 0 || n > math.MaxInt32-s.first[i] {
			return nil, fmt.Errorf("%w: site %d: %d pages", ErrConfig, i, n)
		}
		s.first = append(s.first, s.first[i]+n)
	}
	if err := s.configure(); err != nil {
		return nil, err
	}
	s.number()
	n := len(s.siteOf)
	s.state, s.register, s.pending = make([]uint16, n), make([]uint64, n), make([]uint64, (n+63)/64)
	if err := s.begin(cfg.InitialStates); err != nil {
		return nil, err
	}
	packed, err := Pack(Problem[int64]{Weights: s.weight, Capacity: s.c}, BestFitDecreasing)
	if err != nil {
		return nil, err
	}
	s.bin = packed.Bin
	for range packed.Bins {
		s.alarm = append(s.alarm, s.cfg.Threshold)
	}
	return s, nil
}

// begin puts every page into its initial state.
func (s *Scheme) begin(states []int) error {
	if states != nil && len(states) != len(s.state) {
		return fmt.Errorf("%w: initial states of %d pages, of %d", ErrConfig, len(states), len(s.state))
	}
	for p := range s.state {
		state := s.cfg.InitialState
		if states != nil {
			state = states[p]
		}
		if state < 1 || state > s.cfg.States {
			return fmt.Errorf("%w: page %d: initial state %d of %d", ErrConfig, p, state, s.cfg.States)
		}
		s.state[p] = uint16(state)
		s.weight[s.siteOf[p]] += s.amount[state-1]
	}
	s.cfg.InitialStates = nil // told by the states, from now on
	return nil
}

// configure checks the settings and makes what follows from them.
func (s *Scheme) configure() (err error) {
	c := s.cfg
	switch {
	case c.States > math.MaxUint16:
		return fmt.Errorf("%w: %d states", ErrConfig, c.States)
	case c.InitialState < 1 || c.InitialState > c.States:
		return fmt.Errorf("%w: initial state %d of %d", ErrConfig, c.InitialState, c.States)
	case c.Register < 1 || c.Register > 64:
		return fmt.Errorf("%w: register of %d", ErrConfig, c.Register)
	case c.DecreaseStep < 1:
		return fmt.Errorf("%w: decrease by %d states", ErrConfig, c.DecreaseStep)
	}
	if err := pageWalks.Check(c.Walk); err != nil {
		return err
	}
	if s.walk, err = automata.NewWalk(c.States, c.Lambda); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if s.overload, err = automata.NewOverload(c.OverloadStates, c.Threshold); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	x := amounts(s.walk, c.States)
	up, down := c.Walk.steps(x)
	s.chance, s.up, s.down = probabilities(x), probabilities(up), probabilities(down)
	// More room than all pages could need is no different from that, and its quantum would be too
	// coarse for a page.
	room := c.Capacity
	if most := max(float64(s.first[len(s.first)-1]), 1); room > most && !math.IsInf(room, 1) {
		room = most
	}
	u, err := toUnits(x, []float64{room})
	if err != nil {
		return fmt.Errorf("%w (the frequencies of the states in a capacity of %v)", err, c.Capacity)
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

// number makes the sites of the pages, and weights of 0, from s.first.
func (s *Scheme) number() {
	sites, pages := len(s.first)-1, s.first[len(s.first)-1]
	s.siteOf = make([]int32, pages)
	for i := range sites {
		for p := s.first[i]; p < s.first[i+1]; p++ {
			s.siteOf[p] = int32(i)
		}
	}
	s.weight = make([]int64, sites)
}

// Len returns the number of pages.
func (s *Scheme) Len() int { return len(s.state) }

// Frequency returns the frequency x of a page, in polls per slot.
func (s *Scheme) Frequency(page int) (float64, error) {
	if page < 0 || page >= len(s.state) {
		return 0, fmt.Errorf("%w: page %d", ErrUnknown, page)
	}
	return s.walk.Amount(int(s.state[page])), nil
}

// Bin returns the bin of a site.
func (s *Scheme) Bin(site int) (int, error) {
	if site < 0 || site >= len(s.bin) {
		return 0, fmt.Errorf("%w: site %d", ErrUnknown, site)
	}
	return s.bin[site], nil
}

// Weights appends the weight of each site, the sum of the frequencies of its pages, to dst.
func (s *Scheme) Weights(dst []float64) []float64 {
	for _, w := range s.weight {
		dst = append(dst, float64(w)*s.quantum)
	}
	return dst
}

// Loads appends the load of each bin to dst; bins without sites have 0.
func (s *Scheme) Loads(dst []float64) []float64 {
	at := len(dst)
	for range s.alarm {
		dst = append(dst, 0)
	}
	for i, b := range s.bin {
		dst[at+b] += float64(float64(s.weight[i]) * s.quantum)
	}
	return dst
}

// Next starts a slot and returns the pages to poll in it, increasing. The slice is valid until
// the next call. Answers still due from the slot before are forgotten.
func (s *Scheme) Next() []int {
	clear(s.pending)
	s.slot = SlotReport{}
	s.asked = s.asked[:0]
	for p, st := range s.state {
		if s.src.Uint64() < s.chance[st-1] {
			s.asked = append(s.asked, p)
			s.pending[p/64] |= 1 << (p % 64)
		}
	}
	return s.asked
}

// Observe reports whether a page that Next asked for had changed since it was last polled.
// [ErrUnknown] if there is no such page, [ErrNotAsked] if it was not asked for in this slot or
// was answered.
func (s *Scheme) Observe(page int, changed bool) error {
	if page < 0 || page >= len(s.state) {
		return fmt.Errorf("%w: page %d", ErrUnknown, page)
	}
	if s.pending[page/64]>>(page%64)&1 == 0 {
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
		s.move(page, s.walk.Step(state, changed))
	}
	return nil
}

// move puts a page into a state.
func (s *Scheme) move(page, state int) {
	s.weight[s.siteOf[page]] += s.amount[state-1] - s.amount[s.state[page]-1]
	s.state[page] = uint16(state)
}

// Rebalance ends the slot: it relieves overloaded bins, packs again what was put out, and
// reports what happened in the slot. Called again before Next, it relieves what is still
// overloaded, and reports only what happened since.
func (s *Scheme) Rebalance() SlotReport {
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
		s.alarm[b] = s.overload.Step(s.alarm[b], overloaded)
	}
	s.repack(out)
	report := s.slot
	s.slot = SlotReport{}
	return report
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
