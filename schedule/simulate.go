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

// A World is what happens in a simulation. The slices have one time per client; nil means
// that nothing of the kind happens.
type World struct {
	// Duration returns how long a site takes a client that begins it now: clients may drift,
	// and be slower than predicted. Nil means as predicted.
	Duration func(site, client int, now float64) float64
	// Joins is when each client first asks, if that is later than its start time; +Inf for
	// never. The dispatcher is not told that it will be late.
	Joins []float64
	// Lost is when each client is removed, not to return; +Inf for never.
	Lost []float64
	// Silent is when each client stops without a word; +Inf for never.
	Silent []float64
}

// check returns an error for times that do not fit the clients.
func (w World) check(clients int) error {
	for _, k := range []struct {
		name  string
		times []float64
	}{{"joining", w.Joins}, {"loss", w.Lost}, {"silence", w.Silent}} {
		if k.times != nil && len(k.times) != clients {
			return fmt.Errorf("%w: %d times of %s for %d clients", ErrProblem, len(k.times), k.name, clients)
		}
		if j := slices.IndexFunc(k.times, math.IsNaN); j >= 0 {
			return fmt.Errorf("%w: client %d: time of %s NaN", ErrTime, j, k.name)
		}
	}
	return nil
}

// Simulate runs a dispatcher that has handed out nothing yet. Its clients are free at their
// start times, pay their setup before their first site and then take w.Duration for each. A
// client whose copy has become useless stops at once; one that finds nothing to do asks again
// after each answer, and when another one becomes silent. At equal times clients come in the
// order of their numbers. If no client is left, sites stay open.
//
// Time: O(n log m), and that of the dispatcher.
func Simulate(d *Dispatcher, w World) (Simulation, error) {
	if err := w.check(d.m); err != nil {
		return Simulation{}, err
	}
	s := &simulation{d: d, w: w, epoch: make([]int, d.m), idle: make([]bool, d.m), started: make([]bool, d.m)}
	for j := range d.m {
		begin := d.client[j].since
		if w.Joins != nil {
			begin = max(begin, w.Joins[j])
		}
		if !math.IsInf(begin, 1) {
			s.push(event{time: begin, kind: asks, client: j})
		}
		if w.Lost != nil && !math.IsInf(w.Lost[j], 1) {
			s.push(event{time: w.Lost[j], kind: loses, client: j})
		}
	}
	for d.open > 0 && len(s.events) > 0 {
		e := s.events.Pop()
		if err := s.step(e); err != nil {
			return Simulation{}, err
		}
		s.watch(e.time)
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
	wakes // those that have nothing to do
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
	w       World
	events  heap.Heap[event]
	epoch   []int // how often a client was interrupted: its earlier events are void
	idle    []bool
	alarm   float64 // of the wakes last pushed
	started []bool
	run     Simulation
}

func (s *simulation) push(e event) {
	e.epoch = s.epoch[e.client]
	s.events.Push(e)
}

// dead reports whether a client has fallen silent.
func (s *simulation) dead(j int, now float64) bool { return s.w.Silent != nil && now >= s.w.Silent[j] }

func (s *simulation) step(e event) error {
	j := e.client
	if e.kind == wakes {
		s.wake(e.time)
		return nil
	}
	if s.d.client[j].gone || e.kind != loses && (e.epoch != s.epoch[j] || s.dead(j, e.time)) {
		return nil
	}
	switch e.kind {
	case asks:
		return s.ask(j, e.time)
	case tells:
		return s.tell(j, e.time)
	}
	if s.d.client[j].holds != None {
		s.span(j, e.time, false)
	}
	if err := s.d.RemoveClient(j, e.time); err != nil {
		return err
	}
	s.wake(e.time)
	return nil
}

func (s *simulation) ask(j int, now float64) error {
	site, err := s.d.Next(j, now)
	if err != nil {
		return err
	}
	s.idle[j] = site == None
	if site == None {
		return nil
	}
	took := s.d.duration(int32(site), j)
	if s.w.Duration != nil {
		took = s.w.Duration(site, j, now)
	}
	if !positive(took) {
		return fmt.Errorf("%w: site %d took client %d %v", ErrDuration, site, j, took)
	}
	if !s.started[j] {
		took += s.d.setup(j)
		s.started[j] = true
	}
	s.push(event{time: now + took, kind: tells, client: j})
	return nil
}

func (s *simulation) tell(j int, now float64) error {
	site := int(s.d.client[j].holds)
	s.span(j, now, true)
	_, void, err := s.d.Observe(j, site, now)
	if err != nil {
		return err
	}
	s.run.Makespan = now
	for _, other := range void {
		if s.dead(other, now) {
			continue
		}
		s.span(other, now, false)
		s.epoch[other]++
		if err := s.d.GiveBack(other, now); err != nil {
			return err
		}
		s.push(event{time: now, kind: asks, client: other})
	}
	s.push(event{time: now, kind: asks, client: j})
	s.wake(now)
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

// watch wakes idle clients when the next client becomes silent.
func (s *simulation) watch(now float64) {
	if !slices.Contains(s.idle, true) {
		return
	}
	if alarm := s.d.Alarm(); alarm > now && !math.IsInf(alarm, 1) && alarm != s.alarm {
		s.alarm = alarm
		s.push(event{time: alarm, kind: wakes})
	}
}

func (s *simulation) span(j int, end float64, useful bool) {
	c := &s.d.client[j]
	s.run.Spans = append(s.run.Spans, Span{j, int(c.holds), c.since, end, useful})
}

// Before orders events by time, kind and client.
func (e event) Before(o event) bool {
	return cmp.Or(cmp.Compare(e.time, o.time), cmp.Compare(e.kind, o.kind), cmp.Compare(e.client, o.client)) < 0
}
