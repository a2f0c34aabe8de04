package book

import (
	"errors"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Kind says what an Event is about.
type Kind uint8

const (
	Discovered  Kind = iota // a URL was found
	Known                   // a URL was fetched
	Gave                    // URLs were given
	Delay                   // of a queue, or of all without a delay of their own
	Block                   // a queue until a time
	Limit                   // of the completed URLs of a queue
	Active                  // whether URLs are given at all
	DeleteQueue             // with its URLs
	DeleteCrawl             // with its queues
	Purge                   // of URLs that came before a time
	kinds
)

// moved is how the Kind of a Known event is written that has a Lag.
const moved = kinds

// An Event is what changes a state, and what its log is made of.
type Event struct {
	Kind       Kind
	At         float64 // Unix time in seconds; no event is before the one before it
	Crawl, Key string

	// Of a URL: its text, metadata and date, what a fetch came to, and whether it may be given
	// before the date. The Lag is by how much later than the date it is due, in seconds: by so much
	// events are then ahead of the clients' time.
	URL, Meta string
	Date      uint64
	Lag       float64
	Verdict   Verdict
	Mark      uint64
	Free      bool

	Seconds float64 // of a Delay; the end of a Block or of leases, and the time of a Purge
	Number  uint32  // of a Limit
	On      bool    // Active

	Given []Turn
}

// A Turn is what a queue gave.
type Turn struct {
	Slot uint32   // of the queue in its crawl
	URLs []uint32 // their positions in the queue
}

// Size returns about how many bytes an event takes in a log.
func (e *Event) Size() int {
	n := 64 + len(e.Crawl) + len(e.Key) + len(e.URL) + len(e.Meta)
	for i := range e.Given {
		n += 12 + 4*len(e.Given[i].URLs)
	}
	return n
}

// ErrEvent reports an event that must not be logged, as the log could not be read again.
var ErrEvent = errors.New("frontier: an event that cannot be logged")

// largest is the greatest Size of an event: half of what a record may have, so that two fit.
const largest = 256 << 10

// Check returns an ErrEvent if Decode would refuse the record of an event, or if it is too large for
// one. What a queue gave is exempt from the size, as Step bounds it.
func (e *Event) Check() error {
	number := func(x, low float64) bool { return x >= low && x <= math.MaxFloat64 }
	ok := e.Kind < kinds && number(e.At, 0) && (e.Kind == Gave || e.Size() <= largest)
	switch e.Kind {
	case Known, Discovered:
		ok = ok && e.Verdict < verdicts && number(e.Lag, 0)
	case Gave:
		ok = ok && number(e.Seconds, 0)
	case Delay, Block, Purge:
		ok = ok && number(e.Seconds, -math.MaxFloat64)
	}
	if ok {
		return nil
	}
	return fmt.Errorf("%w: kind %d, %d bytes, about %.100q in queue %.100q", ErrEvent, e.Kind, e.Size(), e.URL, e.Key)
}

var packFormat = codec.Format{Magic: "recrawl/frontier.Pack", Version: 1}

// Encode returns a record of a log. An event that Decode would refuse is an [ErrEvent].
func Encode(events []Event) ([]byte, error) {
	for i := range events {
		if err := events[i].Check(); err != nil {
			return nil, err
		}
	}
	return packFormat.Save(func(to *codec.Encoder) {
		e := &writer{Encoder: to}
		e.Int(len(events))
		for i := range events {
			events[i].encode(e)
		}
	})
}

// Decode reads a record.
func Decode(record []byte) (events []Event, err error) {
	err = codec.Load(&events, packFormat, record, func(to *[]Event, d *codec.Decoder) {
		for range d.Count(26) {
			var e Event
			e.decode(d)
			*to = append(*to, e)
		}
	})
	return events, err
}

func (v *Event) encode(e *writer) {
	if v.Kind == Known && v.Lag > 0 {
		e.Byte(byte(moved))
		e.Float64(v.Lag)
	} else {
		e.Byte(byte(v.Kind))
	}
	e.Float64(v.At)
	e.text(v.Crawl)
	e.text(v.Key)
	switch v.Kind {
	case Discovered, Known:
		e.text(v.URL)
		e.text(v.Meta)
		e.Uint64(v.Date)
		e.Byte(byte(v.Verdict))
		e.Uint64(v.Mark)
		e.Bool(v.Free)
	case Gave:
		e.Float64(v.Seconds)
		e.Int(len(v.Given))
		for _, t := range v.Given {
			e.Uint32(t.Slot)
			e.Uint32s(t.URLs)
		}
	case Delay, Block, Purge:
		e.Float64(v.Seconds)
	case Limit:
		e.Uint32(v.Number)
	case Active:
		e.Bool(v.On)
	}
}

func (v *Event) decode(d *codec.Decoder) {
	if v.Kind = codec.Enum[Kind](d, int(moved)+1); v.Kind == moved {
		v.Kind, v.Lag = Known, d.NonNegative()
	}
	v.At = d.NonNegative()
	v.Crawl, v.Key = getString(d), getString(d)
	switch v.Kind {
	case Discovered, Known:
		v.URL, v.Meta = getString(d), getString(d)
		v.Date = d.Uint64()
		v.Verdict = codec.Enum[Verdict](d, int(verdicts))
		v.Mark = d.Uint64()
		v.Free = d.Bool()
	case Gave:
		v.Seconds = d.NonNegative()
		for range d.Count(12) {
			v.Given = append(v.Given, Turn{d.Uint32(), d.Uint32s()})
		}
	case Delay, Block, Purge:
		v.Seconds = d.Float64In(-math.MaxFloat64, math.MaxFloat64)
	case Limit:
		v.Number = d.Uint32()
	case Active:
		v.On = d.Bool()
	}
}

// A writer writes strings without an allocation for each.
type writer struct {
	*codec.Encoder
	scratch []byte
}

func (w *writer) text(s string) {
	w.scratch = append(w.scratch[:0], s...)
	w.Bytes(w.scratch)
}

func getString(d *codec.Decoder) string { return string(d.Bytes()) }
