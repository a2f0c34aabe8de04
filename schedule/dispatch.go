package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/work"
)

// DispatcherConfig has the settings of a [Dispatcher]. A zero field means its default.
type DispatcherConfig struct {
	// Copies is how many clients may work on one site at the same time when nothing waits
	// any more, silent ones not counted. The first answer counts. 0 means 4, or 1 if Static;
	// 1 means no copies.
	Copies int
	// Patience is how many times as long as expected a client may hold a site before it
	// counts as silent: see [Dispatcher.Silent]. 0 means 3, more where sites are seen to
	// take times that are off by more, and without end if Static; a negative value means
	// without end.
	Patience float64
	// Spread is the standard deviation of the logarithm of actual over predicted durations:
	// Score.Spread has it. Half of it is taken to be the client's and the same for all its
	// sites. If one site of a plan decides when the crawl ends, clients that may be the
	// fastest for it do a few short sites first, as far as knowing their speeds is worth
	// more than the delay, and the site goes where it is then expected to end first. 0
	// means not to.
	Spread float64
	// Static keeps clients to their own batches.
	Static bool
}

const (
	// defaultCopies: of 3, 4 and 9 copies, the last two end crawls of 99 sites in which
	// everything goes wrong 2 % earlier, and otherwise all are within 1 %. A copy costs a
	// site a scan.
	defaultCopies = 4
	// leastPatience: with 5 instead of 3, crawls in which a client dies end 2 % later; with
	// 2, those in which one is three times as slow end up to 5 % later, as its sites are
	// given again.
	leastPatience = 3.0
)

// check returns the config with its defaults.
func (cfg DispatcherConfig) check() (DispatcherConfig, error) {
	if cfg.Copies < 0 || math.IsNaN(cfg.Patience) || !(cfg.Spread >= 0) || math.IsInf(cfg.Spread, 1) {
		return cfg, fmt.Errorf("%w: %d copies, patience %v, spread %v", ErrConfig, cfg.Copies, cfg.Patience, cfg.Spread)
	}
	if cfg.Copies == 0 {
		cfg.Copies = defaultCopies
		if cfg.Static {
			cfg.Copies = 1
		}
	}
	if cfg.Patience < 0 || cfg.Patience == 0 && cfg.Static {
		cfg.Patience = math.Inf(1)
	}
	return cfg, nil
}

// A Dispatcher hands sites out to clients while they work. Next asks what a client is to
// scan, Observe tells that it is done, and GiveBack that it will not be. AddClient,
// RemoveClient, RestoreClient and AddSite tell of what comes and goes. Make one with
// [NewDispatcher], or with [NewPullDispatcher] if there is no plan; the default settings
// suit predictions that hold and predictions that do not. [Simulate] tries it out.
//
// It never looks at a clock: now is an argument, in the unit of the durations, and never
// runs backwards. A Dispatcher is not safe for concurrent use.
//
// # Guarantees
//
// Every site is handed out until one client has observed it. A client is never given a site
// again that it gave back. As long as sites wait that a client can do and did not give back, Next
// has one for it, unless the dispatcher is Static. The state can be saved and restored at any
// time, and goes on as the saved one would have.
//
// # Cost
//
// Time: O(m) for Next, O(n) while few sites wait, and at intervals that grow with the number
// of waiting sites O(n·m + n log n) when plans are made anew; amortised over the sites,
// O(m + log n), and O(k) more for k waiting sites that the client cannot do. Memory:
// O(n + m), one duration per pair for what is added to unrelated clients, and some 20 bytes per
// client and site that it gave back, until the site is done: removed clients may come back.
//
// # How it works
//
// Each client works through its batch of the plan, the longest site first. The dispatcher
// learns how fast clients are compared with their predictions. It expects a client that is
// overdue to need as long again, and one that should have asked to be late as long again.
// When what waits can be divided such that it is expected to end earlier, it is divided
// anew: on identical and uniform clients by earliest completion, on unrelated ones by
// moving a few sites to a client that has none left. A client for which this leaves nothing copies
// the running site that is expected to end last.
//
// A client that holds a site for too long is silent: the site and the batch wait for others
// again. Its answer still counts if it comes first.
type Dispatcher struct {
	fleet
	cfg      DispatcherConfig
	now      float64
	queue    [][]int32 // sites waiting for each client, the longest first
	pool     pool      // sites waiting for anyone, in the order of the list
	back     []int32   // sites added or given back, waiting for anyone, the longest first
	waits    []bool    // the site is in one of these
	done     []bool
	open     int // sites not done
	waiting  int // sites that wait
	client   []clientState
	all      pace // of all clients together
	misses   misses
	typical  float64 // mean predicted duration
	replaned int     // sites handed out since what waits was divided
	owed     int     // sites to be handed out for divisions that were not due
	refused  map[[2]int32]struct{}
	running  []running   // of each site, as far as spare has come
	looks    *work.Watch // counts what is worked out of single clients, in tests
}

// running is what the clients that hold a site, and are not silent, are expected to do.
type running struct {
	holders int
	end     float64 // when the first of them ends
}

// clientState is what is known of a client.
type clientState struct {
	holds   int32   // site that it works on, or None
	since   float64 // from when on, or since when it holds none
	gone    bool
	silent  bool
	started bool // has finished a site since it came
	pace    pace
	probes  int // short sites that it has yet to do first, plus one
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
	for z, j := range plan {
		d.queue[j] = append(d.queue[j], int32(z))
		d.waits[z] = true
	}
	d.waiting = d.n
	for j := range d.queue {
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
		d.pool.add(int32(z))
		d.waits[z] = true
	}
	d.waiting = d.n
	return d, nil
}

func newDispatcher(p *Problem, cfg DispatcherConfig) *Dispatcher {
	d := &Dispatcher{fleet: newFleet(p), cfg: cfg, now: math.Inf(-1), open: p.n, queue: make([][]int32, p.m), pool: newPool(p.m),
		waits: make([]bool, p.n), done: make([]bool, p.n), client: make([]clientState, p.m),
		refused: make(map[[2]int32]struct{})}
	for j := range d.client {
		d.client[j] = clientState{holds: None, since: p.start[j]}
	}
	d.typical = d.mean()
	return d
}

func (d *Dispatcher) check(client int, now float64) error {
	if client < 0 || client >= d.m {
		return fmt.Errorf("%w: client %d of %d", ErrUnknown, client, d.m)
	}
	return d.checkTime(now)
}

func (d *Dispatcher) checkTime(now float64) error {
	if math.IsNaN(now) || math.IsInf(now, 0) || now < d.now {
		return fmt.Errorf("%w: %v after %v", ErrTime, now, d.now)
	}
	return nil
}

// Next returns the next site for a client, or [None] if there is nothing for it to do at
// the moment: it may ask again after others observed a site, gave one back, were removed or
// fell silent (see [Dispatcher.Alarm]). A client holds one site at a time. The error is
// ErrUnknown, ErrBusy or ErrTime.
func (d *Dispatcher) Next(client int, now float64) (site int, err error) {
	if err := d.check(client, now); err != nil {
		return None, err
	}
	c := &d.client[client]
	if c.gone {
		return None, fmt.Errorf("%w: client %d was removed", ErrUnknown, client)
	}
	if c.holds != None {
		return None, fmt.Errorf("%w: client %d, site %d", ErrBusy, client, c.holds)
	}
	d.now, c.since = now, now
	d.listen()
	z := d.choose(client)
	if z == None {
		return None, nil
	}
	c.holds = z
	return int(z), nil
}

// choose takes the next site for a client out of the list where it waits.
func (d *Dispatcher) choose(client int) int32 {
	if !d.cfg.Static {
		d.divide(client)
	}
	z := int32(None)
	if d.backFirst(client) {
		z = d.take(&d.back, client)
	}
	if z == None {
		z = d.probe(client)
	}
	for _, list := range [...]*[]int32{&d.queue[client], &d.back} {
		if z == None {
			z = d.take(list, client)
		}
	}
	if z == None {
		z = d.draw(client)
	}
	if z == None {
		z = d.replicate(client)
	}
	if z == None && !d.cfg.Static {
		z = d.help(client)
	}
	return z
}

// backFirst reports whether a site given back comes before the client's own: if it is
// longer, so that a long site of a removed client does not wait until the end.
func (d *Dispatcher) backFirst(client int) bool {
	own := d.queue[client]
	return len(d.back) > 0 && len(own) > 0 && d.duration(d.back[0], client) > d.duration(own[0], client)
}

// take removes and returns the first site of a list that the client may have.
func (d *Dispatcher) take(list *[]int32, client int) int32 {
	for k, z := range *list {
		d.looks.Spend(1)
		if d.may(client, z) {
			d.removeAt(list, k)
			return z
		}
	}
	return None
}

func (d *Dispatcher) removeAt(list *[]int32, k int) {
	d.taken((*list)[k])
	if k == 0 {
		*list = (*list)[1:]
	} else {
		*list = slices.Delete(*list, k, k+1)
	}
}

// taken notes that a site waits no more.
func (d *Dispatcher) taken(z int32) {
	d.waits[z] = false
	d.waiting--
	d.replaned = min(d.replaned+1, codec.MostCount)
	d.owed = max(0, d.owed-1)
}

// may reports whether a client may be given a site: it can do it and did not give it back.
func (d *Dispatcher) may(client int, z int32) bool {
	if len(d.refused) > 0 {
		if _, refused := d.refused[[2]int32{int32(client), z}]; refused {
			return false
		}
	}
	return !math.IsInf(d.duration(z, client), 1)
}

// replicate returns the running site that is expected to end last and has room for a copy.
func (d *Dispatcher) replicate(client int) int32 {
	return d.spare(func(z int32) bool { return d.may(client, z) })
}

// spare is replicate for a client that may be given the sites that may names. One pass over the
// clients collects how many work on each site, and when the first of them ends; another one
// picks, and leaves no holders behind.
func (d *Dispatcher) spare(may func(z int32) bool) int32 {
	if d.cfg.Copies < 2 {
		return None
	}
	if grow := d.n - len(d.running); grow > 0 {
		d.running = append(d.running, make([]running, grow)...)
	}
	for j := range d.client {
		c := &d.client[j]
		if c.holds == None || c.silent || d.done[c.holds] {
			continue
		}
		r, end := &d.running[c.holds], d.ends(j)
		if r.holders == 0 || end < r.end {
			r.end = end
		}
		r.holders++
	}
	site, latest := int32(None), math.Inf(-1)
	for j := range d.client {
		z := d.client[j].holds
		if z == None || d.client[j].silent || d.running[z].holders == 0 {
			continue // 0 if done, or looked at
		}
		r := &d.running[z]
		if r.holders < d.cfg.Copies && r.end > latest && may(z) {
			site, latest = z, r.end
		}
		r.holders = 0
	}
	return site
}

// hasWork reports whether there may be a site for some client, now that one was told that there is
// none for it: one waits, or a running one has room for a copy.
func (d *Dispatcher) hasWork() bool {
	return d.waiting > 0 || d.spare(func(int32) bool { return true }) != None
}

// askInVain has the effect of a call of Next at the time of the last one, when there is no work
// for any client.
func (d *Dispatcher) askInVain(client int) {
	c := &d.client[client]
	c.since, c.probes = d.now, max(0, c.probes-1)
}

// help takes a site for which the client was not wanted: better than nothing, as the one that
// it waits for can copy it. It is the shortest of the client that is free last.
func (d *Dispatcher) help(client int) int32 {
	from, at, latest := -1, -1, math.Inf(-1)
	for j, queue := range d.queue {
		if end := d.ends(j); end > latest {
			for k, z := range slices.Backward(queue) {
				d.looks.Spend(1)
				if d.may(client, z) {
					from, at, latest = j, k, end
					break
				}
			}
		}
	}
	if from < 0 {
		return None
	}
	z := d.queue[from][at]
	d.removeAt(&d.queue[from], at)
	return z
}

// Observe reports that a client finished the site it holds. First is false if a copy was
// faster, so that the answer is of no use. Void lists the clients whose work on the same
// site has become useless: they may give it back and ask anew. The error is ErrUnknown,
// ErrNotAsked or ErrTime.
func (d *Dispatcher) Observe(client, site int, now float64) (first bool, void []int, err error) {
	if err := d.check(client, now); err != nil {
		return false, nil, err
	}
	if site < 0 || site >= d.n {
		return false, nil, fmt.Errorf("%w: site %d of %d", ErrUnknown, site, d.n)
	}
	c := &d.client[client]
	if int(c.holds) != site {
		return false, nil, fmt.Errorf("%w: client %d, site %d", ErrNotAsked, client, site)
	}
	d.now = now
	d.learn(client, now-c.since)
	c.holds, c.since, c.silent, c.started = None, now, false, true
	if d.done[site] {
		return false, nil, nil
	}
	if d.waits[site] { // the client was taken to be silent
		for _, list := range d.lists() {
			if k := slices.Index(*list, int32(site)); k >= 0 {
				d.removeAt(list, k)
				break
			}
		}
	}
	d.done[site] = true
	d.open--
	for j := range d.client {
		delete(d.refused, [2]int32{int32(j), int32(site)}) // nobody is given it again
		if int(d.client[j].holds) == site {
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
	c := &d.client[client]
	z := c.holds
	if z == None {
		return fmt.Errorf("%w: client %d holds none", ErrNotAsked, client)
	}
	d.now = now
	c.holds, c.since, c.silent = None, now, false
	if !d.done[z] {
		d.refused[[2]int32{int32(client), z}] = struct{}{}
		d.release(z)
	}
	return nil
}

// release makes a site wait for anyone, unless it is done, waits, or a client works on it
// that is not silent.
func (d *Dispatcher) release(z int32) {
	if d.done[z] || d.waits[z] {
		return
	}
	for j := range d.client {
		if d.client[j].holds == z && !d.client[j].silent {
			return
		}
	}
	d.waits[z] = true
	d.waiting++
	d.insert(z)
}

// insert puts a site that waits among those given back.
func (d *Dispatcher) insert(z int32) {
	k, _ := slices.BinarySearchFunc(d.back, z, d.longer)
	d.back = slices.Insert(d.back, k, z)
}

// unassign makes the batch of a client wait for anyone.
func (d *Dispatcher) unassign(client int) {
	d.back = append(d.back, d.queue[client]...)
	d.queue[client] = nil
	slices.SortFunc(d.back, d.longer)
}

// RemoveClient reports that a client is gone: the site that it holds and its batch wait for
// anyone. The error is ErrUnknown or ErrTime.
//
// Time: O(k log k) for k sites given back and open.
func (d *Dispatcher) RemoveClient(client int, now float64) error {
	if err := d.check(client, now); err != nil {
		return err
	}
	c := &d.client[client]
	if c.gone {
		return fmt.Errorf("%w: client %d was removed before", ErrUnknown, client)
	}
	d.now = now
	z := c.holds
	c.gone, c.silent, c.holds, c.since, c.probes = true, false, None, now, 0
	d.unassign(client)
	if z != None {
		d.release(z)
	}
	return nil
}

// RestoreClient reports that a removed client is back. It has no batch of its own. The error
// is ErrUnknown if it was not removed, or ErrTime.
func (d *Dispatcher) RestoreClient(client int, now float64) error {
	if err := d.check(client, now); err != nil {
		return err
	}
	c := &d.client[client]
	if !c.gone {
		return fmt.Errorf("%w: client %d was not removed", ErrUnknown, client)
	}
	d.now = now
	c.gone, c.started, c.since = false, false, now
	return nil
}

// Open returns the number of sites that no client has observed.
func (d *Dispatcher) Open() int { return d.open }
