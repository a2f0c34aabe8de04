package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// ZipfConfig describes a [Zipf] environment.
type ZipfConfig struct {
	Pages int
	// The page of rank k = 1, 2, … changes with probability Alpha/k^Beta per
	// slot, 0 ≤ Alpha ≤ 1, Beta ≥ 0. The paper uses (0.3, 1.5), (0.3, 1) and
	// (0.9, 1.5) with 500 pages.
	Alpha, Beta float64
	// Law says what a probability per slot means.
	Law SlotLaw
	// SwapEvery is the number r of polls after which a page, drawn with
	// probability proportional to its probability of changing, swaps its rank
	// with the next page in the ranking; 0 for a static environment. If the
	// page drawn is the last in the ranking, nothing happens.
	SwapEvery int
}

// Zipf is the environment of Granmo, Oommen, Myrer and Olsen (2006, section
// III): the probabilities of change follow a Zipf law over a ranking of the
// pages, which starts as page 0, 1, 2, … and is static or changes slowly. It
// starts at time 0.
//
// A dynamic environment needs times that never go back over all its pages
// together. It keeps 8 bytes a page if static and 16 if dynamic; a poll and a
// swap take O(1) and allocate nothing.
type Zipf struct {
	cfg ZipfConfig
	rng random

	// A page that is known to have changed needs the time of its first change
	// only, any other page only the time up to which it is known not to have
	// changed; one number holds either, and a bit of rank tells which.
	time []float64

	// The rest is for a dynamic environment.
	rank    []uint32 // rank of a page, from 0, and the bit changedBit
	page    []uint32 // page at a rank: page[rank[i]&^changedBit] == i
	sampler zipfSampler
	polls   int // since the last swap
	now     float64
}

// changedBit marks a page that changed since its last poll.
const changedBit = 1 << 31

func (c *ZipfConfig) check() error {
	switch {
	case c.Pages <= 0:
		return fmt.Errorf("%w: %d", ErrNoPages, c.Pages)
	case c.Pages >= changedBit:
		return fmt.Errorf("%w: %d pages, at most %d", ErrConfig, c.Pages, changedBit-1)
	case !(c.Alpha >= 0 && c.Alpha <= 1):
		return fmt.Errorf("%w: alpha %v", ErrProbability, c.Alpha)
	case !(c.Beta >= 0 && c.Beta <= math.MaxFloat64):
		return fmt.Errorf("%w: beta %v", ErrConfig, c.Beta)
	case c.SwapEvery < 0:
		return fmt.Errorf("%w: swap every %d polls", ErrConfig, c.SwapEvery)
	}
	return c.Law.check()
}

// NewZipf returns a Zipf environment.
func NewZipf(cfg ZipfConfig, src rand.Source) (*Zipf, error) {
	rng := newRandom(src)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return newZipf(cfg, rng), nil
}

func newZipf(cfg ZipfConfig, rng random) *Zipf {
	z := &Zipf{cfg: cfg, rng: rng, time: make([]float64, cfg.Pages)}
	if cfg.SwapEvery > 0 {
		z.rank = make([]uint32, cfg.Pages)
		z.page = make([]uint32, cfg.Pages)
		for i := range z.rank {
			z.rank[i], z.page[i] = uint32(i), uint32(i)
		}
		z.sampler = newZipfSampler(cfg.Pages, cfg.Beta)
	}
	return z
}

// Len returns the number of pages.
func (z *Zipf) Len() int { return len(z.time) }

// rankOf returns the present rank of a page, from 0 for the page that changes
// most often.
func (z *Zipf) rankOf(page int) int {
	if z.rank == nil {
		return page
	}
	return int(z.rank[page] &^ changedBit)
}

// Rate implements [Rater]: it is −ln(1−u), where u is the present probability
// of change of the page.
func (z *Zipf) Rate(page int, _ float64) float64 {
	return slotRate(z.cfg.Alpha * math.Pow(float64(z.rankOf(page)+1), -z.cfg.Beta))
}

// Poll implements [Env].
func (z *Zipf) Poll(page int, now float64) (since float64, changed bool) {
	last := z.time[page]
	if z.rank == nil {
		checkTime(page, now, last)
		z.time[page] = now
		if last < now {
			if first := z.cfg.Law.first(last, z.Rate(page, now), z.rng.Rand); first <= now {
				return first, true
			}
		}
		return 0, false
	}

	checkTime(page, now, z.now)
	z.now = now
	z.settle(page, now)
	if changed = z.rank[page]&changedBit != 0; changed {
		since = z.time[page]
		z.rank[page] &^= changedBit
	}
	z.time[page] = now
	if z.polls++; z.polls == z.cfg.SwapEvery {
		z.polls = 0
		z.swap(z.sampler.rank(z.rng.Rand), now)
	}
	return since, changed
}

// settle draws what happened to a page up to now, by its present rate.
func (z *Zipf) settle(page int, now float64) {
	if z.rank[page]&changedBit != 0 || z.time[page] == now {
		return
	}
	first := z.cfg.Law.first(z.time[page], z.Rate(page, now), z.rng.Rand)
	if first <= now {
		z.rank[page] |= changedBit
	}
	z.time[page] = min(first, now)
}

// swap exchanges rank k, from 0, and rank k+1.
func (z *Zipf) swap(k int, now float64) {
	if k == len(z.page)-1 {
		return
	}
	a, b := z.page[k], z.page[k+1]
	z.settle(int(a), now)
	z.settle(int(b), now)
	z.page[k], z.page[k+1] = b, a
	z.rank[a]++ // the bit changedBit stays as it is
	z.rank[b]--
}

// zipfSampler draws ranks 1 to n with probability proportional to k^(−beta) in
// O(1) expected time and without a table, by rejection-inversion (Hörmann and
// Derflinger 1996, "Rejection-inversion to generate variates from monotone
// discrete distributions"): k^(−beta) is at most the integral of x^(−beta)
// over [k−½, k+½], because x^(−beta) is convex.
type zipfSampler struct {
	n          float64
	beta       float64
	low, high  float64 // range of the integral, from rank 1's to rank n's
	alwaysNear float64 // a draw this near below its rank is always accepted
}

func newZipfSampler(n int, beta float64) zipfSampler {
	s := zipfSampler{n: float64(n), beta: beta}
	s.low = s.integral(1.5) - 1 // rank 1 gets its exact weight
	s.high = s.integral(s.n + 0.5)
	s.alwaysNear = 2 - s.inverse(s.integral(2.5)-math.Pow(2, -beta))
	return s
}

// rank draws a rank, from 0.
func (s *zipfSampler) rank(rng *rand.Rand) int {
	for {
		y := s.low + float64(rng.Float64()*(s.high-s.low))
		x := s.inverse(y)
		k := min(max(math.Round(x), 1), s.n)
		if k-x <= s.alwaysNear || y >= s.integral(k+0.5)-math.Pow(k, -s.beta) {
			return int(k) - 1
		}
	}
}

// integral is the integral of x^(−beta) from 1.
func (s *zipfSampler) integral(x float64) float64 {
	l := math.Log(x)
	if s.beta == 1 {
		return l
	}
	return math.Expm1((1-s.beta)*l) / (1 - s.beta)
}

// inverse is the inverse of integral.
func (s *zipfSampler) inverse(y float64) float64 {
	if s.beta == 1 {
		return math.Exp(y)
	}
	return math.Exp(math.Log1p((1-s.beta)*y) / (1 - s.beta))
}
