package factor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Usual tells by how much more is found than expected, once it has seen some, and forgets in about as many
// answers as there are pages.
func TestUsual(t *testing.T) {
	t.Parallel()
	var u Usual
	require.InDelta(t, 1, u.Times(), 0)
	const pages = 1000
	for k := range 10 * pages {
		u.Learn(0.2*float64(k%2), 0.5, pages)
	}
	require.InDelta(t, 0.2, u.Times(), 0.02)
	for range pages {
		u.Learn(0.5, 0.5, pages)
	}
	require.InDelta(t, 0.2/2.718+1-1/2.718, u.Times(), 0.02)
}
