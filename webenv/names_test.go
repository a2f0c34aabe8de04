package webenv

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Settings are written with the names of their enumerations, and read back.
func TestNames(t *testing.T) {
	t.Parallel()
	type settings struct {
		Law   SlotLaw
		Noise DurationNoise
	}
	want := settings{PoissonInSlot, GaussianNoise}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, `{"Law":"poisson","Noise":"gaussian"}`, string(text))
	var got settings
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
	require.Equal(t, "at most once, exponential",
		AtMostOnce.String()+", "+ExponentialNoise.String())
	require.ErrorIs(t, json.Unmarshal([]byte(`{"Noise":"loud"}`), &got), ErrConfig)
	_, err = json.Marshal(SlotLaw(2))
	require.ErrorIs(t, err, ErrConfig)
}
