package schedule

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
)

// A Span is the time for which a client worked on a site.
type Span struct {
	Client, Site int
	Start, End   float64
	Useful       bool // its answer was the first
}

// A Run is the outcome of a simulation.
type Run struct {
	Makespan float64 // when the last first answer came
	Spans    []Span  // in order of their ends
}

// Simulate runs a dispatcher that has handed out nothing yet, with clients that
// are free at their start times, pay their setup before their first site and
// then take actual(site, client) for it. A client whose copy has become useless
// stops at once; one that finds nothing to do asks again after each answer. At
// equal times clients come in the order of their numbers. Client j is lost at
// lost[j] (nil: none ever is) and does not return. It takes O(n log m) plus the
// dispatcher's work. It returns ErrUnknown if sites stay open because all
// clients are lost.
func Simulate(d *Dispatcher, actual func(site, client int) float64, lost []float64) (Run, error) {
	p := d.p
	if lost != nil && len(lost) != p.m {
		return Run{}, fmt.Errorf("%w: %d times of loss for %d clients", ErrShape, len(lost), p.m)
	}
	s := &simulation{d: d, actual: actual, epoch: make([]int, p.m), idle: make([]bool, p.m), started: make([]bool, p.m)}
	for j := range p.m {
		s.push(event{time: p.start[j], kind: asks, client: j})
		if lost != nil && !math.IsInf(lost[j], 1) {
			s.push(event{time: lost[j], kind: loses, client: j})
		}
	}
	for d.open > 0 && s.events.Len() > 0 {
		if err := s.step(heap.Pop(&s.events).(event)); err != nil {
			return Run{}, err
		}
	}
	if d.open > 0 {
		return Run{}, fmt.Errorf("%w: %d sites are open and no client is left", ErrUnknown, d.open)
	}
	slices.SortStableFunc(s.run.Spans, func(a, b Span) int { return cmp.Compare(a.End, b.End) })
	return s.run, nil
}

type eventKind int

const (
	tells eventKind = iota // at equal times answers come before questions
	loses
	asks
)

type event struct {
	time   float64
	kind   eventKind
	client int
	epoch  int
}

type simulation struct {
	d       *Dispatcher
	actual  func(site, client int) float64
	events  events
	epoch   []int // how often a client was interrupted: its earlier events are void
	idle    []bool
	started []bool
	run     Run
}

func (s *simulation) push(e event) {
	e.epoch = s.epoch[e.client]
	heap.Push(&s.events, e)
}

func (s *simulation) step(e event) error {
	d, j := s.d, e.client
	if e.kind != loses && e.epoch != s.epoch[j] || d.gone[j] {
		return nil
	}
	switch e.kind {
	case asks:
		site, err := d.Ask(j, e.time)
		if err != nil {
			return err
		}
		s.idle[j] = site == NoSite
		if site == NoSite {
			return nil
		}
		took := s.actual(site, j)
		if !positive(took) {
			return fmt.Errorf("%w: site %d took client %d %v", ErrDuration, site, j, took)
		}
		if !s.started[j] {
			took += d.p.setup[j]
			s.started[j] = true
		}
		s.push(event{time: e.time + took, kind: tells, client: j})
	case tells:
		site := int(d.holds[j])
		s.span(j, e.time, true)
		_, void, err := d.Tell(j, site, e.time)
		if err != nil {
			return err
		}
		s.run.Makespan = e.time
		for _, other := range void {
			s.span(other, e.time, false)
			s.epoch[other]++
			if err := d.Decline(other, e.time); err != nil {
				return err
			}
			s.push(event{time: e.time, kind: asks, client: other})
		}
		s.push(event{time: e.time, kind: asks, client: j})
		s.wake(e.time)
	case loses:
		if d.holds[j] != NoSite {
			s.span(j, e.time, false)
		}
		if err := d.Lose(j, e.time); err != nil {
			return err
		}
		s.wake(e.time)
	}
	return nil
}

// wake makes all idle clients ask again.
func (s *simulation) wake(now float64) {
	for j, idle := range s.idle {
		if idle {
			s.idle[j] = false
			s.push(event{time: now, kind: asks, client: j})
		}
	}
}

func (s *simulation) span(j int, end float64, useful bool) {
	s.run.Spans = append(s.run.Spans, Span{j, int(s.d.holds[j]), s.d.since[j], end, useful})
}

// events is a heap by time, kind and client.
type events []event

func (h events) Len() int      { return len(h) }
func (h events) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h events) Less(a, b int) bool {
	return cmp.Or(cmp.Compare(h[a].time, h[b].time), cmp.Compare(h[a].kind, h[b].kind), cmp.Compare(h[a].client, h[b].client)) < 0
}
func (h *events) Push(x any) { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
