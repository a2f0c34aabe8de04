//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node whose servers are gone is told to stop, and ends at once when it is told a second time.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	web, list := misbehaving(t, 1)
	s := newServers(t, 1, "")
	var log output
	cmd := start(t, &log, crawlArgs(web, list, filepath.Join(t.TempDir(), "state"), "-nats", s.url(), "-shards", "1", "-node", "one")...)
	waitFor(t, &log, func() bool { return web.Witness.Polls() > 20 })
	s.kill(0)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	waitFor(t, &log, func() bool { return strings.Contains(log.String(), "a second signal") })
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	err := cmd.Wait()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), log.String())
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signal() == syscall.SIGINT, "%v\n%s", err, log.String())
}
