package webenv

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/enum"
)

// A DurationNoise says how a duration scatters about its mean.
type DurationNoise uint8

const (
	// ExactDurations do not scatter.
	ExactDurations DurationNoise = iota
	// UniformNoise draws a duration uniformly from mean·(1 ± Scatter).
	UniformNoise
	// GaussianNoise adds a normal variable of standard deviation Scatter·(Other − Perfect), in
	// the unit of a duration. A draw below zero counts as zero.
	GaussianNoise
	// ExponentialNoise draws a duration from the exponential law.
	ExponentialNoise
)

var noiseNames = enum.Of[DurationNoise](ErrConfig, "exact", "uniform", "gaussian", "exponential")

// String returns the name of the noise.
func (n DurationNoise) String() string { return noiseNames.String(n) }

// MarshalText returns the name that String gives.
func (n DurationNoise) MarshalText() ([]byte, error) { return noiseNames.MarshalText(n) }

// UnmarshalText reads the name that String gives.
func (n *DurationNoise) UnmarshalText(text []byte) error { return noiseNames.UnmarshalText(n, text) }

// DurationsConfig describes sites that take time. The zero value is the smallest experiment of the
// report of Chen & Wang (2006), figure 5.3-1, exact and static.
type DurationsConfig struct {
	// Sites is the number of web sites, 10^9 at most; 0 means 900.
	Sites int
	// Arms is the number of access points, 2 to 65535; 0 means 3.
	Arms int

	// Perfect is the mean duration of a site from its perfect access point, and Other, which must
	// be more, that from any other. 0 means 24.7 and 53.6. These fit the totals of that report: 900
	// sites on 3 access points take about 40,000 units a crawl if spread uniformly, and 22,000 from
	// their perfect access points.
	Perfect, Other float64

	// Noise is how a duration scatters. Scatter is the size of UniformNoise (at most 1) or of
	// GaussianNoise.
	Noise   DurationNoise
	Scatter float64

	// Sizes is the standard deviation of the logarithm of the sites' sizes. The durations of a site
	// are multiplied by its size, and the mean size is 1. At most 10; 0 makes all sizes equal.
	Sizes float64

	// Resources has the resources of each access point; nil means 1 for each. The durations
	// measured from an access point are divided by its resources. The ratio of two resources must
	// be below Other/Perfect, because otherwise a site's perfect access point might not be its
	// fastest.
	Resources []float64

	// Congestion c multiplies the durations from access point j by 1 + c·x, where x is the load of
	// j divided by its fair share. The load is the number of sites whose last access was from j.
	// The fair share is Sites·Resources[j]/ΣResources. 0 means no congestion.
	Congestion float64

	// Balanced makes every access point the perfect one of equally many sites, or as nearly as the
	// numbers allow. Otherwise each site's perfect access point is drawn independently.
	Balanced bool

	// Every is the number of crawls after which the perfect access points switch; 0 means never.
	Every int
	// AllSwitch makes a switch give every site another perfect access point. Otherwise it is drawn
	// again from all access points, so that one site in Arms keeps its own by chance.
	AllSwitch bool
}

// resolve returns the settings with the defaults filled in.
func (c DurationsConfig) resolve() DurationsConfig {
	c.Sites, c.Arms = cmp.Or(c.Sites, 900), cmp.Or(c.Arms, 3)
	c.Perfect, c.Other = cmp.Or(c.Perfect, 24.7), cmp.Or(c.Other, 53.6)
	if len(c.Resources) == 0 && c.Arms > 0 && c.Arms <= math.MaxUint16 {
		c.Resources = slices.Repeat([]float64{1}, c.Arms)
	} else {
		c.Resources = slices.Clone(c.Resources)
	}
	return c
}

// Durations is an environment of sites that take time, after Chen, Wang and Olsen (2006), section
// 3.1. Make it with [NewDurations]. Crawl lets a [Chooser] crawl it, and Access makes a single
// access. Mean, Perfect and Optimum return the truth.
//
// The duration of an access is random, and its mean depends on the access point. Each site has one
// perfect access point, from which it is fastest on average. Sites and access points are numbered
// from 0.
//
// # Cost
//
// Time: O(1) for an access. Memory: at most 8 bytes a site.
type Durations struct {
	cfg     DurationsConfig
	rng     *rand.Rand
	perfect []uint16
	last    []uint16  // access point of the last access, or Arms before the first
	size    []float32 // nil if all are 1
	load    []int     // sites by access point of their last access
	share   []float64 // fair share of the sites
	crawl   int
}

// NewDurations returns an environment. The error is ErrConfig, also if the sum of the mean
// durations of all sites may be infinite. It panics if src is nil.
func NewDurations(cfg DurationsConfig, src rand.Source) (*Durations, error) {
	rng := newRandom(src).Rand
	cfg = cfg.resolve()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &Durations{
		cfg:     cfg,
		rng:     rng,
		perfect: make([]uint16, cfg.Sites),
		last:    slices.Repeat([]uint16{uint16(cfg.Arms)}, cfg.Sites),
		load:    make([]int, cfg.Arms),
		share:   make([]float64, cfg.Arms),
	}
	total := 0.0
	for _, r := range cfg.Resources {
		total += r
	}
	for j, r := range cfg.Resources {
		d.share[j] = float64(cfg.Sites) * r / total
	}
	if cfg.Sizes > 0 {
		d.size = make([]float32, cfg.Sites)
		for i := range d.size {
			// Mean exp(µ + σ²/2) = 1.
			d.size[i] = float32(math.Exp(float64(cfg.Sizes*rng.NormFloat64()) - float64(cfg.Sizes*cfg.Sizes)/2))
		}
	}
	for i := range d.perfect {
		if cfg.Balanced {
			d.perfect[i] = uint16(i % cfg.Arms)
		} else {
			d.perfect[i] = uint16(rng.IntN(cfg.Arms))
		}
	}
	if cfg.Balanced {
		rng.Shuffle(len(d.perfect), func(i, k int) { d.perfect[i], d.perfect[k] = d.perfect[k], d.perfect[i] })
	}
	return d, nil
}

// mostSites bounds the memory of an environment.
const mostSites = 1e9

func (c *DurationsConfig) check() error {
	in := func(x, low, high float64) bool { return x >= low && x <= high }
	const most = math.MaxFloat64
	for _, f := range []struct {
		name  string
		value any
		ok    bool
	}{
		{"sites", c.Sites, c.Sites >= 1 && c.Sites <= mostSites},
		{"access points", c.Arms, c.Arms >= 2 && c.Arms <= math.MaxUint16},
		{"mean duration from the perfect access point", c.Perfect, in(c.Perfect, math.SmallestNonzeroFloat64, most)},
		{"mean duration from another access point", fmt.Sprintf("%v, not above %v from the perfect one", c.Other, c.Perfect), !(c.Other <= c.Perfect)},
		{"mean duration from another access point", c.Other, c.Other <= most},
		{"scatter", c.Scatter, in(c.Scatter, 0, most) && (c.Noise != UniformNoise || c.Scatter <= 1)},
		{"scatter of the sizes", c.Sizes, in(c.Sizes, 0, 10)},
		{"congestion", c.Congestion, in(c.Congestion, 0, most)},
		{"crawls between two switches", c.Every, c.Every >= 0},
	} {
		if !f.ok {
			return fmt.Errorf("%w: %s: %v", ErrConfig, f.name, f.value)
		}
	}
	if n := len(c.Resources); n != c.Arms {
		return fmt.Errorf("%w: resources of %d access points, there are %d", ErrConfig, n, c.Arms)
	}
	for j, r := range c.Resources {
		if !in(r, math.SmallestNonzeroFloat64, most) {
			return fmt.Errorf("%w: resources of access point %d: %v", ErrConfig, j, r)
		}
	}
	if ratio := slices.Max(c.Resources) / slices.Min(c.Resources); ratio >= c.Other/c.Perfect {
		return fmt.Errorf("%w: ratio of the most resources to the least: %v", ErrConfig, ratio)
	}
	total := 0.0
	for _, r := range c.Resources {
		total += r
	}
	if !(float64(float64(c.Sites)*total) <= most) {
		return fmt.Errorf("%w: the resources sum to %v", ErrConfig, total)
	}
	if greatest := c.greatest(total); !(greatest <= most) {
		return fmt.Errorf("%w: the mean durations of all sites may sum to %v", ErrConfig, greatest)
	}
	return noiseNames.Check(c.Noise)
}

// greatest bounds the total mean duration of a crawl: the total of all sites from the access point
// with the least resources. total is the sum of all resources.
func (c *DurationsConfig) greatest(total float64) float64 {
	n, least, size := float64(c.Sites), slices.Min(c.Resources), 1.0
	if c.Sizes > 0 {
		size = math.MaxFloat32
	}
	slowdown := 1 + c.Congestion*n/(n*least/total)
	return n * (c.Other * size / least) * slowdown
}

// Len returns the number of sites.
func (d *Durations) Len() int { return len(d.perfect) }

// Arms returns the number of access points.
func (d *Durations) Arms() int { return d.cfg.Arms }

// Perfect returns the access point from which a site is fastest on average if loads are equal.
func (d *Durations) Perfect(site int) int { return int(d.perfect[site]) }

// Mean returns the mean duration of a site from an access point under the present loads.
func (d *Durations) Mean(site, arm int) float64 {
	return d.slowdown(arm, d.load[arm]) * d.alone(site, arm)
}

// alone is the mean duration without any load.
func (d *Durations) alone(site, arm int) float64 {
	mean := d.cfg.Other
	if int(d.perfect[site]) == arm {
		mean = d.cfg.Perfect
	}
	if d.size != nil {
		mean *= float64(d.size[site])
	}
	return mean / d.cfg.Resources[arm]
}

func (d *Durations) slowdown(arm, load int) float64 {
	return 1 + d.cfg.Congestion*float64(load)/d.share[arm]
}

// Access draws the duration of one access, and moves the site's load to the access point. It panics
// if there is no such site or access point. O(1).
func (d *Durations) Access(site, arm int) float64 {
	if last := int(d.last[site]); last != arm {
		d.load[arm]++
		if last < d.cfg.Arms {
			d.load[last]--
		}
		d.last[site] = uint16(arm)
	}
	mean := d.Mean(site, arm)
	switch d.cfg.Noise {
	case UniformNoise:
		return mean * (1 + float64(d.cfg.Scatter*(2*d.rng.Float64()-1)))
	case GaussianNoise:
		return max(0, mean+float64(d.cfg.Scatter*(d.cfg.Other-d.cfg.Perfect)*d.rng.NormFloat64()))
	case ExponentialNoise:
		return mean * d.rng.ExpFloat64()
	default:
		return mean
	}
}

// EndCrawl ends a crawl that was made by calls of Access. After every Every-th crawl the perfect
// access points switch; EndCrawl reports whether they did. O(1), or O(Sites) when they switch.
func (d *Durations) EndCrawl() (switched bool) {
	d.crawl++
	if d.cfg.Every == 0 || d.crawl%d.cfg.Every != 0 {
		return false
	}
	arms := d.cfg.Arms
	switch {
	case d.cfg.Balanced && !d.cfg.AllSwitch:
		d.rng.Shuffle(len(d.perfect), func(i, k int) { d.perfect[i], d.perfect[k] = d.perfect[k], d.perfect[i] })
	case d.cfg.Balanced:
		// A step that is the same for all sites keeps the numbers balanced and changes every site's
		// access point.
		step := 1 + d.rng.IntN(arms-1)
		for i, p := range d.perfect {
			d.perfect[i] = uint16((int(p) + step) % arms)
		}
	case !d.cfg.AllSwitch:
		for i := range d.perfect {
			d.perfect[i] = uint16(d.rng.IntN(arms))
		}
	default:
		for i, p := range d.perfect {
			d.perfect[i] = uint16((int(p) + 1 + d.rng.IntN(arms-1)) % arms)
		}
	}
	return true
}
