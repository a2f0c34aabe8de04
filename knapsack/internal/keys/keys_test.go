package keys

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

var format = codec.Format{Magic: "recrawl/keys.test", Version: 1}

// roundTrip writes a key of one type and reads it as one of another.
func roundTrip[K, L comparable](t *testing.T, key K) (back L, err error) {
	from, err := CodecOf[K]()
	require.NoError(t, err)
	to, err := CodecOf[L]()
	require.NoError(t, err)
	data, err := format.Save(func(e *codec.Encoder) { require.NoError(t, from.Encode(e, &key)) })
	require.NoError(t, err)
	err = codec.Load(&back, format, data, func(l *L, d *codec.Decoder) { d.Check(to.Decode(d, l)) })
	return back, err
}

func same[K comparable](t *testing.T, keys ...K) {
	for _, key := range keys {
		back, err := roundTrip[K, K](t, key)
		require.NoError(t, err)
		require.Equal(t, key, back)
	}
}

// Keys come back as they were, and not as another type that cannot hold them.
func TestKeys(t *testing.T) {
	t.Parallel()
	same(t, "", "ü\x00")
	same(t, -5, 0, 1<<40)
	same(t, ^uintptr(0))
	same(t, [3]byte{1, 2, 255}, [3]byte{})
	type octet byte
	same(t, [3]octet{1, 2, 255}, [3]octet{})
	same(t, netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("::1"))
	for _, refused := range []func() error{
		func() error { _, err := roundTrip[int, int8](t, 300); return err },
		func() error { _, err := roundTrip[uint, uint8](t, 300); return err },
		func() error { _, err := roundTrip[[2]byte, [3]byte](t, [2]byte{}); return err },
		func() error { _, err := roundTrip[string, netip.Addr](t, "nowhere"); return err },
		func() error { _, err := CodecOf[float64](); return err },
	} {
		require.Error(t, refused())
	}
}
