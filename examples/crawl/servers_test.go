package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

// asServer is set, to a file with its configuration, in a process that is to be a NATS server.
const asServer = "RECRAWL_TEST_NATS"

// serveNATS is nats-server -c FILE.
func serveNATS(file string) {
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	opts.NoSigs = true
	s, err := server.NewServer(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		fmt.Fprintf(os.Stderr, "NATS server %s does not come up; is another process at its addresses?\n", opts.ServerName)
		os.Exit(1)
	}
	s.WaitForShutdown()
}

// servers are NATS servers that form a cluster, each in a process of its own.
type servers struct {
	files []string
	addrs []string
	cmds  []*exec.Cmd
}

// newServers starts a cluster of n. Sync is put into the block for JetStream.
func newServers(t *testing.T, n int, sync string) *servers {
	t.Helper()
	dir := t.TempDir()
	c := &servers{cmds: make([]*exec.Cmd, n)}
	var routes []string
	for range n {
		c.addrs = append(c.addrs, testnet.FreeAddress(t))
		routes = append(routes, testnet.FreeAddress(t))
	}
	for i := range n {
		config := fmt.Sprintf("server_name: s%d\nlisten: %q\njetstream { store_dir: %q, %s }\n", i, c.addrs[i], filepath.Join(dir, fmt.Sprint(i)), sync)
		if n > 1 { // clients must not learn of addresses past the links that the test can cut
			config += fmt.Sprintf("cluster { name: crawl, listen: %q, no_advertise: true, routes: [ nats://%s ] }\n", routes[i], strings.Join(routes, ", nats://"))
		}
		c.files = append(c.files, filepath.Join(dir, fmt.Sprintf("s%d.conf", i)))
		require.NoError(t, os.WriteFile(c.files[i], []byte(config), 0o600))
		c.start(t, i)
	}
	return c
}

func (c *servers) start(t *testing.T, i int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+c.files[i])
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	c.cmds[i] = cmd
}

func (c *servers) kill(i int) {
	_ = c.cmds[i].Process.Kill()
	_ = c.cmds[i].Wait()
}

// stream looks at a stream.
func (c *servers) stream(t *testing.T, name string, do func(jetstream.Stream)) {
	t.Helper()
	conn, err := nats.Connect(c.url(), nats.Timeout(10*time.Second))
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	var s jetstream.Stream
	require.Eventually(t, func() bool {
		s, err = js.Stream(t.Context(), name)
		return err == nil && s.CachedInfo().Cluster.Leader != ""
	}, time.Minute, 10*time.Millisecond)
	do(s)
}

// leader returns which server leads a stream.
func (c *servers) leader(t *testing.T, name string) (i int) {
	t.Helper()
	c.stream(t, name, func(s jetstream.Stream) {
		_, err := fmt.Sscanf(s.CachedInfo().Cluster.Leader, "s%d", &i)
		require.NoError(t, err)
	})
	return i
}

// url has the addresses of all.
func (c *servers) url() string { return "nats://" + strings.Join(c.addrs, ",nats://") }

// A link is a way from one crawler to all servers, which can be cut.
type link struct {
	listeners []net.Listener

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newLink(t *testing.T, to *servers) *link {
	t.Helper()
	l := &link{conns: map[net.Conn]bool{}}
	for _, addr := range to.addrs {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		l.listeners = append(l.listeners, listener)
		go l.serve(listener, addr)
	}
	return l
}

func (l *link) url() string {
	var all []string
	for _, listener := range l.listeners {
		all = append(all, "nats://"+listener.Addr().String())
	}
	return strings.Join(all, ",")
}

func (l *link) serve(listener net.Listener, addr string) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		cut := l.cut
		l.mu.Unlock()
		to, err := net.Dial("tcp", addr)
		if err != nil || cut {
			_ = from.Close()
			continue
		}
		l.mu.Lock()
		l.conns[from], l.conns[to] = true, true
		l.mu.Unlock()
		go l.pass(from, to)
		go l.pass(to, from)
	}
}

// pass copies from one end to the other. What arrives while the link is cut is kept back for good,
// and neither end is told, as when a cable is cut.
func (l *link) pass(to, from net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		cut := l.cut
		l.mu.Unlock()
		if cut {
			if err != nil {
				return
			}
			continue
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			_ = from.Close()
			_ = to.Close()
			return
		}
	}
}

// sever cuts the link or joins it again.
func (l *link) sever(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if !cut { // what was in between is lost
		for c := range l.conns {
			_ = c.Close()
		}
		clear(l.conns)
	}
}
