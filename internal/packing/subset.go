package packing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/grid"
	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/internal/work"
)

// A Subset is a set of items that fits a capacity.
type Subset struct {
	Items  []int // increasing
	Proved bool  // no subset that fits has a larger sum
	Gap    int64 // bounds what a better subset could gain: 0 if Proved
}

// coreQuick is the size of the core that every search searches completely: 2^(size/2) sums are
// kept.
const coreQuick = 32

// subsetLimits bound what a search may take before it falls back to the best subset found.
type subsetLimits struct {
	core   int   // the largest core that is searched completely
	steps  int64 // of the dynamic programme: the number of items times the largest weight
	weight int64 // the largest weight for the dynamic programme, which takes 24 bytes for each unit
	trail  int   // its steps back, at 8 bytes each
}

var (
	// thorough is for callers with a context. A search takes less than 500 MB and, with a processor
	// to itself, ten seconds: TestSubsetLimits.
	thorough = subsetLimits{core: 44, steps: 1 << 32, weight: 1 << 22, trail: 1 << 25}
	// brief is for what belongs to a single call of a learner: less than 200 MB, a tenth of a second.
	brief = subsetLimits{core: 40, steps: 1 << 26, weight: 1 << 20, trail: 1 << 21}
)

// MaxSubset finds the subset of the largest weight that is not above c, or the best
// subset so far if the context ends first. Items heavier than c are left out. The sum of
// the weights is at most [MaxTotal]. Package binpack says how it works.
func MaxSubset(ctx context.Context, w []int64, c int64) Subset {
	s := newSubset(w, c)
	s.solve(ctx, thorough)
	return s.result()
}

// BriefSubset is MaxSubset with less time and memory: where there are more than 40 items, and
// their number times the largest weight is above 2^26, or that weight above 2^20, the result may be
// another than the largest.
func BriefSubset(w []int64, c int64) Subset {
	s := newSubset(w, c)
	s.solve(context.Background(), brief)
	return s.result()
}

// subset is a subset sum problem in units, no item above the capacity. If not
// proved from the start, the total weight is above it.
type subset struct {
	w       []int64 // decreasing, positive, divided by their greatest common divisor
	item    []int   // their numbers
	always  []int   // items that are in: they weigh nothing, or must be in every better subset
	total   int64   // of w
	c       int64
	divisor int64
	best    int64
	chosen  []bool // positions of the best subset
	proved  bool
	watch   *work.Watch // of searches that take long; nil for those before
}

func newSubset(weights []int64, c int64) *subset {
	s := &subset{c: c, divisor: 1}
	divisor := int64(0)
	for _, x := range Decreasing(weights) {
		if x.Weight > c {
			continue
		}
		if x.Weight == 0 {
			s.always = append(s.always, int(x.Item))
			continue
		}
		s.w = append(s.w, x.Weight)
		s.item = append(s.item, int(x.Item))
		divisor = grid.GCD(divisor, x.Weight)
		s.total += x.Weight
	}
	s.chosen = make([]bool, len(s.w))
	if s.total <= s.c {
		s.proved = true
		for i := range s.chosen {
			s.chosen[i] = true
		}
		s.best = s.total
		return s
	}
	for i := range s.w {
		s.w[i] /= divisor
	}
	s.c /= divisor
	s.total /= divisor
	s.divisor = divisor
	return s
}

func (s *subset) result() Subset {
	r := Subset{Items: s.always, Proved: s.proved}
	for i, ok := range s.chosen {
		if ok {
			r.Items = append(r.Items, s.item[i])
		}
	}
	slices.Sort(r.Items)
	if !s.proved {
		r.Gap = (s.c - s.best) * s.divisor
	}
	return r
}

// offer takes a subset over if it is better.
func (s *subset) offer(sum int64, chosen func(int) bool) {
	if sum <= s.best {
		return
	}
	s.best = sum
	for i := range s.chosen {
		s.chosen[i] = chosen(i)
	}
	s.proved = s.best == s.c
}

func (s *subset) solve(ctx context.Context, most subsetLimits) {
	if s.proved {
		return
	}
	for _, size := range [...]int{20, 26, coreQuick} { // a step up costs eight times as much
		complete := len(s.w) <= size
		if s.core(size, lightest); s.proved {
			return
		}
		if complete {
			s.proved = true
			return
		}
		s.reduce()
	}
	n := len(s.w)
	rng := rand.New(rand.NewPCG(uint64(n), uint64(s.c)))
	random := func(n, size int) []int { return rng.Perm(n)[:size] }
	if s.core(coreQuick, random); s.proved || ctx.Err() != nil {
		return
	}
	s.watch = work.NewWatch(ctx)
	// Steps of either, roughly.
	byCore, byBalance := int64(math.MaxInt64), int64(math.MaxInt64)
	if n <= most.core {
		byCore = 64 << (n / 2)
	}
	if s.w[0] <= min(most.weight, most.steps/int64(n)) {
		byBalance = s.w[0] * int64(n)
	}
	if byBalance <= byCore && byBalance < math.MaxInt64 && s.balance(most.trail) {
		return
	}
	if n <= most.core {
		s.proved = s.core(n, lightest)
		return
	}
	for size := coreQuick + 4; size <= most.core; size += 4 {
		if s.proved || ctx.Err() != nil {
			return
		}
		s.core(size, lightest)
	}
	for trial := 0; trial < 3 && !s.proved && ctx.Err() == nil; trial++ {
		s.core(most.core, random)
	}
	for _, size := range [...]int{coreQuick, most.core} { // for items of almost equal weights
		before := s.best
		if s.proved || ctx.Err() != nil {
			return
		}
		if s.core(size, nil); s.best == before {
			return
		}
	}
}

// reduce takes out the items heavier than all that the best subset leaves out. They are
// in it and in every better one.
func (s *subset) reduce() {
	out := s.total - s.best
	k := 0
	for s.w[k] > out {
		s.always = append(s.always, s.item[k])
		s.total -= s.w[k]
		s.best -= s.w[k]
		s.c -= s.w[k]
		k++
	}
	s.w, s.item, s.chosen = s.w[k:], s.item[k:], s.chosen[k:]
}

// lightest returns the positions of the lightest items, whose sums are the densest.
func lightest(n, size int) []int {
	core := make([]int, size)
	for k := range core {
		core[k] = n - size + k
	}
	return core
}

// core fills all but size items to what leaves half the weight of the core to fill, and the rest with
// the best subset of the core. pick returns the positions of the core. The other items are taken
// greedily, the heaviest first.
//
// If pick is nil, core and filling are spread over all weights. That is for items of almost equal
// weights: the heaviest ones weigh so much more than as many others that no subset of the core makes
// up for it, and there is a whole item too few.
//
// It reports whether it came to an end.
func (s *subset) core(size int, pick func(n, size int) []int) bool {
	n := len(s.w)
	size = min(size, n)
	in := make([]bool, n)
	even := pick == nil
	if even {
		pick = func(n, size int) []int {
			core := make([]int, size)
			for k := range core {
				core[k] = k * n / size
			}
			return core
		}
	}
	core := pick(n, size)
	half := int64(0)
	isCore := make([]bool, n)
	for _, i := range core {
		isCore[i] = true
		half += s.w[i] / 2
	}
	if size == n {
		half = s.c
	}
	room := s.c
	if even {
		for _, i := range s.window(isCore, room-half) {
			in[i] = true
			room -= s.w[i]
		}
	}
	for i, w := range s.w {
		if !isCore[i] && !in[i] && w <= room-half {
			in[i] = true
			room -= w
		}
	}
	// If the core is too light for the last item that did not fit, take one more
	// where there is room.
	w := make([]int64, size)
	for k, i := range core {
		w[k] = s.w[i]
	}
	total := int64(0)
	for _, x := range w {
		total += x
	}
	for i := n - 1; i >= 0 && total < room; i-- {
		if !isCore[i] && !in[i] && s.w[i] <= room {
			in[i] = true
			room -= s.w[i]
		}
	}
	taken := make([]bool, size)
	sum, ok := subsetsum.Largest(w, room, taken, s.watch)
	if !ok {
		return false
	}
	for k, i := range core {
		in[i] = taken[k]
	}
	s.offer(s.c-room+sum, func(i int) bool { return in[i] })
	return true
}

// window returns items outside of the core that follow each other by weight: as many of mean weight
// as fit into room, and the heaviest such ones that fit.
func (s *subset) window(isCore []bool, room int64) []int {
	var rest []int
	total := int64(0)
	for i, w := range s.w {
		if !isCore[i] {
			rest = append(rest, i)
			total += w
		}
	}
	if room <= 0 || total == 0 {
		return nil
	}
	count := min(int(math.Round(float64(room)/float64(total)*float64(len(rest)))), len(rest))
	sum := int64(0)
	for _, i := range rest[:count] {
		sum += s.w[i]
	}
	for begin := 0; ; begin++ {
		if sum <= room {
			return rest[begin : begin+count]
		}
		if begin+count == len(rest) {
			return nil
		}
		sum += s.w[rest[begin+count]] - s.w[rest[begin]]
	}
}
