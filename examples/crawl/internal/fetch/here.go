package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	// ErrHere reports that a host was not asked, and that this may be this machine's fault: it lacks file
	// descriptors or a network, say. The poll does not count.
	ErrHere = errors.New("fetch: no request can be sent from this machine")
	// ErrNoWay reports that a host was not asked as there is no way to it: to its name server or its network, or
	// to any.
	ErrNoWay = errors.New("fetch: there is no way to the host")
)

// shortages are the errors of a machine that can open no connection, whichever host it is for.
var shortages = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}

// ways are those that a single host may have, too: one that has an address of IPv6 only, say. Ports that are all in
// use are among them.
var ways = []syscall.Errno{syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL}

// blame returns the error of a request as an ErrRefused or an ErrNoWay, if it is one. Looking says that the time was
// over while the host's name was looked up.
func blame(err error, looking bool) error {
	is := func(of []syscall.Errno) bool {
		return slices.ContainsFunc(of, func(no syscall.Errno) bool { return errors.Is(err, no) })
	}
	var dial *net.OpError
	var call *os.SyscallError
	var lookup *net.DNSError
	refused, noWay := false, looking && errors.Is(err, context.DeadlineExceeded)
	switch {
	case errors.Is(err, ErrRefused):
	case errors.As(err, &lookup): // its cause is there as text only
		refused = slices.ContainsFunc(shortages, func(no syscall.Errno) bool { return strings.Contains(lookup.Err, no.Error()) })
		noWay = !lookup.IsNotFound && (lookup.IsTimeout || lookup.IsTemporary)
	case errors.As(err, &dial) && dial.Op == "dial": // or it may have been sent
		refused = is(shortages) || errors.As(err, &call) && call.Syscall == "bind" // to the user's own address
		noWay = is(ways)
	}
	switch {
	case refused:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case noWay:
		return fmt.Errorf("%w: %w", ErrNoWay, err)
	}
	return err
}

// A reach is what an access point of this machine reaches. Whether there is no way to a host or to any is told by
// the others: a host is to blame if another one was reached since it could not be.
type reach struct {
	doubts  map[string]doubt // hosts that could not be reached
	reached uint64           // requests
	failed  int              // since the latest of them
}

// A doubt is when a host could not be reached, and what was reached by then.
type doubt struct {
	at      time.Time
	reached uint64
}

const (
	// doubtAge is for how long a doubt counts: the network may have been gone since.
	doubtAge = 10 * time.Minute
	// mostDoubts is the number of hosts that are remembered.
	mostDoubts = 10_000
	// down is the number of failures in a row after which there is no way to any host. Where it was no more than so
	// many bad hosts a rest of a second is taken in vain.
	down = 3
)

// A verdict is who is to blame that there was no way to a host.
type verdict int

const (
	theHost verdict = iota
	nobody          // yet
	thePoint
)

// fails takes note that there was no way to a host.
func (r *reach) fails(host string, now time.Time) verdict {
	d, ok := r.doubts[host]
	if len(r.doubts) >= mostDoubts {
		clear(r.doubts)
	}
	r.doubts[host] = doubt{now, r.reached}
	if ok && r.reached > d.reached && now.Sub(d.at) < doubtAge {
		return theHost
	}
	if r.failed++; r.failed < down {
		return nobody
	}
	return thePoint
}

// reaches takes note of an answer of a host.
func (r *reach) reaches(host string) {
	if r.failed >= down { // there was no way to any: that was not the hosts' fault
		clear(r.doubts)
	}
	r.reached++
	r.failed = 0
	delete(r.doubts, host)
}

// A halt is a rest of all polls while no access point of this machine can send a request.
type halt struct {
	since, until time.Time
	pause        time.Duration
	told         time.Time // when it was said last, of this one or of others before
	tells        bool      // it was said of this one
}

const (
	shortestHalt = time.Second // then twice as long each time
	longestHalt  = time.Minute
	tellHalt     = 10 * time.Minute
)

// judge returns the error of a request by an access point, as it counts for the host.
func (p *points) judge(name, host string, err error, now time.Time) error {
	if err != nil && !errors.Is(err, ErrNoWay) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.goOn(now)
	}
	r := p.reaches[name]
	if r == nil {
		if !slices.ContainsFunc(p.own, func(q Point) bool { return q.Name == name }) {
			return err // another machine's way says nothing of this one's
		}
		r = &reach{doubts: map[string]doubt{}}
		p.reaches[name] = r
	}
	if err == nil {
		r.reaches(host)
		return nil
	}
	switch r.fails(host, now) {
	case nobody:
		return fmt.Errorf("%w: %w", ErrHere, err)
	case thePoint:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// rest has all polls rest, as no access point took a request.
func (p *points) rest(err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &p.halt
	if now.Before(h.until) { // of several attempts at a time one counts
		return
	}
	if h.pause == 0 {
		h.since = now
	}
	h.pause = min(max(2*h.pause, shortestHalt), longestHalt)
	h.until = now.Add(h.pause)
	if now.Sub(h.told) >= tellHalt {
		h.told, h.tells = now, true
		slog.Warn("no request can be sent from this machine, whichever host it is for; polls rest, and nothing is learnt from those that failed", "error", err)
	}
	for _, q := range p.own {
		q.Close() // what is kept for later may be what is lacking
	}
}

// goOn ends the rest, if it is over: where some requests can be sent and others cannot, fewer at a time can. The
// caller holds the lock.
func (p *points) goOn(now time.Time) {
	h := &p.halt
	if h.pause == 0 {
		return
	}
	if now.Before(h.until) {
		h.pause = shortestHalt / 2 // the next one is no longer
		return
	}
	if h.tells {
		slog.Info("requests can be sent again", "after", now.Sub(h.since).Round(time.Second))
	}
	*h = halt{told: h.told}
}

// Rests returns for how long no poll is to be made, as this machine could send no request.
func (f *Fetcher) Rests() time.Duration {
	f.points.mu.Lock()
	defer f.points.mu.Unlock()
	return max(time.Until(f.points.halt.until), 0)
}
