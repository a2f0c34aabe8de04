package webenv

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// BurstyConfig describes how the pages of the environment of [NewBursty] alternate between a quiet
// and an active state. With the zero value a page is active for a tenth of the time. It changes
// only then, at ten times its rate.
type BurstyConfig struct {
	// Quiet and Active are the rates in the two states, as multiples of the page's own rate. If
	// Active is 0, it is set so that the page changes at its own rate in the long run; Quiet must
	// be small enough for that.
	Quiet, Active float64
	// QuietStay and ActiveStay are the mean times that a page stays in each state; 0 means 27 and
	// 3. The times are exponentially distributed.
	QuietStay, ActiveStay float64
}

// The defaults mean three bursts in a quarter of 90 days, if a day is the unit of time. They are
// not fitted to a record.
const (
	defaultQuietStay  = 27
	defaultActiveStay = 3
)

// resolve returns the settings with the defaults filled in.
func (c BurstyConfig) resolve() BurstyConfig {
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
		// The stays and the quiet rate come first: the default of the active rate follows from them.
		{"quiet stay", c.QuietStay, 1/c.QuietStay > 0 && 1/c.QuietStay <= math.MaxFloat64},
		{"active stay", c.ActiveStay, 1/c.ActiveStay > 0 && 1/c.ActiveStay <= math.MaxFloat64},
		{"quiet rate", c.Quiet, c.Quiet >= 0},
		{"active rate", c.Active, c.Active >= 0},
	} {
		if !f.ok || math.IsInf(f.v, 1) {
			return fmt.Errorf("%w: %s %v", ErrConfig, f.name, f.v)
		}
	}
	return nil
}

// latest returns the last time at which a page can be polled. At that time, adding one stay still
// gives a different float, so a poll comes to an end.
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

// NewBursty returns an environment in continuous time whose pages change in bursts, independently
// of each other. Take it to see how a learner copes with pages that wake up.
//
// Each page is a two-state Markov-modulated Poisson process: page i changes at rate
// rates[i]·cfg.Quiet while it is quiet and at rate rates[i]·cfg.Active while it is active, and
// moves from one state to the other at random. The environment starts in equilibrium and is
// simulated exactly. The rates are rounded to float32. Poll panics at a time beyond 2⁵⁰ times the
// shorter stay, because then adding a stay to the time may not change it.
//
// # Cost
//
// Time: a poll takes O(1 + the number of moves between the states from the previous poll of the
// page to its first change after that). For a page that in both states changes less than once in
// 1000 of the longer stays, it takes O(1 + the greater of its rates × the time since the previous
// poll).
//
// Memory: 13 bytes a page; a poll allocates nothing.
func NewBursty(rates []float64, cfg BurstyConfig, src rand.Source) (Simulated, error) {
	rng := newRandom(src)
	if err := checkRates(rates); err != nil {
		return nil, err
	}
	given := cfg
	cfg = cfg.resolve()
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
			return nil, fmt.Errorf("%w: page %d: rate %v is too great", ErrConfig, i, r)
		}
		b.active[i] = rng.Float64() < cfg.activeShare()
	}
	return b, nil
}

// Len returns the number of pages.
func (b *burstyEnv) Len() int { return len(b.rates) }

// Poll implements [Env].
func (b *burstyEnv) Poll(page int, now float64) (since float64, changed bool) {
	t, active := b.last[page], b.active[page]
	checkTime(page, now, t)
	if now > b.cfg.latest() {
		badTime(page, now, t)
	}
	b.last[page] = now
	if most := max(float64(b.rates[page])*max(b.cfg.Quiet, b.cfg.Active), 0); most*seldom < 1/max(b.cfg.QuietStay, b.cfg.ActiveStay) {
		return b.pollSeldom(page, most, t, now)
	}
	// Invariant: the page did not change from the previous poll to t, and is in state active at
	// t.
	for {
		rate, leave := b.in(page, active)
		if gap := b.rng.ExpFloat64() / (rate + leave); t+gap > t {
			t += gap
		} else { // less than the spacing of floats: a change comes after the previous poll all the same
			t = math.Nextafter(t, math.Inf(1))
		}
		if !(t <= now) {
			b.active[page] = active
			return 0, false
		}
		if float64(b.rng.Float64()*(rate+leave)) < rate {
			// From here on only the state at now matters, not the moves before it.
			b.active[page] = b.rng.Float64() < b.activeAfter(active, now-t)
			return t, true
		}
		active = !active
	}
}

// seldom is how many of the longer stays must pass, on average, between two changes of a page for
// pollSeldom to be used. pollSeldom does not draw every move between the states.
const seldom = 1000

// pollSeldom is Poll for a page that changes at a rate of at most most. It draws times at which the
// page may change, at that rate. For each of them it draws the state of the page, and whether the
// page did change.
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

// Rate returns the expected rate at time now, given the state of the page at its last poll. now
// must not be before that poll.
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

// activeAfter returns the probability that a page is active, a time d after it was known to be
// active or not.
func (b *burstyEnv) activeAfter(active bool, d float64) float64 {
	share := b.cfg.activeShare()
	from := 0.0
	if active {
		from = 1
	}
	return share + float64((from-share)*math.Exp(-d*(1/b.cfg.QuietStay+1/b.cfg.ActiveStay)))
}

var burstyFormat = codec.Format{Magic: "recrawl/webenv.Bursty", Version: 1}

// MarshalBinary and UnmarshalBinary are described with Simulated.

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
