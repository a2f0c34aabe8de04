package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A fleet has the predicted durations of a problem, and of the sites and clients added to it.
type fleet struct {
	p       *Problem
	n, m    int
	size    []float64   // identical and uniform clients: of each site
	unit    []float64   // identical and uniform clients: time per unit of size of each client
	rows    [][]float64 // unrelated clients: of each site added, its duration on each client
	columns [][]float64 // unrelated clients: of each client added, the durations of the problem's sites
}

func newFleet(p *Problem) fleet {
	f := fleet{p: p, n: p.n, m: p.m}
	if !p.unrelated {
		f.size, f.unit = slices.Clip(p.size), slices.Clip(p.unit)
	}
	return f
}

// duration returns the predicted duration of a site on a client.
func (f *fleet) duration(z int32, j int) float64 {
	switch {
	case !f.p.unrelated:
		return float64(f.unit[j] * f.size[z])
	case int(z) >= f.p.n:
		return f.rows[int(z)-f.p.n][j]
	case j >= f.p.m:
		return f.columns[j-f.p.m][z]
	}
	return f.p.size[int(z)*f.p.m+j]
}

// mean returns the mean of all predicted durations.
func (f *fleet) mean() float64 {
	sum, count := 0.0, 0
	for z := range f.n {
		for j := range f.m {
			if t := f.duration(int32(z), j); !math.IsInf(t, 1) {
				count++
				sum += (t - sum) / float64(count)
			}
		}
	}
	return sum
}

// length returns the shortest duration of a site. It orders the sites that wait for any client.
func (f *fleet) length(z int32) float64 {
	if !f.p.unrelated {
		return f.size[z]
	}
	least := math.Inf(1)
	for j := range f.m {
		least = min(least, f.duration(z, j))
	}
	return least
}

// longer orders sites by length, the longest first, equal ones by number.
func (f *fleet) longer(a, b int32) int {
	return cmp.Or(cmp.Compare(f.length(b), f.length(a)), cmp.Compare(a, b))
}

// setup returns the time that a client takes before its first site.
func (f *fleet) setup(j int) float64 {
	if j < f.p.m {
		return f.p.setup[j]
	}
	return 0
}

// checkTimes checks the times of a site or a client to be added. On unrelated clients there must be
// one duration for each pair. Otherwise there must be one number, and its products with the numbers
// of the other side must be neither too small nor +Inf.
func (f *fleet) checkTimes(times []float64, pairs int, side string, others []float64) error {
	want := 1
	if f.p.unrelated {
		want = pairs
	}
	if len(times) != want {
		return fmt.Errorf("%w: %d durations, want %d", ErrProblem, len(times), want)
	}
	for k, t := range times {
		if !positive(t) && !(f.p.unrelated && math.IsInf(t, 1)) {
			return fmt.Errorf("%w: entry %d: %v%s", ErrDuration, k, t, tooSmall(t))
		}
	}
	if !f.p.unrelated {
		if least := slices.Min(others); times[0]*least < leastDuration {
			return fmt.Errorf("%w: entry 0: %v, with the %v of %s %d a duration below %.2g: choose a smaller unit of time",
				ErrDuration, times[0], least, side, slices.Index(others, least), leastDuration)
		}
		if most := slices.Max(others); math.IsInf(times[0]*most, 1) {
			return fmt.Errorf("%w: entry 0: %v, with the %v of %s %d a duration that is not finite", ErrDuration, times[0], most, side,
				slices.Index(others, most))
		}
	}
	return nil
}

// AddClient adds a client that is free now and returns its number. On identical and uniform
// clients, times has one number: the client's time per unit of size, which is 1 on identical
// clients. On unrelated clients, times has the client's duration for every site, including the
// sites added; +Inf means that it cannot do the site. It refuses durations that are too small for a
// [Problem], and products of a size and a time per unit that are not finite. The error is
// ErrProblem, ErrDuration or ErrTime.
//
// Time: O(n); on unrelated clients O(n + m·k log k) for k sites that wait for any client.
func (d *Dispatcher) AddClient(times []float64, now float64) (client int, err error) {
	if err := d.made().checkTime(now); err != nil {
		return None, err
	}
	if err := d.checkTimes(times, d.n, "site", d.size); err != nil {
		return None, err
	}
	d.now = now
	if d.p.unrelated {
		d.columns = append(d.columns, slices.Clone(times[:d.p.n]))
		for k := range d.rows {
			d.rows[k] = append(d.rows[k], times[d.p.n+k])
		}
	} else {
		d.unit = append(d.unit, times[0])
	}
	d.m++
	d.queue, d.pool.from = append(d.queue, nil), append(d.pool.from, 0)
	d.client = append(d.client, clientState{holds: None, since: now})
	if d.p.unrelated {
		slices.SortFunc(d.back, d.longer) // the shortest durations may have changed
	}
	return d.m - 1, nil
}

// AddSite adds a site and returns its number. On identical and uniform clients, times has one
// number: the size of the site. On unrelated clients, times has the site's duration on every
// client; +Inf means that the client cannot do it. A site that no client can do waits until such a
// client is added. AddSite refuses durations that are too small for a [Problem], and products of a
// size and a time per unit that are not finite. The error is ErrProblem, ErrDuration or ErrTime.
//
// Time: O(m + k) for k sites that wait for any client.
func (d *Dispatcher) AddSite(times []float64, now float64) (site int, err error) {
	if err := d.made().checkTime(now); err != nil {
		return None, err
	}
	if err := d.checkTimes(times, d.m, "client", d.unit); err != nil {
		return None, err
	}
	d.now = now
	if d.p.unrelated {
		d.rows = append(d.rows, slices.Clone(times))
	} else {
		d.size = append(d.size, times[0])
	}
	site = d.n
	d.n++
	d.open++
	d.waits, d.done = append(d.waits, false), append(d.done, false)
	d.release(int32(site))
	return site, nil
}

// Silent returns the clients that have held a site for longer than Patience allows, in ascending
// order. Look after them, and call RemoveClient for those that are gone. Their sites and batches
// wait for other clients already. A client that answers or gives its site back is no longer silent.
// The error is ErrTime.
//
// Time: O(m).
func (d *Dispatcher) Silent(now float64) (clients []int, err error) {
	if err := d.checkTime(now); err != nil {
		return nil, err
	}
	d.now = now
	d.listen()
	for j := range d.client {
		if d.client[j].silent {
			clients = append(clients, j)
		}
	}
	return clients, nil
}

// Alarm returns the time at which the next client becomes silent unless it answers before, or +Inf
// if none will. If clients have nothing to do, set a timer for that time and then call Next for
// them.
//
// Time: O(m).
func (d *Dispatcher) Alarm() float64 {
	soonest, patience := math.Inf(1), d.patience()
	for j := range d.client {
		soonest = min(soonest, d.deadline(j, patience))
	}
	return soonest
}

// deadline returns when a client becomes silent, or +Inf if it holds no open site or is silent
// already.
func (d *Dispatcher) deadline(client int, patience float64) float64 {
	d.looks.Spend(1)
	c := &d.client[client]
	if c.holds == None || c.silent || d.done[c.holds] {
		return math.Inf(1)
	}
	allowed := float64(patience * d.paceOf(c.pace) * d.duration(c.holds, client))
	return c.since + d.begins(client) + allowed
}

// listen makes the sites of clients that have become silent wait for any client.
func (d *Dispatcher) listen() {
	if math.IsInf(d.cfg.Patience, 1) {
		return
	}
	patience := d.patience()
	for j := range d.client {
		if d.deadline(j, patience) <= d.now {
			d.client[j].silent = true
			d.unassign(j)
			d.release(d.client[j].holds)
		}
	}
}
