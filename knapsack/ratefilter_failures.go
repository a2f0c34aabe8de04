package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// GiveBack implements Scheduler. The page is not polled again before half the time since its last
// answer has passed, or half a cycle if that is less. Each further failure in a row doubles the
// wait, up to 16 cycles. Waits of 4 cycles or more are up to a third longer or shorter, so that pages
// that began to fail together are not all tried together. So dead pages take few polls, and a page
// that recovers is found within about as much time as it was gone. If polls of all pages fail now
// and then, failures in a row that chance explains do not lengthen the wait.
//
// When a page that had failed answers, up to two others may be polled at once that have failed about
// as often: pages of its group, or pages in no group if it is in none. Each of these that answers
// does the same. So the pages of a host are found again soon after an outage, and not up to 16
// cycles later. Such a poll that fails does not make the wait longer, which begins again.
func (f *RateFilter) GiveBack(page int, now float64) error {
	slot, err := f.answer(page, now)
	if err != nil {
		return err
	}
	s := uint32(slot)
	if !f.model.Known() || f.ahead(now) {
		now = f.now // lest the page wait for a time in another unit
	}
	cycle := f.cycle(now)
	first := max(min(now-f.last(s), cycle)/2, cycle*shortestWait)
	f.responded(s, false)
	f.tally.failures++
	before, most := f.limits.Delay(s), cycle*longestWait
	f.limits.Fail(s, now, first, most, f.tally.ordinaryFailures(), f.tally.spread())
	if before < most && f.limits.Delay(s) >= most {
		f.gone(s)
	}
	f.land(s)
	f.wait(s, hunch{guess: f.model.Cycle(), times: 1})
	return nil
}

// responded learns how often polls fail from that of a page that answered the time before: of one that is
// dead, only the first failure counts, until that is taken back; see gone.
func (f *RateFilter) responded(slot uint32, answered bool) {
	if f.limits.Failing(slot) || !f.everAnswered(slot) {
		return
	}
	failed := 0.0
	if !answered {
		failed = 1
	}
	t := &f.tally
	t.judged++
	t.loss += (failed - t.loss) / f.lossOver()
}

// everAnswered reports whether a page was answered since it was added.
func (f *RateFilter) everAnswered(slot uint32) bool {
	return !f.added.has(slot) && !math.IsInf(f.polled[slot], -1)
}

// lossOver returns over how many polls the part that fails is averaged.
func (f *RateFilter) lossOver() float64 {
	return 1 + min(float64(f.tally.judged), lossMemory*float64(f.ids.Len()))
}

// gone takes back that a failure of a page was counted, as it was none of chance: the page waits for as long as one
// that fails ever does, or is removed. Else where pages are gone after a few polls most would seem to fail by chance,
// the dead ones would be tried again and again without longer waits, and there would be the fewer polls of others.
func (f *RateFilter) gone(slot uint32) {
	if f.everAnswered(slot) {
		f.tally.loss = max(0, f.tally.loss-1/f.lossOver())
	}
}

// lossMemory is over how many polls a page the part of polls that fail is averaged: while all fail, as in an
// outage, each page counts once, which makes a tenth of it. One answer is there to begin with, lest the first
// failure make a rule. A page is not taken for dead while so many failures in a row have a chance of unluckyRow
// or more; mostOrdinary of them are too many in any case.
const lossMemory, unluckyRow, mostOrdinary = 10, 0.01, 16

// ordinaryFailures returns how many failures in a row are no sign that a page is dead.
func (t *tally) ordinaryFailures() int {
	if !(t.loss > 0) {
		return 0
	}
	return int(min(mostOrdinary, math.Log(unluckyRow)/math.Log(min(t.loss, 0.9))))
}

// waitSpread is by what part of it a long wait may be longer or shorter. Pages that are alike are polled in turn,
// so those of a host fail one after the other within a cycle, and without a spread they are tried so, too: after an
// outage of 15, 40 or 100 cycles the first of 50 pages answered 12, 3 or 6 cycles after the end; it is .1, .3 and
// .1 so (Age, groups of equal pages, medians of 20 webs). About as many polls fail. If short waits are spread, too,
// copies are 1.1 times as old where 10 % of the pages come and go and 30 % are dead.
const waitSpread = 1.0 / 3

// spread returns the factor of the wait after a failure: any failures in a row have factors that are spread evenly.
func (t *tally) spread() float64 {
	return 1 - waitSpread + float64(2*waitSpread*0x1p-53*float64(t.failures*fast.Golden>>11))
}

const (
	// heartened is how many pages are tried again for each that answers again. With 2 their number doubles
	// until all are tried, also where many of those that failed as often are gone for good. After an outage
	// of 15 cycles of one of five groups of 40 pages, a tenth of all gone, copies are .95 times as old as under
	// polls in turn so, 1.10 times with 1, and 1.57 times with none (Age, 3 seeds; TestOutages is like that).
	// With 3 they are as old where few are gone; where pages fail on their own more polls do.
	heartened = 2
	// heartenedOf is how many held pages are looked at for these: others are deferred, or fail for another
	// reason. It was not swept.
	heartenedOf = 8
	// alikeFailing is how many times as great as that of the page that answers the delay of another may be.
	// Delays double with each failure, and that of a page that was hastened is half as great: those of pages
	// that began to fail together are within a factor of 4. Pages that have been gone for longer are left
	// alone. It was not swept.
	alikeFailing = 4
)

// hearten has some pages of a group tried again that fail, as one answered that had failed with a given
// delay. Which ones is left to chance, so that no page that is deferred for long is in the way.
func (f *RateFilter) hearten(group uint32, delay float64) {
	left := heartened
	for k := range uint64(heartenedOf) {
		held := f.queue.HeldOf(group)
		if len(held) == 0 || left == 0 {
			return
		}
		u := (f.answers*heartenedOf + k + 1) * fast.Golden
		u ^= u >> 32
		u *= fast.Golden
		slot := held[(u>>32)*uint64(len(held))>>32]
		if d := f.limits.Delay(slot); d > 0 && d <= alikeFailing*delay {
			f.limits.Hasten(slot, f.now)
			f.retime(slot)
			left--
		}
	}
}
