package binpack

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/internal/source"
)

// A Scheme is the two-phase scheme of Yazidi 2006 (section 4.2). Every page has a walk that learns
// how often to poll it. The weight of a site is the sum of the frequencies of its pages. The sites
// are packed on nodes of one capacity. In every slot call Next for the pages to poll, Observe for
// each answer, and Rebalance at the end. Take it to reproduce the paper; for a real fleet, where
// moves have a cost, take [Packer].
//
// # How it works
//
// Phase 1, in NewScheme, is Best Fit Decreasing. Phase 2, in every slot:
//
//  1. Next asks for each page with the probability x, its frequency. Observe moves a page that had
//     changed up a state, and a page that had not down a state. It notes the result in the page's
//     register.
//  2. Rebalance looks at every bin. If a bin is overloaded, its automaton chooses between two ways.
//     It may exclude sites: the subset of the largest total that fits stays, as far as a search of
//     bounded size finds it. Or it decreases the frequencies of its most penalised pages until the
//     bin fits.
//  3. The excluded sites are packed again by Best Fit Decreasing.
//
// Weights are sums of whole units (see [Weight]). With λ = 1 and N a power of two they are exact.
// [SchemeConfig.MeanFrequency] describes where x settles.
//
// The section "The five papers" of RESULTS.md compares its runs of the paper's tests with the
// published figures; go run ./examples/papers -only yazidi repeats them. Tests 1 and 2 end with
// more weight than published and 5 bins, not 4.
//
// # Cost
//
// Time: O(pages + sites) a slot besides the subset sums, and O(bins + log sites) for each excluded
// site. Memory: some 14 bytes a page, and 8 for each page polled in a slot.
type Scheme struct {
	cfg      SchemeConfig
	src      rand.Source
	walk     *automata.Walk
	overload *automata.Overload

	amount  []int64  // frequency of each state in units, amount[s−1]
	chance  []uint64 // a page in state s is polled if a random number is below chance[s−1]
	up      []uint64 // likewise for moving up after a change
	down    []uint64 // likewise for moving down after no change
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
	alarm  []int   // state of the automaton of each bin; Th for bins without sites

	slot SlotReport // counts of the present slot
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
	s.cfg.InitialStates = nil // from now on the states of the pages hold them
	return nil
}

// number numbers the pages by site and makes weights of 0, from s.first.
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

// Next starts a slot and returns the pages to poll in it, in increasing order. The slice is valid
// until the next call. Answers still missing from the slot before no longer count.
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

// Observe reports whether a page that Next asked for had changed since it was last polled. The
// error is [ErrUnknown] if there is no such page, and [ErrNotAsked] if it was not asked for in this
// slot or was answered already.
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
