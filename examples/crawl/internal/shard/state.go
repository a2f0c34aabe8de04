// Package shard is a part of a crawl: some hosts, the learner that decides which of their pages to
// poll, and what is known of each page. A State changes by events alone, which are logged before
// they count; a Loop asks the learner, hands out polls, and logs and applies what they found.
package shard

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"net/url"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv/live"
)

var stageNames = [stages]string{"waits for its first copy", "crawled", "forbidden by robots.txt", "gone for good"}

func (s Stage) String() string { return stageNames[s] }

// A Stage says where a page is on its way.
type Stage uint8

const (
	Waiting Stage = iota // for its first copy
	Crawled              // the learner has it
	Barred               // by robots.txt
	Ended                // 410
	stages
)

// A Page is what is known of a page, beside what the learner knows.
type Page struct {
	URL   string
	Host  *Host
	Stage Stage

	taken                     bool // by Loop.Take or Loop.PollNow, and not answered
	weight, shortest, longest float64
	copy                      []byte // state of a live.Transport of this page alone
	learnt                    []byte // of a barred page, see Keyed.Export
	history                   []byte // of the latest polls, see remember
}

// A Host is what is known of a host.
type Host struct {
	Name   string
	Delay  float64 // the least time between two polls, in seconds
	Paused bool
	Pages  int // not counting those that are barred or ended
	Totals

	all     int // pages, at any stage
	grouped bool
	group   int // of the learner
	vetoes  int // in a row
	// until is when the host may be asked again, in seconds, after so many vetoes; 0 for none.
	until float64
}

// Rests reports whether a host is left alone now, as the user paused it or as it said so itself. Then
// left is for how long, 0 if until the user has it go on.
func (h *Host) Rests(now time.Time) (left time.Duration, rests bool) {
	if h.Paused {
		return 0, true
	}
	seconds := h.until - float64(now.UnixNano())/1e9
	if seconds <= 0 {
		return 0, false
	}
	return max(time.Duration(min(seconds, fetch.LongestRest.Seconds())*float64(time.Second)), 1), true
}

// Totals count what polls came to.
type Totals struct {
	Polls     uint64 // answers of any kind
	Learnt    uint64 // answers that were learnt from
	Changes   uint64
	First     uint64
	Failures  uint64
	Vetoes    uint64
	Forbidden uint64
	Bytes     uint64
}

// Add adds what a poll came to.
func (t *Totals) Add(e *Event) {
	if e.Result == Forbidden {
		t.Forbidden++
		return
	}
	t.Polls++
	t.Bytes += uint64(e.Bytes)
	switch e.Result {
	case Unchanged:
		t.Learnt++
	case Changed:
		t.Learnt++
		t.Changes++
	case First:
		t.First++
	case Vetoed:
		t.Vetoes++
	default:
		t.Failures++
	}
}

// A State is what is known of a shard. It is not safe for concurrent use.
type State struct {
	Learner *knapsack.Keyed[string]
	Totals
	Latest time.Time // of all polls
	// Points is what was learnt of the access points of the hosts, see Open of fetch.Fetcher. It
	// changes by no event: what was learnt since the latest snapshot is learnt again.
	Points []byte
	// Vacated, if not nil, is told of each host that is forgotten, as it has no pages any more.
	Vacated func(host string)

	pages   map[string]*Page
	hosts   map[string]*Host
	staged  [stages]int // pages by stage
	weights float64     // sum over the pages
	resting rests       // hosts without pages
	// vetoes are the times before which pages are not to be asked, where the learner cannot be
	// told.
	vetoes map[string]time.Time
}

// NewState returns a state without pages, of a learner without pages. What a [knapsack.RateFilter]
// can do that others cannot (limits of hosts, weights, hints), others go without.
func NewState(learner knapsack.Learner) *State {
	s := &State{Learner: knapsack.NewKeyed[string](learner), pages: map[string]*Page{}, hosts: map[string]*Host{}}
	if _, ok := learner.(interface {
		Defer(page int, until float64) error
	}); !ok {
		s.vetoes = map[string]time.Time{}
	}
	return s
}

// vetoed reports whether the learner gave a page that must not be asked for now.
func (s *State) vetoed(url string, now time.Time) bool {
	until, ok := s.vetoes[url]
	if ok && !until.After(now) {
		delete(s.vetoes, url)
		ok = false
	}
	return ok
}

// Page returns a page, nil if it is not known.
func (s *State) Page(url string) *Page { return s.pages[url] }

// Count returns the number of pages at a stage.
func (s *State) Count(at Stage) int { return s.staged[at] }

// counts reports whether a page at a stage is one of the Pages of its host.
func (at Stage) counts() bool { return at == Waiting || at == Crawled }

// move moves a page to another stage.
func (s *State) move(p *Page, to Stage) {
	s.leave(p)
	s.arrive(p, to)
}

func (s *State) leave(p *Page) {
	s.staged[p.Stage]--
	if p.Stage.counts() {
		p.Host.Pages--
	}
}

func (s *State) arrive(p *Page, at Stage) {
	p.Stage = at
	s.staged[at]++
	if at.counts() {
		p.Host.Pages++
	}
}

// Weight returns the mean weight of the pages.
func (s *State) Weight() float64 { return s.weights / float64(max(len(s.pages), 1)) }

// weigh returns the weight of a page.
func (p *Page) weigh() float64 {
	if p.weight > 0 {
		return p.weight
	}
	return 1
}

// Len returns the number of pages.
func (s *State) Len() int { return len(s.pages) }

// All returns the pages in no particular order.
func (s *State) All() iter.Seq[*Page] {
	return func(yield func(*Page) bool) {
		for _, p := range s.pages {
			if !yield(p) {
				return
			}
		}
	}
}

// Host returns a host, nil if it is not known.
func (s *State) Host(name string) *Host { return s.hosts[name] }

// CountHosts returns the number of hosts.
func (s *State) CountHosts() int { return len(s.hosts) }

// Hosts returns the hosts in no particular order.
func (s *State) Hosts() iter.Seq[*Host] {
	return func(yield func(*Host) bool) {
		for _, h := range s.hosts {
			if !yield(h) {
				return
			}
		}
	}
}

// HostOf returns the host of a URL, with its port.
func HostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// Apply changes the state by an event. An error is one of the learner that events cannot bring
// about, so that the state is not to be used any more.
func (s *State) Apply(e *Event) error {
	if e.Kind == Polled && e.At.After(s.Latest) {
		s.Latest = e.At
	}
	switch e.Kind {
	case Pause:
		return s.pause(e)
	case Limit:
		h := s.hosts[e.URL]
		if h == nil { // its pages were removed meanwhile
			return nil
		}
		h.Delay = e.Seconds
		return s.limit(h)
	case Veto:
		if h := s.hosts[e.URL]; h != nil {
			return s.veto(h, e.Until)
		}
		return nil
	case Add:
		return s.add(e)
	}
	p := s.pages[e.URL]
	if p == nil { // removed meanwhile
		return nil
	}
	switch e.Kind {
	case Remove:
		return s.remove(p, e.At)
	case Readmit:
		if p.Stage != Barred {
			return nil
		}
		return s.enter(p)
	case Hint:
		return s.hint(p, e)
	default:
		return s.polled(p, e)
	}
}

func (s *State) host(name string) *Host {
	h := s.hosts[name]
	if h == nil {
		h = &Host{Name: name}
		s.hosts[name] = h
	}
	return h
}

func (s *State) add(e *Event) error {
	p := s.pages[e.URL]
	if p == nil {
		p = &Page{URL: e.URL, Host: s.host(HostOf(e.URL))}
		s.pages[e.URL] = p
		p.Host.all++
		s.arrive(p, Waiting)
	} else {
		s.weights -= p.weigh()
	}
	had := *p
	p.weight, p.shortest, p.longest = e.Weight, e.Shortest, e.Longest
	s.weights += p.weigh()
	if p.Stage != Crawled {
		return nil
	}
	err := s.settle(p, &had)
	if (p.shortest != had.shortest || p.longest != had.longest) && p.firstCopy() {
		err = errors.Join(err, s.putOff(p, p.latest(), time.Time{}))
	}
	return err
}

// filter calls do with the learner, if it is a rate filter.
func (s *State) filter(do func(f *knapsack.RateFilter, page func(string) (int, error)) error) error {
	err := knapsack.With(s.Learner, do)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// timed reports whether the learner is a rate filter that has a time scale. Before, it learns nothing of how often pages
// change from polls that it did not ask for, as those of a log are that is replayed.
func (s *State) timed() (timed bool) {
	_ = s.filter(func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		timed = f.Stats().Budget > 0
		return nil
	})
	return timed
}

// enter hands a page to the learner.
func (s *State) enter(p *Page) error {
	if p.learnt != nil {
		if err := s.Learner.Import(p.URL, p.learnt); err != nil {
			return err
		}
		p.learnt = nil
	} else {
		s.Learner.Add(p.URL)
	}
	s.move(p, Crawled)
	err := knapsack.With(s.Learner, func(f *knapsack.Fixed, page func(string) (int, error)) error {
		id, err := page(p.URL)
		if err != nil {
			return err
		}
		return f.SetFrequency(id, 1)
	})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := s.limit(p.Host); err != nil {
		return err
	}
	return s.settle(p, &Page{})
}

// settle tells the learner the settings of a page, also those that it had and has no more.
func (s *State) settle(p, had *Page) error {
	return s.filter(func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		id, err := page(p.URL)
		if err != nil {
			return err
		}
		err = f.SetGroup(id, p.Host.group)
		if p.weight > 0 || had.weight > 0 {
			err = errors.Join(err, f.SetWeight(id, p.weigh()))
		}
		if longest := p.longest; p.shortest > 0 || longest > 0 || had.shortest > 0 || had.longest > 0 {
			if longest == 0 {
				longest = math.Inf(1)
			}
			err = errors.Join(err, f.SetInterval(id, p.shortest, longest))
		}
		return err
	})
}

// queue is the number of polls of a host that may be asked for at a time. One of them is under way,
// as package fetch has it, and the others wait for their turn. A queue of 1 would leave a host out
// of the learner's comparison while it is polled: that costs 3 % of the detections where answers
// come at once and 15 % where a poll takes a quarter of a host's time, and 4 costs nothing. See
// go test ./examples/crawl/internal/shard -run TestQueue -sweep -v.
const queue = 4

// limit tells the learner how hard a host may be used.
func (s *State) limit(h *Host) error {
	cfg := knapsack.GroupConfig{MinGap: h.Delay, MaxInFlight: queue}
	return s.filter(func(f *knapsack.RateFilter, _ func(string) (int, error)) (err error) {
		if h.grouped {
			return f.LimitGroup(h.group, cfg)
		}
		h.grouped = true
		h.group, err = f.AddGroup(cfg)
		until := h.until
		if h.Paused {
			until = math.Inf(1)
		}
		if until > 0 && err == nil {
			err = f.DeferGroup(h.group, until)
		}
		return err
	})
}

func (s *State) pause(e *Event) error {
	h := s.hosts[e.URL]
	if h == nil || h.Paused == e.On {
		return nil
	}
	if h.Paused = e.On; !h.grouped {
		return s.vacate(h, e.At)
	}
	until := math.Inf(-1)
	switch {
	case e.On:
		until = math.Inf(1)
	case h.until > 0: // the host has not changed its mind
		until = h.until
	}
	return errors.Join(s.deferHost(h, until), s.vacate(h, e.At))
}

func (s *State) deferHost(h *Host, until float64) error {
	return s.filter(func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		return f.DeferGroup(h.group, until)
	})
}

func (s *State) remove(p *Page, at time.Time) error {
	var err error
	if p.Stage == Crawled {
		err = s.Learner.Remove(p.URL)
	}
	delete(s.pages, p.URL)
	delete(s.vetoes, p.URL)
	s.weights -= p.weigh()
	s.leave(p)
	p.Host.all--
	return errors.Join(err, s.vacate(p.Host, at), s.rested(at))
}

// hint passes a hint on. The learner refuses some for their time: they are from a clock that is
// wrong.
func (s *State) hint(p *Page, e *Event) error {
	if p.Stage != Crawled {
		return nil
	}
	return s.filter(func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		id, err := page(p.URL)
		if err != nil {
			return err
		}
		switch err := f.Signal(id, e.Source, seconds(e.At)); {
		case errors.Is(err, knapsack.ErrTime):
			return nil
		case err == nil && p.firstCopy() && e.At.After(p.latest()): // that is old already, see putOff
			return f.Defer(id, seconds(p.latest())+p.shortest)
		default:
			return err
		}
	})
}

// polled applies what a poll came to.
func (s *State) polled(p *Page, e *Event) (err error) {
	s.Add(e)
	p.Host.Add(e)
	p.taken = false
	if e.Copy != nil {
		p.copy = e.Copy
	}
	p.remember(e)
	switch {
	case e.Result == Forbidden:
		return s.bar(p)
	case e.Result == Gone && p.Stage == Waiting:
		s.move(p, Ended)
		return nil
	case p.Stage == Barred, p.Stage == Ended:
		return nil
	case p.Stage == Waiting:
		if err := s.enter(p); err != nil {
			return err
		}
	case e.Result == First && s.vetoes == nil: // to the learner it is a failure, and those before it would double the wait
		if err := errors.Join(s.bar(p), s.enter(p)); err != nil {
			return err
		}
	}
	err = live.Tell[string](teller{s.Learner, s, p, e}, p.URL, e.At, e.poll())
	if e.Result == Gone {
		s.move(p, Ended)
		p.copy = nil
	}
	if s.vetoes != nil && (e.Result == Vetoed || e.Result == Failed) && !e.Until.IsZero() {
		s.vetoes[p.URL] = e.Until
	}
	if e.Result != Vetoed {
		return errors.Join(err, s.unveto(p.Host, e))
	}
	return errors.Join(err, s.veto(p.Host, e.Until))
}

// veto takes note that a host does not want to be asked before a time. After some vetoes in a row it is left
// alone as a whole.
func (s *State) veto(h *Host, until time.Time) error {
	if h.vetoes++; h.vetoes < fetch.Impatience || until.IsZero() {
		return nil
	}
	h.until = max(float64(until.UnixNano())/1e9, 0)
	if h.all == 0 { // it may rest for less long than it was noted to
		heap.Push(&s.resting, rest{h, h.until})
	}
	if h.Paused || !h.grouped {
		return nil
	}
	return s.deferHost(h, h.until)
}

// unveto takes note of an answer that was no veto: a host that was left alone as a whole need not be any
// more. Its pages that were vetoed stay put off, each by itself. A failure says nothing of what a host
// wants.
func (s *State) unveto(h *Host, e *Event) error {
	whole := h.vetoes >= fetch.Impatience
	if whole && e.Result == Failed {
		return nil
	}
	h.vetoes, h.until = 0, 0
	if !whole || h.Paused || !h.grouped {
		return nil
	}
	return s.deferHost(h, math.Inf(-1))
}

// bar takes a page out of the learner until robots.txt allows it, with what was learnt of it.
func (s *State) bar(p *Page) (err error) {
	if p.Stage == Crawled {
		p.learnt, err = s.Learner.Export(p.URL)
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		err = errors.Join(err, s.Learner.Remove(p.URL))
	}
	s.move(p, Barred)
	return err
}

const (
	memories   = 24 // polls of a page that are remembered for its history
	memorySize = 5
)

// A Memory is a poll that a page remembers.
type Memory struct {
	At     time.Time // to the second
	Result Result
}

// remember keeps a poll in the history of a page, in five bytes.
func (p *Page) remember(e *Event) {
	if len(p.history) == memories*memorySize {
		p.history = append(p.history[:0], p.history[memorySize:]...)
	}
	p.history = binary.LittleEndian.AppendUint32(p.history, uint32(e.At.Unix()))
	p.history = append(p.history, byte(e.Result))
}

// History returns the latest polls of a page, oldest first.
func (p *Page) History() (all []Memory) {
	for h := p.history; len(h) >= memorySize; h = h[memorySize:] {
		all = append(all, Memory{time.Unix(int64(binary.LittleEndian.Uint32(h)), 0), Result(h[4])})
	}
	return all
}

// Settings returns the weight of a page and the bounds of the time between two polls, in
// seconds, as Add gave them.
func (p *Page) Settings() (weight, shortest, longest float64) { return p.weight, p.shortest, p.longest }

// Copy returns what is remembered of the page's copy: the state of a live.Transport.
func (p *Page) Copy() []byte { return p.copy }
