package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// With groups the filter polls as without where no page is known to belong to another.
func TestRateFilterGroups(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	r := runJSON(t, "-env", "calm", "-n", "30", "-polls", "600", "-runs", "1", "-policies", "rate-filter,rate-filter+groups")
	require.Equal(t, r.Policies[0].Detected, r.Policies[1].Detected)
	for _, by := range []string{"folder", "host"} {
		r = runJSON(t, "-polls", "3000", "-groups", by, "-policies", "rate-filter+groups")
		require.Positive(t, r.Policies[0].Detected)
	}
}
