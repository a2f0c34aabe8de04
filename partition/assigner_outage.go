package partition

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/codec"
)

// An outage is what is known of whether an arm is down: deferred by the caller, or found out
// by its answers.
type outage struct {
	deferred int // crawls for which the caller has put it off

	// CUSUM of how surprisingly long the answers of all its sites are, and since it was 0
	// their sum, over the slowness, and that of the means of their sites.
	alarm, alone, means float64

	// An arm that is down is tried by one site after shut crawls: after each attempt in vain
	// twice as long as before, and long enough that attempts take a small share of the time.
	down       bool
	tried      bool // a site was given it to try
	shut, wait int
}

// closed reports whether sites are to keep away from the arm.
func (o *outage) closed() bool { return o.down || o.deferred > 0 }

// pass lets a crawl pass.
func (o *outage) pass() {
	o.deferred = max(0, o.deferred-1)
	if o.shut = max(0, o.shut-1); o.shut == 0 {
		o.tried = false
	}
}

// ready reports whether one site may try an arm that is down.
func (o *outage) ready() bool { return o.down && !o.tried && o.shut == 0 && o.deferred == 0 }

// surprised takes in a standardised residual of a duration, over the slowness, of a site of
// the given mean, and reports whether the arm is slower than expected.
func (o *outage) surprised(z, alone, mean float64) bool {
	if o.alarm = max(0, o.alarm+max(-tuned.alarmSurprise, min(tuned.alarmSurprise, z))-tuned.alarmDrift); o.alarm == 0 {
		o.alone, o.means = 0, 0
		return false
	}
	o.alone += alone
	o.means += mean
	return o.alarm > tuned.alarm
}

// fall records that the arm is down: one of so many sites took factor times as long as
// expected.
func (o *outage) fall(factor float64, sites int) {
	cost := int(min(longestWait, factor/(tuned.attemptShare*float64(sites))))
	o.down, o.tried, o.shut = true, false, max(o.wait, cost)
	o.wait = min(2*o.wait, longestWait)
}

// attempt takes in the answer of a site that was given an arm that is down, as a factor of
// what was expected, and reports whether the arm is up again.
func (o *outage) attempt(factor float64, sites int) bool {
	if factor < tuned.upAgain {
		*o = outage{deferred: o.deferred, wait: 1}
		return true
	}
	if o.tried && o.shut == 0 { // and no answer from before it was down
		o.fall(factor, sites)
	}
	return false
}

// longestWait bounds the crawls between two attempts.
const longestWait = 1 << 20

// Defer puts an arm off for a number of crawls: it is down, or not to be used. Its sites get
// another arm when Next asks for them, and come back by and by when the crawls are over. 0
// ends it at once. If all arms are put off, none is. O(arms). The error is ErrUnknown, or
// ErrConfig for a negative number.
func (a *Assigner) Defer(arm, crawls int) error {
	j, ok := a.arms.Slot(arm)
	if !ok {
		return unknownArm(arm)
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

// notice takes in a standardised residual, a duration over the slowness and the site's mean
// of it, for an arm that may be down. It reports whether the arm is found to be down.
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
