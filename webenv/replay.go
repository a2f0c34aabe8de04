package webenv

import (
	"fmt"
	"math"
	"sort"
)

// Replay is an environment that changes as a recorded history did. Make it with [NewReplay]
// from a [History]. It shares the history, which must not be altered.
//
// # Cost
//
// Time: a poll takes O(log changes). Memory: 24 bytes a page besides the history; a poll
// allocates nothing.
type Replay struct {
	history *History
	rates   []float64
	last    []float64 // time of the previous poll
	next    []int     // index of the first change after it
}

// NewReplay returns an environment that starts at time start. It starts with a copy of each page as
// it is then, so changes at start or before are never seen. The usual start is the first change
// ([History.Span]). O(changes).
//
// The error is [ErrNoPages], [ErrConfig] for a start that is not finite, [ErrTime] for changes of a
// page that are not finite or not in ascending order, or [ErrName] if only some of the pages have
// names. NewReplay panics if h is nil.
func NewReplay(h *History, start float64) (*Replay, error) {
	if h == nil {
		panic("webenv: nil history")
	}
	if len(h.Times) == 0 {
		return nil, ErrNoPages
	}
	if n := len(h.Names); n > 0 && n != len(h.Times) {
		return nil, fmt.Errorf("%w: %d names for %d pages", ErrName, n, len(h.Times))
	}
	if math.IsNaN(start) || math.IsInf(start, 0) {
		return nil, fmt.Errorf("%w: start %v", ErrConfig, start)
	}
	r := &Replay{h, h.rates(), make([]float64, len(h.Times)), make([]int, len(h.Times))}
	for i, times := range h.Times {
		for k, t := range times {
			if err := checkChange(times[:k], t); err != nil {
				return nil, fmt.Errorf("%w: page %d, change %d", err, i, k)
			}
		}
		r.last[i] = start
		r.next[i] = sort.Search(len(times), func(k int) bool { return times[k] > start })
	}
	return r, nil
}

// Len returns the number of pages.
func (r *Replay) Len() int { return len(r.next) }

// Poll implements [Env].
func (r *Replay) Poll(page int, now float64) (since float64, changed bool) {
	checkTime(page, now, r.last[page])
	r.last[page] = now
	rest := r.history.Times[page][r.next[page]:]
	if len(rest) == 0 || rest[0] > now {
		return 0, false
	}
	r.next[page] += sort.Search(len(rest), func(k int) bool { return rest[k] > now })
	return rest[0], true
}

// Rate returns the rate of the page over the whole history.
func (r *Replay) Rate(page int, _ float64) float64 { return r.rates[page] }

// LastChange returns the last change of a page (see [Env]), in O(log changes). Changes before the
// start count.
func (r *Replay) LastChange(page int, now float64) (t float64, ok bool) {
	times := r.history.Times[page]
	n := sort.Search(len(times), func(k int) bool { return times[k] > now })
	if n == 0 {
		return 0, false
	}
	return times[n-1], true
}

// Delays returns the number of changes found and their delays (see [Env]), in O(log changes +
// changes found).
func (r *Replay) Delays(page int, since, now float64) (changes, delay float64) {
	times := r.history.Times[page]
	for _, t := range times[sort.SearchFloat64s(times, since):] {
		if t > now {
			break
		}
		changes++
		delay += now - t
	}
	return changes, delay
}
