package partition

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/codec"
)

// An outage is what is known about whether an arm is out of use. The caller may have deferred it,
// or its answers may have shown that it is down.
type outage struct {
	deferred int // number of crawls for which the caller has put the arm off

	// alarm is the CUSUM of the standardised residuals of all its sites: it rises when answers are
	// surprisingly long. alone and means are sums since alarm was last 0: of the durations divided
	// by the slowness, and of the means of their sites.
	alarm, alone, means float64

	// One site tries an arm that is down after shut crawls. After each attempt in vain that number
	// doubles, and it is large enough that attempts take a small share of the time.
	down       bool
	tried      bool // a site is trying the arm
	shut, wait int
}

// closed reports whether sites should keep away from the arm.
func (o *outage) closed() bool { return o.down || o.deferred > 0 }

// pass counts down by one crawl.
func (o *outage) pass() {
	o.deferred = max(0, o.deferred-1)
	if o.shut = max(0, o.shut-1); o.shut == 0 {
		o.tried = false
	}
}

// ready reports whether one site may try an arm that is down.
func (o *outage) ready() bool { return o.down && !o.tried && o.shut == 0 && o.deferred == 0 }

// surprised adds an answer and reports whether the arm is slower than expected. z is the
// standardised residual, alone the duration divided by the slowness, and mean the mean of the site.
func (o *outage) surprised(z, alone, mean float64) bool {
	if o.alarm = max(0, o.alarm+max(-tuned.alarmSurprise, min(tuned.alarmSurprise, z))-tuned.alarmDrift); o.alarm == 0 {
		o.alone, o.means = 0, 0
		return false
	}
	o.alone += alone
	o.means += mean
	return o.alarm > tuned.alarm
}

// fall records that the arm is down. An access took factor times as long as expected; sites is the
// number of all sites.
func (o *outage) fall(factor float64, sites int) {
	cost := int(min(longestWait, factor/(tuned.attemptShare*float64(sites))))
	o.down, o.tried, o.shut = true, false, max(o.wait, cost)
	o.wait = min(2*o.wait, longestWait)
}

// attempt adds the answer of a site from an arm that is down, and reports whether the arm is up
// again. factor is how many times as long as expected the access took.
func (o *outage) attempt(factor float64, sites int) bool {
	if factor < tuned.upAgain {
		*o = outage{deferred: o.deferred, wait: 1}
		return true
	}
	if o.tried && o.shut == 0 { // not an answer from before the arm was down
		o.fall(factor, sites)
	}
	return false
}

// longestWait bounds the crawls between two attempts.
const longestWait = 1 << 20

// Defer puts an arm off for a number of crawls, because it is down or must not be used. Its sites
// get another arm when Next is called for them, and come back by and by when the crawls are over. A
// number of 0 ends the deferral at once. If all arms are put off, all may be used. O(arms). The
// error is ErrUnknown, or ErrConfig for a negative number.
func (a *Assigner) Defer(arm, crawls int) error {
	j, err := a.armSlot(arm)
	if err != nil {
		return err
	}
	if crawls < 0 {
		return fmt.Errorf("%w: arm %d put off for %d crawls", ErrConfig, arm, crawls)
	}
	a.arm[j].deferred = min(crawls, codec.MostCount)
	a.checkOpen()
	return nil
}

// open reports whether sites may use an arm.
func (a *Assigner) open(j int) bool {
	return a.arms.Live(j) && (a.noneOpen || !a.arm[j].closed())
}

// checkOpen finds out whether any arm is open.
func (a *Assigner) checkOpen() {
	a.noneOpen = false
	a.noneOpen = a.openArms() == 0
}

func (a *Assigner) openArms() (count int) {
	for j := range a.arm {
		if a.open(j) {
			count++
		}
	}
	return count
}

// notice adds an answer from an arm that may be down (see surprised), and reports whether the arm
// is found to be down.
func (a *Assigner) notice(j int, z, alone, mean float64) (down bool) {
	m := &a.arm[j]
	if !m.surprised(z, alone, mean) {
		return false
	}
	factor := m.alone / m.means
	m.alarm, m.alone, m.means = 0, 0, 0
	if factor < tuned.downFrom || 2*a.openArms() <= a.arms.Len() {
		return false
	}
	m.fall(factor, a.Len())
	a.checkOpen()
	return true
}
