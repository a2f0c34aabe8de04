package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// A Span is a period for which a client worked on a site.
type Span struct {
	Client, Site int
	Start, End   float64
	Useful       bool // its answer was the first
}

// A Simulation is what [Simulate] returns.
type Simulation struct {
	Makespan float64 // time of the last first answer for a site; +Inf if sites stay open
	Spans    []Span  // in order of their ends
}

// A World says what happens in a simulation. The slices have one time per client; nil means that
// nothing of that kind happens.
type World struct {
	// Duration returns how long a site takes a client that begins it now. So clients may drift and
	// may be slower than predicted. Nil means as predicted.
	Duration func(site, client int, now float64) float64
	// Joins is when each client first asks, if that is later than its start time; +Inf means never.
	// The dispatcher does not know that the client will be late.
	Joins []float64
	// Lost is when each client is removed for good; +Inf means never.
	Lost []float64
	// Silent is when each client stops without a word; +Inf means never.
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

// Simulate runs a dispatcher that has handed out nothing yet. Its clients are free at their start
// times, pay their setup before their first site, and then take w.Duration for each site. A client
// whose copy has become useless stops at once; only a setup goes on. A client that finds nothing to
// do asks again after each answer, and when another client is removed or becomes silent. At equal
// times clients come in the order of their numbers. If no client is left, sites stay open.
//
// # Cost
//
// Time: a few calls of Next, Observe and Alarm, in O(m) each, for each span, loss and silence, and
// the time of the dispatcher to divide the waiting sites. In the tail of the run no site waits, and
// each site may have up to Copies spans. After each answer there may be up to m more calls of Next:
// one for each client that can do none of the remaining sites, and for each client of a Static
// dispatcher that has finished its batch.
func Simulate(d *Dispatcher, w World) (Simulation, error) {
	s, err := newSimulation(d, w)
	if err != nil {
		return Simulation{}, err
	}
	for s.goesOn() {
		if err := s.event(); err != nil {
			return Simulation{}, err
		}
	}
	return s.end(), nil
}

func newSimulation(d *Dispatcher, w World) (*simulation, error) {
	if err := w.check(d.m); err != nil {
		return nil, err
	}
	s := &simulation{d: d, w: w, epoch: make([]int, d.m), want: make([]want, d.m), begun: slices.Repeat([]float64{math.Inf(1)}, d.m)}
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
	return s, nil
}

func (s *simulation) goesOn() bool { return s.d.open > 0 && len(s.events) > 0 }

// event lets the next event happen.
func (s *simulation) event() error {
	e := s.events.Pop()
	if err := s.step(e); err != nil {
		return err
	}
	s.watch(e.time)
	return nil
}

func (s *simulation) end() Simulation {
	if s.d.open > 0 {
		s.run.Makespan = math.Inf(1)
	}
	slices.SortStableFunc(s.run.Spans, func(a, b Span) int { return cmp.Compare(a.End, b.End) })
	return s.run
}

type eventKind uint8

const (
	tells eventKind = iota // at equal times answers come before questions
	loses
	wakes // wakes the clients that have nothing to do
	asks
)

type event struct {
	time   float64
	kind   eventKind
	client int
	epoch  int
	woken  bool // the client asks because it was woken; after it the next woken client asks
}

// want says what a client is waiting for.
type want uint8

const (
	busy  want = iota // works, or has an event of its own to ask
	idle              // found nothing to do
	woken             // was idle and will ask again now
)

type simulation struct {
	d      *Dispatcher
	w      World
	events heap.Heap[event]
	epoch  []int // how often a client was interrupted; events of earlier epochs are void
	want   []want
	alarm  float64   // time of the last wakes event pushed
	begun  []float64 // time at which the setup of a client began; +Inf before
	run    Simulation
}

func (s *simulation) push(e event) {
	e.epoch = s.epoch[e.client]
	s.events.Push(e)
}

// dead reports whether a client has fallen silent.
func (s *simulation) dead(j int, now float64) bool { return s.w.Silent != nil && now >= s.w.Silent[j] }

func (s *simulation) step(e event) error {
	j := e.client
	switch {
	case e.kind == wakes:
		s.wake(e.time)
		return nil
	case e.woken:
		return s.askWoken(j, e.time)
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
	s.want[j] = busy
	s.wake(e.time)
	return nil
}

func (s *simulation) ask(j int, now float64) error {
	site, err := s.d.Next(j, now)
	if err != nil {
		return err
	}
	if site == None {
		s.want[j] = idle
		return nil
	}
	took := s.d.duration(int32(site), j)
	if s.w.Duration != nil {
		took = s.w.Duration(site, j, now)
	}
	if !positive(took) {
		return fmt.Errorf("%w: site %d took client %d %v", ErrDuration, site, j, took)
	}
	if math.IsInf(s.begun[j], 1) {
		s.begun[j] = now
	}
	// A setup that was interrupted, as a copy became useless, has an end all the same.
	begin := max(now, s.begun[j]+s.d.setup(j))
	s.push(event{time: begin + took, kind: tells, client: j})
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
	for j, w := range s.want {
		if w == idle {
			s.want[j] = woken
		}
	}
	s.pushWoken(0, now)
}

// pushWoken makes the first woken client from j on ask.
func (s *simulation) pushWoken(j int, now float64) {
	if k := slices.Index(s.want[j:], woken); k >= 0 {
		s.events.Push(event{time: now, kind: asks, client: j + k, woken: true})
	}
}

// askWoken makes a woken client ask, and then the next one. It stops when a client finds nothing to
// do and no other client could find anything.
func (s *simulation) askWoken(j int, now float64) error {
	if s.want[j] != woken {
		return nil // the client was woken twice at the same time
	}
	s.want[j] = busy
	if !s.dead(j, now) {
		if err := s.ask(j, now); err != nil {
			return err
		}
	}
	if s.want[j] == idle && !s.d.hasWork() {
		s.askInVain(now)
		return nil
	}
	s.pushWoken(j+1, now)
	return nil
}

// askInVain has the effect of questions of all woken clients when none of them finds anything to
// do.
func (s *simulation) askInVain(now float64) {
	for j, w := range s.want {
		if w != woken {
			continue
		}
		if s.want[j] = busy; !s.dead(j, now) {
			s.want[j] = idle
			s.d.askInVain(j)
		}
	}
}

// watch wakes idle clients when the next client becomes silent.
func (s *simulation) watch(now float64) {
	if !slices.Contains(s.want, idle) {
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
