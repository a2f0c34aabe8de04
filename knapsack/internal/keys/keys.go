// Package keys writes and reads the keys of a knapsack.Keyed.
package keys

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Codec writes and reads keys.
type Codec[K comparable] struct {
	Encode func(e *codec.Encoder, key *K) error
	Decode func(d *codec.Decoder, key *K) error
}

// CodecOf returns the codec of a type of keys: strings, integers, arrays of bytes, and what
// marshals itself as binary or as text.
func CodecOf[K comparable]() (Codec[K], error) {
	var none K
	switch any(&none).(type) {
	case interface {
		encoding.BinaryMarshaler
		encoding.BinaryUnmarshaler
	}:
		return Codec[K]{
			marshal(func(key *K) ([]byte, error) { return any(key).(encoding.BinaryMarshaler).MarshalBinary() }),
			unmarshal(func(key *K, b []byte) error { return any(key).(encoding.BinaryUnmarshaler).UnmarshalBinary(b) }),
		}, nil
	case interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}:
		return Codec[K]{
			marshal(func(key *K) ([]byte, error) { return any(key).(encoding.TextMarshaler).MarshalText() }),
			unmarshal(func(key *K, b []byte) error { return any(key).(encoding.TextUnmarshaler).UnmarshalText(b) }),
		}, nil
	}
	t := reflect.TypeFor[K]()
	value := func(key *K) reflect.Value { return reflect.ValueOf(key).Elem() }
	switch {
	case t.Kind() == reflect.String:
		return Codec[K]{
			marshal(func(key *K) ([]byte, error) { return []byte(value(key).String()), nil }),
			unmarshal(func(key *K, b []byte) error { value(key).SetString(string(b)); return nil }),
		}, nil
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		return Codec[K]{
			marshal(func(key *K) ([]byte, error) { return value(key).Bytes(), nil }),
			unmarshal(func(key *K, b []byte) error {
				if len(b) != t.Len() {
					return fmt.Errorf("a key of %d bytes, not %d", len(b), t.Len())
				}
				copy(value(key).Bytes(), b) // unlike reflect.Copy also where a byte has a type of its own
				return nil
			}),
		}, nil
	case value(&none).CanInt():
		return Codec[K]{
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
		return Codec[K]{
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
	return Codec[K]{}, fmt.Errorf("keys of type %v cannot be saved: they have no MarshalBinary and no MarshalText", t)
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
