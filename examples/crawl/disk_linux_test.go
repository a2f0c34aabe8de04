package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// While the disk is full the crawl rests and says so, and then goes on; nothing is lost.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	web, list := misbehaving(t, 4)
	state := filepath.Join(dir, "state")
	var log output
	cmd := start(t, &log, crawlArgs(web, list, state)...)
	waitFor(t, &log, func() bool { return web.Witness.Polls() > 150 })

	ballast := filepath.Join(dir, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 96<<20-engine.Reserve), 0o600))
	waitFor(t, &log, func() bool { return strings.Contains(log.String(), "resting") })
	require.Contains(t, log.String(), "MiB free")
	rests := 0 // those under way come in first
	waitFor(t, &log, func() bool {
		before := web.Witness.Polls()
		time.Sleep(time.Second)
		rests = web.Witness.Polls()
		return rests == before
	})
	time.Sleep(time.Second)
	require.Equal(t, rests, web.Witness.Polls())

	require.NoError(t, os.Remove(ballast))
	waitFor(t, &log, func() bool { return web.Witness.Polls() > rests+150 })
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), log.String())
	audit(t, web, engine.Config{Dir: state}, 2*4*killWorkers)
}
