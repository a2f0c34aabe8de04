package shard

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/recrawl/recrawl/knapsack"
)

// vacate forgets a host that has no pages any more, with its group: hosts come and go. It stays while the user
// has it paused, and until the time that it named if it does not want to be asked before. Its delay need not
// last: package fetch keeps to it, and tells it again with the first poll of a host that comes back.
func (s *State) vacate(h *Host, now time.Time) error {
	switch {
	case h.all > 0 || h.Paused:
		return nil
	case h.until > seconds(now):
		heap.Push(&s.resting, rest{h, h.until})
		return nil
	}
	delete(s.hosts, h.Name)
	if s.Vacated != nil {
		s.Vacated(h.Name)
	}
	if !h.grouped {
		return nil
	}
	return s.filter(func(f *knapsack.RateFilter, _ func(string) (int, error)) error { return f.RemoveGroup(h.group) })
}

// rested forgets the hosts without pages that have rested.
func (s *State) rested(now time.Time) error {
	for len(s.resting) > 0 && s.resting[0].until <= seconds(now) {
		if h := heap.Pop(&s.resting).(rest).host; s.hosts[h.Name] == h {
			if err := s.vacate(h, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// vacateAll finds the hosts without pages in a state that was loaded. An earlier version saved others than those
// that are resting.
func (s *State) vacateAll() error {
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		if err := s.vacate(s.hosts[name], time.Unix(0, 0)); err != nil {
			return err
		}
	}
	return nil
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// A rest is that of a host without pages; it may have pages again by then, or rest longer.
type rest struct {
	host  *Host
	until float64
}

// rests are a heap.
type rests []rest

func (r rests) Len() int { return len(r) }
func (r rests) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(r[i].until, r[j].until), cmp.Compare(r[i].host.Name, r[j].host.Name)) < 0
}
func (r rests) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *rests) Push(x any)   { *r = append(*r, x.(rest)) }
func (r *rests) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	(*r)[last] = rest{} // lest the host be kept in memory
	*r = (*r)[:last]
	return x
}
