package enum

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

type colour uint8

var (
	errConfig = errors.New("paint: bad config")
	colours   = Of[colour](errConfig, "red", "green", "light blue")
)

func (c colour) String() string                { return colours.String(c) }
func (c colour) MarshalText() ([]byte, error)  { return colours.MarshalText(c) }
func (c *colour) UnmarshalText(b []byte) error { return colours.UnmarshalText(c, b) }

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	require.Equal(t, 3, colours.Len())
	for v, name := range []string{"red", "green", "light blue"} {
		require.Equal(t, name, colour(v).String())
		require.NoError(t, colours.Check(colour(v)))
		text, err := json.Marshal(colour(v))
		require.NoError(t, err)
		require.Equal(t, `"`+name+`"`, string(text))
		var back colour
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, colour(v), back)
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "colour(3)", colour(3).String())
	require.ErrorIs(t, colours.Check(3), errConfig)
	require.EqualError(t, colours.Check(3), "paint: bad config: unknown colour 3")
	_, err := colour(255).MarshalText()
	require.ErrorIs(t, err, errConfig)
	c := colour(1)
	for _, text := range []string{"", "Red", "blue", "3", "colour(3)"} {
		err = c.UnmarshalText([]byte(text))
		require.ErrorIs(t, err, errConfig)
		require.ErrorContains(t, err, `unknown colour "`+text+`"`)
		require.Equal(t, colour(1), c)
	}
	require.Panics(t, func() { Of[colour](errConfig, "red", "red") })
	require.Panics(t, func() { Of[colour](errConfig, "red", "") })
}
