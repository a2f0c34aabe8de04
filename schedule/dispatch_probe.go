package schedule

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/portable"
)

// If one site decides when the crawl ends, it matters whether the client that gets it is as fast as
// predicted. So the clients that compete for it first do a few short sites each, if knowing their
// speeds better is worth that delay. Then the long site goes to the client that is expected to
// finish it first.

// The tuned values of the probes. This command measures each value halved, as it is, and doubled:
//
//	go test ./schedule -v -run Sweep -sweep
//
// It simulates the paper's setting with five clients. With spreads of .15, .3 and 1, probes make
// crawls end .33, 1.15 and 3.0 % earlier.
var (
	// criticalShare is the least share of a plan's makespan at which the longest site counts as
	// deciding it. Half of it is as good for small spreads, and gains 1.7 % instead of 3.0 % for a
	// spread of 1.
	criticalShare = .8
	// speedShare is the part of the spread of prediction errors that is taken to be common to all
	// sites of a client. Half of it gains .02, .55 and .4 %; twice as much gains .24, 1.07 and
	// 2.5 %.
	speedShare = .5
	// mostProbes is the most short sites that a client does first. Half as many gain 2.7 % for a
	// spread of 1; twice as many gain nothing further.
	mostProbes = 8
)

// planProbes chooses how many short sites each client does first. It takes O(n log n + m).
//
// Let the logarithms of the errors have standard deviation σ per site and τ per client. After each
// of two clients has done k sites, the estimate of the difference of their log speeds has the
// standard deviation s, where s² = 2τ²·τ²/(τ²+σ²/k). Let the second client be predicted to be
// slower by the factor e^g. Then the choice between the two saves a site of duration d the expected
// time
//
//	d·s·(φ(g/s) − g/s·Φ(−g/s))
//
// This is the value of information for two normal alternatives.
func (d *Dispatcher) planProbes() {
	owner, longest, makespan := -1, 0.0, 0.0
	var durations []float64
	for j, queue := range d.queue {
		sum := 0.0
		for _, z := range queue {
			t := d.duration(z, j)
			if t > longest {
				owner, longest = j, t
			}
			sum += t
			durations = append(durations, t)
		}
		makespan = max(makespan, sum)
	}
	if longest < criticalShare*makespan {
		return
	}
	slices.Sort(durations)
	site, sigma, tau := d.queue[owner][0], d.cfg.Spread, speedShare*d.cfg.Spread
	for j := range d.queue {
		if j == owner {
			continue
		}
		behind := portable.Log(d.duration(site, j) / longest)
		cost, most := 0.0, 0.0
		for k := 1; k <= mostProbes && 2*k < len(durations); k++ {
			cost += durations[2*k-1] // two clients take the shortest sites in turn
			s := tau * math.Sqrt(2/(1+(sigma/tau)*(sigma/tau)/float64(k)))
			x := behind / s
			gain := float64(longest*s*portable.Loss(x)) - cost
			if gain > most {
				most = gain
				d.client[j].probes = k + 1
				d.client[owner].probes = max(d.client[owner].probes, k+1)
			}
		}
	}
}

// probe takes the shortest of the sites that are last in their queues, for a client that does short
// sites first. After its last short site, the client may get a longer site than its own longest.
func (d *Dispatcher) probe(client int) int32 {
	if d.client[client].probes == 0 {
		return None
	}
	if d.client[client].probes--; d.client[client].probes == 0 {
		d.exchange(client)
		return None
	}
	from, shortest := -1, math.Inf(1)
	for j, queue := range d.queue {
		if len(queue) < 2 || !d.may(client, queue[len(queue)-1]) {
			continue // a single site decides when its client ends, so it is no probe
		}
		if t := d.expected(queue[len(queue)-1], client); t < shortest {
			from, shortest = j, t
		}
	}
	if from < 0 {
		return None
	}
	last := len(d.queue[from]) - 1
	z := d.queue[from][last]
	d.removeAt(&d.queue[from], last)
	return z
}

// exchange swaps the longest sites that wait for the client and for another one, if that makes the
// later of the two sites end earlier. It makes the best such swap.
func (d *Dispatcher) exchange(client int) {
	if len(d.queue[client]) == 0 {
		return
	}
	own := d.queue[client][0]
	other, gain := -1, 0.0
	for j, queue := range d.queue {
		if j == client || len(queue) == 0 {
			continue
		}
		z, end := queue[0], d.ends(j)
		if !d.may(client, z) || !d.may(j, own) {
			continue // one of the two was given back
		}
		before := max(d.now+d.expected(own, client), end+d.expected(z, j))
		after := max(d.now+d.expected(z, client), end+d.expected(own, j))
		if before-after > gain {
			other, gain = j, before-after
		}
	}
	if other < 0 {
		return
	}
	d.queue[client][0], d.queue[other][0] = d.queue[other][0], own
	d.sort(client)
	d.sort(other)
}
