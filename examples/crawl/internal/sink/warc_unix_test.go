//go:build unix

package sink

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that is moved, removed or emptied while it is written to, as by a rotation, is followed by a new one, which
// begins with a record of who writes. A version is not kept as long as there can be none.
func TestWARCIsRotated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "archive")
	name, away := filepath.Join(dir, "a.warc.gz"), filepath.Join(dir, "b.warc.gz")
	for what, rotate := range map[string]func() error{
		"moved":   func() error { return os.Rename(name, away) },
		"removed": func() error { return os.Remove(name) },
		"emptied": func() error { return os.Truncate(name, 0) },
		"put in the place of": func() error {
			if err := os.WriteFile(away, nil, 0o600); err != nil {
				return err
			}
			return os.Rename(away, name)
		},
	} {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.Mkdir(dir, 0o700))
		w, err := NewWARC(name, "my-bot/1")
		require.NoError(t, err)
		require.NoError(t, w.Keep(t.Context(), version("before")))
		require.NoError(t, rotate(), what)
		require.NoError(t, w.Keep(t.Context(), version("after")), what)
		require.NoError(t, w.Keep(t.Context(), version("later")), what)
		if what == "moved" {
			require.Equal(t, 2, strings.Count(unpacked(t, away), "WARC/1.1"))
		}
		text := unpacked(t, name)
		require.Equal(t, 3, strings.Count(text, "WARC/1.1"), what)
		require.Contains(t, text, "after", what)
		require.NotContains(t, text, "before", what)

		require.NoError(t, os.RemoveAll(dir))
		for range 2 {
			require.ErrorIs(t, w.Keep(t.Context(), version("nowhere")), os.ErrNotExist)
		}
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, w.Keep(t.Context(), version("again")))
		require.Contains(t, unpacked(t, name), "again")
		require.NoError(t, w.Close())
	}
}
