package webenv

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// ZipfConfig describes the environment of [NewZipf]. The zero value is the paper's first static
// one.
type ZipfConfig struct {
	// Pages is the number of pages; 0 means 500, as in the paper.
	Pages int
	// The page of rank k = 1, 2, … changes with probability Alpha/k^Beta per slot, Alpha ≤ 1. 0
	// means 0.3 and 1.5. The paper uses (0.3, 1.5), (0.3, 1) and (0.9, 1.5). A negative Beta means
	// an exponent of 0: all pages change alike.
	Alpha, Beta float64
	// Law says what a probability per slot means.
	Law SlotLaw
	// SwapEvery is the number of polls after which a random page swaps its rank with the next page
	// in the ranking; 0 means a static environment. The page is drawn with probability proportional
	// to its probability of change. If it is the last in the ranking, nothing happens.
	SwapEvery int
}

// resolve returns the settings with the defaults filled in.
func (c ZipfConfig) resolve() ZipfConfig {
	c.Pages, c.Alpha, c.Beta = cmp.Or(c.Pages, 500), cmp.Or(c.Alpha, 0.3), cmp.Or(c.Beta, 1.5)
	if c.Beta < 0 && !math.IsInf(c.Beta, -1) {
		c.Beta = 0
	}
	return c
}

// zipfEnv is the environment of NewZipf.
type zipfEnv struct {
	cfg ZipfConfig
	rng random

	// If a page is known to have changed, this is the time of its first change. Otherwise it is the
	// time up to which the page is known not to have changed. A bit of rank says which.
	time []float64

	// The rest is for a dynamic environment.
	rank    []uint32 // rank of a page, from 0, and the bit changedBit
	page    []uint32 // page at a rank: page[rank[i]&^changedBit] == i
	sampler zipfSampler
	polls   int // number of polls since the last swap
	now     float64
}

// changedBit marks a page that changed since its last poll.
const changedBit = 1 << 31

func (c *ZipfConfig) check() error {
	switch {
	case c.Pages <= 0:
		return fmt.Errorf("%w: %d pages", ErrConfig, c.Pages)
	case c.Pages >= changedBit:
		return fmt.Errorf("%w: %d pages, at most %d", ErrConfig, c.Pages, changedBit-1)
	case !(c.Alpha >= 0 && c.Alpha <= 1):
		return fmt.Errorf("%w: alpha %v is no probability", ErrConfig, c.Alpha)
	case !(c.Beta >= 0 && c.Beta <= math.MaxFloat64):
		return fmt.Errorf("%w: beta %v", ErrConfig, c.Beta)
	case c.SwapEvery < 0:
		return fmt.Errorf("%w: swap every %d polls", ErrConfig, c.SwapEvery)
	}
	return slotLaws.Check(c.Law)
}

// NewZipf returns the environment of Granmo, Oommen, Myrer and Olsen (2006, section III): the
// probabilities of change follow a Zipf law over a ranking of the pages. Take it to repeat the
// paper, as go run ./examples/papers -only granmo does.
//
// The ranking starts as page 0, 1, 2, … and is static, or pages swap ranks now and then. In a
// dynamic environment no Poll may be at an earlier time than a previous Poll of any page.
//
// # Cost
//
// Time: a poll and a swap take O(1). Memory: 8 bytes a page if static and 16 if dynamic; a poll
// allocates nothing.
func NewZipf(cfg ZipfConfig, src rand.Source) (Simulated, error) {
	rng := newRandom(src)
	cfg = cfg.resolve()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return newZipf(cfg, rng), nil
}

func newZipf(cfg ZipfConfig, rng random) *zipfEnv {
	z := &zipfEnv{cfg: cfg, rng: rng, time: make([]float64, cfg.Pages)}
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
func (z *zipfEnv) Len() int { return len(z.time) }

// rankOf returns the present rank of a page, from 0 for the page that changes most often.
func (z *zipfEnv) rankOf(page int) int {
	if z.rank == nil {
		return page
	}
	return int(z.rank[page] &^ changedBit)
}

// Rate returns −ln(1−u), where u is the present probability of change of the page.
func (z *zipfEnv) Rate(page int, _ float64) float64 {
	return slotRate(z.cfg.Alpha * math.Pow(float64(z.rankOf(page)+1), -z.cfg.Beta))
}

// Poll implements [Env].
func (z *zipfEnv) Poll(page int, now float64) (since float64, changed bool) {
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
func (z *zipfEnv) settle(page int, now float64) {
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
func (z *zipfEnv) swap(k int, now float64) {
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

var zipfFormat = codec.Format{Magic: "recrawl/webenv.Zipf", Version: 1}

// MarshalBinary and UnmarshalBinary are described with Simulated.

func (z *zipfEnv) MarshalBinary() ([]byte, error) { return zipfFormat.Save(z.encode) }

func (z *zipfEnv) UnmarshalBinary(data []byte) error {
	return codec.Load(z, zipfFormat, data, (*zipfEnv).decode)
}

func (z *zipfEnv) encode(e *codec.Encoder) {
	e.Int(z.cfg.Pages)
	e.Float64(z.cfg.Alpha)
	e.Float64(z.cfg.Beta)
	e.Byte(byte(z.cfg.Law))
	e.Int(z.cfg.SwapEvery)
	e.Float64s(z.time)
	e.Uint32s(z.rank)
	e.Int(z.polls)
	e.Float64(z.now)
	e.Source(z.rng.src)
}

func (z *zipfEnv) decode(d *codec.Decoder) {
	cfg := ZipfConfig{Pages: d.Int(), Alpha: d.Float64(), Beta: d.Float64()}
	cfg.Law, cfg.SwapEvery = codec.Enum[SlotLaw](d, slotLaws.Len()), d.Int()
	d.Check(cfg.check())
	times := d.Float64sIn(cfg.Pages, 0, math.MaxFloat64)
	ranks := 0
	if cfg.SwapEvery > 0 {
		ranks = cfg.Pages
	}
	rank := d.Uint32sIn(ranks, math.MaxUint32)
	polls, now := d.IntIn(0, max(cfg.SwapEvery-1, 0)), d.NonNegative()
	rng := restored(d)
	// The number of pages is sure to fit the data only from here on.
	if d.Err() != nil {
		return
	}
	*z = *newZipf(cfg, rng)
	z.time, z.polls, z.now = times, polls, now
	d.Require(ranks == 0 || slices.Max(times) <= now, "a page at time %v, after %v", slices.Max(times), now)
	taken := make([]bool, len(rank))
	for i, r := range rank {
		k := int(r &^ changedBit)
		if k >= len(rank) || taken[k] {
			d.Fail("page %d has rank %d", i, k)
			return
		}
		taken[k] = true
		z.rank[i], z.page[k] = r, uint32(i)
	}
}
