package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// Keys of many types go through a blob; those that cannot are refused.
func TestKeyedKeys(t *testing.T) {
	t.Parallel()
	type id int16
	type name string
	testKeys(t, "", "a", "ü\x00")
	testKeys(t, name("x"), "y")
	testKeys(t, id(-5), 7, 0)
	testKeys(t, uint32(math.MaxUint32), 1)
	testKeys(t, uintptr(9))
	testKeys(t, [16]byte{1, 2, 255}, [16]byte{})
	testKeys(t, netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("::1"))
	testKeys(t, Age, Freshness) // has text methods
	for _, bad := range []error{refusedKey(struct{ a, b string }{"a", "b"}), refusedKey(1.5), refusedKey[any]("x")} {
		require.ErrorIs(t, bad, ErrConfig)
	}
	require.ErrorIs(t, NewKeyed[float64](new(Adaptive)).UnmarshalBinary(must(someKeyed().MarshalBinary())), ErrConfig)

	wide := NewKeyed[int](must(NewRateFilter(0, RateFilterConfig{})))
	wide.Add(300)
	narrow := NewKeyed[int8](must(NewRateFilter(0, RateFilterConfig{})))
	require.ErrorIs(t, narrow.UnmarshalBinary(must(wide.MarshalBinary())), ErrCorrupt)
	unsigned := NewKeyed[uint8](must(NewRateFilter(0, RateFilterConfig{})))
	require.ErrorIs(t, unsigned.UnmarshalBinary(must(wide.MarshalBinary())), ErrCorrupt)
	array := NewKeyed[[2]byte](must(NewRateFilter(0, RateFilterConfig{})))
	array.Add([2]byte{1})
	longer := NewKeyed[[3]byte](must(NewRateFilter(0, RateFilterConfig{})))
	require.ErrorIs(t, longer.UnmarshalBinary(must(array.MarshalBinary())), ErrCorrupt)
}

func testKeys[K comparable](t *testing.T, keys ...K) {
	k := NewKeyed[K](must(NewRateFilter(0, RateFilterConfig{})))
	for _, key := range keys {
		require.True(t, k.Add(key))
	}
	restored := NewKeyed[K](must(NewRateFilter(0, RateFilterConfig{})))
	require.NoError(t, restored.UnmarshalBinary(must(k.MarshalBinary())))
	require.Equal(t, keys, slices.Collect(restored.All()), "%T", keys)
}

func refusedKey[K comparable](key K) error {
	k := NewKeyed[K](must(NewRateFilter(0, RateFilterConfig{})))
	k.Add(key)
	_, err := k.MarshalBinary()
	return err
}

// someKeyed is in the middle of a run.
func someKeyed() *Keyed[string] {
	k := NewKeyed[string](must(NewAdaptive(0, AdaptiveConfig{Start: 4})))
	for i := range 4 {
		k.Add(url(i))
	}
	for i := range 60 {
		u := must(k.Next(after(float64(i))))
		if err := k.Observe(u, after(float64(i)), u == url(1)); err != nil {
			panic(err)
		}
	}
	if err := k.Remove(url(2)); err != nil {
		panic(err)
	}
	return k
}

func savedKeyed() *codectest.Case {
	empty := func() *Keyed[string] { return keyed(must(NewAdaptive(0, AdaptiveConfig{})), 2) }
	return codectest.Of(someKeyed(), empty, func(k *Keyed[string]) any {
		var did []any
		for i := range 20 {
			u, err := k.Next(after(100 + float64(i)))
			did = append(did, u, err, k.Observe(u, after(100+float64(i)), i%3 == 0))
		}
		return fmt.Sprint(append(did, slices.Collect(k.All())))
	})
}

// The blob: bytes, truncation, forgeries.
func TestKeyedSaved(t *testing.T) {
	t.Parallel()
	codectest.Run(t, "keyed", savedKeyed())

	// The learner inside may be a zero value, and is one still if the state is refused.
	zero := NewKeyed[string](new(Adaptive))
	k := someKeyed()
	data := must(k.MarshalBinary())
	spoiled := codectest.Forge(data, func(body []byte) []byte { return body[:len(body)-1] })
	require.ErrorIs(t, zero.UnmarshalBinary(spoiled), ErrCorrupt)
	require.Equal(t, NewKeyed[string](new(Adaptive)), zero)
	require.NoError(t, zero.UnmarshalBinary(data))
	require.Equal(t, slices.Collect(k.All()), slices.Collect(zero.All()))

	// A state whose latest time is before that of a poll in flight is refused as a whole.
	for _, latest := range []float64{math.Inf(-1), 0} {
		late := keyed(must(NewFixed(nil, Even, nil)), 2)
		must(late.Next(time.Unix(5, 0)))
		late.latest = latest
		to := keyed(must(NewFixed(nil, Even, nil)), 1)
		before := must(to.MarshalBinary())
		require.ErrorIs(t, to.UnmarshalBinary(must(late.MarshalBinary())), ErrCorrupt, "%v", latest)
		require.Equal(t, before, must(to.MarshalBinary()), "%v", latest)
	}

	// Nor is one whose latest time no learner would take.
	for _, latest := range []float64{-1e299, 1e299, math.MaxFloat64} {
		never := keyed(must(NewFixed(nil, Even, nil)), 2)
		never.latest = latest
		require.ErrorIs(t, never.UnmarshalBinary(must(never.MarshalBinary())), ErrCorrupt, "%v", latest)
	}

	// A learner that cannot be brought back to where it is is not loaded into.
	secret := struct{ rand.Source }{rand.NewPCG(1, 2)}
	draws := keyed(must(NewFixed(nil, Random, secret)), 2)
	_, unsaved := draws.MarshalBinary()
	require.Error(t, unsaved)
	require.EqualError(t, draws.UnmarshalBinary(must(someKeyed().MarshalBinary())), unsaved.Error())

	// A state of another learner is told by name, and leaves everything as it was.
	p := keyed(must(NewPlanner(0, PlannerConfig{}, nil)), 1)
	before := must(p.MarshalBinary())
	err := p.UnmarshalBinary(must(k.MarshalBinary()))
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "knapsack.Adaptive")
	require.ErrorContains(t, err, "knapsack.Planner")
	require.Equal(t, before, must(p.MarshalBinary()))
}

// A touchy key cannot be read if it begins with 'x'.
type touchy [2]byte

func (t *touchy) MarshalBinary() ([]byte, error) { return t[:], nil }
func (t *touchy) UnmarshalBinary(b []byte) error {
	if b[0] == 'x' {
		panic("x")
	}
	copy(t[:], b)
	return nil
}

// A key that panics while it is read leaves everything as it was, the lock included.
func TestKeyedAfterAPanicOfAKey(t *testing.T) {
	t.Parallel()
	for _, learner := range []func() Learner{
		func() Learner { return must(NewVLAKG(0, VLAKGConfig{}, nil)) },
		func() Learner { return new(VLAKG) },
	} {
		from := NewKeyed[touchy](must(NewVLAKG(0, VLAKGConfig{}, nil)))
		for _, key := range []touchy{{'a'}, {'x'}, {'b'}} {
			from.Add(key)
		}
		data := must(from.MarshalBinary())
		k := NewKeyed[touchy](learner())
		fresh := k.learner.(*VLAKG).zero()
		if !fresh {
			k.Add(touchy{'c'})
		}
		require.PanicsWithValue(t, "x", func() { _ = k.UnmarshalBinary(data) })
		require.Equal(t, k.Len(), k.learner.Len())
		require.Equal(t, fresh, k.learner.(*VLAKG).zero())
		if !fresh {
			require.Equal(t, touchy{'c'}, must(k.Next(noon)))
			require.NoError(t, k.Observe(touchy{'c'}, noon, true))
		}
	}
}
