package fetch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/recrawl/recrawl/partition"
)

// A Point is an access point: a way to the web.
type Point struct {
	Name string
	Base http.RoundTripper
}

// ParsePoint reads an access point: "direct", the URL of a proxy, or the address of this machine
// that requests are to come from.
func ParsePoint(text string) (Point, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2 // one request to a host at a time
	switch ip := net.ParseIP(text); {
	case text == "direct":
		t.Proxy = nil
	case ip != nil:
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: ip}, Timeout: 30 * time.Second}
		t.Proxy, t.DialContext = nil, dialer.DialContext
	default:
		proxy, err := url.Parse(text)
		if err != nil || proxy.Host == "" || !strings.HasPrefix(proxy.Scheme, "http") && proxy.Scheme != "socks5" {
			return Point{}, fmt.Errorf("access point %q: want direct, the URL of a proxy, or an IP address of this machine", text)
		}
		t.Proxy = http.ProxyURL(proxy)
		text = proxy.Redacted()
	}
	return Point{text, t}, nil
}

// points choose the access point for each host: an Assigner learns from durations which is the
// fastest.
type points struct {
	all []Point

	mu       sync.Mutex
	assigner *partition.Assigner // nil if there is one point only
	sites    map[string]int      // host → site
}

func newPoints(all []Point, seed uint64) (*points, error) {
	p := &points{all: all, sites: map[string]int{}}
	if len(all) < 2 {
		return p, nil
	}
	// Once in fifty polls another one is tried, as it may have become faster.
	var err error
	p.assigner, err = partition.NewAssigner(len(all), 0, partition.AssignerConfig{Explore: 0.02}, rand.NewPCG(seed, 0x90147))
	return p, err
}

// next returns the access point for a host. A host has one request at a time.
func (p *points) next(host string) (Point, error) {
	if p.assigner == nil {
		return p.all[0], nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	site, ok := p.sites[host]
	if !ok {
		site = p.assigner.Add()
		p.sites[host] = site
	}
	arm, err := p.assigner.Next(site)
	if err != nil {
		return Point{}, err
	}
	return p.all[arm], nil
}

// took tells how long a host took; what failed has taken its time, too.
func (p *points) took(host string, d time.Duration) error {
	if p.assigner == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.assigner.Observe(p.sites[host], max(d.Seconds(), 1e-6))
}

// Loads returns the number of hosts at each access point.
func (f *Fetcher) Loads() (names []string, hosts []int) {
	p := f.points
	p.mu.Lock()
	defer p.mu.Unlock()
	for arm, point := range p.all {
		n := 0
		if p.assigner != nil {
			n, _, _ = p.assigner.Load(arm)
		}
		names, hosts = append(names, point.Name), append(hosts, n)
	}
	return names, hosts
}

// A router sends a request by the access point that its context names.
type router struct{}

type via struct{}

type guard struct{}

// WithGuard returns a context whose requests are sent only while a function returns true.
func WithGuard(ctx context.Context, ours func() bool) context.Context {
	return context.WithValue(ctx, guard{}, ours)
}

func (router) RoundTrip(r *http.Request) (*http.Response, error) {
	if ours, ok := r.Context().Value(guard{}).(func() bool); ok && !ours() {
		return nil, ErrElsewhere
	}
	return r.Context().Value(via{}).(Point).Base.RoundTrip(r)
}

func withPoint(ctx context.Context, p Point) context.Context { return context.WithValue(ctx, via{}, p) }
