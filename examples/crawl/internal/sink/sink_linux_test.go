package sink

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line that a process left half written, as it was ended while the disk was full, does not spoil the first one of
// the next process.
func TestLineWasCut(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	require.NoError(t, Lines(&whole)(t.Context(), version("one")))
	line := whole.String()
	for before, want := range map[string]string{"": line, line: line + line, line + line[:20]: line + line[:20] + "\n" + line} {
		name := filepath.Join(t.TempDir(), "lines")
		require.NoError(t, os.WriteFile(name, []byte(before), 0o600))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		require.NoError(t, Lines(f)(t.Context(), version("one")))
		require.NoError(t, f.Close())
		after, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(after))
	}
}
