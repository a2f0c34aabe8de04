package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/cluster"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/relay"
)

// relayLook is how often a node looks who offers itself as a relay.
const relayLook = 250 * time.Millisecond

// relays are the nodes of the cluster as access points for each other: this one for the others if
// the user says so, and those of the others that offer themselves for this one.
type relays struct {
	*session
	identity *relay.Identity
	listener net.Listener // nil if this node does not offer itself
	point    string
	peers    map[string]*relay.Peer          // by the names of their access points
	members  atomic.Pointer[map[string]bool] // keys of the nodes that are there
}

// reachable reports whether an address can be one that others reach.
func reachable(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && host != "" && (ip == nil || !ip.IsUnspecified())
}

// newRelays names the access points of this node such that they can be told from those of others.
func newRelays(n *session, own []fetch.Point) (r *relays, err error) {
	for i := range own {
		own[i].Name = n.engine.Name() + "/" + own[i].Name
	}
	r = &relays{session: n, point: own[0].Name, peers: map[string]*relay.Peer{}}
	if r.identity, err = relay.NewIdentity(); err != nil || n.relay == "" {
		return r, err
	}
	if r.listener, err = net.Listen("tcp", n.relay); err != nil {
		return nil, fmt.Errorf("-relay: %w", err)
	}
	return r, nil
}

// about adds what the others have to know.
func (r *relays) about(a cluster.About) cluster.About {
	a.Key = r.identity.Key
	if r.listener != nil {
		host, _, _ := net.SplitHostPort(r.relay) // as it was checked
		_, port, _ := net.SplitHostPort(r.listener.Addr().String())
		a.Relay, a.Point = net.JoinHostPort(host, port), r.point
	}
	return a
}

// run serves others and keeps the access points of this node up to date, until the context ends.
func (r *relays) run(ctx context.Context) {
	if r.listener != nil {
		base, err := fetch.ParsePoint(r.access[0], true)
		if err != nil {
			slog.Error("this node cannot be a relay", "error", err)
			return
		}
		server := relay.NewServer(relay.Config{Identity: r.identity, Base: base.Base, Member: r.member, Sure: r.engine.Session().Settled})
		defer func() {
			server.Close()
			base.Close()
			slog.Info("this node is no relay any more", "requests sent on", server.Sent())
		}()
		go func() {
			if err := server.Serve(r.listener); err != nil {
				slog.Error("this node fails as a relay", "error", err)
			}
		}()
		slog.Info("this node is a relay", "address", r.listener.Addr(), "access point", r.access[0])
	}
	tick := time.NewTicker(relayLook)
	defer tick.Stop()
	for r.update(); ctx.Err() == nil; r.update() {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// member reports whether a key is that of a node that is there.
func (r *relays) member(key string) bool {
	members := r.members.Load()
	return members != nil && (*members)[key]
}

// update offers the relays that are there and can be reached to the fetcher.
func (r *relays) update() {
	there, leave, members := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for name, about := range r.node.Present() {
		members[about.Key] = about.Key != ""
		if about.Relay == "" || name == r.engine.Name() {
			continue
		}
		there[about.Point], leave[about.Point] = true, about.Leaves
		p := r.peers[about.Point]
		if p != nil && (p.Address != about.Relay || p.Key != about.Key) { // the node began anew
			p.Close()
			p = nil
		}
		if p == nil {
			r.peers[about.Point] = relay.NewPeer(r.identity, about.Relay, about.Key)
			slog.Info("a relay", "access point", about.Point, "address", about.Relay)
		}
	}
	r.members.Store(&members)
	var ready []fetch.Point
	for _, point := range slices.Sorted(maps.Keys(r.peers)) {
		p := r.peers[point]
		switch {
		case !there[point]:
			p.Close()
			delete(r.peers, point)
		case !leave[point] && p.Ready():
			ready = append(ready, fetch.Point{Name: point, Base: p, Hold: func() time.Duration { return r.hold(p) }})
		}
	}
	if err := r.crawler.Fetcher.Offer(ready); err != nil {
		slog.Error("relays", "error", err)
	}
}

// hold is for how long a request that a relay was given, and that was lost, may be sent or be under
// way. A node sends nothing on once it is not sure to be one, and nobody is taken for dead before.
func (r *relays) hold(p *relay.Peer) time.Duration {
	if p.Gone() {
		return min(r.timeout, r.settings.engine.Lease)
	}
	return r.settings.engine.Lease
}

// close ends all connections.
func (r *relays) close() {
	for _, p := range r.peers {
		p.Close()
	}
	if r.listener != nil {
		_ = r.listener.Close()
	}
}
