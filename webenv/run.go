package webenv

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/internal/heap"
	"github.com/recrawl/recrawl/internal/ids"
)

// A Scheduler decides which page to poll next, and learns from the answers. The learners of package
// knapsack are schedulers. A scheduler names a page by an id whose slot, the low half of an int, is
// the page's number in the environment. So it may use the ids of a learner that adds and removes
// pages, or plain numbers from 0.
//
// A scheduler may have two more methods. [Run] calls GiveBack(page int, now float64) error when a
// page that was asked for was not polled after all or its answer never came. All() iter.Seq[int]
// returns the pages that the scheduler has.
type Scheduler interface {
	// Next returns the page to poll at time now. If no page may be polled now, it returns an error
	// that has, or wraps one that has, a method NoPage(). The *knapsack.NoPageError is one.
	Next(now float64) (page int, err error)
	// Observe reports an answer that came at time now: whether the poll found the page changed.
	Observe(page int, now float64, changed bool) error
}

// A noPage is the error of a [Scheduler] that has no page to poll now.
type noPage interface {
	error
	NoPage()
}

// A giveBacker is a [Scheduler] with the method GiveBack.
type giveBacker interface {
	GiveBack(page int, now float64) error
}

// RunConfig describes a [Run]. The zero value polls each page a hundred times on average, one
// poll per unit of time.
type RunConfig struct {
	// Start is the time at which the run starts and every page counts as fresh. It is usually the
	// start of the environment. A change before Start that no poll has seen counts as if it came at
	// Start. If Start is before the start of the environment or before an earlier poll of it, Run
	// may panic, as Poll of [Env] does.
	Start float64
	// Rate is the number of polls per unit of time; 0 means 1. Poll k = 1, 2, … is asked for at
	// Start + k/Rate.
	Rate float64
	// Duration is how long the run takes and how long freshness and age are counted. With 0 the run
	// ends with the last poll.
	Duration float64
	// Polls is the most polls. 0 means as many as Duration has room for, which must be less than
	// 2⁵³. If Duration is 0 too, it means 100 for each page.
	Polls int

	// Weights are the weights of the pages by number. Nil means equal weights.
	Weights []float64
	// Buckets is the number of equal parts of the duration in Result.Curve, 10^6 at most.
	Buckets int

	// Latency returns the time from a request for a page, given by its number, to the answer. +Inf
	// means that the answer never comes. The copy is taken at the time of the answer. If Latency is
	// nil, every answer comes at once.
	Latency func(page int) float64
	// Loss is the probability that no answer comes. If the scheduler has GiveBack, it is called at
	// the time at which the answer would have come.
	Loss float64
	// Source is the randomness that decides which answers are lost. It may be nil if Loss is 0.
	Source rand.Source

	// OnPoll, if not nil, is called with each answer, after Observe.
	OnPoll func(Poll)
	// Progress, if not nil, is called about a hundred times in a run and at its end. done is the
	// share of the polls asked for so far.
	Progress func(done float64)
}

// A Poll is the answer to a poll.
type Poll struct {
	Page    int // number of the page in the environment
	Time    float64
	Changed bool
	Since   float64 // time of the first change found, if Changed
}

// A Result is the exact account of a [Run]. It counts page-time: the time of each page times its
// weight, summed over the pages.
type Result struct {
	Polls    int // polls answered
	Detected int // polls that found a change
	Lost     int // polls whose answer was lost, or had not come by the end
	// Unspent counts the polls that were not made because the scheduler had no page to poll.
	Unspent int
	// Value counts each Detected poll with the weight of its page.
	Value float64
	// Freshness is the share of page-time in which the last copy is current.
	Freshness float64
	// Age is the mean over page-time of the age of the last copy. The age is 0 while the copy is
	// current. After that it is the time since the first change that the copy lacks (Cho and
	// Garcia-Molina 2000).
	Age float64
	// Delay is the mean time from a change to the poll that found it. All changes count, not only
	// the first after a poll, each with the weight of its page. A change before Start counts from
	// Start, unless an earlier poll has found it. A change that no poll has found counts as if it
	// were found at the end of the run. Delay is 0 if there was no change. It is NaN if the
	// environment has no method Delays (see [Env]), or if a page with a weight above 0 changes
	// without end (see [PoissonInSlot]).
	Delay float64
	// Curve has one entry for each of RunConfig.Buckets.
	Curve []Bucket
}

// A Bucket says how a run went in one of the equal parts of its duration.
type Bucket struct {
	End       float64 // time at which it ends; it contains its end
	Polls     int     // polls answered in it
	Detected  int     // polls that found a change in it
	Freshness float64 // share of its page-time in which the last copy was current
}

// Run lets a scheduler poll an environment at evenly spaced times and returns the account. At each
// time one page is polled, unless the scheduler says that no page may be polled now. That poll is
// counted as Unspent and not made up for.
//
// Any other error of the scheduler stops the run. Run then returns it with the time, and the account
// up to that time; its Curve has the parts that had ended. The error is [ErrUnknown] if the
// scheduler asks for a page that the environment does not have. It is [ErrTime] if the environment
// finds a change at a time that is not finite or after the poll.
//
// Freshness and age come from the times of change that the environment knows, not from samples. At
// the end Run looks at all pages once more, to account for the time since their last poll. That
// look is no poll in the Result, but an environment that counts polls counts it. If the scheduler
// has a method All, pages of the environment that it does not list at the start weigh nothing.
//
// # Cost
//
// Time: O(polls + pages + buckets), and O(log polls in flight) for each poll with Latency.
// Memory: nothing per poll without Latency and callbacks.
func Run(env Env, sched Scheduler, cfg RunConfig) (Result, error) {
	if env == nil || sched == nil {
		panic("webenv: Run without an environment or a scheduler")
	}
	r := run{env: env, pages: env.Len(), sched: sched, cfg: cfg}
	r.delays, _ = env.(delayer)
	if err := r.check(); err != nil {
		return Result{}, err
	}
	if err := r.weigh(); err != nil {
		return Result{}, err
	}
	polls, err := r.polls()
	if err != nil {
		return Result{}, err
	}
	if r.cfg.Duration == 0 {
		r.cfg.Duration = float64(polls) / r.cfg.Rate
	}
	r.end = cfg.Start + r.cfg.Duration
	if !(r.end > cfg.Start) || math.IsInf(r.end, 1) {
		return Result{}, fmt.Errorf("%w: a duration of %v from %v", ErrConfig, r.cfg.Duration, cfg.Start)
	}
	// At a late start floats are far apart, and the end may be rounded. The run lasts until the
	// rounded end.
	r.cfg.Duration = r.end - cfg.Start
	r.unit = scaleOf(r.cfg.Duration)
	r.buckets = newBuckets(cfg.Buckets, cfg.Start, r.cfg.Duration)
	if err := r.all(polls); err != nil {
		return r.stopped(), err
	}
	err = r.look(r.now)
	return r.sum(), err
}

// A flight is a poll whose answer has not come yet.
type flight struct {
	at   float64 // time of the answer
	seq  int     // settles ties: first asked, first answered
	id   int     // the scheduler's id of the page
	lost bool
}

// Before implements the order of a heap.Heap.
func (f flight) Before(g flight) bool { return f.at < g.at || f.at == g.at && f.seq < g.seq }

// run is the state of one Run.
type run struct {
	env    Env
	pages  int
	delays delayer // env, nil if it knows no delays
	sched  Scheduler
	cfg    RunConfig

	end      float64
	total    float64 // scaled weight of all pages
	scale    float64 // a power of two, by which weights are multiplied
	unit     float64 // a power of two, by which stale times and delays are multiplied
	rng      *rand.Rand
	inFlight heap.Heap[flight]
	sent     int
	now      float64 // time of the latest event

	result  Result
	stale   float64 // scaled page-time in which the copy was not current
	age     float64 // integral of the scaled age over scaled page-time
	changes float64 // weight of all changes
	delay   float64 // sum of their scaled delays by weight
	buckets buckets
}

// pollsPerPage is how often a run without a set length polls each page on average. That is often
// enough for the learners to settle.
const pollsPerPage = 100

// check fills in the defaults and checks the settings.
func (r *run) check() error {
	o, n := &r.cfg, r.pages
	if o.Rate == 0 {
		o.Rate = 1
	}
	if o.Duration == 0 && o.Polls == 0 {
		o.Polls = pollsPerPage * n
	}
	for _, f := range []struct {
		name string
		v    float64
		ok   bool
	}{
		{"start", o.Start, o.Start >= -math.MaxFloat64},
		{"rate", o.Rate, o.Rate > 0},
		{"duration", o.Duration, o.Duration >= 0},
		{"number of polls", float64(o.Polls), o.Polls >= 0},
		{"number of buckets", float64(o.Buckets), o.Buckets >= 0 && o.Buckets <= mostBuckets},
		{"loss", o.Loss, o.Loss >= 0 && o.Loss <= 1},
	} {
		if !f.ok || math.IsInf(f.v, 1) {
			return fmt.Errorf("%w: %s %v", ErrConfig, f.name, f.v)
		}
	}
	if n == 0 {
		return ErrNoPages
	}
	if o.Weights != nil && len(o.Weights) != n {
		return fmt.Errorf("%w: %d weights for %d pages", ErrConfig, len(o.Weights), n)
	}
	for i, w := range o.Weights {
		if !(w >= 0 && w <= math.MaxFloat64) {
			return fmt.Errorf("%w: weight %v of page %d", ErrConfig, w, i)
		}
	}
	if o.Loss > 0 {
		r.rng = newRandom(o.Source).Rand
	}
	return nil
}

// has reports whether an id belongs to a page.
func (r *run) has(id int) bool { return id >= 0 && ids.Slot(id) < r.pages }

// unknown returns the error about an id without a page.
func (r *run) unknown(id int) error {
	return fmt.Errorf("%w: page %d of %d (id %d)", ErrUnknown, ids.Slot(id), r.pages, id)
}

// weigh sums up the weights, after setting the weights of pages that the scheduler does not have to
// 0.
func (r *run) weigh() error {
	n := r.pages
	if s, ok := r.sched.(interface{ All() iter.Seq[int] }); ok {
		has, pages := make([]bool, n), 0
		for id := range s.All() {
			if !r.has(id) {
				return r.unknown(id)
			}
			has[ids.Slot(id)] = true
			pages++
		}
		if pages == 0 {
			return fmt.Errorf("%w: the scheduler has no page", ErrConfig)
		}
		if pages < n {
			weights := slices.Repeat([]float64{1}, n)
			if r.cfg.Weights != nil {
				weights = slices.Clone(r.cfg.Weights)
			}
			for page := range weights {
				if !has[page] {
					weights[page] = 0
				}
			}
			r.cfg.Weights = weights
		}
	}
	r.total, r.scale = float64(n), 1
	if r.cfg.Weights != nil {
		r.total = 0
		for _, w := range r.cfg.Weights {
			r.total += w
		}
		if !(r.total > 0) || math.IsInf(r.total, 1) {
			return fmt.Errorf("%w: the weights sum to %v", ErrConfig, r.total)
		}
		r.scale = scaleOf(r.total)
		r.total *= r.scale
	}
	return nil
}

// scaleOf returns the power of two that brings x between ½ and 1, or a little below if x is tiny. So
// page-time, and its product with an age, neither overflow nor vanish. Scaling by a power of two
// rounds nothing.
func scaleOf(x float64) float64 {
	_, exponent := math.Frexp(x)
	return math.Ldexp(1, -max(exponent, -1000))
}

// mostPolls is the most polls that a duration may have room for. Up to that number floats
// distinguish each poll from the next.
const mostPolls = 1<<53 - 1

// polls returns the number of polls: the number of k ≥ 1 with k/Rate ≤ Duration.
func (r *run) polls() (int, error) {
	o := &r.cfg
	if o.Duration == 0 {
		return o.Polls, nil
	}
	k := math.Floor(o.Duration * o.Rate)
	// The product may be rounded across a whole number.
	if (k+1)/o.Rate <= o.Duration {
		k++
	} else if k/o.Rate > o.Duration {
		k--
	}
	if o.Polls > 0 && k > float64(o.Polls) {
		return o.Polls, nil
	}
	if k > mostPolls {
		return 0, fmt.Errorf("%w: %v polls, in a duration of %v at rate %v", ErrConfig, k, o.Duration, o.Rate)
	}
	return int(k), nil
}

// all makes the polls.
func (r *run) all(polls int) error {
	step := max(polls/100, 1)
	for k := 1; k <= polls; k++ {
		now := r.cfg.Start + float64(k)/r.cfg.Rate
		if err := r.arrive(now); err != nil {
			return err
		}
		r.now = now
		if err := r.ask(now); err != nil {
			return err
		}
		if r.cfg.Progress != nil && (k%step == 0 || k == polls) {
			r.cfg.Progress(float64(k) / float64(polls))
		}
	}
	if err := r.arrive(r.end); err != nil {
		return err
	}
	r.now = r.end
	for len(r.inFlight) > 0 {
		if err := r.lose(r.inFlight.Pop().id, r.end); err != nil {
			return err
		}
	}
	return nil
}

// ask sends one poll.
func (r *run) ask(now float64) error {
	id, err := r.sched.Next(now)
	if err != nil {
		if none := noPage(nil); errors.As(err, &none) {
			r.result.Unspent++
			return nil
		}
		return failed(now, err)
	}
	if !r.has(id) {
		return failed(now, r.unknown(id))
	}
	f := flight{id: id, at: now, seq: r.sent, lost: r.cfg.Loss > 0 && r.rng.Float64() < r.cfg.Loss}
	r.sent++
	if r.cfg.Latency == nil {
		return r.land(f)
	}
	page := ids.Slot(id)
	latency := r.cfg.Latency(page)
	if !(latency >= 0) {
		return failed(now, fmt.Errorf("%w: latency %v of page %d", ErrConfig, latency, page))
	}
	f.at += latency
	r.inFlight.Push(f)
	return nil
}

// arrive handles the answers that come up to now, in the order of their times.
func (r *run) arrive(now float64) error {
	for len(r.inFlight) > 0 && r.inFlight[0].at <= now {
		r.now = r.inFlight[0].at
		if err := r.land(r.inFlight.Pop()); err != nil {
			return err
		}
	}
	return nil
}

// land handles one answer.
func (r *run) land(f flight) error {
	if f.lost {
		return r.lose(f.id, f.at)
	}
	page := ids.Slot(f.id)
	since, changed, err := r.poll(page, f.at)
	if err != nil {
		return failed(f.at, err)
	}
	r.result.Polls++
	if changed {
		r.result.Detected++
		r.result.Value += r.weight(page)
		r.account(page, since, f.at)
	}
	r.buckets.poll(f.at, changed)
	if err := r.sched.Observe(f.id, f.at, changed); err != nil {
		return failed(f.at, err)
	}
	if r.cfg.OnPoll != nil {
		r.cfg.OnPoll(Poll{page, f.at, changed, since})
	}
	return nil
}

// poll polls a page of the environment.
func (r *run) poll(page int, now float64) (since float64, changed bool, err error) {
	since, changed = r.env.Poll(page, now)
	if changed && !(since >= -math.MaxFloat64 && since <= now) {
		err = fmt.Errorf("%w: the environment finds a change of page %d at %v", ErrTime, page, since)
	}
	return since, changed, err
}

// lose handles an answer that does not come.
func (r *run) lose(id int, now float64) error {
	r.result.Lost++
	if g, ok := r.sched.(giveBacker); ok {
		if err := g.GiveBack(id, now); err != nil {
			return failed(now, err)
		}
	}
	return nil
}

func failed(now float64, err error) error {
	return fmt.Errorf("webenv: run stopped at time %v: %w", now, err)
}

func (r *run) weight(page int) float64 {
	if r.cfg.Weights == nil {
		return 1
	}
	return r.cfg.Weights[page]
}

// account counts the page as not current from the first change to the time until.
func (r *run) account(page int, first, until float64) {
	since := max(first, r.cfg.Start)
	w, d := r.weight(page)*r.scale, (until-since)*r.unit
	r.stale += float64(w * d)
	r.age += float64(w * d * d / 2)
	r.buckets.stale(w, since, until)
	if r.delays != nil && w > 0 {
		changes, delay := r.delays.Delays(page, first, until)
		if first < since { // a change before Start counts from Start
			_, before := r.delays.Delays(page, first, since)
			delay -= before
		}
		r.changes += float64(w * changes)
		r.delay += float64(w * (delay * r.unit))
	}
}

// look looks at all pages at the end. It returns the first error.
func (r *run) look(end float64) (err error) {
	for page := range r.pages {
		switch since, changed, bad := r.poll(page, end); {
		case bad != nil:
			err = cmp.Or(err, failed(end, bad))
		case changed:
			r.account(page, since, end)
		}
	}
	return err
}

// stopped returns the account of a run that an error has stopped.
func (r *run) stopped() Result {
	r.result.Lost += len(r.inFlight)
	_ = r.look(r.now) // there is an error already
	r.cfg.Duration = r.now - r.cfg.Start
	ended := sort.Search(len(r.buckets.curve), func(i int) bool { return r.buckets.curve[i].End > r.now })
	res := r.sum()
	res.Curve = res.Curve[:ended]
	return res
}

// sum sums up.
func (r *run) sum() Result {
	pageTime := r.total * (r.cfg.Duration * r.unit)
	res := r.result
	res.Freshness = 1
	if pageTime > 0 { // 0 if the run was stopped at its start
		res.Freshness = 1 - r.stale/pageTime
		res.Age = r.age / pageTime / r.unit
	}
	if r.changes > 0 {
		res.Delay = r.delay / r.changes / r.unit
	}
	if r.delays == nil {
		res.Delay = math.NaN()
	}
	res.Curve = r.buckets.sum(r.total)
	return res
}
