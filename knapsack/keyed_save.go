package knapsack

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/recrawl/recrawl/internal/codec"
)

var keyedFormat = codec.Format{Magic: "recrawl/knapsack.Keyed", Version: 1}

// AppendBinary appends learner and keys. Keys are saved that are strings, integers, arrays of
// bytes, or that marshal themselves as binary or as text (a netip.Addr); others are ErrConfig.
func (k *Keyed[K]) AppendBinary(b []byte) ([]byte, error) {
	k.lock()
	defer k.mu.Unlock()
	codecs, err := codecOf[K]()
	if err != nil {
		return nil, err
	}
	learner, err := k.learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return keyedFormat.Append(b, func(e *codec.Encoder) {
		e.Float64(k.latest)
		e.Bytes(learner)
		for page := range k.learner.All() {
			e.Check(codecs.encode(e, &k.keys[Slot(page)]))
		}
	})
}

// MarshalBinary returns learner and keys; see AppendBinary.
func (k *Keyed[K]) MarshalBinary() ([]byte, error) { return k.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved of a Keyed with keys of the same kind and a
// learner of the same type; the receiver is made with NewKeyed, of a learner with any settings
// or a zero value. Polls that were in flight are given back, as nobody will answer them.
// Otherwise everything continues bit for bit.
func (k *Keyed[K]) UnmarshalBinary(data []byte) error {
	k.lock()
	defer k.mu.Unlock()
	codecs, err := codecOf[K]()
	if err != nil {
		return err
	}
	undo, err := k.undo()
	if err != nil {
		return err
	}
	to := &Keyed[K]{learner: k.learner, pages: map[K]int{}}
	err = codec.Load(&to, keyedFormat, data, func(v **Keyed[K], d *codec.Decoder) { *v = to; to.decode(d, codecs) })
	if err != nil {
		undo()
		return err
	}
	k.pages, k.keys, k.latest = to.pages, to.keys, to.latest
	for page := range k.learner.All() {
		if err := k.learner.GiveBack(page, k.latest); err != nil && !errors.Is(err, ErrNotAsked) {
			return k.about(k.keys[Slot(page)], err)
		}
	}
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

func (k *Keyed[K]) decode(d *codec.Decoder, codecs keyCodec[K]) {
	k.latest = d.Float64In(math.Inf(-1), math.MaxFloat64)
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
		d.Check(codecs.decode(d, &k.keys[slot]))
		_, twice := k.pages[k.keys[slot]]
		if d.Require(!twice, "key %v is there twice", k.keys[slot]); d.Err() != nil {
			return
		}
		k.pages[k.keys[slot]] = page
	}
}

// A keyCodec writes and reads keys.
type keyCodec[K comparable] struct {
	encode func(e *codec.Encoder, key *K) error
	decode func(d *codec.Decoder, key *K) error
}

// codecOf returns the codec of a type of keys.
func codecOf[K comparable]() (keyCodec[K], error) {
	var none K
	switch any(&none).(type) {
	case interface {
		encoding.BinaryMarshaler
		encoding.BinaryUnmarshaler
	}:
		return keyCodec[K]{
			marshal(func(key *K) ([]byte, error) { return any(key).(encoding.BinaryMarshaler).MarshalBinary() }),
			unmarshal(func(key *K, b []byte) error { return any(key).(encoding.BinaryUnmarshaler).UnmarshalBinary(b) }),
		}, nil
	case interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}:
		return keyCodec[K]{
			marshal(func(key *K) ([]byte, error) { return any(key).(encoding.TextMarshaler).MarshalText() }),
			unmarshal(func(key *K, b []byte) error { return any(key).(encoding.TextUnmarshaler).UnmarshalText(b) }),
		}, nil
	}
	t := reflect.TypeFor[K]()
	value := func(key *K) reflect.Value { return reflect.ValueOf(key).Elem() }
	switch {
	case t.Kind() == reflect.String:
		return keyCodec[K]{
			marshal(func(key *K) ([]byte, error) { return []byte(value(key).String()), nil }),
			unmarshal(func(key *K, b []byte) error { value(key).SetString(string(b)); return nil }),
		}, nil
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		return keyCodec[K]{
			marshal(func(key *K) ([]byte, error) { return value(key).Bytes(), nil }),
			unmarshal(func(key *K, b []byte) error {
				if len(b) != t.Len() {
					return fmt.Errorf("a key of %d bytes, not %d", len(b), t.Len())
				}
				reflect.Copy(value(key), reflect.ValueOf(b))
				return nil
			}),
		}, nil
	case value(&none).CanInt():
		return keyCodec[K]{
			func(e *codec.Encoder, key *K) error { e.Uint64(uint64(value(key).Int())); return nil },
			func(d *codec.Decoder, key *K) error {
				v := int64(d.Uint64())
				if value(key).OverflowInt(v) {
					return fmt.Errorf("key %d does not fit %v", v, t)
				}
				value(key).SetInt(v)
				return nil
			},
		}, nil
	case value(&none).CanUint():
		return keyCodec[K]{
			func(e *codec.Encoder, key *K) error { e.Uint64(value(key).Uint()); return nil },
			func(d *codec.Decoder, key *K) error {
				v := d.Uint64()
				if value(key).OverflowUint(v) {
					return fmt.Errorf("key %d does not fit %v", v, t)
				}
				value(key).SetUint(v)
				return nil
			},
		}, nil
	}
	return keyCodec[K]{}, fmt.Errorf("%w: keys of type %v cannot be saved: they have no MarshalBinary and no MarshalText", ErrConfig, t)
}

func marshal[K comparable](to func(key *K) ([]byte, error)) func(*codec.Encoder, *K) error {
	return func(e *codec.Encoder, key *K) error {
		b, err := to(key)
		e.Bytes(b)
		return err
	}
}

func unmarshal[K comparable](from func(key *K, b []byte) error) func(*codec.Decoder, *K) error {
	return func(d *codec.Decoder, key *K) error {
		b := d.Bytes()
		if d.Err() != nil {
			return nil
		}
		return from(key, b)
	}
}
