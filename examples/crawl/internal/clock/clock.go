// Package clock is the time that a crawl goes by: the real one, which never goes back, or one that
// runs fast.
package clock

import (
	"context"
	"sync"
	"time"
)

// A Clock tells the time, which never goes back.
type Clock interface {
	Now() time.Time
	// Sleep waits for a time by this clock, or less if the context is done.
	Sleep(ctx context.Context, d time.Duration)
	// Real returns how long that takes by the machine's clock, if all goes well.
	Real(d time.Duration) time.Duration
}

// catchUp is the speed at which a Real clock runs while it is ahead of the machine's: slow enough
// to be caught up with, fast enough for the budget.
const catchUp = 0.9

// Real is the machine's clock, but never before a time that is known to be over: that of the last
// answer before a restart, of another machine, or before the machine's clock was set back. If the
// machine's clock is behind that, this one runs on from there, a tenth slower, until the other has
// caught up. Make it with NewReal.
type Real struct {
	machine func() (now time.Time, up time.Duration)

	mu    sync.Mutex
	began time.Time     // by the machine's clock
	up    time.Duration // at that time
	ahead time.Duration // likewise
}

// set is the difference from which on the machine's clock was set, or the machine slept, since when
// its monotonic clock stood still. Less is not worth a correction.
const set = time.Second

// start is when the process began, with its monotonic reading.
var start = time.Now()

// NewReal returns a clock.
func NewReal() *Real {
	return newReal(func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(start)
	})
}

func newReal(machine func() (time.Time, time.Duration)) *Real {
	r := &Real{machine: machine}
	r.began, r.up = machine()
	return r
}

// NotBefore sets the clock to a time that it has not reached yet, and returns by how much.
func (r *Real) NotBefore(t time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	behind := t.Sub(r.now())
	if behind <= 0 {
		return 0
	}
	r.began, r.up = r.machine()
	r.ahead = t.Sub(r.began)
	return behind
}

// Now implements Clock.
func (r *Real) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

// now goes by the monotonic clock, and by the machine's where that was set since; the caller holds the
// lock.
func (r *Real) now() time.Time {
	machine, up := r.machine()
	t := r.at(up - r.up)
	if was := machine.Sub(r.began) - (up - r.up); was.Abs() < set {
		return t
	}
	r.began, r.up = machine, up
	r.ahead = max(t.Sub(machine), 0)
	return r.at(0)
}

func (r *Real) at(elapsed time.Duration) time.Time {
	return r.began.Add(elapsed + Left(r.ahead, elapsed))
}

// Left returns by how much a Real clock is still ahead of the machine's after a time.
func Left(ahead, elapsed time.Duration) time.Duration {
	return max(ahead-time.Duration((1-catchUp)*float64(elapsed)), 0)
}

// Sleep implements Clock.
func (r *Real) Sleep(ctx context.Context, d time.Duration) { sleep(ctx, d) }

// Real implements Clock.
func (r *Real) Real(d time.Duration) time.Duration { return d }

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// braked is the share of its speed at which a Fast clock runs while a crawler is behind. It does
// not stand still, as what keeps the crawler may be a wait by this clock.
const braked = 0.1

// Fast runs faster than the machine's clock, and slows down while a crawler cannot keep up, so that
// what a crawl comes to is not a matter of the machine. Make it with NewFast.
type Fast struct {
	mu     sync.Mutex
	speed  float64
	now    time.Time
	real   time.Time
	behind int // crawlers that cannot keep up
}

// NewFast returns a clock that begins at a time and runs so many times as fast as the machine's.
func NewFast(from time.Time, speed float64) *Fast {
	return &Fast{speed: speed, now: from, real: time.Now()}
}

func (f *Fast) rate() float64 {
	if f.behind > 0 {
		return f.speed * braked
	}
	return f.speed
}

// Now implements Clock.
func (f *Fast) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.advance()
}

func (f *Fast) advance() time.Time {
	real := time.Now()
	f.now = f.now.Add(time.Duration(float64(real.Sub(f.real)) * f.rate()))
	f.real = real
	return f.now
}

// Behind says that a crawler cannot keep up, or that it can again.
func (f *Fast) Behind(is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	if is {
		f.behind++
	} else {
		f.behind--
	}
}

// Real implements Clock.
func (f *Fast) Real(d time.Duration) time.Duration { return time.Duration(float64(d) / f.speed) }

// Sleep implements Clock.
func (f *Fast) Sleep(ctx context.Context, d time.Duration) {
	for until := f.Now().Add(d); ctx.Err() == nil; {
		left := until.Sub(f.Now())
		if left <= 0 {
			return
		}
		sleep(ctx, max(time.Duration(float64(left)/f.speed), 50*time.Microsecond))
	}
}
