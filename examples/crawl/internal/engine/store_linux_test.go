package engine

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where a file of the log cannot be written it is told at once which one and why, and a new start goes on.
func TestFailingFile(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}
	e, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	s, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), []byte("one")))

	spoil(t, filepath.Join(dir, storeDir))
	began := time.Now()
	err = s.Append(t.Context(), []byte("two"))
	require.ErrorIs(t, err, ErrStorage)
	require.ErrorContains(t, err, ".blk: "+syscall.EBADF.Error())
	require.Less(t, time.Since(began), 10*time.Second)
	e.Close()

	e, err = Open(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	s, err = e.Own(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), []byte("three")))
}

// begun returns the shard of a state in a folder, with a record.
func begun(t *testing.T, dir string) *Shard {
	t.Helper()
	e, err := Open(t.Context(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	s, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), []byte("one")))
	return s
}

// A server goes on with files that were deleted while it has them open: what it takes then is not there after a kill.
func TestDeletedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := begun(t, dir)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, storeDir)))
	err := s.Append(t.Context(), []byte("two"))
	require.ErrorIs(t, err, ErrStorage)
	require.ErrorContains(t, err, "what was in "+dir+" is gone")
}

// A snapshot that is larger than what is left of the disk is not begun, and the log goes on.
func TestSnapshotHasNoRoom(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := begun(t, dir)
	require.ErrorIs(t, s.Snapshot(t.Context(), s.Mark(), make([]byte, 40<<20)), ErrStorage)
	require.NoError(t, s.Append(t.Context(), []byte("two")))
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), make([]byte, 8<<20)))
}

// spoil has each block of the log in a folder that this process has open opened for reading only.
func spoil(t *testing.T, dir string) {
	t.Helper()
	const all = "/proc/self/fd"
	open, err := os.ReadDir(all)
	require.NoError(t, err)
	spoilt := 0
	for _, f := range open {
		path, err := os.Readlink(filepath.Join(all, f.Name()))
		if err != nil || filepath.Ext(path) != blockExt || !within(dir, path) {
			continue
		}
		fd, err := strconv.Atoi(f.Name())
		require.NoError(t, err)
		reader, err := os.Open(path)
		require.NoError(t, err)
		require.NoError(t, syscall.Dup3(int(reader.Fd()), fd, syscall.O_CLOEXEC))
		require.NoError(t, reader.Close())
		spoilt++
	}
	require.Positive(t, spoilt, fmt.Sprint(open))
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
