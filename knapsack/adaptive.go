package knapsack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
)

// AdaptiveConfig holds the settings of Adaptive: how an interval I between two polls of a page
// changes with what a poll found,
//
//	changed     I ← (1−Shrink)·I + Shrink·Floor
//	unchanged   I ← (1+Grow)·I
//
// kept within Min and Max. Nutch, StormCrawler and NewsCrawl return the settings of those
// crawlers. All but Shrink and Grow are in the caller's unit of time.
type AdaptiveConfig struct {
	// Shrink is in [0, 1); default 0.2, negative for 0.
	Shrink float64
	// Grow is at least 0; default 0.4, negative for 0.
	Grow float64
	// Floor is the interval that a page tends to if each poll finds a change, at least 0.
	Floor float64
	// Start is the first interval of a page, 1e-100 to 1e100, cut off at Min and Max; default 1. A
	// good one is the number of pages over the budget.
	Start float64
	// Min and Max are 1e-100 to 1e100. By default Min is a thousandth of the lesser of Start and
	// Max, Max is a thousand times the greater of Start and Min, and both are cut off at these
	// limits.
	Min, Max float64
}

// The defaults of db.fetch.schedule.adaptive.dec_rate and inc_rate of Apache Nutch.
const (
	nutchShrink = 0.2
	nutchGrow   = 0.4
)

// Nutch returns the rule of Apache Nutch's AdaptiveFetchSchedule at its defaults: ×0.8 for a
// change, ×1.4 for none, between a minute and a year. second is the length of a second in the
// caller's unit of time; others than positive ones panic.
func Nutch(second float64) AdaptiveConfig {
	requireSecond(second)
	return AdaptiveConfig{Shrink: nutchShrink, Grow: nutchGrow, Min: 60 * second, Max: 365 * 86400 * second}
}

// StormCrawler returns the rule of StormCrawler's adaptive scheduler: halfway to an hour for a
// change, ×1.5 for none, at most 14 days. second is as for Nutch.
func StormCrawler(second float64) AdaptiveConfig {
	requireSecond(second)
	return AdaptiveConfig{Shrink: 0.5, Floor: 3600 * second, Grow: 0.5, Min: 3600 * second, Max: 14 * 86400 * second}
}

// NewsCrawl returns the rule of Common Crawl's news-crawl: a fifth of the way to 90 minutes for a
// change, ×1.5 for none, at most 90 days. second is as for Nutch.
func NewsCrawl(second float64) AdaptiveConfig {
	requireSecond(second)
	return AdaptiveConfig{Shrink: 0.2, Floor: 5400 * second, Grow: 0.5, Min: 5400 * second, Max: 90 * 86400 * second}
}

func requireSecond(second float64) {
	if !(second > 0 && optimum.InRange(second)) {
		panic(fmt.Sprintf("knapsack: a second of %v", second))
	}
}

// orDefault returns what a setting means: 0 stands for the default, a negative number for 0.
func orDefault(v, standard float64) float64 {
	if v == 0 {
		return standard
	}
	return max(v, 0)
}

// resolve replaces the settings that are left out by their defaults.
func (c AdaptiveConfig) resolve() AdaptiveConfig {
	c.Shrink, c.Grow = orDefault(c.Shrink, nutchShrink), orDefault(c.Grow, nutchGrow)
	if c.Start == 0 {
		c.Start = 1
	}
	given := c
	if c.Min == 0 {
		c.Min = c.Start / 1000
		if given.Max > 0 {
			c.Min = min(c.Start, given.Max) / 1000
		}
		c.Min = max(c.Min, optimum.LeastInput)
	}
	if c.Max == 0 {
		c.Max = min(1000*max(c.Start, given.Min), optimum.MostInput)
	}
	return c
}

// check returns an error that names the first bad setting.
func (c AdaptiveConfig) check() error {
	// Of an interval out of this range, (now − last)/interval could be 0 or infinite for all pages.
	inRange := func(interval float64) bool { return interval > 0 && optimum.InRange(interval) }
	for _, s := range []struct {
		name  string
		value float64
		good  bool
	}{
		{"Shrink", c.Shrink, c.Shrink >= 0 && c.Shrink < 1},
		{"Grow", c.Grow, c.Grow >= 0},
		{"Floor", c.Floor, c.Floor >= 0},
		{"Start", c.Start, inRange(c.Start)},
		{"Min", c.Min, inRange(c.Min)},
		{"Max", c.Max, inRange(c.Max)},
	} {
		if !s.good || math.IsInf(s.value, 1) {
			return fmt.Errorf("%w: %s is %v", ErrConfig, s.name, s.value)
		}
	}
	if c.Max < c.Min {
		return fmt.Errorf("%w: Max is %v and Min %v", ErrConfig, c.Max, c.Min)
	}
	return nil
}

// next returns the interval after a poll.
func (c *AdaptiveConfig) next(interval float64, changed bool) float64 {
	if changed {
		interval = float64((1-c.Shrink)*interval) + float64(c.Shrink*c.Floor)
	} else {
		interval *= 1 + c.Grow
	}
	return min(max(interval, c.Min), c.Max)
}

// Adaptive is the interval rule of a production crawler under a budget: Next gives the page that
// is most overdue, the one with the greatest (now − last)/interval. Take it to compare with what
// Nutch, StormCrawler or news-crawl would do; RateFilter finds more with the same budget.
//
// A rule knows no budget. Left alone, each page's interval settles where a poll finds a change
// with probability ln(1+Grow)/(ln(1+Grow) − ln(1−Shrink)), for Floor 0. So it holds a hit rate
// fixed that the budget should decide, and it forgets at a fixed speed. It does well on pages of
// few, steady rates. A poll given back counts as made and leaves the interval as it is.
//
// # Cost
//
// Time: O(log n) for Next and Observe, and O(log² n) amortised for time that passes. Memory: 29
// bytes a page. Polls allocate nothing.
type Adaptive struct {
	scheduled // at frequencies 1/interval
	cfg       AdaptiveConfig
}

var _ Learner = (*Adaptive)(nil)

// NewAdaptive returns an Adaptive of the pages 0..n−1. It returns ErrConfig for a setting out of
// its range; n may be 0 to 2^30.
func NewAdaptive(n int, cfg AdaptiveConfig) (*Adaptive, error) {
	if err := checkPages(n); err != nil {
		return nil, err
	}
	cfg = cfg.resolve()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Start = min(max(cfg.Start, cfg.Min), cfg.Max)
	a := &Adaptive{newScheduled(n, Even, nil), cfg}
	a.newcomer = 1 / cfg.Start
	for slot := range n {
		a.roster.Set(slot, a.newcomer)
	}
	return a, nil
}

// Observe implements Scheduler.
func (a *Adaptive) Observe(page int, now float64, changed bool) error {
	slot, err := a.land(page, now)
	if err == nil {
		a.roster.Set(slot, 1/a.cfg.next(1/a.roster.Frequency(slot), changed))
	}
	return err
}

var adaptiveFormat = codec.Format{Magic: "recrawl/knapsack.Adaptive", Version: 1}

// MarshalBinary returns the state.
func (a *Adaptive) MarshalBinary() ([]byte, error) { return adaptiveFormat.Save(a.encode) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (a *Adaptive) UnmarshalBinary(data []byte) error {
	return codec.Load(a, adaptiveFormat, data, (*Adaptive).decode)
}

func (a *Adaptive) encode(e *codec.Encoder) {
	a.scheduled.encode(e)
	for _, v := range []float64{a.cfg.Shrink, a.cfg.Grow, a.cfg.Floor, a.cfg.Start, a.cfg.Min, a.cfg.Max} {
		e.Float64(v)
	}
}

func (a *Adaptive) decode(d *codec.Decoder) {
	a.scheduled.decode(d)
	a.cfg = AdaptiveConfig{d.Float64(), d.Float64(), d.Float64(), d.Float64(), d.Float64(), d.Float64()}
	d.Check(a.cfg.check())
	d.Require(a.cfg.Start >= a.cfg.Min && a.cfg.Start <= a.cfg.Max, "Start is %v, of %v to %v", a.cfg.Start, a.cfg.Min, a.cfg.Max)
	if d.Err() != nil {
		return
	}
	a.newcomer = 1 / a.cfg.Start
	for slot := range a.ids.Slots() {
		d.Require(!a.ids.Live(slot) || a.roster.Frequency(slot) > 0, "slot %d has no interval", slot)
	}
}
