package knapsack

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
)

// Keyed puts any learner behind the caller's own keys, such as URLs or ids of feeds. Crawlers use
// this layer: Add, Next, Observe, GiveBack and Remove take and return keys, times are time.Time,
// and a lock makes all methods safe for concurrent use. With reaches the learner for what only that
// can do, such as weights, intervals and groups. Make it with NewKeyed.
//
// MarshalBinary saves learner and keys as one blob, and so does encoding/gob; encoding/json would
// write {} without an error. Export and Import keep what is known of one page, for a row of the
// caller's database.
//
// The learner sees Unix time in seconds, accurate to a microsecond. An interval of an hour is 3600
// there.
//
// # Guarantees
//
// Workers race, so a time before the latest Next counts as the time of that Next, and so does an
// answer with a time before its question. ErrTime is returned for the zero time.Time, and for a
// Next more than 28,000 years from 1970.
//
// A clock may be set back. If all calls of Next in a minute, three at least, have times more than a
// minute before the latest one, the learner's time goes on from there. A page that was deferred may
// be polled earlier if that falls within the minute. The learner's time is then ahead of the clock,
// also after a restart, until the clock has caught up. Methods convert: the times they take and
// return are those of the clock.
//
// An error about a page is a *KeyError[K]. An answer counts for the latest poll of its key, even if
// the key was removed and added in between.
//
// # Cost
//
// Time: Next and Observe of a RateFilter of a million URLs take 1.2 times as long as without a
// Keyed (BenchmarkKeyed). Memory: 50 to 80 bytes a page with string keys, besides the bytes of the
// strings and the learner (TestKeyedMemory).
type Keyed[K comparable] struct {
	mu      sync.Mutex
	learner Learner
	pages   map[K]int // key → page
	keys    []K       // slot → key
	latest  float64   // learner's time of the latest Next; −Inf before
	skew    skew
	ahead   atomic.Uint64 // bits of skew.settled, for Seconds
}

// A skew is how far the learner's time is ahead of the clock, which was set back.
type skew struct {
	settled float64 // in seconds
	since   float64 // clock at the first of the latest calls of Next in a row that were too early; +Inf if the latest was not
	early   int     // number of these calls
}

// setBack is by how many seconds a time is too early for workers that race, and for how long Next is called
// with such times, setBackCalls times at least and with no others, before the clock is taken for one
// that was set back: clocks that are apart would otherwise, in turns, make the learner's time run.
const setBack, setBackCalls = 60, 3

func noSkew() skew { return skew{since: math.Inf(1)} }

// follow returns the learner's time of a Next, at a time of the clock, not before the latest one.
func (s *skew) follow(clock, latest float64) (at float64) {
	if clock >= latest-setBack { // also one that was set back and has caught up
		*s = noSkew()
		return max(clock, latest)
	}
	if at = clock + s.settled; at >= latest-setBack {
		s.since, s.early = math.Inf(1), 0
		return max(at, latest)
	}
	if !(clock >= s.since) {
		s.since, s.early = clock, 0
	}
	s.early++
	if clock-s.since < setBack || s.early < setBackCalls {
		return latest
	}
	// The learner's time went on from the latest Next at the first of these calls.
	*s = skew{settled: latest - s.since, since: math.Inf(1)}
	return max(latest, clock+s.settled)
}

// ofAnswer returns the learner's time for a time of the clock, be it that of one that was set back, which may
// not be sure yet, or not.
func (s *skew) ofAnswer(clock, latest float64) float64 {
	at := clock + s.settled
	if s.early > 0 && at < latest-setBack {
		return latest + (clock - s.since)
	}
	return at
}

// A KeyError is an error about the page of a key.
type KeyError[K comparable] struct {
	Key K
	Err error
}

// Error implements error.
func (e *KeyError[K]) Error() string { return fmt.Sprintf("%v (key %v)", e.Err, e.Key) }

// Unwrap returns what went wrong, such as ErrUnknown.
func (e *KeyError[K]) Unwrap() error { return e.Err }

// NewKeyed returns a Keyed of a learner without pages, which it then owns: reach it only through
// With.
func NewKeyed[K comparable](learner Learner) *Keyed[K] {
	if learner == nil {
		panic("knapsack: NewKeyed of no learner")
	}
	if n := learner.Len(); n != 0 {
		panic(fmt.Sprintf("knapsack: NewKeyed of a learner that has %d pages already", n))
	}
	return &Keyed[K]{learner: learner, pages: map[K]int{}, latest: math.Inf(-1), skew: noSkew()}
}

// lock begins a call; k.mu.Unlock ends it.
func (k *Keyed[K]) lock() {
	if k.learner == nil {
		panic("knapsack: a Keyed without a learner: make it with NewKeyed")
	}
	k.mu.Lock()
}

// farthestNext is how far from 1970 the time of a Next may be, in seconds: of times much farther, as of nanoseconds
// taken for seconds, the difference of a second is lost in rounding, and the learner's time would not come back.
const farthestNext = 8.85e11

// seconds returns a time as the learner sees it.
func seconds(t time.Time) (float64, error) {
	if t.IsZero() {
		return 0, fmt.Errorf("%w: it is the zero time", ErrTime)
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, nil
}

// moment returns the time.Time of a learner's time, not before it; the zero one for what is out of its range.
func moment(s float64) time.Time {
	if !(math.Abs(s) < 1e15) {
		return time.Time{}
	}
	whole := math.Floor(s)
	t := time.Unix(int64(whole), int64((s-whole)*1e9))
	if back, err := seconds(t); err == nil && back < s {
		t = t.Add(1) // near 1970 a float tells less than a nanosecond apart
	}
	return t
}

// about returns an error with the key that it is about.
func (k *Keyed[K]) about(key K, err error) error {
	if err == nil {
		return nil
	}
	return &KeyError[K]{key, err}
}

// page returns the page of a key.
func (k *Keyed[K]) page(key K) (int, error) {
	page, ok := k.pages[key]
	if !ok {
		return 0, k.about(key, ErrUnknown)
	}
	return page, nil
}

// Len returns the number of keys.
func (k *Keyed[K]) Len() int {
	k.lock()
	defer k.mu.Unlock()
	return len(k.pages)
}

// All returns all keys, in the order of their pages' slots. Keys may be added and removed while it
// runs.
func (k *Keyed[K]) All() iter.Seq[K] {
	return func(yield func(K) bool) {
		batch := make([]K, 0, 64) // so that the lock is not held, and seldom taken
		for slot := 0; ; {
			batch, slot = k.some(batch[:0], slot)
			if len(batch) == 0 {
				return
			}
			for _, key := range batch {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// some fills batch with the keys from a slot on, and returns the slot after them.
func (k *Keyed[K]) some(batch []K, slot int) ([]K, int) {
	k.lock()
	defer k.mu.Unlock()
	for ; slot < len(k.keys) && len(batch) < cap(batch); slot++ {
		if page, ok := k.pages[k.keys[slot]]; ok && Slot(page) == slot {
			batch = append(batch, k.keys[slot])
		}
	}
	return batch, slot
}

// InFlight returns the keys of the polls that wait for an answer with the times of their Next,
// oldest first. Next does not return these keys. If an answer will never come, for instance because
// the worker died, call GiveBack: the page would not be polled again otherwise.
func (k *Keyed[K]) InFlight() iter.Seq2[K, time.Time] {
	return func(yield func(K, time.Time) bool) {
		for _, f := range k.flights() {
			if !yield(f.key, moment(f.at)) {
				return
			}
		}
	}
}

type flight[K comparable] struct {
	key  K
	page int
	at   float64 // of the clock
}

func (k *Keyed[K]) flights() (all []flight[K]) {
	k.lock()
	defer k.mu.Unlock()
	if l, ok := k.learner.(interface {
		flights() iter.Seq2[int, float64]
	}); ok {
		for page, at := range l.flights() {
			all = append(all, flight[K]{k.keys[Slot(page)], page, at - k.skew.settled})
		}
	}
	slices.SortFunc(all, func(a, b flight[K]) int {
		if a.at != b.at {
			return int(math.Copysign(1, a.at-b.at))
		}
		return Slot(a.page) - Slot(b.page)
	})
	return all
}

// Add adds a page, and reports whether it is new. A key that is already there stays as it is.
func (k *Keyed[K]) Add(key K) (added bool) {
	k.lock()
	defer k.mu.Unlock()
	if _, ok := k.pages[key]; ok {
		return false
	}
	k.add(key)
	return true
}

func (k *Keyed[K]) add(key K) (page int) {
	page = k.learner.Add()
	slot := Slot(page)
	for slot >= len(k.keys) {
		var none K
		k.keys = append(k.keys, none)
	}
	k.keys[slot] = key
	k.pages[key] = page
	return page
}

// Remove removes a page, in flight or not.
func (k *Keyed[K]) Remove(key K) error {
	k.lock()
	defer k.mu.Unlock()
	page, err := k.page(key)
	if err != nil {
		return err
	}
	if err := k.learner.Remove(page); err != nil {
		return k.about(key, err)
	}
	delete(k.pages, key)
	var none K
	k.keys[Slot(page)] = none // lest it be kept in memory
	return nil
}

// Next returns the key of the page to poll now. If there is none, the error wraps a *NoPageError,
// whose Time method says when to ask again.
func (k *Keyed[K]) Next(now time.Time) (key K, err error) {
	clock, err := seconds(now)
	if err == nil && math.Abs(clock) > farthestNext {
		err = fmt.Errorf("%w: Next at %v", ErrTime, now)
	}
	if err != nil {
		return key, err
	}
	k.lock()
	defer k.mu.Unlock()
	at := k.skew.follow(clock, k.latest)
	k.ahead.Store(math.Float64bits(k.skew.settled))
	page, err := k.learner.Next(at)
	if err != nil {
		if none := (*NoPageError)(nil); errors.As(err, &none) {
			ahead := k.skew.settled
			if k.skew.early > 0 {
				ahead = at - clock
			}
			err = noPageByClock{&NoPageError{none.At - ahead}}
		}
		return key, err
	}
	k.latest = at
	return k.keys[Slot(page)], nil
}

// told makes a call about the page of a key, at a time of the clock and of the learner.
func (k *Keyed[K]) told(key K, now time.Time, call func(page int, clock, at float64) error) error {
	clock, err := seconds(now)
	if err != nil {
		return k.about(key, err)
	}
	k.lock()
	defer k.mu.Unlock()
	page, err := k.page(key)
	if err != nil {
		return err
	}
	return k.about(key, call(page, clock, k.skew.ofAnswer(clock, k.latest)))
}

// answer makes a call about a poll of the page of a key. A call that is refused for its time is
// made again at the time of the latest Next, if that is later.
func (k *Keyed[K]) answer(key K, now time.Time, call func(page int, at float64) error) error {
	return k.told(key, now, func(page int, _, at float64) error {
		err := call(page, at)
		if err != nil && at < k.latest && errors.Is(err, ErrTime) {
			err = call(page, k.latest)
		}
		return err
	})
}

// Observe reports whether a poll found that the page had changed.
func (k *Keyed[K]) Observe(key K, now time.Time, changed bool) error {
	return k.answer(key, now, func(page int, at float64) error { return k.learner.Observe(page, at, changed) })
}

// GiveBack reports that a poll gets no answer.
func (k *Keyed[K]) GiveBack(key K, now time.Time) error {
	return k.answer(key, now, func(page int, at float64) error { return k.learner.GiveBack(page, at) })
}

// Record reports a poll that Next did not ask for; see RateFilter.Record. It returns an error that
// wraps errors.ErrUnsupported if the learner has no Record.
func (k *Keyed[K]) Record(key K, now time.Time, changed bool) error {
	return k.answer(key, now, func(page int, at float64) error {
		l, ok := k.learner.(interface {
			Record(page int, now float64, changed bool) error
		})
		if !ok {
			return k.lacks("Record")
		}
		return l.Record(page, at, changed)
	})
}

// RecordChanges reports when a page changed, with all times after from and up to until; see
// RateFilter.RecordChanges. The zero time as from stands for the last answer. It returns an error
// that wraps errors.ErrUnsupported if the learner has no RecordChanges.
func (k *Keyed[K]) RecordChanges(key K, from, until time.Time, times []time.Time) error {
	first := math.Inf(-1)
	if !from.IsZero() {
		first, _ = seconds(from)
	}
	changes := make([]float64, len(times))
	for i, t := range times {
		var err error
		if changes[i], err = seconds(t); err != nil {
			return k.about(key, fmt.Errorf("change %d: %w", i, err))
		}
	}
	return k.told(key, until, func(page int, clock, at float64) error {
		l, ok := k.learner.(interface {
			RecordChanges(page int, from, until float64, times []float64) error
		})
		if !ok {
			return k.lacks("RecordChanges")
		}
		for i := range changes {
			changes[i] += at - clock
		}
		return l.RecordChanges(page, first+(at-clock), at, changes)
	})
}

// Signal reports a hint of a source, by its number, that a page changed; see RateFilter.Signal. It
// returns an error that wraps errors.ErrUnsupported if the learner has no Signal.
func (k *Keyed[K]) Signal(key K, source int, at time.Time) error {
	return k.answer(key, at, func(page int, at float64) error {
		l, ok := k.learner.(interface {
			Signal(page, source int, at float64) error
		})
		if !ok {
			return k.lacks("Signal")
		}
		return l.Signal(page, source, at)
	})
}

// Defer keeps a page from being polled before a point in time; see RateFilter.Defer. The zero time
// ends an earlier Defer. It returns an error that wraps errors.ErrUnsupported if the learner has no
// Defer.
func (k *Keyed[K]) Defer(key K, until time.Time) error {
	ends := until.IsZero()
	if ends {
		until = time.Unix(0, 0)
	}
	return k.answer(key, until, func(page int, at float64) error {
		l, ok := k.learner.(interface {
			Defer(page int, until float64) error
		})
		if !ok {
			return k.lacks("Defer")
		}
		if ends {
			at = math.Inf(-1)
		}
		return l.Defer(page, at)
	})
}

// Due returns the time at which a page is expected to be polled next, or the zero time if that is
// never, or is at once and there was no Next yet; see RateFilter.Due. It returns an error that wraps
// errors.ErrUnsupported if the learner has no Due.
func (k *Keyed[K]) Due(key K) (time.Time, error) {
	k.lock()
	defer k.mu.Unlock()
	page, err := k.page(key)
	if err != nil {
		return time.Time{}, err
	}
	l, ok := k.learner.(interface {
		Due(page int) (float64, error)
	})
	if !ok {
		return time.Time{}, k.about(key, k.lacks("Due"))
	}
	at, err := l.Due(page)
	return moment(at - k.skew.settled), k.about(key, err)
}

// lacks returns the error of a learner that cannot do something.
func (k *Keyed[K]) lacks(what string) error {
	return fmt.Errorf("knapsack: %w: %T has no %s", errors.ErrUnsupported, k.learner, what)
}

// With calls do with the learner of a Keyed, for what only that type of learner can do. Nobody else
// uses the learner meanwhile. The function page returns the page of a key, or a *KeyError. Times
// are the learner's; Seconds converts them.
//
// Keep neither the learner nor page. Do not call the methods of the Keyed within do, except
// Seconds: they would wait for With to return. Do not call Next, Add or Remove of the learner
// either: the Keyed would not know, and With panics if the number of pages has changed.
//
// With returns what do returns, or an error that wraps errors.ErrUnsupported if the learner is not
// an L.
func With[L any, K comparable](k *Keyed[K], do func(learner L, page func(key K) (int, error)) error) error {
	k.lock()
	defer k.mu.Unlock()
	learner, ok := k.learner.(L)
	if !ok {
		return k.lacks(fmt.Sprintf("part in a With of %T", do))
	}
	err := do(learner, k.page)
	if n := k.learner.Len(); n != len(k.pages) {
		panic(fmt.Sprintf("knapsack: a With left %d pages with %d keys: use Add and Remove of the Keyed", n, len(k.pages)))
	}
	return err
}

// Seconds returns a time as the learner sees it, for use within With: Unix time in seconds, plus
// what the learner is ahead of a clock that was set back.
func (k *Keyed[K]) Seconds(t time.Time) float64 {
	at, _ := seconds(t) // 0 for the zero time
	return at + math.Float64frombits(k.ahead.Load())
}

// A pager is a learner that saves what it knows of a single page.
type pager interface {
	// pageFormat returns the format of a page.
	pageFormat() codec.Format
	// encodePage writes what is known of a page, decodePage reads it. What decodePage returns
	// takes effect when it is called.
	encodePage(slot int, e *codec.Encoder)
	decodePage(d *codec.Decoder) (set func(slot int))
}

// Export returns what has been learnt of a page, for Import: 30 bytes of a LAKG, 100 of a
// RateFilter, 250 of a Planner with MaximumLikelihood. It does not depend on the other pages, nor on
// what the caller set: weights, intervals, groups. If a clock was set back, the page may be polled
// earlier or later by as much after an Import. It returns an error that wraps errors.ErrUnsupported
// for an HTRAA, VLAKG or EstimateFirst: there, what is known of a page means nothing by itself.
func (k *Keyed[K]) Export(key K) ([]byte, error) {
	k.lock()
	defer k.mu.Unlock()
	page, err := k.page(key)
	if err != nil {
		return nil, err
	}
	p, ok := k.learner.(pager)
	if !ok {
		return nil, k.about(key, k.lacks("pages to export"))
	}
	data, err := p.pageFormat().Save(func(e *codec.Encoder) { p.encodePage(Slot(page), e) })
	return data, k.about(key, err)
}

// Import sets what is known of a page to what Export returned, from a learner of the same type. It
// adds the page if it is new.
func (k *Keyed[K]) Import(key K, data []byte) error {
	k.lock()
	defer k.mu.Unlock()
	p, ok := k.learner.(pager)
	if !ok {
		return k.about(key, k.lacks("pages to import"))
	}
	var set func(slot int)
	err := codec.Load(&set, p.pageFormat(), data, func(to *func(int), d *codec.Decoder) { *to = p.decodePage(d) })
	if err != nil {
		return k.about(key, err)
	}
	page, known := k.pages[key]
	if !known {
		page = k.add(key)
	}
	set(Slot(page))
	return nil
}
