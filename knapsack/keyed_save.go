package knapsack

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/keys"
)

// mostSkew bounds times in saved states.
const mostSkew = 1e15

var keyedFormat = codec.Format{Magic: "recrawl/knapsack.Keyed", Version: 2}

// MarshalBinary returns learner and keys. It takes O(n) and holds the lock, so other calls wait for
// it. Keys are saved that are strings, integers, arrays of bytes, or that marshal themselves as
// binary or as text (a netip.Addr); others are ErrConfig.
func (k *Keyed[K]) MarshalBinary() ([]byte, error) {
	k.lock()
	defer k.mu.Unlock()
	codecs, err := keys.CodecOf[K]()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	learner, err := k.learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return keyedFormat.Save(func(e *codec.Encoder) {
		e.Float64(k.latest)
		e.Float64(k.skew.settled)
		e.Float64(k.skew.since)
		e.Int(k.skew.early)
		e.Bytes(learner)
		for page := range k.learner.All() {
			e.Check(codecs.Encode(e, &k.keys[Slot(page)]))
		}
	})
}

// UnmarshalBinary restores what MarshalBinary saved of a Keyed with keys of the same kind and a
// learner of the same type; the receiver is made with NewKeyed, of a learner with any settings
// or a zero value. Polls that were in flight are given back, as nobody will answer them. So they
// count as failed, and their pages wait as after a failure. Otherwise everything continues bit for
// bit (in the same build on the same kind of processor).
func (k *Keyed[K]) UnmarshalBinary(data []byte) error {
	k.lock()
	defer k.mu.Unlock()
	codecs, err := keys.CodecOf[K]()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	undo, err := k.undo()
	if err != nil {
		return err
	}
	loaded := false
	defer func() { // also where a key panics
		if !loaded {
			undo()
		}
	}()
	to := &Keyed[K]{learner: k.learner, pages: map[K]int{}}
	err = codec.Load(&to, keyedFormat, data, func(v **Keyed[K], d *codec.Decoder) { *v = to; to.decode(d, codecs) })
	if err != nil {
		return err
	}
	k.pages, k.keys, k.latest, k.skew = to.pages, to.keys, to.latest, to.skew
	k.ahead.Store(math.Float64bits(k.skew.settled))
	loaded = true
	return nil
}

// undo returns a function that brings the learner back to its present state. It is quick in one
// without pages, which is what others are loaded into.
func (k *Keyed[K]) undo() (func(), error) {
	if l, ok := k.learner.(interface{ zero() bool }); ok && l.zero() {
		return func() { reflect.ValueOf(k.learner).Elem().SetZero() }, nil
	}
	before, err := k.learner.MarshalBinary()
	return func() {
		if err := k.learner.UnmarshalBinary(before); err != nil {
			panic(fmt.Sprintf("knapsack: a %T does not load what it saved: %v", k.learner, err))
		}
	}, err
}

func (k *Keyed[K]) decode(d *codec.Decoder, codecs keys.Codec[K]) {
	k.latest = d.Float64In(math.Inf(-1), math.MaxFloat64)
	d.Require(timely(k.latest) || math.IsInf(k.latest, -1), "the latest poll is at %v", k.latest)
	k.skew = skew{d.Float64In(0, mostSkew), d.Float64In(-mostSkew, math.Inf(1)), d.IntIn(0, math.MaxInt)}
	d.Require((k.skew.early > 0) == !math.IsInf(k.skew.since, 1), "%d early calls since %v", k.skew.early, k.skew.since)
	learner := d.Bytes()
	if d.Err() != nil {
		return
	}
	if d.Check(k.learner.UnmarshalBinary(learner)); d.Err() != nil {
		return
	}
	for page := range k.learner.All() {
		slot := Slot(page)
		k.keys = append(k.keys, make([]K, slot+1-len(k.keys))...)
		d.Check(codecs.Decode(d, &k.keys[slot]))
		_, twice := k.pages[k.keys[slot]]
		if d.Require(!twice, "key %v is there twice", k.keys[slot]); d.Err() != nil {
			return
		}
		k.pages[k.keys[slot]] = page
		if err := k.learner.GiveBack(page, k.latest); !errors.Is(err, ErrNotAsked) {
			d.Check(err)
		}
	}
}
