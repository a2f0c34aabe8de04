package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// A Point is an access point: a way to the web.
type Point struct {
	Name string
	Base http.RoundTripper
	// Hold is asked when a request ended with ErrLost: for how long after it was handed to Base it
	// can still be sent, or be under way. Its host is asked for nothing else before. Nil is 0.
	Hold func() time.Duration
}

// The errors of the Base of a Point, most of them of one that is another machine.
var (
	// ErrRefused reports that the host was not asked. Another access point is taken at once, if there is one.
	ErrRefused = errors.New("fetch: the access point takes no request")
	// ErrLost reports that nobody knows whether the host was asked. The poll does not count.
	ErrLost = errors.New("fetch: the access point is lost")
	// ErrInside reports an address of this machine or of its own network.
	ErrInside = errors.New("fetch: not a public address")
)

// LongestHeader is what is taken of the headers of an answer, as much as browsers take. Else it would
// be 10 MiB at each worker.
const LongestHeader = 256 << 10

// ParsePoint reads an access point: "direct", the URL of a proxy, or the address of this machine
// that requests are to come from. If others decide what is asked for it must be outside: such a
// point asks public addresses only. What a proxy asks is its own affair.
func ParsePoint(text string, outside bool) (Point, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2 // one request to a host at a time
	t.MaxResponseHeaderBytes = LongestHeader
	dialer := net.Dialer{Timeout: 30 * time.Second}
	if outside {
		dialer.Control = public
	}
	switch ip := net.ParseIP(text); {
	case text == "direct":
		t.Proxy, t.DialContext = nil, dialer.DialContext
	case ip != nil:
		l, err := net.Listen("tcp", net.JoinHostPort(text, "0"))
		if err != nil {
			return Point{}, fmt.Errorf("access point %q: it is no IP address of this machine: %w", text, err)
		}
		_ = l.Close() // nothing came of it
		dialer.LocalAddr = &net.TCPAddr{IP: ip}
		t.Proxy, t.DialContext = nil, dialer.DialContext
	default:
		proxy, err := url.Parse(text)
		if err != nil || proxy.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme) {
			return Point{}, fmt.Errorf("access point %q: want direct, the URL of a proxy, or an IP address of this machine", text)
		}
		t.Proxy, t.DialContext = http.ProxyURL(proxy), toProxy
		text = proxy.Redacted()
	}
	return Point{Name: text, Base: once{t}}, nil
}

// Close closes the connections that are kept for later requests.
func (p Point) Close() {
	if c, ok := p.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// reachProxy is the time for a proxy to be reached: a part of that for a request, so that another
// point has time for it.
const reachProxy = 5 * time.Second

// toProxy connects to a proxy. While that fails the host is not asked.
func toProxy(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: reachProxy}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return conn, nil
}

// notPublic are networks that netip does not name, by RFC 6890 and what it was updated by, and those of a site by RFC
// 3879; the last five have addresses of IPv4 within.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("::/96"),
}

// public is a Control of a dialer, which is asked once a name is resolved.
func public(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrInside, address)
	}
	ip := at.Addr().Unmap()
	inside := !ip.IsGlobalUnicast() || ip.IsPrivate()
	for _, p := range notPublic {
		inside = inside || p.Contains(ip.WithZone(""))
	}
	if inside {
		return fmt.Errorf("%w: %s", ErrInside, ip)
	}
	return nil
}
