// Package hints keeps hints that pages have changed, and learns how good they are, source by
// source.
package hints

import (
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/heap"
)

// MaxSources is how many sources there may be.
const MaxSources = 64

// Hints holds the hints that came since the last answer of each page, and what answers
// with and without one found. A hint may be wrong, and a change may come without one. The
// zero value is empty, off, and takes no memory; Add turns it on. Then it takes one bit a page,
// some 70 bytes for each hint that waits for an answer, and 40 for each group and source that
// hints have come of.
type Hints struct {
	pending []uint64          // bit per slot: hints came since the last answer
	waiting map[uint32][]hint // those of the slots whose bit is set, one of a source
	sources []source
	groups  map[uint64]*tally // by source and group, see groupKey
}

type hint struct {
	source uint8
	at     float64
}

// A tally counts answers: tally[h][c] those with (h = 1) and without a hint before them that found
// a change (c = 1) or none.
type tally [2][2]float64

// A source is what answers have told of the hints of one source.
type source struct {
	tally
	// Answers with a hint, by whether they found a change: of since, by the time from the answer
	// before to the hint, as a late hint may be of a change that that answer found; of age, by
	// the time from the hint to the answer, as the change may come later than the hint, and an
	// old hint may be worth less.
	since, age table
}

type table [buckets][2]float64

// Times are told apart by factors of 2: shorter than 2^−11 cycles, … , longer than 4 cycles.
// Factors of 4 find 1 % less with a source that is half a cycle late
// (TestSignalsOfSeveralSources).
const (
	buckets    = 15
	oneCycle   = 12 // the bucket of 1 to 2 cycles
	bucketStep = 2
)

// Spans are the times that buckets go by.
type Spans struct {
	Last  float64 // the last answer of the page
	Now   float64 // when it is polled
	Cycle float64
}

func (s Spans) bucket(span float64) int {
	if !(span > 0) {
		return 0
	}
	k := math.Floor(math.Log(span/s.Cycle) / math.Log(bucketStep))
	return int(max(0, min(buckets-1, k+oneCycle)))
}

func (s Spans) since(h hint) int { return s.bucket(h.at - s.Last) }
func (s Spans) age(h hint) int   { return s.bucket(s.Now - h.at) }

// On reports whether there has been a hint.
func (h *Hints) On() bool { return h.pending != nil }

// Grow makes room for slots.
func (h *Hints) Grow(slots int) {
	if h.On() && len(h.pending)*64 < slots {
		h.pending = append(h.pending, 0)
	}
}

// Add takes in a hint of a source, less than MaxSources, about one of so many slots. Of several
// of a source the first one counts.
func (h *Hints) Add(slot, slots, from int, at float64) {
	if !h.On() {
		h.pending = make([]uint64, slots/64+1)
		h.waiting = map[uint32][]hint{}
		h.groups = map[uint64]*tally{}
	}
	for len(h.sources) <= from {
		h.sources = append(h.sources, source{})
	}
	s := uint32(slot)
	for _, other := range h.waiting[s] {
		if int(other.source) == from {
			return
		}
	}
	h.pending[slot/64] |= 1 << (slot % 64)
	h.waiting[s] = append(h.waiting[s], hint{uint8(from), at})
}

// Clear forgets the hints about a slot.
func (h *Hints) Clear(slot int) {
	if h.has(slot) {
		h.pending[slot/64] &^= 1 << (slot % 64)
		delete(h.waiting, uint32(slot))
	}
}

func (h *Hints) has(slot int) bool { return h.On() && h.pending[slot/64]>>(slot%64)&1 == 1 }

// of returns the hint of a source about a slot, of before now.
func (h *Hints) of(slot, from int, now float64) (hint, bool) {
	if h.has(slot) {
		for _, x := range h.waiting[uint32(slot)] {
			if int(x.source) == from && x.at <= now {
				return x, true
			}
		}
	}
	return hint{}, false
}

// memory is how many answers that say something of a source, as they had a hint of it or found a
// change, it is judged by. A source that turns bad is disbelieved after a part of that.
const memory = 500

// Score takes in the answer of a poll of a page of a group, and forgets the hints of before it.
func (h *Hints) Score(slot int, group uint32, t Spans, changed bool) {
	if !h.On() {
		return
	}
	c := bit(changed)
	for from := range h.sources {
		s := &h.sources[from]
		x, hinted := h.of(slot, from, t.Now)
		if hinted || changed {
			s.fade()
		}
		s.tally[bit(hinted)][c]++
		if hinted {
			s.since[t.since(x)][c]++
			s.age[t.age(x)][c]++
		}
		if g := h.ofGroup(from, group, hinted); g != nil {
			if hinted || changed {
				g.fade()
			}
			g[bit(hinted)][c]++
		}
	}
	h.drop(slot, func(x hint) bool { return x.at <= t.Now })
}

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}

// ofGroup returns the tally of a source and a group, nil if the source never told of the group, as it does
// now if hinted is set.
func (h *Hints) ofGroup(from int, group uint32, hinted bool) *tally {
	if group == NoGroup {
		return nil
	}
	key := groupKey(from, group)
	g := h.groups[key]
	if g == nil && hinted {
		g = new(tally)
		h.groups[key] = g
	}
	return g
}

func groupKey(from int, group uint32) uint64 { return uint64(from)<<32 | uint64(group) }

// DropAfter forgets the hints about a slot of after a time.
func (h *Hints) DropAfter(slot int, at float64) {
	h.drop(slot, func(x hint) bool { return x.at > at })
}

// drop forgets some of the hints about a slot.
func (h *Hints) drop(slot int, which func(hint) bool) {
	if !h.has(slot) {
		return
	}
	left := slices.DeleteFunc(h.waiting[uint32(slot)], which)
	h.waiting[uint32(slot)] = left
	if len(left) == 0 {
		h.Clear(slot)
	}
}

// NoGroup stands for the group of a page that is in none, as the None of package queue does.
const NoGroup = heap.None

func (t *tally) fade() {
	for h := range t {
		for c := range t[h] {
			t[h][c] *= 1 - 1.0/memory
		}
	}
}

func (s *source) fade() {
	s.tally.fade()
	for k := range s.since {
		for c := range 2 {
			s.since[k][c] *= 1 - 1.0/memory
			s.age[k][c] *= 1 - 1.0/memory
		}
	}
}

// The priors of recall and of false alarms, worth two answers each, have the means 1/2 and
// 1/20: a hint is worth something before anything is known.
const (
	priorHit   = 1.0
	priorAlarm = 0.1
	priorCount = 2.0
	// groupPrior is how many answers a group's own tallies are shrunk to its source's by, and
	// bucketPrior those of a bucket to all.
	groupPrior  = 20.0
	bucketPrior = 3.0
)

// rate returns the probability of a hint before an answer that finds a change (c = 1: recall) or
// none (c = 0: a false alarm).
func (t *tally) rate(c int) float64 {
	prior := [2]float64{priorAlarm, priorHit}[c]
	return (t[1][c] + prior) / (t[1][c] + t[0][c] + priorCount)
}

// rates returns both for a source and a group.
func (h *Hints) rates(from int, group uint32) (recall, alarm float64) {
	s := &h.sources[from]
	recall, alarm = s.rate(1), s.rate(0)
	if g := h.ofGroup(from, group, false); g != nil {
		recall = (g[1][1] + float64(groupPrior*recall)) / (g[1][1] + g[0][1] + groupPrior)
		alarm = (g[1][0] + float64(groupPrior*alarm)) / (g[1][0] + g[0][0] + groupPrior)
	}
	return recall, alarm
}

// ratio returns by how much more likely a hint lies in a bucket if there was a change than if
// there was none; 1 where nothing is known.
func (t *table) ratio(k int) float64 {
	var total [2]float64
	for _, x := range t {
		total[0] += x[0]
		total[1] += x[1]
	}
	in := t[k][0] + t[k][1]
	if in == 0 {
		return 1
	}
	// As if a bucket had had so many of either kind more, and all others in proportion.
	more := bucketPrior * (total[0] + total[1]) / in
	return (t[k][1] + bucketPrior) / (total[1] + more) / ((t[k][0] + bucketPrior) / (total[0] + more))
}

// Telling reports whether the hints of any source tell pages apart.
func (h *Hints) Telling() bool {
	for from := range h.sources {
		if h.sources[from].telling() {
			return true
		}
	}
	return false
}

// telling reports whether hints of the source tell pages apart. Where they seem to, but by less,
// part of it may be that there are more hints, and more changes, the longer a page was not polled.
func (s *source) telling() bool { return s.rate(1) > 2*s.rate(0) }

// Led reports whether there is a hint about a slot, and hints are worth following.
func (h *Hints) Led(slot int) bool { return h.has(slot) && h.Telling() }

// Evidence is how many times as likely a page is to have changed as it is without hints: by
// those of all sources and their absence, by those alone that tell pages apart, and what the
// latter would be were there no hint.
type Evidence struct{ All, Telling, Silent float64 }

// Evidence returns that of a page which without hints has changed with probability p, by Bayes's
// rule. Hints are On.
func (h *Hints) Evidence(slot int, group uint32, t Spans, p float64) Evidence {
	p = min(p, 1)
	if !(p > 0) {
		return Evidence{1, 1, 1}
	}
	// Likelihoods of the hints with a change and without.
	all, telling, silent := [2]float64{1, 1}, [2]float64{1, 1}, [2]float64{1, 1}
	for from := range h.sources {
		s := &h.sources[from]
		recall, alarm := h.rates(from, group)
		none := [2]float64{1 - alarm, 1 - recall}
		seen := none
		if x, hinted := h.of(slot, from, t.Now); hinted {
			seen = [2]float64{alarm, recall * s.since.ratio(t.since(x)) * s.age.ratio(t.age(x))}
		}
		for c := range all {
			all[c] *= seen[c]
			if s.telling() {
				telling[c] *= seen[c]
				silent[c] *= none[c]
			}
		}
	}
	return Evidence{bayes(p, all[1], all[0]), bayes(p, telling[1], telling[0]), bayes(p, silent[1], silent[0])}
}

// bayes returns by what factor a probability grows with evidence of two likelihoods.
func bayes(p, yes, no float64) float64 {
	if !(yes > 0 && no > 0) {
		return 1
	}
	return yes / (float64(p*yes) + float64((1-p)*no))
}

// Quality returns, of a source, the share of answers with a hint that found a change, and of
// answers that found a change that had a hint; NaN where there were none.
func (h *Hints) Quality(from int) (precision, recall float64) {
	if from < 0 || from >= len(h.sources) {
		return math.NaN(), math.NaN()
	}
	c := &h.sources[from].tally
	return c[1][1] / (c[1][0] + c[1][1]), c[1][1] / (c[0][1] + c[1][1])
}

// ForgetGroup forgets what is known of the hints of a group.
func (h *Hints) ForgetGroup(group uint32) {
	for from := range h.sources {
		delete(h.groups, groupKey(from, group))
	}
}

// Encode writes the hints.
func (h *Hints) Encode(e *codec.Encoder) {
	e.Uint64s(h.pending)
	for _, slot := range slices.Sorted(maps.Keys(h.waiting)) {
		e.Int(len(h.waiting[slot])) // as many as bits are set
		for _, x := range h.waiting[slot] {
			e.Byte(x.source)
			e.Float64(x.at)
		}
	}
	e.Int(len(h.sources))
	for i := range h.sources {
		s := &h.sources[i]
		s.tally.encode(e)
		for k := range s.since {
			e.Float64s(s.since[k][:])
			e.Float64s(s.age[k][:])
		}
	}
	e.Int(len(h.groups))
	for _, key := range slices.Sorted(maps.Keys(h.groups)) {
		e.Uint64(key)
		h.groups[key].encode(e)
	}
}

func (t *tally) encode(e *codec.Encoder) {
	for _, c := range t {
		e.Float64(c[0])
		e.Float64(c[1])
	}
}

func (t *tally) decode(d *codec.Decoder) {
	for h := range t {
		for c := range t[h] {
			t[h][c] = d.NonNegative()
		}
	}
}

// Decode reads what Encode wrote, of so many slots.
func (h *Hints) Decode(d *codec.Decoder, slots int) {
	h.pending = d.Uint64s()
	n := len(h.pending) * 64
	d.Require(n == 0 || n >= slots, "hints for %d of %d slots", n, slots)
	if h.On() {
		h.waiting = map[uint32][]hint{}
		h.groups = map[uint64]*tally{}
	}
	for slot := range n {
		if !h.has(slot) {
			continue
		}
		var of uint64
		for range d.IntIn(1, MaxSources) {
			x := hint{d.ByteIn(0, MaxSources-1), d.Finite()}
			if d.Require(of>>x.source&1 == 0 && slot < slots, "hints about slot %d", slot); d.Err() != nil {
				return
			}
			of |= 1 << x.source
			h.waiting[uint32(slot)] = append(h.waiting[uint32(slot)], x)
		}
	}
	for range d.IntIn(0, MaxSources) {
		var s source
		s.tally.decode(d)
		for k := range s.since {
			copy(s.since[k][:], d.Float64sIn(2, 0, math.MaxFloat64))
			copy(s.age[k][:], d.Float64sIn(2, 0, math.MaxFloat64))
		}
		h.sources = append(h.sources, s)
	}
	for _, of := range h.waiting {
		for _, x := range of {
			d.Require(int(x.source) < len(h.sources), "a hint of source %d", x.source)
		}
	}
	for range d.Count(8 + 4*8) {
		key := d.Uint64()
		_, twice := h.groups[key]
		if d.Require(h.On() && !twice && key>>32 < uint64(len(h.sources)), "hints of %x", key); d.Err() != nil {
			return
		}
		h.groups[key] = new(tally)
		h.groups[key].decode(d)
	}
}
