//go:build unix

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/demo"
)

var clusterRates = flag.Duration("cluster-rates", 0, "for how long TestClusterRates measures each cluster; it is skipped without")

// Polls a second with 1, 2 and 4 nodes, on one server and on three, which write records through to
// the disk or not. Web, servers and nodes are on this machine, so that they share its processors:
// what a poll costs in processor time is given, too, without that of the web.
//
//	go test ./examples/crawl -run TestClusterRates -v -cluster-rates 10s -timeout 1h
func TestClusterRates(t *testing.T) {
	if *clusterRates == 0 {
		t.Skip("a measurement, made with -cluster-rates")
	}
	for _, servers := range []struct {
		n    int
		sync string
	}{{1, ""}, {3, ""}, {1, "sync_interval: always"}, {3, "sync_interval: always"}} {
		for _, nodes := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%d servers, %d nodes, %s", servers.n, nodes, servers.sync), func(t *testing.T) {
				polls, used := rates(t, servers.n, nodes, servers.sync)
				t.Logf("%.0f polls a second, %.2f ms of a processor each", polls/clusterRates.Seconds(), 1000*used.Seconds()/polls)
			})
		}
	}
}

// rates lets a cluster poll as fast as it can, and returns how many polls it made, and what
// processor time nodes and servers used for them.
func rates(t *testing.T, n, nodes int, sync string) (polls float64, used time.Duration) {
	hosts := slices.DeleteFunc(demo.Behaviours(1), func(b demo.Behaviour) bool { return !strings.HasPrefix(b.Name, "good-") })
	for i := range 4 * len(hosts) {
		hosts = append(hosts, demo.Behaviour{Name: fmt.Sprint("more-", i)})
	}
	web, err := demo.NewWeb(demo.Config{Hosts: hosts, Pages: 20, Changes: 8640, From: time.Now(), Span: time.Hour, Now: time.Now, Seed: 1})
	require.NoError(t, err)
	defer web.Close()
	list := filepath.Join(t.TempDir(), "urls.txt")
	require.NoError(t, os.WriteFile(list, []byte(strings.Join(web.URLs(), "\n")), 0o600))
	f := &fleet{t: t, web: web, list: list, servers: newServers(t, n, sync), nodes: map[string]*node{}, rng: rand.New(rand.NewPCG(1, 1)), perDay: 20_000 * 86400}
	for i := range nodes {
		f.start(fmt.Sprint("n", i), "-replicas", fmt.Sprint(n), "-delay", "0")
	}
	f.await("first copies", func() bool { return web.Witness.Polls() > 3*len(web.URLs()) })
	before, cpu := web.Witness.Polls(), f.cpu()
	time.Sleep(*clusterRates)
	polls, used = float64(web.Witness.Polls()-before), f.cpu()-cpu
	for name := range f.nodes {
		f.signal(name, syscall.SIGTERM)
		_ = f.nodes[name].cmd.Wait()
	}
	for i := range f.servers.cmds {
		f.servers.kill(i)
	}
	return polls, used
}

// cpu returns what nodes and servers have used of the processors.
func (f *fleet) cpu() (used time.Duration) {
	for _, n := range f.nodes {
		used += processCPU(n.cmd.Process.Pid)
	}
	for _, s := range f.servers.cmds {
		used += processCPU(s.Process.Pid)
	}
	return used
}

// processCPU reads the processor time of a process, where the system tells it in /proc.
func processCPU(pid int) time.Duration {
	const ticks = 100 // a second, on every Linux
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var user, system int
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	return time.Duration(user+system) * time.Second / ticks
}
