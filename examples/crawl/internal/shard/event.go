package shard

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/webenv/live"
)

// A Kind says what an Event is about.
type Kind uint8

const (
	Add     Kind = iota // a page is to be crawled, or its settings change
	Remove              // a page is not to be crawled any more
	Polled              // a poll has come to its end
	Readmit             // robots.txt allows a page that it forbade
	Hint                // a source says that a page changed
	Pause               // a host is left alone, or no more
	Limit               // the least time between two polls of a host
	Veto                // a host does not want to be asked, by a request that a redirect of another one led to it
	kinds
)

// An Event is what changes the state of a shard, and what its log is made of. The state is a
// function of the events alone.
type Event struct {
	Kind Kind
	URL  string // or the host of a Pause, Limit or Veto
	At   time.Time

	// Of Add. Weight 0 means 1; Shortest and Longest are in seconds, 0 for none.
	Weight, Shortest, Longest float64
	// On is whether a host pauses, Seconds the time of a Limit, and Source that of a Hint.
	On      bool
	Seconds float64
	Source  int

	// Of Polled: the number of the poll, in what it resulted, the HTTP status, the time before
	// which the server does not want to be asked (that of a Veto, too), and what is remembered of
	// the copy, nil if that is what it was.
	ID     uint64
	Result Result
	Status int
	Until  time.Time
	Copy   []byte
	Bytes  int64
	Took   time.Duration
	// Reason says what went wrong; it is not logged.
	Reason error
}

// A Result is what a poll came to.
type Result uint8

const (
	Unchanged Result = iota
	Changed
	First     // copy of a page: there was nothing to compare it with
	Failed    // for now, 404 included
	Vetoed    // the server does not want to be asked
	Gone      // for good: 410
	Forbidden // by robots.txt: it was not asked
	results
)

var resultNames = [results]string{"unchanged", "changed", "first copy", "failed", "vetoed", "gone", "forbidden"}

func (r Result) String() string {
	if r < results {
		return resultNames[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Answered reports whether there was an answer that a learner learns from.
func (r Result) Answered() bool { return r <= Changed }

// resultOf returns what a poll came to.
func resultOf(p live.Poll) Result {
	switch {
	case p.Err == nil && p.First:
		return First
	case p.Err == nil && p.Changed:
		return Changed
	case p.Err == nil:
		return Unchanged
	case p.Status == http.StatusGone:
		return Gone
	case p.Outcome() == live.Vetoed:
		return Vetoed
	}
	return Failed
}

// Found returns the event of what a poll came to.
func Found(j Job, res fetch.Result) Event {
	e := Event{
		Kind: Polled, URL: j.URL, ID: j.ID, At: res.At, Result: resultOf(res.Poll), Status: res.Status,
		Until: res.RetryAfter, Copy: res.Copy, Bytes: max(res.Bytes, 0), Took: max(res.Duration, 0), Reason: res.Err,
	}
	if latest := e.At.Add(fetch.LongestRest); e.Until.After(latest) {
		e.Until = latest
	}
	switch {
	case res.Forbidden:
		e.Result = Forbidden
	case res.Elsewhere != "" && (e.Result == Vetoed || e.Result == Gone): // the page's host itself has answered, with a redirect
		e.Result = Failed
	}
	return e
}

// Vetoes returns the event of a veto of the host to which a poll was redirected, if there was one.
func Vetoes(res fetch.Result) (e Event, ok bool) {
	if res.Elsewhere == "" || resultOf(res.Poll) != Vetoed || errors.Is(res.Err, fetch.ErrRests) {
		return e, false
	}
	found := Found(Job{}, res)
	return Event{Kind: Veto, URL: res.Elsewhere, At: found.At, Until: found.Until}, true
}

// errNoAnswer stands for the error of a poll whose event is applied.
var errNoAnswer = errors.New("no answer")

// poll returns the poll of an event as far as [live.Tell] looks at it.
func (e *Event) poll() live.Poll {
	p := live.Poll{Status: e.Status, Changed: e.Result == Changed, First: e.Result == First, RetryAfter: e.Until}
	if e.Result > First {
		p.Err = errNoAnswer
	}
	switch {
	case e.Result == Gone:
		p.Status = http.StatusGone // or else the learner would keep the page
	case p.Status == http.StatusGone: // another host's word, for which it would not
		p.Status = http.StatusNotFound
	}
	return p
}

var packFormat = codec.Format{Magic: "recrawl/crawl.Pack", Version: 1}

// ErrEvent reports an event that must not be logged, as the log could not be read again.
var ErrEvent = errors.New("an event that cannot be logged")

const (
	mostSetting = 1e300 // of the settings of a page
	mostSource  = 63
	mostCount   = 1 << 62
)

// check returns an ErrEvent if the record of an event would be refused by decode, if it would be
// too large, or if the learner would refuse it.
func (v *Event) check() error {
	number := func(x, most float64) bool { return x >= 0 && x <= most }
	ok := v.Kind < kinds && eventSize(v) <= packBytes && storable(v.At)
	switch v.Kind {
	case Add:
		ok = ok && number(v.Weight, mostSetting) && number(v.Shortest, mostSetting) && number(v.Longest, mostSetting) &&
			(v.Longest == 0 || v.Longest >= v.Shortest)
	case Hint:
		ok = ok && v.Source >= 0 && v.Source <= mostSource
	case Limit:
		ok = ok && number(v.Seconds, math.MaxFloat64)
	case Veto:
		ok = ok && storable(v.Until)
	case Polled:
		ok = ok && v.Result < results && v.Status >= 0 && v.Status <= math.MaxUint16 && storable(v.Until) &&
			v.Bytes >= 0 && v.Bytes <= mostCount && v.Took >= 0 && v.Took <= mostCount
	}
	if ok {
		return nil
	}
	return fmt.Errorf("%w: kind %d, %d bytes, about %.100q", ErrEvent, v.Kind, eventSize(v), v.URL)
}

// storable reports whether putTime can write a time.
func storable(t time.Time) bool { return t.IsZero() || t.Equal(time.Unix(0, t.UnixNano())) }

// encode returns a record of the log.
func encode(events []Event) ([]byte, error) {
	for i := range events {
		if err := events[i].check(); err != nil {
			return nil, err
		}
	}
	return packFormat.Save(func(e *codec.Encoder) {
		e.Int(len(events))
		for i := range events {
			events[i].encode(e)
		}
	})
}

// decode reads a record.
func decode(record []byte) (events []Event, err error) {
	err = codec.Load(&events, packFormat, record, func(to *[]Event, d *codec.Decoder) {
		for range d.Count(2) {
			var e Event
			e.decode(d)
			*to = append(*to, e)
		}
	})
	return events, err
}

func (v *Event) encode(e *codec.Encoder) {
	e.Byte(byte(v.Kind))
	e.Bytes([]byte(v.URL))
	putTime(e, v.At)
	switch v.Kind {
	case Add:
		e.Float64s([]float64{v.Weight, v.Shortest, v.Longest})
	case Hint:
		e.Byte(byte(v.Source))
	case Pause:
		e.Bool(v.On)
	case Limit:
		e.Float64(v.Seconds)
	case Veto:
		putTime(e, v.Until)
	case Polled:
		e.Uint64(v.ID)
		e.Byte(byte(v.Result))
		e.Uint16(uint16(v.Status))
		putTime(e, v.Until)
		e.Bool(v.Copy != nil)
		if v.Copy != nil {
			e.Bytes(v.Copy)
		}
		e.Uint64(uint64(v.Bytes))
		e.Uint64(uint64(v.Took))
	}
}

func (v *Event) decode(d *codec.Decoder) {
	v.Kind = codec.Enum[Kind](d, int(kinds))
	v.URL = string(d.Bytes())
	v.At = getTime(d)
	switch v.Kind {
	case Add:
		if f := d.Float64sIn(3, 0, mostSetting); len(f) == 3 {
			v.Weight, v.Shortest, v.Longest = f[0], f[1], f[2]
		}
	case Hint:
		v.Source = int(d.ByteIn(0, mostSource))
	case Pause:
		v.On = d.Bool()
	case Limit:
		v.Seconds = d.NonNegative()
	case Veto:
		v.Until = getTime(d)
	case Polled:
		v.ID = d.Uint64()
		v.Result = codec.Enum[Result](d, int(results))
		v.Status = int(d.Uint16())
		v.Until = getTime(d)
		if d.Bool() {
			v.Copy = d.Bytes()
		}
		v.Bytes = d.Int64In(0, mostCount)
		v.Took = time.Duration(d.Int64In(0, mostCount))
	}
	if url := input.Respell(v.URL); url != v.URL {
		v.URL, v.Copy = url, nil // see rename
	}
}

// putTime writes a time to the nanosecond; the zero time is 0.
func putTime(e *codec.Encoder, t time.Time) {
	if t.IsZero() {
		e.Uint64(0)
		return
	}
	e.Uint64(uint64(t.UnixNano()))
}

func getTime(d *codec.Decoder) time.Time {
	ns := d.Int64In(-1<<63, 1<<63-1)
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
