package partition

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/internal/source"
)

// AssignerConfig holds the settings of Assigner. A zero field means its default.
type AssignerConfig struct {
	// Capacity is the time that each arm has for a crawl, in the unit of the durations: the time
	// for which an access point is available, times the number of accesses that it makes at once.
	// +Inf means no limit; nil means no limit for any arm.
	Capacity []float64

	// Threshold is the threshold of the change detection (CUSUM) of each site, in standard
	// deviations of its durations; default 7. A lower threshold detects changes sooner and gives
	// more false alarms: under Gaussian noise one in about 70,000 accesses of a site at 7, and one
	// in 3000 at 5. A site tries every arm after an alarm, so with more than eight arms and large
	// noise up to ln(arms/8)/.75 is added. A negative threshold, or +Inf, detects no changes.
	Threshold float64

	// Explore is the probability of trying another arm at random, at every access; default 0. Take
	// a site that becomes faster from an arm that it does not use, while its own arm stays as it
	// was: only exploration detects that.
	Explore float64
}

// defaultThreshold gives a false alarm, after which a site forgets what it learned, about once in
// 70,000 crawls; see TestFalseAlarms.
const defaultThreshold = 7

// resolve returns the settings with their defaults filled in, or ErrConfig.
func (c AssignerConfig) resolve(arms int) (AssignerConfig, error) {
	switch {
	case c.Threshold == 0:
		c.Threshold = defaultThreshold
	case c.Threshold < 0:
		c.Threshold = math.Inf(1)
	}
	switch {
	case c.Capacity != nil && len(c.Capacity) != arms:
		return c, fmt.Errorf("%w: %d capacities of %d arms", ErrConfig, len(c.Capacity), arms)
	case math.IsNaN(c.Threshold):
		return c, fmt.Errorf("%w: threshold %v", ErrConfig, c.Threshold)
	case !(c.Explore >= 0 && c.Explore <= 1):
		return c, fmt.Errorf("%w: exploration %v", ErrConfig, c.Explore)
	}
	for j, capacity := range c.Capacity {
		if err := checkCapacity(j, capacity); err != nil {
			return c, err
		}
	}
	return c, nil
}

const nowhere = math.MaxUint16 // arm of a site that has none

// An Assigner assigns sites to arms (access points) so that accessing all sites takes the least
// time. It learns only from measured durations. It has three main methods: Next returns the arm for
// a site, Observe reports a duration, and GiveBack reports that no answer will come. Most crawlers
// that choose between access points should use it.
//
// Call the methods in any order, for many sites at once. A crawl is as many answers as there are
// sites, and a capacity counts each site once a crawl. Sites and arms can be added and removed at
// any time.
//
// # Guarantees
//
// Under congestion nothing is proved. In the tests some thousand sites settle within 1 % of the
// social optimum, and 500 sites within 3 %.
//
// # Cost
//
// Time: O(arms) for Next and Observe, no allocation. Memory: 20 bytes a site (4 more once a
// weight was set) and 5 for each of its arms.
//
// # How it works
//
// TWOMA compares a duration with the average of other sites. Assigner compares the arms of one site
// with each other, so it needs neither exact durations nor similar sites.
//
//   - Choice: a site tries every arm once, in random order. Then it uses Thompson sampling: it
//     draws from the posterior of its mean duration in every arm and takes the arm with the least
//     draw. The draws have about a tenth of the posterior's standard deviation, because that
//     measured best. If the noise is more than half of the mean, it has a long tail and is taken to
//     grow with the mean of the arm.
//   - Many arms: with more than eight arms, large noise makes some of them look best. Draws then
//     deviate less, and changes are detected later.
//   - Noise: the noise of each site is estimated from its repeated durations. While a site has few
//     of them, the estimate is drawn towards the noise of all sites.
//   - Changes: a two-sided CUSUM for each site detects that its durations changed. The site then
//     forgets them and tries every arm again. With up to twenty arms it tries one after the other.
//     With more arms it uses its best arm so far in between, because the next change may come
//     before all are tried.
//   - Load: each arm has a slowness, which all its sites share and which is tracked over some five
//     crawls. An arm that becomes slower under load, or faster, changes the forecasts of all its
//     sites at once. So that not all of them move at once, the number of an arm's sites changes by
//     a limited step a crawl. The step halves when the direction reverses. If the durations of an
//     arm's sites fall while others leave it, that counts for the arm and not for each site.
//   - Outages: an arm is down if its sites together take at least three times as long as expected.
//     Its sites leave at once. One site tries it again after a crawl, then after two, four and so
//     on, and later if attempts would take more than 2 % of the time. If you know that an arm is
//     down, put it off with Defer.
//   - Capacity: an arm of limited capacity has a price, which rises while more time is asked of it
//     than it has. A site of weight w (see SetWeight) takes the arm with the least (w +
//     price)·duration.
type Assigner struct {
	cfg    AssignerConfig
	src    rand.Source
	sites  ids.Registry
	site   siteState
	unit   weightUnit
	arms   ids.Registry
	arm    []armState
	width  int       // number of arms that the tables have room for
	sorted []float64 // scratch of normalise

	relative relativeNoise
	told     int // answers so far in this crawl

	noneOpen bool // all arms are down or put off, so all may be used
}

// siteState holds the arrays of all sites, by slot.
type siteState struct {
	at      []uint16  // slot of the site's arm, or nowhere
	asked   []bool    // an answer from that arm is awaited
	held    []float32 // what the site adds to its arm's work
	weight  []float32 // nil as long as all are 1
	up      []float32 // CUSUM upward
	down    []float32 // CUSUM downward
	squares []float32 // sum of squared residuals
	repeats []uint8   // number of residuals behind squares
	// Tables of width columns, one for each arm.
	base  []float32 // mean duration divided by the arm's slowness
	count []uint8   // number of durations behind base; 0 for an arm not tried
}

// NewAssigner returns an assigner of sites 0..sites-1 to arms 0..arms-1 (1 to 65534). The
// error is ErrConfig. It panics if src is nil.
func NewAssigner(arms, sites int, cfg AssignerConfig, src rand.Source) (*Assigner, error) {
	source.Require(src, "partition")
	if arms < 1 || arms >= nowhere {
		return nil, fmt.Errorf("%w: %d arms", ErrConfig, arms)
	}
	if sites < 0 || sites > ids.MaxSlots/arms {
		return nil, fmt.Errorf("%w: %d sites", ErrConfig, sites)
	}
	cfg, err := cfg.resolve(arms)
	if err != nil {
		return nil, err
	}
	a := &Assigner{cfg: cfg, src: src, sites: ids.Make(sites), arms: ids.Make(arms), width: arms}
	for j := range arms {
		a.arm = append(a.arm, newArmState(math.Inf(1)))
		if cfg.Capacity != nil {
			a.arm[j].capacity = cfg.Capacity[j]
		}
	}
	a.cfg.Capacity = nil // from here on a.arm has the capacities
	a.site.grow(sites, arms)
	a.relative = newRelativeNoise()
	a.openCrawl()
	return a, nil
}

// grow makes the arrays long enough for n sites.
func (s *siteState) grow(n, width int) {
	add := n - len(s.at)
	for k := len(s.at); k < n; k++ {
		s.at = append(s.at, nowhere)
	}
	s.asked = append(s.asked, make([]bool, add)...)
	s.repeats = append(s.repeats, make([]uint8, add)...)
	for _, v := range []*[]float32{&s.held, &s.up, &s.down, &s.squares} {
		*v = append(*v, make([]float32, add)...)
	}
	if s.weight != nil {
		for range add {
			s.weight = append(s.weight, 1)
		}
	}
	s.base = append(s.base, make([]float32, add*width)...)
	s.count = append(s.count, make([]uint8, add*width)...)
}

// Len returns the number of sites.
func (a *Assigner) Len() int { return a.sites.Len() }

// All returns the ids of all sites, in the order of their slots.
func (a *Assigner) All() iter.Seq[int] { return a.sites.All() }

// Slot returns the slot in the id of an object, site or arm: a small index for the caller's own
// slices. The slot of a removed id is used again for a new one. O(1).
func Slot(id int) int { return ids.Slot(id) }

// made panics if a is a zero value.
func (a *Assigner) made() {
	if a.width == 0 {
		panic("partition: an Assigner that is a zero value: make it with NewAssigner")
	}
}

// siteSlot returns the slot of a site.
func (a *Assigner) siteSlot(site int) (int, error) {
	slot, ok := a.sites.Slot(site)
	if !ok {
		return 0, unknownObject(site)
	}
	return slot, nil
}

// armSlot returns the slot of an arm.
func (a *Assigner) armSlot(arm int) (int, error) {
	slot, ok := a.arms.Slot(arm)
	if !ok {
		return 0, fmt.Errorf("%w: arm %d", ErrUnknown, arm)
	}
	return slot, nil
}

// Add adds a site and returns its id. O(arms).
func (a *Assigner) Add() int {
	a.made()
	id := a.sites.Add()
	if slot := ids.Slot(id); slot == len(a.site.at) {
		a.site.grow(slot+1, a.width)
	}
	if a.site.weight != nil {
		a.unit.count(1, 1)
	}
	return id
}

// Remove removes a site. O(arms). The error is ErrUnknown.
func (a *Assigner) Remove(site int) error {
	slot, err := a.siteSlot(site)
	if err != nil {
		return err
	}
	a.leave(slot)
	s := &a.site
	s.forget(slot, a.width)
	s.squares[slot], s.repeats[slot] = 0, 0
	if s.weight != nil {
		a.unit.count(s.weight[slot], -1)
		s.weight[slot] = 1
	}
	a.sites.Remove(site)
	return nil
}

// Next returns the arm from which to access a site now. If it is called again before Observe or
// GiveBack, it returns the same arm. The error is ErrUnknown.
func (a *Assigner) Next(site int) (int, error) {
	slot, err := a.siteSlot(site)
	if err != nil {
		return 0, err
	}
	s := &a.site
	if !s.asked[slot] {
		if j := a.choose(slot); j != int(s.at[slot]) {
			a.leave(slot)
			a.enter(slot, j)
		}
		s.asked[slot] = true
	}
	return a.arms.ID(int(s.at[slot])), nil
}

// Observe reports how long the access of a site took from the arm that Next returned. For an access
// that failed, report the time after which it was given up. Take a unit in which durations are
// between 1e-18 and 1e15: of shorter ones Assigner cannot estimate the noise. A duration of 0 is
// allowed. The error is ErrUnknown, ErrDuration (also above 1e15) or ErrNotAsked (also if the arm
// was removed meanwhile).
func (a *Assigner) Observe(site int, duration float64) error {
	slot, err := a.siteSlot(site)
	if err != nil {
		return err
	}
	if err := checkDuration(site, duration); err != nil {
		return err
	}
	if duration > longest {
		return fmt.Errorf("%w: object %d: %v", ErrDuration, site, duration)
	}
	if !a.site.asked[slot] {
		return fmt.Errorf("%w: site %d", ErrNotAsked, site)
	}
	a.site.asked[slot] = false
	a.learn(slot, duration)
	if a.told++; a.told >= a.Len() {
		a.told = 0
		a.closeCrawl()
		a.openCrawl()
	}
	return nil
}

// GiveBack reports that an access got no answer for a reason that has nothing to do with its arm,
// for instance because the crawler stopped. Next then chooses anew. O(1). The error is ErrUnknown
// or ErrNotAsked.
func (a *Assigner) GiveBack(site int) error {
	slot, err := a.siteSlot(site)
	if err != nil {
		return err
	}
	if !a.site.asked[slot] {
		return fmt.Errorf("%w: site %d", ErrNotAsked, site)
	}
	a.site.asked[slot] = false
	return nil
}

// Expected returns the mean duration to expect for a site from an arm, at the present slowness of
// the arm. tried is false and the mean 0 if the site was not accessed from that arm since it was
// added or its durations changed. O(1). The error is ErrUnknown.
func (a *Assigner) Expected(site, arm int) (mean float64, tried bool, err error) {
	slot, err := a.siteSlot(site)
	if err != nil {
		return 0, false, err
	}
	j, err := a.armSlot(arm)
	if err != nil {
		return 0, false, err
	}
	k := slot*a.width + j
	return float64(a.site.base[k]) * a.slowness(j), a.site.count[k] > 0, nil
}

// choose returns the slot of the arm for a site, among the arms that have room for it: one not
// tried yet, or else the one that Thompson sampling chooses.
func (a *Assigner) choose(slot int) int {
	rng := rand.New(a.src)
	if j := a.untried(slot, rng); j >= 0 {
		return j
	}
	return a.sample(slot, rng)
}

// untried returns a random arm that has room for the site and that the site has not tried, or -1 if
// there is none. In an access that explores, all arms but the site's own count as not tried. With
// many arms, after a change, it returns -1 in most accesses once the site has tried an arm.
func (a *Assigner) untried(slot int, rng *rand.Rand) int {
	s := &a.site
	row := slot * a.width
	count := s.count[row : row+len(a.arm)]
	guess := s.level(slot, a.width, a.relative.level)
	arm, ties, tried := -1, 0, false
	explore := a.cfg.Explore > 0 && rng.Float64() < a.cfg.Explore
	for j := range count {
		if !a.open(j) {
			continue
		}
		if (count[j] == 0 || explore && j != int(s.at[slot])) && a.arm[j].hasRoom(guess, 1) {
			if ties++; rng.IntN(ties) == 0 {
				arm = j
			}
		}
		tried = tried || count[j] > 0
	}
	// A site has no repeats before it has tried all arms for the first time.
	if again := tuned.againArms / float64(a.arms.Len()); arm >= 0 && again < 1 && tried && !explore &&
		s.repeats[slot] > 0 && rng.Float64() >= again {
		return -1
	}
	return arm
}

// sample returns the arm that Thompson sampling chooses among those that the site may move to.
func (a *Assigner) sample(slot int, rng *rand.Rand) int {
	s := &a.site
	here := int(s.at[slot])
	row := slot * a.width
	base, count := s.base[row:row+len(a.arm)], s.count[row:row+len(a.arm)]
	weight := 1.0
	if s.weight != nil {
		weight = a.unit.in(float64(s.weight[slot]))
	}
	sigma, lowest := a.sigma(slot)
	skew, share := a.relative.skewed(), tuned.skewedShare/float64(a.many()*a.many())
	best, least := -1, math.Inf(1)     // among the arms that the site may move to
	wanted, desired := -1, math.Inf(1) // among all arms
	// The site's own arm comes first, because most others then turn out to be worse without a draw.
	first := here
	if here == nowhere {
		first = 0
	}
	for k := range base {
		j := (first + k) % len(base)
		arm := &a.arm[j]
		if count[j] == 0 || !a.open(j) && !(a.arms.Live(j) && arm.ready()) {
			continue
		}
		factor := a.slowness(j) * max(leastWeight, weight+arm.price)
		spread := tuned.boldness * sigma / math.Sqrt(float64(count[j]))
		if skew && lowest > 0 {
			spread *= share * float64(base[j]) / lowest
		}
		if (float64(base[j])-float64(4*spread))*factor >= least {
			continue // only a draw four standard deviations away could choose it
		}
		score := (float64(base[j]) + float64(spread*rng.NormFloat64())) * factor
		if score < desired {
			wanted, desired = j, score
		}
		if score < least && (j == here || arm.ready() || a.mayMove(here, j, float64(base[j]))) {
			best, least = j, score
		}
	}
	if wanted != best && !a.arm[wanted].hasRoom(float64(base[wanted]), 1-tuned.reserve) {
		a.arm[wanted].denied += float64(base[wanted])
	}
	if best < 0 {
		best = a.roomiest()
	}
	if a.arm[best].ready() {
		a.arm[best].tried = true
	}
	return best
}

// leave takes a site out of its arm.
func (a *Assigner) leave(slot int) {
	s := &a.site
	if s.at[slot] == nowhere {
		return
	}
	arm := &a.arm[s.at[slot]]
	arm.sites--
	arm.work = max(0, arm.work-float64(s.held[slot]))
	if arm.sites == 0 {
		arm.work = 0 // without what rounding left
	}
	s.at[slot], s.asked[slot], s.held[slot] = nowhere, false, 0
}

// enter puts a site into an arm.
func (a *Assigner) enter(slot, j int) {
	s := &a.site
	k := slot*a.width + j
	held := s.base[k]
	if s.count[k] == 0 {
		held = float32(s.level(slot, a.width, a.relative.level))
	}
	s.at[slot], s.held[slot] = uint16(j), held
	a.arm[j].sites++
	a.arm[j].work += float64(held)
}
