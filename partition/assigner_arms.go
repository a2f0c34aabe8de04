package partition

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// Bounds that keep the arithmetic finite; no choice depends on them.
const (
	leastSlowness = 1e-6
	mostPrice     = 1e90
)

// armState is what is known about an arm.
type armState struct {
	capacity float64
	sites    int     // number of sites assigned now
	work     float64 // sum of their mean durations, each divided by the slowness

	measured, forecast float64 // decaying sums of durations, and of means divided by the slowness
	answers            int     // answers in this crawl

	// The same sums over about one crawl, and the number of sites averaged over some crawls: see
	// own.
	latest, latestForecast, usual float64

	price     float64 // in the unit of weights
	priceStep float64
	excess    float64 // time asked of the arm beyond its capacity in the last crawl, as a share of it
	denied    float64 // work of the sites that found no room in this crawl

	// The number of sites stays within [low, high] during a crawl, except for sites that are added,
	// are removed, or try the arm.
	low, high int
	atOpening int
	step      float64
	change    float64 // change of the number of sites in the last crawl in which it changed much

	outage
}

func newArmState(capacity float64) armState {
	return armState{capacity: capacity, step: tuned.firstStep, priceStep: tuned.firstPriceStep, outage: outage{wait: 1}}
}

func checkCapacity(arm int, c float64) error {
	if !(c > 0) {
		return fmt.Errorf("%w: arm %d: capacity %v", ErrConfig, arm, c)
	}
	return nil
}

// slowness is the factor between the present durations from the arm and the means of its sites; 1
// at first.
func (m *armState) slowness() float64 {
	if m.forecast == 0 {
		return 1
	}
	return max(leastSlowness, m.measured/m.forecast)
}

// slowness returns the slowness of an arm as far as it is certain. A deviation from 1 counts in
// full if it is large compared with its standard deviation, and little if it could be only noise.
func (a *Assigner) slowness(arm int) float64 {
	m := &a.arm[arm]
	return a.certain(m.slowness(), m.window())
}

// certain returns a slowness as far as it is certain, if it was measured over window accesses.
func (a *Assigner) certain(slowness, window float64) float64 {
	d := slowness - 1
	if d == 0 {
		return 1
	}
	// An average with weights that fall by 1/window has the variance of an average of 2·window
	// values.
	doubt := tuned.doubt * a.many() * a.relative.variance() / (2 * window)
	return 1 + float64(d*(float64(d*d)/(float64(d*d)+doubt)))
}

// own returns the duration that a site should remember, given alone, its duration divided by the
// slowness. While sites leave a crowded arm, the arm becomes faster and its slowness follows late.
// Each site that stays would then take the gain for its own, and to those that left the arm would
// look as slow as ever. So own divides by the latest slowness instead.
func (a *Assigner) own(arm int, duration, alone float64) float64 {
	m := &a.arm[arm]
	if m.latestForecast == 0 || float64(m.sites) >= m.usual {
		return alone
	}
	latest := a.certain(max(leastSlowness, m.latest/m.latestForecast), m.crawl())
	return min(max(alone, duration/latest), 10*longest)
}

// window is the number of accesses that the slowness looks back over.
func (m *armState) window() float64 {
	return max(tuned.slownessAccesses, tuned.slownessCrawls*float64(m.sites))
}

// track adds a duration, and the mean of the site divided by the slowness.
func (m *armState) track(duration, mean float64) {
	if mean == 0 {
		return
	}
	window := m.window()
	if m.forecast == 0 {
		// Start as if the whole window had this mean, at slowness 1.
		m.measured, m.forecast = mean*window, mean*window
	}
	m.measured += duration - m.measured/window
	m.forecast += mean - m.forecast/window
	crawl := m.crawl()
	if m.latestForecast == 0 {
		m.latest, m.latestForecast = mean*crawl, mean*crawl
	}
	m.latest += duration - m.latest/crawl
	m.latestForecast += mean - m.latestForecast/crawl
}

// crawl is the number of accesses that the latest slowness looks back over.
func (m *armState) crawl() float64 { return max(tuned.latestAccesses, float64(m.sites)) }

// hasRoom reports whether the arm can take a site of the given mean and stay within a share of its
// capacity.
func (m *armState) hasRoom(mean, share float64) bool {
	return float64((m.work+mean)*m.slowness()) <= share*m.capacity
}

// mayMove reports whether a site of the given mean may move from one arm to another
// now.
func (a *Assigner) mayMove(from, to int, mean float64) bool {
	if !a.arm[to].hasRoom(mean, 1-tuned.reserve) {
		return false
	}
	if from == nowhere || !a.open(from) {
		return true
	}
	return a.arm[to].sites < a.arm[to].high && a.arm[from].sites > a.arm[from].low
}

// roomiest returns the arm with the most time left relative to its capacity. It is for a site that
// no arm has room for.
func (a *Assigner) roomiest() int {
	best, least := -1, math.Inf(1)
	for j := range a.arm {
		if a.open(j) {
			if used := a.arm[j].work * a.arm[j].slowness() / a.arm[j].capacity; best < 0 || used < least {
				best, least = j, used
			}
		}
	}
	return best
}

// adapt halves a step after a reversal, and lengthens it otherwise. After a reversal the product of
// the last two changes is negative.
func adapt(step, product, least, most float64) float64 {
	if product < 0 {
		return max(least, step/2)
	}
	return min(most, step*tuned.growth)
}

// closeCrawl adapts steps and prices to the crawl that ended.
func (a *Assigner) closeCrawl() {
	for j := range a.arm {
		m := &a.arm[j]
		m.outage.pass()
		m.usual += (float64(m.sites) - m.usual) / tuned.usualCrawls
		// If all sites have left an arm, no answer could show that it is fast again.
		if m.answers == 0 && !m.down && m.deferred == 0 {
			m.measured += float64(tuned.recovery * (m.forecast - m.measured))
			m.latest += float64(tuned.recovery * (m.latestForecast - m.latest))
		}
	}
	a.normalise()
	a.unit.follow()
	for j := range a.arm {
		m := &a.arm[j]
		if change := float64(m.sites - m.atOpening); math.Abs(change) >= m.step*float64(m.atOpening)/2 {
			m.step = adapt(m.step, change*m.change, tuned.leastStep, 1)
			m.change = change
		}
		if !math.IsInf(m.capacity, 1) {
			excess := min(1, max(0, m.work+m.denied)*m.slowness()/m.capacity-1+tuned.reserve)
			// Weights may differ by many orders of magnitude, so a price that is far off doubles
			// until it is right.
			most := tuned.mostPriceStep * max(1, m.price)
			m.priceStep = adapt(m.priceStep, excess*m.excess, tuned.leastPriceStep, most)
			m.excess = excess
			m.price = max(0, min(mostPrice, m.price+float64(m.priceStep*excess)))
		}
	}
}

// normalise divides every arm's slowness by the median. A slowness that all arms have in common
// does not come from the arms: for instance, every site's fastest arm may have changed. The sites
// must detect that. If the median arm answers in almost no time, the other arms would become slower
// without end; the bound prevents that.
func (a *Assigner) normalise() {
	a.sorted = a.sorted[:0]
	for j := range a.arm {
		if a.arms.Live(j) && a.arm[j].forecast > 0 {
			a.sorted = append(a.sorted, a.arm[j].slowness())
		}
	}
	if len(a.sorted) == 0 {
		return
	}
	slices.Sort(a.sorted)
	median := a.sorted[(len(a.sorted)-1)/2]
	if median > 0 {
		for j := range a.arm {
			m := &a.arm[j]
			m.measured = min(m.measured/median, max(m.measured, m.forecast/leastSlowness))
			m.latest = min(m.latest/median, max(m.latest, m.latestForecast/leastSlowness))
		}
	}
}

// many is the number of arms divided by manyArms, as far as durations are noisy, and at least 1.
// The more arms there are, the more of them look best only by noise, and the more it costs to try
// all again. So draws are less bold, changes are detected later, and an arm's slowness must be more
// certain. About √n of n sites come and go by chance. They are no herd, so a step need not restrain
// them.
func (a *Assigner) many() float64 {
	more := float64(a.arms.Len())/tuned.manyArms - 1
	return 1 + float64(max(0, more)*min(1, a.relative.variance()))
}

// openCrawl sets the limits of a crawl.
func (a *Assigner) openCrawl() {
	share := float64(a.Len()) / float64(max(1, a.arms.Len()))
	chance := tuned.manyStep * (1 - 1/a.many())
	for j := range a.arm {
		m := &a.arm[j]
		sites := max(share, float64(m.sites))
		step := max(1, int(m.step*sites), int(chance*math.Sqrt(sites)))
		m.atOpening, m.low, m.high = m.sites, m.sites-step, m.sites+step
		m.denied, m.answers = 0, 0
	}
	a.checkOpen()
}

// AllArms returns the ids of all arms, in the order of their slots.
func (a *Assigner) AllArms() iter.Seq[int] { return a.arms.All() }

// Load returns the number of sites assigned to an arm, and the expected time to access each of them
// once. O(1). The error is ErrUnknown.
func (a *Assigner) Load(arm int) (sites int, time float64, err error) {
	j, err := a.armSlot(arm)
	if err != nil {
		return 0, 0, err
	}
	return a.arm[j].sites, a.arm[j].work * a.arm[j].slowness(), nil
}

// SetCapacity sets the time that an arm has for a crawl; +Inf means no limit. Sites that no longer
// fit leave over the next crawls. O(1). The error is ErrUnknown or ErrConfig.
func (a *Assigner) SetCapacity(arm int, capacity float64) error {
	j, err := a.armSlot(arm)
	if err != nil {
		return err
	}
	if err := checkCapacity(arm, capacity); err != nil {
		return err
	}
	a.arm[j].capacity = capacity
	if math.IsInf(capacity, 1) {
		a.arm[j].price = 0
	}
	return nil
}

// AddArm adds an arm of the given capacity (+Inf for no limit) and returns its id. Every site tries
// it once, when it is accessed next. O(arms), and O(sites·arms) when the tables must double. The
// error is ErrConfig.
func (a *Assigner) AddArm(capacity float64) (int, error) {
	a.made()
	if err := checkCapacity(a.arms.Slots(), capacity); err != nil {
		return 0, err
	}
	if a.arms.Full(nowhere - 1) {
		return 0, fmt.Errorf("%w: more than %d arms", ErrConfig, nowhere-1)
	}
	id := a.arms.Add()
	j, _ := a.arms.Slot(id)
	if j < len(a.arm) {
		a.arm[j] = newArmState(capacity)
	} else {
		a.arm = append(a.arm, newArmState(capacity))
	}
	if len(a.arm) > a.width {
		a.widen(min(2*a.width, nowhere-1))
	}
	a.openCrawl()
	return id, nil
}

// widen gives the tables more columns.
func (a *Assigner) widen(width int) {
	s := &a.site
	base, count := make([]float32, len(s.at)*width), make([]uint8, len(s.at)*width)
	for slot := range s.at {
		copy(base[slot*width:], s.base[slot*a.width:(slot+1)*a.width])
		copy(count[slot*width:], s.count[slot*a.width:(slot+1)*a.width])
	}
	s.base, s.count, a.width = base, count, width
}

// RemoveArm removes an arm. Its sites get another arm when Next is called for them. Observe refuses
// answers that are still to come from the removed arm. O(sites + arms). The error is ErrUnknown, or
// ErrConfig for the last arm.
func (a *Assigner) RemoveArm(arm int) error {
	j, err := a.armSlot(arm)
	if err != nil {
		return err
	}
	if a.arms.Len() == 1 {
		return fmt.Errorf("%w: arm %d is the last", ErrConfig, arm)
	}
	s := &a.site
	for slot := range s.at {
		if int(s.at[slot]) == j {
			a.leave(slot)
		}
		s.base[slot*a.width+j], s.count[slot*a.width+j] = 0, 0
	}
	a.arms.Remove(arm)
	a.arm[j] = newArmState(math.Inf(1))
	a.openCrawl()
	return nil
}
