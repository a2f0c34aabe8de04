//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// A node whose servers are gone is told to stop, and ends at once when it is told a second time.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	web, list := misbehaving(t, 1)
	s := newServers(t, 1, "")
	var log output
	cmd := start(t, &log, crawlArgs(web, list, "", "-nats", s.url(), "-shards", "1", "-node", "one")...)
	waitFor(t, &log, func() bool { return web.Witness.Polls() > 20 })
	s.kill(0)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	waitFor(t, &log, func() bool { return strings.Contains(log.String(), "a second signal") })
	second := syscall.SIGINT
	if signal.Ignored(second) { // as in what a script began in the background
		second = syscall.SIGTERM
	}
	require.NoError(t, cmd.Process.Signal(second))
	err := cmd.Wait()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), log.String())
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signal() == second, "%v\n%s", err, log.String())
}

// A list that is a pipe is refused: to open it again would keep the crawl from ending.
func TestListIsAPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, state := filepath.Join(dir, "pipe"), filepath.Join(dir, "state")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.ErrorContains(t, run([]string{"-urls", pipe, "-user-agent", demoAgent, "-state", state}, io.Discard, io.Discard), "is a pipe")
	require.NoDirExists(t, state)
}

// A demonstration that is told to end leaves nothing behind, and prints no figures where it has not begun to count.
func TestDemonstrationEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log output
	cmd := command("-n", "400", "-page", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	waitFor(t, &log, func() bool { return strings.Contains(log.String(), "live page") })
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, log.String())
	require.NotContains(t, log.String(), "time crawled")
	require.Contains(t, log.String(), "there are no figures")
}

// Where the state cannot be a folder there is nothing to wait for.
func TestStateNoFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorIs(t, run([]string{"-urls", file, "-user-agent", demoAgent, "-state", file}, io.Discard, io.Discard), engine.ErrStorage)
}
