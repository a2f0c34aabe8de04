//go:build unix

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/demo"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

var (
	clusterPolls = flag.Int("cluster-polls", 1600, "polls that TestCluster lets its nodes make; 50000 in the long form")
	clusterSeed  = flag.Uint64("cluster-seed", 1, "what decides when TestCluster breaks something")
	clusterLease = flag.Duration("cluster-lease", 4*time.Second, "lease of the nodes of TestCluster; 8s in the long form")
)

const (
	clusterShards = 8
	// unwind is the time for requests of a node that was killed to be answered.
	unwind = 200 * time.Millisecond
)

// A fleet is the nodes of a cluster, each a process of its own, on servers that are, too.
type fleet struct {
	t       *testing.T
	web     *demo.Web
	list    string
	servers *servers
	nodes   map[string]*node
	outputs []*output // of all nodes that ever were
	rng     *rand.Rand
	perDay  int
	target  int // polls
	steps   int
	faults  int
	slowest time.Duration
}

// A node is a crawler in a cluster.
type node struct {
	cmd    *exec.Cmd
	link   *link
	output *output
}

// start starts a node, or starts it again.
func (f *fleet) start(name string, more ...string) *node {
	f.t.Helper()
	n := f.nodes[name]
	if n == nil {
		n = &node{link: newLink(f.t, f.servers), output: &output{}}
		f.nodes[name] = n
		f.outputs = append(f.outputs, n.output)
	}
	args := crawlArgs(f.web, f.list, "", "-nats", n.link.url(), "-replicas", "3", "-node", name,
		"-shards", fmt.Sprint(clusterShards), "-lease", clusterLease.String(), "-exchange", "3s", "-per-day", fmt.Sprint(f.perDay), "-relay", "127.0.0.1:0")
	n.cmd = start(f.t, n.output, append(args, more...)...)
	return n
}

func (f *fleet) kill(name string) {
	_ = f.nodes[name].cmd.Process.Kill()
	_ = f.nodes[name].cmd.Wait()
}

// await waits for something, and says what the nodes printed if it does not come.
func (f *fleet) await(what string, done func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			for name, n := range f.nodes {
				f.t.Logf("%s:\n%s", name, n.output.String())
			}
			f.t.Fatalf("waiting for %s in vain", what)
		}
	}
}

// polls lets the nodes crawl until the next share of all polls is made.
func (f *fleet) polls() {
	f.t.Helper()
	f.target += *clusterPolls / f.steps
	f.await("polls", func() bool { return f.web.Witness.Polls() >= f.target })
	time.Sleep(time.Duration(f.rng.IntN(50)) * time.Millisecond)
}

// recovers waits until each shard is polled again, by what is asked some time after a fault.
func (f *fleet) recovers(what string, fault time.Time, after time.Duration) {
	f.t.Helper()
	f.await(what, func() bool {
		polled := map[int]bool{}
		for _, b := range demo.Behaviours(1) {
			if host := b.Name + ".test"; f.web.Witness.Latest(host).After(fault.Add(after)) {
				polled[crawler.ShardOf(host, clusterShards)] = true
			}
		}
		return len(polled) == clusterShards
	})
	took := time.Since(fault)
	f.t.Logf("%s: all shards are polled again after %.1f s", what, took.Seconds())
	f.slowest = max(f.slowest, took)
	f.faults++
	f.target = min(max(f.target, f.web.Witness.Polls()), *clusterPolls)
}

func (f *fleet) signal(name string, s syscall.Signal) {
	f.t.Helper()
	require.NoError(f.t, f.nodes[name].cmd.Process.Signal(s))
}

// some draws a shard, and returns the node that owns it.
func (f *fleet) some() (name string) {
	subject := fmt.Sprintf("crawlboard.owner.%d", f.rng.IntN(clusterShards))
	f.await("an owner", func() bool {
		f.servers.stream(f.t, "CRAWL_BOARD", func(s jetstream.Stream) {
			if m, err := s.GetLastMsgForSubject(f.t.Context(), subject); err == nil {
				name, _, _ = strings.Cut(string(m.Data), "/")
			}
		})
		return f.nodes[name] != nil
	})
	return name
}

// buries has a node fall silent, and waits until it is declared dead.
func (f *fleet) buries(name string, silence func()) {
	dead := func() (n int) {
		for _, other := range f.nodes {
			n += strings.Count(other.output.String(), "it was silent for too long\" node="+name+" ")
		}
		return n
	}
	before := dead()
	silence()
	f.await("the end of node "+name, func() bool { return dead() > before })
}

func (f *fleet) killNode() {
	name := f.some()
	f.kill(name)
	killed := time.Now()
	if f.rng.IntN(2) == 0 {
		f.start(name)
		f.recovers("node "+name+" is killed and starts at once", killed, unwind)
		return
	}
	f.recovers("node "+name+" is killed", killed, unwind)
	f.start(name)
}

// killServer kills the leader of the records, or of the board.
func (f *fleet) killServer() {
	stream := []string{"CRAWL", "CRAWL_BOARD"}[f.rng.IntN(2)]
	victim := f.servers.leader(f.t, stream)
	f.servers.kill(victim)
	f.recovers(fmt.Sprintf("server %d, leader of %s, is killed", victim, stream), time.Now(), *clusterLease/4)
	f.servers.start(f.t, victim)
}

func (f *fleet) stop() {
	name := f.some()
	n := f.nodes[name]
	before := strings.Count(n.output.String(), "joins the cluster again")
	var stopped time.Time
	f.buries(name, func() {
		f.signal(name, syscall.SIGSTOP)
		stopped = time.Now()
	})
	f.recovers("node "+name+" is stopped", stopped, *clusterLease)
	f.signal(name, syscall.SIGCONT)
	f.await("the node to notice", func() bool { return strings.Count(n.output.String(), "joins the cluster again") > before })
}

func (f *fleet) cutOff() {
	name := f.some()
	var cut time.Time
	f.buries(name, func() {
		f.nodes[name].link.sever(true)
		cut = time.Now()
	})
	f.recovers("node "+name+" is cut off", cut, *clusterLease)
	f.nodes[name].link.sever(false)
}

func (f *fleet) joinAndLeave(name string) {
	leaver := f.some()
	n := f.start(name)
	f.await("the new node to get a shard", func() bool { return strings.Contains(n.output.String(), "shard opened") })
	f.polls()
	left := time.Now()
	f.signal(leaver, syscall.SIGTERM)
	require.NoError(f.t, f.nodes[leaver].cmd.Wait(), f.nodes[leaver].output.String())
	f.recovers("node "+leaver+" leaves", left, 0)
	delete(f.nodes, leaver)
}

func (f *fleet) killAll() (killed time.Time) {
	for name := range f.nodes {
		f.kill(name)
	}
	for i := range f.servers.cmds {
		f.servers.kill(i)
	}
	killed = time.Now()
	for i := range f.servers.cmds {
		f.servers.start(f.t, i)
	}
	for name := range f.nodes {
		f.start(name)
	}
	f.recovers("everything is killed", killed, unwind)
	return killed
}

// Three nodes on three servers: one of either is killed, or all; one is stopped for longer than its
// lease, and wakes; one is cut off; one joins, and one leaves. What the web answered is what the
// learners learnt, poll by poll, once; only what was under way is lost. No rule of politeness was
// broken. The long form:
//
//	go test ./examples/crawl -run TestCluster -v -cluster-polls 50000 -cluster-lease 8s -timeout 1h
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of waiting for elections and leases")
	}
	t.Parallel()
	web, list := misbehaving(t, 15)
	rounds, perDay := max(*clusterPolls/10_000, 1), 600*86400
	if *clusterPolls < 10_000 { // the machine has other tests to run
		perDay /= 4
	}
	f := &fleet{
		t: t, web: web, list: list, servers: newServers(t, 3, ""), nodes: map[string]*node{},
		rng: rand.New(rand.NewPCG(*clusterSeed, 15)), steps: 7 * rounds, perDay: perDay,
	}
	for _, name := range []string{"a", "b", "c"} {
		f.start(name)
	}
	f.recovers("start", time.Now(), 0)
	var last, killed time.Time // the latest fault before everything is killed
	for round := range rounds {
		for _, fault := range []func(){f.killNode, f.killServer, f.stop, f.cutOff, func() { f.joinAndLeave(fmt.Sprint("d", round)) }} {
			f.polls()
			fault()
		}
		last = time.Now()
		f.polls()
		killed = f.killAll()
	}
	f.polls()
	for name := range f.nodes {
		f.signal(name, syscall.SIGTERM)
	}
	for name, n := range f.nodes {
		require.NoError(t, n.cmd.Wait(), "%s: %s", name, n.output.String())
	}
	opened, handed, relayed := 0, 0, 0
	for _, o := range f.outputs {
		opened += strings.Count(o.String(), "shard opened")
		handed += strings.Count(o.String(), "shard handed over")
		for _, rest := range strings.Split(o.String(), `"requests sent on"=`)[1:] {
			var n int
			_, err := fmt.Sscan(rest, &n)
			require.NoError(t, err)
			relayed += n
		}
	}
	require.Positive(t, relayed)
	t.Logf("%d polls, %d faults; all shards were polled again after at most %.1f s; %d times a shard was taken over, %d of them from a node that handed it over; nodes that were not killed sent %d requests for others",
		web.Witness.Polls(), f.faults-1, f.slowest.Seconds(), opened-clusterShards, handed-clusterShards, relayed)
	for _, at := range audit(t, web, engine.Config{Access: engine.Access{URL: f.servers.url()}}, 8*rounds*2*4*killWorkers) {
		if at.Before(killed) && at.After(last) {
			require.Less(t, killed.Sub(at), 5*time.Second, "lost long before everything was killed")
		}
	}
}
