package knapsack

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// Record reports a poll that Next did not ask for: one by another worker, on a user's request, or
// from a log. The arguments mean the same as in Observe: changed reports whether the page changed
// since it was last known, and now is the time of the answer, which must not be before the page's
// last one. A page in flight stays in flight. O(log n).
//
// now may be ahead of the latest Next, as when a restored filter is told what happened since it was
// saved. From a time that is more than 64 cycles ahead, or before the first Next, only the page
// itself learns. If the next calls of Next are still that far behind, the time was in another unit:
// within n/2 polls the page counts as known as of that Next, and is polled as usual. The same goes
// for Observe and RecordChanges.
//
// Until Next has given some 17 polls, from which the time scale is known, an answer teaches only as
// of when the page is known. So to begin with what an older log says, use RecordChanges.
func (f *RateFilter) Record(page int, now float64, changed bool) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if !timely(now) || now < f.last(uint32(slot)) {
		return fmt.Errorf("%w: page %d: a poll at %v, after %v", ErrTime, page, now, f.last(uint32(slot)))
	}
	f.found(slot, now, changed)
	return nil
}

// RecordChanges reports when a page changed: from a feed's entries, a package's releases, an
// archive, a push. times has the times of all changes after from and up to until, in order. Several
// changes at one time count as one. Change times teach more than polls do. The page counts as known
// as of until.
//
// What lies before the last answer is already known and is ignored. So a feed can be passed on as
// it is, from its oldest entry, even if until is not after the last answer. −Inf as from stands for
// the last answer. A page of which nothing has been learnt yet learns from everything, also from
// before it was added and from before the first Next: a new page starts learnt. For a page in
// flight this is no answer: call Observe after it, which learns from what is not known yet. In the
// other order the answer would make the times known, and nothing would be learnt from them.
//
// Time: O(times + log n). Until the time scale is known, up to 32 changes a page are kept, in 8
// bytes each. Report those of a page in order: what is before the latest time reported so far is
// ignored.
func (f *RateFilter) RecordChanges(page int, from, until float64, times []float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	s := uint32(slot)
	last, fresh := f.last(s), f.beliefs[slot].Blank()
	if told := f.early[s]; len(told) > 0 {
		last = max(last, told[len(told)-1].until)
		fresh = fresh && f.model.Known() && !slices.ContainsFunc(told, stretch.known)
	}
	before := -math.MaxFloat64
	for i, t := range times {
		if !(t >= before && t <= until) {
			return fmt.Errorf("%w: page %d: change %d at %v, not before %v and up to %v", ErrTime, page, i, t, before, until)
		}
		before = t
	}
	if known := until < last && math.IsInf(from, -1) || until <= last && !fresh; known && from <= until && timely(until) {
		return nil
	}
	begin := from
	switch {
	case !math.IsInf(from, -1) && fresh: // a history
	case !math.IsInf(last, -1):
		begin = max(from, last)
	case len(times) > 0:
		begin = times[0] // all that is known of the time before is that it is over
	default:
		begin = until
	}
	if !(begin <= until) || !timely(until) || !timely(begin) && !math.IsInf(begin, -1) {
		return fmt.Errorf("%w: page %d: changes from %v to %v, known as of %v", ErrTime, page, from, until, last)
	}
	if begin < f.birth(s) { // it was there before it was added
		f.setBirth(slot, math.Inf(-1))
	}
	f.recall(s)
	after := sort.Search(len(times), func(i int) bool { return times[i] > begin })
	told := stretch{begin, until, slices.Compact(slices.Clone(times[after:]))}
	gap := until - begin
	switch {
	case !f.model.Known():
		f.keep(s, told)
	case gap > 0 || until < last:
		f.tell(s, told, last)
	}
	if len(told.times) > 0 {
		f.touched.set(s, true)
	}
	f.answered(s, max(until, last), hunch{guess: gap, times: 1})
	return nil
}

// A stretch is a time after from and up to until in which all changes of a page are known.
type stretch struct {
	from, until float64
	times       []float64
}

// known reports whether there is anything to learn from a stretch.
func (s stretch) known() bool { return s.until > s.from }

// tell learns from a stretch of time, of a page last known at some time.
func (f *RateFilter) tell(slot uint32, told stretch, last float64) {
	var b belief.Belief
	f.model.Unpack(&f.beliefs[slot], &b)
	before := f.informed(b)
	gap, factor := told.until-told.from, 1.0
	if told.from > last {
		f.model.Pass(&b, told.from-last)
	}
	if told.from >= last && gap > 0 {
		counts, _ := f.predicted(&b, &before, finding{slot, told.from, told.until, len(told.times) > 0})
		factor = counts / gap
	}
	f.learnTimes(&b, told, factor)
	f.leave(slot)
	f.noticeTimes(slot, told, last)
	if told.until < last { // a history
		f.model.Pass(&b, last-told.until)
	}
	f.learnt(&b, &before, slot)
}

// learnTimes sharpens a belief by a stretch, in which time counts by a factor: each change by the
// density λ·e^(−λτ) of the time since the one before.
func (f *RateFilter) learnTimes(b *belief.Belief, told stretch, factor float64) {
	before := told.from // until − gap may round to after a change
	for _, t := range told.times {
		f.model.LearnTime(b, t-before, factor*(t-before))
		before = t
	}
	if told.until > before {
		f.model.Learn(b, told.until-before, factor*(told.until-before), false)
	}
}

// earlyChanges is how many changes of a page are kept until there is a time scale: rates as old as
// that are hardly remembered.
const earlyChanges = 32

// keep notes a stretch for when there is a time scale.
func (f *RateFilter) keep(slot uint32, told stretch) {
	if f.early == nil {
		f.early = map[uint32][]stretch{}
	}
	all := append(f.early[slot], told)
	kept := 0
	for i := len(all) - 1; i >= 0; i-- {
		if s := &all[i]; kept+len(s.times) >= earlyChanges {
			cut := len(s.times) - (earlyChanges - kept)
			if cut > 0 {
				s.from = s.times[cut-1]
			}
			s.times = s.times[cut:]
			all = all[i:]
			break
		}
		kept += max(1, len(all[i].times))
	}
	f.early[slot] = all
}

// recall learns what was kept of a page, once there is a time scale.
func (f *RateFilter) recall(slot uint32) {
	if f.early == nil || !f.model.Known() {
		return
	}
	told := f.early[slot]
	if told == nil {
		return
	}
	f.forgetEarly(slot)
	var b belief.Belief
	f.model.Unpack(&f.beliefs[slot], &b)
	before := f.informed(b)
	if f.learnEarly(&b, told, slot) {
		last := told[0].from
		for _, s := range told {
			f.noticeTimes(slot, s, last)
			last = s.until
		}
		f.passLately(slot, f.last(slot)-last)
		f.learnt(&b, &before, slot)
	}
}

// learnEarly sharpens a belief about a page by what was kept of it, and reports whether there was anything
// to learn.
func (f *RateFilter) learnEarly(b *belief.Belief, told []stretch, slot uint32) (known bool) {
	last := told[0].from
	for _, s := range told {
		f.model.Pass(b, max(0, s.from-last))
		f.learnTimes(b, s, 1)
		last, known = s.until, known || s.known()
	}
	if now := f.last(slot); now > last {
		f.model.Pass(b, now-last)
	}
	return known
}

// forgetEarly drops what was kept of a page. With that of the last page the map goes, too: decisions
// ask whether there is one, and a saved state has none that is empty.
func (f *RateFilter) forgetEarly(slot uint32) {
	delete(f.early, slot)
	if len(f.early) == 0 {
		f.early = nil
	}
}

func (f *RateFilter) encodeEarly(e *codec.Encoder) {
	e.Int(len(f.early))
	for slot := range f.polled {
		told := f.early[uint32(slot)]
		if told == nil {
			continue
		}
		e.Uint32(uint32(slot))
		e.Int(len(told))
		for _, s := range told {
			e.Float64(s.from)
			e.Float64(s.until)
			e.Float64s(s.times)
		}
	}
}

func (f *RateFilter) decodeEarly(d *codec.Decoder) {
	for range d.Count(4 + 8) {
		slot := d.Uint32()
		_, twice := f.early[slot]
		d.Require(!twice && int(slot) < len(f.polled) && f.ids.Live(int(slot)), "changes of slot %d", slot)
		before := -math.MaxFloat64
		for range d.Count(3 * 8) {
			s := stretch{from: d.Float64In(before, math.MaxFloat64)}
			s.until = d.Float64In(s.from, math.MaxFloat64)
			before = s.from
			s.times = d.Float64sIn(codec.AnyLen, s.from, s.until)
			for _, t := range s.times {
				d.Require(t > before, "a change at %v after one at %v", t, before)
				before = t
			}
			before = s.until
			if d.Err() == nil {
				f.keep(slot, s)
			}
		}
	}
}
