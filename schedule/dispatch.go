package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// DispatcherConfig has the settings of a [Dispatcher]. The zero value suits predictions
// that hold; otherwise set Spread.
type DispatcherConfig struct {
	// Spread is the standard deviation of the logarithm of actual over predicted durations:
	// Score.Spread has it. Half of it is taken to be the client's and the same for all its
	// sites. If one site of a plan decides when the crawl ends, clients that may be the
	// fastest for it do a few short sites first, as far as knowing their speeds is worth
	// more than the delay, and the site goes where it is then expected to end first. 0
	// means not to.
	Spread float64
	// Copies is how many clients may work on one site at the same time when nothing waits
	// any more. The first answer counts. 0 means 2 if Spread is at least .5 and 1
	// otherwise; 1 means no copies.
	Copies int
	// Static keeps clients to their own batches. Otherwise a client that has done its batch
	// takes the longest site that waits for another client and that it is expected to
	// finish before that client gets through its own batch.
	Static bool
}

// copySpread is the spread of errors from which on copies pay for the work that they waste.
// In the paper's setting they end crawls .14 % earlier for a spread of .3, .7 % for one of
// .5, 7 % for one of 1; measured by go test ./schedule -v -run Sweep -sweep.
const copySpread = .5

// check returns the config with its defaults.
func (cfg DispatcherConfig) check() (DispatcherConfig, error) {
	if cfg.Copies < 0 || !(cfg.Spread >= 0) || math.IsInf(cfg.Spread, 1) {
		return cfg, fmt.Errorf("%w: %d copies, spread %v", ErrConfig, cfg.Copies, cfg.Spread)
	}
	if cfg.Copies == 0 {
		cfg.Copies = 1
		if cfg.Spread >= copySpread {
			cfg.Copies = 2
		}
	}
	return cfg, nil
}

// A Dispatcher hands sites out to clients while they work. Next asks what a client is to
// scan, Observe tells that it is done, and GiveBack that it will not be; RemoveClient and
// RestoreClient tell of clients that go and come. Each client works through its batch of a
// plan, the longest site first, and then helps the others. The dispatcher learns how fast
// clients are compared with their predictions. Make one with [NewDispatcher], or with
// [NewPullDispatcher] if there is no plan. [Simulate] tries it out.
//
// It never looks at a clock: now is an argument, in the unit of the durations, and never
// runs backwards. A Dispatcher is not safe for concurrent use.
//
// # Guarantees
//
// Every site is handed out until one client has observed it. A client is never given a site
// again that it gave back. The state can be saved and restored at any time, and goes on as
// the saved one would have.
//
// # Cost
//
// Next takes O(1) for a client's own batch, O(n log n) at the end of its probes (see
// DispatcherConfig.Spread), and O(n) when it helps others. Memory: O(n + m).
type Dispatcher struct {
	p       *Problem
	cfg     DispatcherConfig
	now     float64
	queue   [][]int32 // sites waiting for each client, the longest first
	pool    []int32   // sites waiting for anyone, in the order of the list
	back    []int32   // sites given back, waiting for anyone, the longest first
	done    []bool
	open    int       // sites not done
	holds   []int32   // site that each client works on, or None
	since   []float64 // from when on
	gone    []bool
	started []bool
	probes  []int     // short sites that each client has yet to do first, plus one
	actual  []float64 // time that each client took for the sites that it finished
	planned []float64 // time predicted for these
	typical float64   // mean predicted duration
	refused map[[2]int32]struct{}
}

// NewDispatcher returns a dispatcher of a plan for the problem, whose durations are the
// predictions.
//
// Time: O(n·m + n log n).
func NewDispatcher(p *Problem, plan Plan, cfg DispatcherConfig) (*Dispatcher, error) {
	if err := p.Check(plan); err != nil {
		return nil, err
	}
	cfg, err := cfg.check()
	if err != nil {
		return nil, err
	}
	d := newDispatcher(p, cfg)
	for j, batch := range plan.Batches(p.m) {
		for _, z := range batch {
			d.queue[j] = append(d.queue[j], int32(z))
		}
		d.sort(j)
	}
	if cfg.Spread > 0 {
		d.planProbes()
	}
	return d, nil
}

// NewPullDispatcher returns a dispatcher without a plan: a client that is free takes the
// next site of the list, which is as for [Pull]; [Problem.LongestFirst] makes one. Take it
// where nothing is known of the clients.
func NewPullDispatcher(p *Problem, list []int, cfg DispatcherConfig) (*Dispatcher, error) {
	cfg, err := cfg.check()
	if err != nil {
		return nil, err
	}
	if list, err = p.checkList(list); err != nil {
		return nil, err
	}
	d := newDispatcher(p, cfg)
	for _, z := range list {
		d.pool = append(d.pool, int32(z))
	}
	return d, nil
}

func newDispatcher(p *Problem, cfg DispatcherConfig) *Dispatcher {
	d := &Dispatcher{p: p, cfg: cfg, now: math.Inf(-1), open: p.n, queue: make([][]int32, p.m),
		done: make([]bool, p.n), holds: make([]int32, p.m), since: make([]float64, p.m),
		gone: make([]bool, p.m), started: make([]bool, p.m), actual: make([]float64, p.m),
		planned: make([]float64, p.m), probes: make([]int, p.m), refused: make(map[[2]int32]struct{})}
	for j := range d.holds {
		d.holds[j] = None
		for z := range p.n {
			d.typical += p.Duration(z, j) / float64(p.n*p.m)
		}
	}
	return d
}

// sort puts the longest site of client j first.
func (d *Dispatcher) sort(j int) {
	slices.SortStableFunc(d.queue[j], func(a, b int32) int { return cmp.Compare(d.p.grid.At(int(b), j), d.p.grid.At(int(a), j)) })
}

func (d *Dispatcher) check(client int, now float64) error {
	if client < 0 || client >= d.p.m {
		return fmt.Errorf("%w: client %d of %d", ErrUnknown, client, d.p.m)
	}
	if math.IsNaN(now) || math.IsInf(now, 0) || now < d.now {
		return fmt.Errorf("%w: %v after %v", ErrTime, now, d.now)
	}
	return nil
}

// Next returns the next site for a client, or [None] if there is nothing for it to do at
// the moment: it may ask again after others observed a site, gave one back or were removed.
// A client holds one site at a time. The error is ErrUnknown, ErrBusy or ErrTime.
func (d *Dispatcher) Next(client int, now float64) (site int, err error) {
	if err := d.check(client, now); err != nil {
		return None, err
	}
	if d.gone[client] {
		return None, fmt.Errorf("%w: client %d was removed", ErrUnknown, client)
	}
	if d.holds[client] != None {
		return None, fmt.Errorf("%w: client %d, site %d", ErrBusy, client, d.holds[client])
	}
	d.now = now
	z := int32(None)
	if d.backFirst(client) {
		z = d.take(&d.back, client)
	}
	if z == None {
		z = d.probe(client)
	}
	if z == None {
		z = d.take(&d.queue[client], client)
	}
	if z == None {
		z = d.take(&d.back, client)
	}
	if z == None {
		z = d.take(&d.pool, client)
	}
	if z == None && !d.cfg.Static {
		z = d.steal(client)
	}
	if z == None && d.cfg.Copies > 1 {
		z = d.replicate(client)
	}
	if z == None {
		return None, nil
	}
	d.holds[client], d.since[client] = z, now
	return int(z), nil
}

// backFirst reports whether a site given back comes before the client's own: if it is
// longer, so that a long site of a removed client does not wait until the end.
func (d *Dispatcher) backFirst(client int) bool {
	if len(d.back) == 0 || len(d.queue[client]) == 0 {
		return false
	}
	return d.p.grid.At(int(d.back[0]), client) > d.p.grid.At(int(d.queue[client][0]), client)
}

// take removes and returns the first site of a list that the client has not given back.
func (d *Dispatcher) take(list *[]int32, client int) int32 {
	for k, z := range *list {
		if d.refuses(client, z) {
			continue
		}
		if k == 0 {
			*list = (*list)[1:]
		} else {
			*list = slices.Delete(*list, k, k+1)
		}
		return z
	}
	return None
}

func (d *Dispatcher) refuses(client int, z int32) bool {
	if len(d.refused) == 0 {
		return false
	}
	_, refused := d.refused[[2]int32{int32(client), z}]
	return refused
}

// expect is the predicted duration, corrected by how the client has kept to its
// predictions; a typical site's worth of doubt keeps early ratios near 1.
func (d *Dispatcher) expect(z int32, client int) float64 {
	return d.p.Duration(int(z), client) * (d.actual[client] + d.typical) / (d.planned[client] + d.typical)
}

// ends predicts when a client finishes the site that it holds. One that is overdue is
// expected to need as long again as it is late.
func (d *Dispatcher) ends(client int) float64 {
	z := d.holds[client]
	if z == None {
		return d.now
	}
	end := d.since[client] + d.expect(z, client)
	if end < d.now {
		end = d.now + (d.now - end)
	}
	return end
}

// steal takes the longest site waiting for another client that the thief is expected to
// finish before its owner is through.
func (d *Dispatcher) steal(thief int) int32 {
	victim, at, longest := -1, -1, 0.0
	for j, queue := range d.queue {
		end := d.ends(j)
		for _, z := range queue {
			end += d.expect(z, j)
		}
		for k, z := range queue {
			if t := d.expect(z, thief); t > longest && d.now+t < end && !d.refuses(thief, z) {
				victim, at, longest = j, k, t
			}
		}
	}
	if victim < 0 {
		return None
	}
	z := d.queue[victim][at]
	d.queue[victim] = slices.Delete(d.queue[victim], at, at+1)
	return z
}

// replicate returns the running site that is expected to end last and has room for a copy.
func (d *Dispatcher) replicate(client int) int32 {
	site, latest := int32(None), math.Inf(-1)
	for j, z := range d.holds {
		if z == None || d.done[z] || d.refuses(client, z) || d.holders(z) >= d.cfg.Copies {
			continue
		}
		if end := d.ends(j); end > latest {
			site, latest = z, end
		}
	}
	return site
}

func (d *Dispatcher) holders(z int32) int {
	count := 0
	for _, h := range d.holds {
		if h == z {
			count++
		}
	}
	return count
}

// Observe reports that a client finished the site it holds. First is false if a copy was
// faster, so that the answer is of no use. Void lists the clients whose work on the same
// site has become useless: they may give it back and ask anew. The error is ErrUnknown,
// ErrNotAsked or ErrTime.
func (d *Dispatcher) Observe(client, site int, now float64) (first bool, void []int, err error) {
	if err := d.check(client, now); err != nil {
		return false, nil, err
	}
	if site < 0 || site >= d.p.Sites() {
		return false, nil, fmt.Errorf("%w: site %d of %d", ErrUnknown, site, d.p.Sites())
	}
	if int(d.holds[client]) != site {
		return false, nil, fmt.Errorf("%w: client %d, site %d", ErrNotAsked, client, site)
	}
	d.now = now
	spent := now - d.since[client]
	if !d.started[client] {
		spent = max(0, spent-d.p.setup[client]) // the first site of a batch waits for the batch
		d.started[client] = true
	}
	d.actual[client] = min(d.actual[client]+spent, math.MaxFloat64) // times may lie far apart
	d.planned[client] += d.p.Duration(site, client)
	d.holds[client] = None
	if d.done[site] {
		return false, nil, nil
	}
	d.done[site] = true
	d.open--
	for j, z := range d.holds {
		if int(z) == site {
			void = append(void, j)
		}
	}
	return true, void, nil
}

// GiveBack returns the site that a client holds, unfinished. The client is not given it
// again; another one is. A site that all clients gave back stays open. The error is
// ErrUnknown, ErrNotAsked or ErrTime.
func (d *Dispatcher) GiveBack(client int, now float64) error {
	if err := d.check(client, now); err != nil {
		return err
	}
	z := d.holds[client]
	if z == None {
		return fmt.Errorf("%w: client %d holds none", ErrNotAsked, client)
	}
	d.now = now
	d.holds[client] = None
	if !d.done[z] {
		d.refused[[2]int32{int32(client), z}] = struct{}{}
		d.release(z)
	}
	return nil
}

// release makes sites wait for anyone again, except those of which a copy is under way.
func (d *Dispatcher) release(sites ...int32) {
	for _, z := range sites {
		if !d.done[z] && d.holders(z) == 0 {
			d.back = append(d.back, z)
		}
	}
	key := func(z int32) int64 { return slices.Min(d.p.grid.Amounts(int(z))) }
	slices.SortStableFunc(d.back, func(a, b int32) int { return cmp.Compare(key(b), key(a)) })
}

// RemoveClient reports that a client is gone: the site that it holds and its batch wait for
// anyone. The error is ErrUnknown or ErrTime.
//
// Time: O(k log k) for k sites given back and open.
func (d *Dispatcher) RemoveClient(client int, now float64) error {
	if err := d.check(client, now); err != nil {
		return err
	}
	if d.gone[client] {
		return fmt.Errorf("%w: client %d was removed before", ErrUnknown, client)
	}
	d.now = now
	d.gone[client] = true
	d.probes[client] = 0
	z := d.holds[client]
	d.holds[client] = None
	sites := d.queue[client]
	d.queue[client] = nil
	if z != None {
		sites = append(sites, z)
	}
	d.release(sites...)
	return nil
}

// RestoreClient reports that a removed client is back. It has no batch of its own. The error
// is ErrUnknown if it was not removed, or ErrTime.
func (d *Dispatcher) RestoreClient(client int, now float64) error {
	if err := d.check(client, now); err != nil {
		return err
	}
	if !d.gone[client] {
		return fmt.Errorf("%w: client %d was not removed", ErrUnknown, client)
	}
	d.now = now
	d.gone[client], d.started[client] = false, false
	return nil
}

// Open returns the number of sites that no client has observed.
func (d *Dispatcher) Open() int { return d.open }
