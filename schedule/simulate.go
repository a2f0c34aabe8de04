package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// A Span is the time for which a client worked on a site.
type Span struct {
	Client, Site int
	Start, End   float64
	Useful       bool // its answer was the first
}

// A Simulation is what [Simulate] returns.
type Simulation struct {
	Makespan float64 // when the last first answer came; +Inf if sites stay open
	Spans    []Span  // in order of their ends
}

// Simulate runs a dispatcher that has handed out nothing yet. Its clients are free at their
// start times, pay their setup before their first site and then take actual(site, client)
// for each. A client whose copy has become useless stops at once; one that finds nothing to
// do asks again after each answer. At equal times clients come in the order of their
// numbers. Client j is removed at lost[j] and does not return; nil means that none is. If all
// are lost, sites stay open.
//
// Time: O(n log m), and that of the dispatcher.
func Simulate(d *Dispatcher, actual func(site, client int) float64, lost []float64) (Simulation, error) {
	p := d.p
	if lost != nil && len(lost) != p.m {
		return Simulation{}, fmt.Errorf("%w: %d times of loss for %d clients", ErrProblem, len(lost), p.m)
	}
	s := &simulation{d: d, actual: actual, epoch: make([]int, p.m), idle: make([]bool, p.m), started: make([]bool, p.m)}
	for j := range p.m {
		s.push(event{time: p.start[j], kind: asks, client: j})
		if lost != nil && !math.IsInf(lost[j], 1) {
			s.push(event{time: lost[j], kind: loses, client: j})
		}
	}
	for d.open > 0 && len(s.events) > 0 {
		if err := s.step(s.events.Pop()); err != nil {
			return Simulation{}, err
		}
	}
	if d.open > 0 {
		s.run.Makespan = math.Inf(1)
	}
	slices.SortStableFunc(s.run.Spans, func(a, b Span) int { return cmp.Compare(a.End, b.End) })
	return s.run, nil
}

type eventKind uint8

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
	events  heap.Heap[event]
	epoch   []int // how often a client was interrupted: its earlier events are void
	idle    []bool
	started []bool
	run     Simulation
}

func (s *simulation) push(e event) {
	e.epoch = s.epoch[e.client]
	s.events.Push(e)
}

func (s *simulation) step(e event) error {
	d, j := s.d, e.client
	if e.kind != loses && e.epoch != s.epoch[j] || d.gone[j] {
		return nil
	}
	switch e.kind {
	case asks:
		site, err := d.Next(j, e.time)
		if err != nil {
			return err
		}
		s.idle[j] = site == None
		if site == None {
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
		_, void, err := d.Observe(j, site, e.time)
		if err != nil {
			return err
		}
		s.run.Makespan = e.time
		for _, other := range void {
			s.span(other, e.time, false)
			s.epoch[other]++
			if err := d.GiveBack(other, e.time); err != nil {
				return err
			}
			s.push(event{time: e.time, kind: asks, client: other})
		}
		s.push(event{time: e.time, kind: asks, client: j})
		s.wake(e.time)
	case loses:
		if d.holds[j] != None {
			s.span(j, e.time, false)
		}
		if err := d.RemoveClient(j, e.time); err != nil {
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

// Before orders events by time, kind and client.
func (e event) Before(o event) bool {
	return cmp.Or(cmp.Compare(e.time, o.time), cmp.Compare(e.kind, o.kind), cmp.Compare(e.client, o.client)) < 0
}
