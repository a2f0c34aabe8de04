package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// Nothing is left of snapshots that were deleted, nor, after a start, of one in the middle of which a process was
// killed. In a cluster it may be that another node writes it.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	objects := func(e *engine.Engine) int {
		t.Helper()
		n, err := e.Objects(t.Context())
		require.NoError(t, err)
		return n
	}
	for _, far := range []bool{false, true} {
		cfg := engine.Config{Dir: t.TempDir(), Lease: time.Second}
		if far {
			cfg.URL = serve(t)
		}
		e := open(t, cfg)
		s := own(t, e)
		fill(t, s, "a", "b", "c", "d", "e")
		blobs := stored(t, e)
		require.Less(t, blobs, 5)
		require.Equal(t, 2*blobs, objects(e), "of each what it is and one part")
		require.NoError(t, e.Litter(t.Context()))
		require.Equal(t, 2*blobs+2, objects(e))
		e.Close()
		e = open(t, cfg)
		if far {
			require.Equal(t, 2*blobs+1, objects(e))
			require.NoError(t, e.Tidy(t.Context(), time.Nanosecond))
		}
		require.Equal(t, 2*blobs, objects(e))
		state, _ := restored(t, own(t, e))
		require.Equal(t, "e", state)
	}
}
