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
	// Copies is how many clients may work on one site at the same time when no site waits any more.
	// Silent clients do not count. The first answer counts. 0 means 4, or 1 if Static; 1 means no
	// copies.
	Copies int
	// Patience is how many times as long as expected a client may hold a site before it counts as
	// silent (see [Dispatcher.Silent]). 0 means at least 3, and more if times turn out to differ
	// more from what is expected; if Static, it means no limit. A negative value means no limit.
	Patience float64
	// Spread is the standard deviation of the logarithm of actual over predicted durations (see
	// Score.Spread). Set it if one site of a plan may decide when the crawl ends. Clients that may
	// be the fastest for that site then do a few short sites first, as long as knowing their speeds
	// is worth more than the delay, and the site goes to the client that is then expected to finish
	// it first. Half of the spread is taken to be common to all sites of a client. 0 means no short
	// sites first; if Static, Spread has no effect.
	Spread float64
	// Static keeps clients to their own batches.
	Static bool
}

const (
	// defaultCopies was chosen among 3, 4 and 9 copies. With 4 or 9, crawls of 99 sites in which
	// everything goes wrong end 2 % earlier than with 3. In other crawls all three are within 1 %.
	// Each copy costs one more scan of a site.
	defaultCopies = 4
	// leastPatience was chosen among 2, 3 and 5. With 5, crawls in which a client dies end 2 %
	// later than with 3. With 2, crawls in which a client is three times as slow end up to 5 %
	// later, because its sites are given to others as well.
	leastPatience = 3.0
)

// resolve returns the settings with their defaults filled in, or ErrConfig.
func (cfg DispatcherConfig) resolve() (DispatcherConfig, error) {
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

// A Dispatcher hands sites out to clients while they work. Next returns the site that a client
// should scan, Observe reports that the client has finished it, and GiveBack reports that it will
// not. AddClient, RemoveClient, RestoreClient and AddSite report changes of the fleet and of the
// sites. Make one with [NewDispatcher], or with [NewPullDispatcher] if there is no plan. The
// default settings suit predictions that hold as well as predictions that do not. [Simulate] tries
// a Dispatcher out.
//
// A Dispatcher never looks at a clock: the argument now is the present time, in the unit of the
// durations, and never runs backwards. A Dispatcher is not safe for concurrent use.
//
// # Guarantees
//
// Every site is handed out until Observe reports that a client has finished it. A client never gets
// a site again that it gave back. Next returns a site as long as one waits that the client can do
// and did not give back, unless the dispatcher is Static. The state can be saved and restored at
// any time. The restored dispatcher then continues as the saved one would have.
//
// # Cost
//
// Time: O(m + log n) for Next, amortised over the sites, and O(k) more for k waiting sites that the
// client cannot do. A single call takes O(m); O(n) while few sites wait; and O(n·m + n log n) when
// the waiting sites are divided anew, at intervals that grow with their number.
//
// Memory: O(n + m), one duration for each pair of a site and a client added to a problem with
// unrelated clients, and some 20 bytes for each site that a client gave back, until the site is
// done. Removed clients count too, because they may come back.
//
// # How it works
//
// Each client works through its batch of the plan, the longest site first. The dispatcher learns
// how fast clients are compared with their predictions. It expects an overdue client to need as
// long again as it has held its site. It expects a client that should have asked to be late for as
// long again as it is already.
//
// The waiting sites are divided anew if that is expected to end them earlier. On identical and
// uniform clients all of them are divided by earliest completion. On unrelated clients a few sites
// move to a client that has none left. A client that still has no site copies the running site that
// is expected to end last.
//
// A client that holds a site for too long is silent. Its site and its batch then wait for other
// clients. Its answer still counts if it comes first.
type Dispatcher struct {
	fleet
	cfg      DispatcherConfig
	now      float64
	queue    [][]int32 // sites waiting for each client, the longest first
	pool     pool      // sites waiting for anyone, in the order of the list
	back     []int32   // sites added or given back, waiting for anyone, the longest first
	waits    []bool    // by site: whether it is in queue, pool or back
	done     []bool
	open     int // sites not done
	waiting  int // sites that wait
	client   []clientState
	all      pace // of all clients together
	misses   misses
	typical  float64 // mean predicted duration
	replaned int     // sites handed out since the last division of the waiting sites
	owed     int     // sites that must be handed out to pay for divisions that were not due
	refused  map[[2]int32]struct{}
	running  []running   // by site, for the use of spare; may be shorter than the number of sites
	looks    *work.Watch // counts looks at single sites and clients, in tests
}

// running says how many clients hold a site and are not silent, and when the site is expected to
// end.
type running struct {
	holders int
	end     float64 // when the first of them is expected to end
}

// clientState is what is known of a client.
type clientState struct {
	holds   int32   // site that it works on, or None
	since   float64 // since when it works on the site, or since when it has none
	gone    bool
	silent  bool
	started bool // has finished a site since it came
	pace    pace
	probes  int // 1 + the number of short sites that it still has to do first; 0 for no probes
}

// NewDispatcher returns a dispatcher for a plan of the problem. The durations of the problem are
// the predictions.
//
// Time: O(n·m + n log n).
func NewDispatcher(p *Problem, plan Plan, cfg DispatcherConfig) (*Dispatcher, error) {
	if err := p.Check(plan); err != nil {
		return nil, err
	}
	cfg, err := cfg.resolve()
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
	if cfg.Spread > 0 && !cfg.Static {
		d.planProbes()
	}
	return d, nil
}

// NewPullDispatcher returns a dispatcher without a plan: a client that is free takes the next site
// of the list. The list is as for [Pull]; [Problem.LongestFirst] makes one. Take it if nothing is
// known about the clients.
func NewPullDispatcher(p *Problem, list []int, cfg DispatcherConfig) (*Dispatcher, error) {
	cfg, err := cfg.resolve()
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

// Next returns the next site for a client, or [None] if it has nothing to do at the moment. After
// None, ask again when a site was added, or another client has observed a site, gave one back, was
// removed or fell silent (see [Dispatcher.Alarm]). A client holds one site at a time. The error is
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

// choose picks the next site for a client and takes it out of the list in which it waits.
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

// backFirst reports whether the longest site given back comes before the client's own sites. It
// does if it is longer, so that a long site of a removed client does not wait until the end.
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

// taken notes that a site no longer waits.
func (d *Dispatcher) taken(z int32) {
	d.waits[z] = false
	d.waiting--
	d.replaned = min(d.replaned+1, codec.MostCount)
	d.owed = max(0, d.owed-1)
}

// may reports whether a client may be given a site: the client can do it and did not give it back.
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

// spare is replicate for a client that may be given the sites for which may returns true. One pass
// over the clients counts how many work on each site and when the first of them ends. A second pass
// picks the site and resets the counts.
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
			continue // holders is 0 if the site is done or was looked at before
		}
		r := &d.running[z]
		if r.holders < d.cfg.Copies && r.end > latest && may(z) {
			site, latest = z, r.end
		}
		r.holders = 0
	}
	return site
}

// hasWork reports whether there may be a site for some client, after Next had none for another one.
// There may be if a site waits or if a running site has room for a copy.
func (d *Dispatcher) hasWork() bool {
	return d.waiting > 0 || d.spare(func(int32) bool { return true }) != None
}

// askInVain has the effect of a call of Next, at the same time as the last one, when there is no
// work for any client.
func (d *Dispatcher) askInVain(client int) {
	c := &d.client[client]
	c.since, c.probes = d.now, max(0, c.probes-1)
}

// help takes a site out of the batch of another client, although the division left it there. That
// is better than nothing, because the other client can copy it. It takes the shortest site of the
// client that is free last.
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

// Observe reports that a client finished the site that it holds. first is false if a copy was
// faster and the answer is of no use. void lists the clients whose work on the same site has become
// useless: they may give it back and ask anew. The error is ErrUnknown, ErrNotAsked or ErrTime.
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
	if d.waits[site] { // the client counted as silent
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
		delete(d.refused, [2]int32{int32(j), int32(site)}) // no client gets the site again
		if int(d.client[j].holds) == site {
			void = append(void, j)
		}
	}
	return true, void, nil
}

// GiveBack reports that a client gives back the site that it holds, unfinished. The site goes to
// another client and never to this one again. A site that all clients gave back stays open. The
// error is ErrUnknown, ErrNotAsked or ErrTime.
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

// release makes a site wait for any client. It does nothing if the site is done, if it waits
// already, or if a client that is not silent works on it.
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

// insert puts a waiting site among those given back.
func (d *Dispatcher) insert(z int32) {
	k, _ := slices.BinarySearchFunc(d.back, z, d.longer)
	d.back = slices.Insert(d.back, k, z)
}

// unassign makes the batch of a client wait for any client.
func (d *Dispatcher) unassign(client int) {
	d.back = append(d.back, d.queue[client]...)
	d.queue[client] = nil
	slices.SortFunc(d.back, d.longer)
}

// RemoveClient reports that a client is gone. The site that it holds and its batch then wait for
// any client. The error is ErrUnknown or ErrTime.
//
// Time: O(k log k) for k sites that then wait for any client.
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
