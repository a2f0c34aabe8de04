package webenv

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// BurstyConfig describes how the pages of the environment of [NewBursty] alternate between a
// quiet and an active state. The zero value has pages that change during a tenth of the time,
// ten times as fast as their rate.
type BurstyConfig struct {
	// Quiet and Active are the rates in the two states, as multiples of the page's own rate. An
	// Active of 0 means the multiple with which the page changes at its own rate in the long
	// run; Quiet must leave room for it.
	Quiet, Active float64
	// QuietStay and ActiveStay are the mean times that a page stays in a state, which are
	// exponentially distributed; 0 means 27 and 3.
	QuietStay, ActiveStay float64
}

// Three bursts in a quarter of 90 days, with the day as unit of time: no record was fitted.
const (
	defaultQuietStay  = 27
	defaultActiveStay = 3
)

// filled returns the settings with the defaults filled in.
func (c BurstyConfig) filled() BurstyConfig {
	c.QuietStay, c.ActiveStay = cmp.Or(c.QuietStay, defaultQuietStay), cmp.Or(c.ActiveStay, defaultActiveStay)
	if share := c.activeShare(); c.Active == 0 {
		c.Active = (1 - c.Quiet*(1-share)) / share
	}
	return c
}

// activeShare returns the share of time that a page is active.
func (c BurstyConfig) activeShare() float64 { return c.ActiveStay / (c.QuietStay + c.ActiveStay) }

func (c BurstyConfig) check() error {
	for _, f := range []struct {
		name string
		v    float64
		ok   bool
	}{
		{"quiet rate", c.Quiet, c.Quiet >= 0},
		{"active rate", c.Active, c.Active >= 0},
		{"quiet stay", c.QuietStay, 1/c.QuietStay > 0 && 1/c.QuietStay <= math.MaxFloat64},
		{"active stay", c.ActiveStay, 1/c.ActiveStay > 0 && 1/c.ActiveStay <= math.MaxFloat64},
	} {
		if !f.ok || math.IsInf(f.v, 1) {
			return fmt.Errorf("%w: %s %v", ErrConfig, f.name, f.v)
		}
	}
	return nil
}

// latest returns the last time at which a page can be polled: one stay later is another float,
// so that a poll comes to an end.
func (c BurstyConfig) latest() float64 { return 0x1p50 * min(c.QuietStay, c.ActiveStay) }

// fits reports whether the rates of a page are finite in both states.
func (c BurstyConfig) fits(rate float32) bool {
	return rate >= 0 && float64(rate)*max(c.Quiet, c.Active, 1) <= math.MaxFloat64
}

// burstyEnv is the environment of NewBursty.
type burstyEnv struct {
	cfg    BurstyConfig
	rates  []float32
	last   []float64 // time of the previous poll
	active []bool    // state at that time
	rng    random
}

// NewBursty returns an environment in continuous time whose pages change in bursts,
// independently of each other, as two-state Markov-modulated Poisson processes: page i changes
// at rate rates[i]·cfg.Quiet while it is quiet and rates[i]·cfg.Active while it is active, and
// moves from one state to the other at random. Take it to see how a learner copes with pages
// that wake up. It starts in equilibrium and is simulated exactly. The rates are rounded to
// float32.
//
// # Cost
//
// Time: a poll takes O(1 + the moves between the states from the previous poll of the page to
// the first change after it). Of a page that changes less than once in 1000 of the longer stays
// in either state it takes O(1 + the greater of its rates × the time since the previous poll).
// Memory: 13 bytes a page; a poll allocates nothing.
func NewBursty(rates []float64, cfg BurstyConfig, src rand.Source) (Simulated, error) {
	rng := newRandom(src)
	if err := checkRates(rates); err != nil {
		return nil, err
	}
	given := cfg
	cfg = cfg.filled()
	if given.Active == 0 && cfg.Active < 0 && cfg.QuietStay > 0 && cfg.ActiveStay > 0 {
		return nil, fmt.Errorf("%w: quiet rate %v is more than the page's own, as pages are quiet for %.2g of the time",
			ErrConfig, cfg.Quiet, 1-cfg.activeShare())
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	n := len(rates)
	b := &burstyEnv{cfg, make([]float32, n), make([]float64, n), make([]bool, n), rng}
	for i, r := range rates {
		b.rates[i] = float32(r)
		if !cfg.fits(b.rates[i]) {
			return nil, fmt.Errorf("%w: page %d: %v is too great", ErrRate, i, r)
		}
		b.active[i] = rng.Float64() < cfg.activeShare()
	}
	return b, nil
}

// Len returns the number of pages.
func (b *burstyEnv) Len() int { return len(b.rates) }

// Poll implements [Env]. It also panics at a time of more than 2⁵⁰ of the shorter stay, where
// one more does not add up.
func (b *burstyEnv) Poll(page int, now float64) (since float64, changed bool) {
	t, active := b.last[page], b.active[page]
	checkTime(page, now, t)
	if now > b.cfg.latest() {
		badTime(page, now, t)
	}
	b.last[page] = now
	if most := float64(b.rates[page]) * max(b.cfg.Quiet, b.cfg.Active); most*seldom < 1/max(b.cfg.QuietStay, b.cfg.ActiveStay) {
		return b.pollSeldom(page, most, t, now)
	}
	// Invariant: the page did not change from the previous poll to t, and is in state active at
	// t.
	for {
		rate, leave := b.in(page, active)
		t += b.rng.ExpFloat64() / (rate + leave)
		if !(t <= now) {
			b.active[page] = active
			return 0, false
		}
		if float64(b.rng.Float64()*(rate+leave)) < rate {
			// Only the state at now is still wanted, not how it came about.
			b.active[page] = b.rng.Float64() < b.activeAfter(active, now-t)
			return t, true
		}
		active = !active
	}
}

// seldom is how many of the longer stays pass at least before a page changes for which not each
// move between the states is drawn.
const seldom = 1000

// pollSeldom is Poll for a page that changes at rate most at most. Times at which it may change are
// drawn at that rate, its state at each, and whether it did change.
func (b *burstyEnv) pollSeldom(page int, most, t, now float64) (since float64, changed bool) {
	// Invariant: as in Poll.
	for active := b.active[page]; ; {
		next := t + b.rng.ExpFloat64()/most
		until := now
		if next <= now {
			until = next
		}
		active = b.rng.Float64() < b.activeAfter(active, until-t)
		b.active[page], t = active, until
		if !(next <= now) {
			return 0, false
		}
		if rate, _ := b.in(page, active); float64(b.rng.Float64()*most) < rate {
			b.active[page] = b.rng.Float64() < b.activeAfter(active, now-t)
			return t, true
		}
	}
}

// Rate returns the rate to be expected at time now, which is not before the last poll, by the
// state in which the page was at that poll.
func (b *burstyEnv) Rate(page int, now float64) float64 {
	active := b.activeAfter(b.active[page], now-b.last[page])
	quiet := float64(b.cfg.Quiet * (1 - active))
	return float64(b.rates[page]) * (quiet + float64(b.cfg.Active*active))
}

// in returns the rates of changing and of leaving the state.
func (b *burstyEnv) in(page int, active bool) (rate, leave float64) {
	if active {
		return float64(float64(b.rates[page]) * b.cfg.Active), 1 / b.cfg.ActiveStay
	}
	return float64(float64(b.rates[page]) * b.cfg.Quiet), 1 / b.cfg.QuietStay
}

// activeAfter returns the probability of being active a time d after a time at which the state
// is known.
func (b *burstyEnv) activeAfter(active bool, d float64) float64 {
	share := b.cfg.activeShare()
	from := 0.0
	if active {
		from = 1
	}
	return share + float64((from-share)*math.Exp(-d*(1/b.cfg.QuietStay+1/b.cfg.ActiveStay)))
}

var burstyFormat = codec.Format{Magic: "recrawl/webenv.Bursty", Version: 1}

// MarshalBinary and UnmarshalBinary are those of Simulated.

func (b *burstyEnv) MarshalBinary() ([]byte, error) { return burstyFormat.Save(b.encode) }

func (b *burstyEnv) UnmarshalBinary(data []byte) error {
	return codec.Load(b, burstyFormat, data, (*burstyEnv).decode)
}

func (b *burstyEnv) encode(e *codec.Encoder) {
	c := b.cfg
	e.Float64s([]float64{c.Quiet, c.Active, c.QuietStay, c.ActiveStay})
	e.Float32s(b.rates)
	e.Float64s(b.last)
	for _, active := range b.active {
		e.Bool(active)
	}
	e.Source(b.rng.src)
}

func (b *burstyEnv) decode(d *codec.Decoder) {
	settings := d.Float64sIn(4, 0, math.MaxFloat64)
	b.rates = d.Float32sIn(codec.AnyLen, 0, math.MaxFloat32)
	if d.Require(len(b.rates) > 0, "no pages"); d.Err() != nil {
		return
	}
	b.cfg = BurstyConfig{settings[0], settings[1], settings[2], settings[3]}
	d.Check(b.cfg.check())
	b.last = d.Float64sIn(len(b.rates), 0, b.cfg.latest())
	b.active = d.Bools(len(b.rates))
	b.rng = restored(d)
	d.Require(b.cfg.fits(slices.Max(b.rates)), "rate %v is too great", slices.Max(b.rates))
}
