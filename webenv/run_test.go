package webenv

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv/internal/check"
)

// script asks for a list of pages, and checks the order of what it is told.
type script struct {
	t     require.TestingT
	pages []int
	asked []int // of each page, not yet answered
	now   float64
	given int
}

func (s *script) at(now float64) {
	require.GreaterOrEqual(s.t, now, s.now, "time went back")
	s.now = now
}

func (s *script) Next(now float64) (int, error) {
	s.at(now)
	page := s.pages[0]
	s.pages = s.pages[1:]
	s.asked[page]++
	return page, nil
}

func (s *script) answer(page int, now float64) error {
	s.at(now)
	s.asked[page]--
	require.GreaterOrEqual(s.t, s.asked[page], 0, "nobody asked")
	return nil
}

func (s *script) Observe(page int, now float64, _ bool) error { return s.answer(page, now) }

func (s *script) GiveBack(page int, now float64) error {
	s.given++
	return s.answer(page, now)
}

// propRun compares a Run over a random history with an account that cuts time at
// every event: between two of them each page is current or not, and its age
// grows linearly. It is long because every setting of a run changes that account.
func propRun(t *rapid.T) {
	h := drawHistory(t)
	n := h.Len()
	const start = 1.5
	// The environment may have started before the run.
	envStart := start - float64(rapid.IntRange(0, 1).Draw(t, "before"))*3
	env, err := NewReplay(h, envStart)
	require.NoError(t, err)

	sched := &script{t: t, asked: make([]int, n), now: start}
	budget := rapid.IntRange(1, 30).Draw(t, "budget")
	for range budget {
		sched.pages = append(sched.pages, rapid.IntRange(0, n-1).Draw(t, "page"))
	}
	opt := RunConfig{
		Start:    start,
		Rate:     float64(rapid.IntRange(1, 6).Draw(t, "rate")) / 2,
		Polls:    budget,
		Duration: float64(rapid.IntRange(0, 240).Draw(t, "eighths")) / 8,
		Buckets:  rapid.IntRange(0, 7).Draw(t, "buckets"),
	}
	weight := func(int) float64 { return 1 }
	if rapid.Bool().Draw(t, "weighted") {
		for i := range n {
			opt.Weights = append(opt.Weights, float64(rapid.IntRange(min(i, 1), 9).Draw(t, "weight")))
		}
		opt.Weights[0]++
		weight = func(i int) float64 { return opt.Weights[i] }
	}
	var latencies []float64
	if rapid.Bool().Draw(t, "late") {
		opt.Latency = func(int) float64 {
			latencies = append(latencies, float64(rapid.IntRange(0, 12).Draw(t, "latency"))/4)
			return latencies[len(latencies)-1]
		}
	}
	lossy := rapid.IntRange(0, 3).Draw(t, "lossy") == 0
	if lossy {
		opt.Loss, opt.Source = 0.3, check.Source(1)
	}
	duration := opt.Duration
	if duration == 0 {
		duration = float64(budget) / opt.Rate
	}
	var polls []Poll
	opt.OnPoll = func(p Poll) { polls = append(polls, p) }
	var progress []float64
	opt.Progress = func(done float64) { progress = append(progress, done) }

	got, err := Run(env, sched, opt)
	require.NoError(t, err)

	// The polls asked for, and the times of the answers.
	asked := 0
	for k := 1; k <= budget && float64(k)/opt.Rate <= duration; k++ {
		asked++
	}
	require.Equal(t, budget-asked, len(sched.pages))
	require.Equal(t, asked, got.Polls+got.Lost)
	require.Equal(t, got.Lost, sched.given)
	require.Equal(t, make([]int, n), sched.asked, "each ask was answered or given back")
	if asked > 0 {
		require.Equal(t, 1.0, progress[len(progress)-1])
	}
	require.Len(t, polls, got.Polls)
	end := start + duration
	if !lossy {
		inTime := 0
		for k := 1; k <= asked; k++ {
			at := start + float64(k)/opt.Rate
			if opt.Latency != nil {
				at += latencies[k-1]
			}
			if at <= end {
				inTime++
			}
		}
		require.Equal(t, inTime, got.Polls)
	}

	want := Result{Polls: len(polls), Lost: got.Lost, Curve: make([]Bucket, opt.Buckets)}
	width := duration / float64(opt.Buckets)
	for _, p := range polls {
		require.LessOrEqual(t, p.Time, end)
		if p.Changed {
			want.Detected++
			want.Value += weight(p.Page)
		}
	}
	total, stale, age, changes, delay := 0.0, 0.0, 0.0, 0.0, 0.0
	for page := range n {
		total += weight(page)
		// An event is a change or a poll; the last is the end.
		copied := envStart
		for i := 0; ; {
			for i < len(polls) && polls[i].Page != page {
				i++
			}
			until := end
			if i < len(polls) {
				until = polls[i].Time
			}
			first := math.Inf(1)
			for _, at := range h.Times[page] {
				if at > copied && at <= until {
					first = min(first, at)
					changes += weight(page)
					delay += weight(page) * (until - max(at, start))
				}
			}
			if i < len(polls) {
				require.Equal(t, !math.IsInf(first, 1), polls[i].Changed)
			}
			if first <= until {
				first = max(first, start)
				stale += weight(page) * (until - first)
				age += weight(page) * (until - first) * (until - first) / 2
				for b := range want.Curve {
					from, to := start+float64(b)*width, start+float64(b+1)*width
					want.Curve[b].Freshness += weight(page) * max(min(until, to)-max(first, from), 0)
				}
			}
			if i == len(polls) {
				break
			}
			copied = until
			i++
		}
	}
	for b := range want.Curve {
		c := &want.Curve[b]
		c.End = start + float64(b+1)*width
		c.Freshness = 1 - c.Freshness/(total*width)
		require.InDelta(t, c.Freshness, got.Curve[b].Freshness, 1e-9)
		require.InDelta(t, c.End, got.Curve[b].End, 1e-9)
		sum, detected := 0, 0
		for _, x := range got.Curve[:b+1] {
			sum += x.Polls
			detected += x.Detected
		}
		for _, p := range polls {
			if p.Time <= got.Curve[b].End || b == len(got.Curve)-1 {
				sum--
				if p.Changed {
					detected--
				}
			}
		}
		require.Zero(t, sum)
		require.Zero(t, detected)
	}
	require.Equal(t, want.Detected, got.Detected)
	require.Equal(t, want.Value, got.Value)
	require.InDelta(t, 1-stale/(total*duration), got.Freshness, 1e-9)
	require.InDelta(t, age/(total*duration), got.Age, 1e-9)
	require.InDelta(t, delay/max(changes, 1e-300), got.Delay, 1e-9)
}

func TestRun(t *testing.T) { t.Parallel(); rapid.Check(t, propRun) }

func FuzzRun(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propRun)) }

// A Poisson page of rate λ polled each g is fresh for (1−e^(−v))/v of the time,
// v = λg, and its age is g·(1/2 − 1/v + (1−e^(−v))/v²) (Cho and Garcia-Molina
// 2003, section 4).
func TestRunPoisson(t *testing.T) {
	t.Parallel()
	const pages, rounds = 50, 1000
	const rate, gap = 0.4, 3.0
	env, err := NewPoisson(slices.Repeat([]float64{rate}, pages), check.Source(1))
	require.NoError(t, err)
	// Page i is polled first at (i+1)·gap/pages, so that all but the first gap
	// of a page are whole ones; the first and the last, cut off, are 1 in 1000
	// together, and change the mean by less than a tenth of a standard error.
	var fresh, age check.Sample
	result, err := Run(env, &roundRobin{pages: pages}, RunConfig{Rate: pages / gap, Polls: pages * rounds, OnPoll: func(p Poll) {
		stale := 0.0
		if p.Changed {
			stale = p.Time - p.Since
		}
		if p.Time > gap {
			fresh.Add(1 - stale/gap)
			age.Add(stale * stale / 2 / gap)
		}
	}})
	require.NoError(t, err)
	const v = rate * gap
	wantFresh := (1 - math.Exp(-v)) / v
	wantAge := gap * (0.5 - 1/v + (1-math.Exp(-v))/(v*v))
	fresh.RequireMean(t, wantFresh)
	age.RequireMean(t, wantAge)
	require.InDelta(t, fresh.Mean(), result.Freshness, 1.0/rounds)
	require.InDelta(t, age.Mean(), result.Age, gap/rounds)
	require.Equal(t, pages*rounds, result.Polls)
	require.Equal(t, float64(result.Detected), result.Value)
}

// Lost answers are as many as Loss says.
func TestRunLoss(t *testing.T) {
	t.Parallel()
	const polls = 20_000
	env, err := NewPoisson([]float64{1, 1, 1}, check.Source(1))
	require.NoError(t, err)
	result, err := Run(env, &roundRobin{pages: 3}, RunConfig{Rate: 1, Polls: polls, Loss: 0.2, Source: check.Source(2)})
	require.NoError(t, err)
	require.Equal(t, polls, result.Polls+result.Lost)
	require.InDelta(t, 0.2*polls, result.Lost, check.Critical*math.Sqrt(polls*0.2*0.8))
}

// The number of polls is that of the k with k/Rate ≤ Duration, however the
// product of Rate and Duration is rounded.
func TestRunPolls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1e-3, 1e3).Draw(t, "rate")
		k := rapid.IntRange(1, 1e6).Draw(t, "k")
		r := run{cfg: RunConfig{Rate: rate, Duration: float64(k) / rate}}
		require.Equal(t, k, must(r.polls()))
		r.cfg.Duration = math.Nextafter(r.cfg.Duration, 0)
		require.Equal(t, k-1, must(r.polls()))
		r.cfg.Polls = 1
		require.Equal(t, min(k-1, 1), must(r.polls()))
	})
}

// A duration with room for more polls than can be told apart is refused, unless Polls bounds them.
func TestRunTooManyPolls(t *testing.T) {
	t.Parallel()
	for _, c := range []RunConfig{{Duration: 1e19}, {Duration: 10, Rate: 1e300}, {Duration: 1e300, Rate: 1e300}, {Duration: 1 << 53}} {
		env := must(NewPoisson([]float64{1e-300}, check.Source(1)))
		_, err := Run(env, &roundRobin{pages: 1}, c)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "polls, in a duration of")
		c.Polls = 7
		require.Equal(t, 7, must(Run(env, &roundRobin{pages: 1}, c)).Polls)
	}
	r := run{cfg: RunConfig{Rate: 1, Duration: 1<<53 - 1}}
	require.Equal(t, 1<<53-1, must(r.polls()))
}

// A change before Start counts as if it came at Start, in a record and in a simulation.
func TestRunDelayOfEarlyChanges(t *testing.T) {
	t.Parallel()
	cfg := RunConfig{Start: 10, Duration: 100, Rate: 0.005}
	once := must(NewReplay(&History{Names: []string{"home"}, Times: [][]float64{{5}}}, 0))
	got := must(Run(once, &roundRobin{pages: 1}, cfg))
	require.Zero(t, got.Freshness)
	require.Equal(t, 100.0, got.Delay)

	slots := make([]float64, 110) // as those of a page that changes in each slot
	for k := range slots {
		slots[k] = float64(k + 1)
	}
	replay := must(NewReplay(&History{Names: []string{"home"}, Times: [][]float64{slots}}, 0))
	certain := must(NewSlots([]float64{1}, AtMostOnce, 0, check.Source(1)))
	want := (10*100 + 99*100/2.) / 110
	require.InDelta(t, want, must(Run(replay, &roundRobin{pages: 1}, cfg)).Delay, 1e-9)
	require.InDelta(t, want, must(Run(certain, &roundRobin{pages: 1}, cfg)).Delay, 1e-9)
}

// A page that changes without end has no mean delay, and matters only if it weighs anything.
func TestRunDelayWithoutEnd(t *testing.T) {
	t.Parallel()
	run := func(weights ...float64) Result {
		env := must(NewSlots([]float64{1, 0.5}, PoissonInSlot, 0, check.Source(1)))
		return must(Run(env, &roundRobin{pages: 2}, RunConfig{Polls: 20, Weights: weights}))
	}
	require.True(t, math.IsNaN(run(1, 1).Delay))
	require.Positive(t, run(0, 1).Delay)
	require.Less(t, run(0, 1).Delay, 20.0)
}

// The unit of the weights shows in Value alone, however great or small it is.
func TestRunWeightUnit(t *testing.T) {
	t.Parallel()
	account := func(unit float64) Result {
		env := must(NewPoisson([]float64{1e-8, 1e-8, 2e-8}, check.Source(1)))
		r := must(Run(env, &roundRobin{pages: 3}, RunConfig{Rate: 1e-7, Duration: 1e9, Buckets: 3, Weights: []float64{3 * unit, unit, 0}}))
		r.Value /= unit
		return r
	}
	want := account(1)
	require.Positive(t, want.Delay)
	for _, unit := range []float64{0x1p-1074, 0x1p-600, 8, 0x1p1010} {
		require.Equal(t, want, account(unit))
	}
}

// The unit of time shows in ages, delays and dates alone, however long or short a run is.
func TestRunTimeUnit(t *testing.T) {
	t.Parallel()
	account := func(unit float64, weights []float64) Result {
		h := &History{Times: [][]float64{{unit, 2 * unit, 7 * unit}, {3 * unit}, {}}}
		r := must(Run(must(NewReplay(h, 0)), &roundRobin{pages: 3}, RunConfig{Rate: 1 / unit, Duration: 8 * unit, Buckets: 2, Weights: weights}))
		r.Age, r.Delay = r.Age/unit, r.Delay/unit
		for i := range r.Curve {
			r.Curve[i].End /= unit
		}
		return r
	}
	for _, weights := range [][]float64{nil, {3, 1e-9, 0}} {
		want := account(1, weights)
		require.Positive(t, want.Age)
		require.Positive(t, want.Delay)
		for _, unit := range []float64{0x1p-1000, 0x1p-500, 0x1p-400, 0x1p600, 0x1p1020} {
			require.Equal(t, want, account(unit, weights), "a unit of %v", unit)
		}
	}
}

// At a late start floats are far apart. The account is that of the time between the floats at which
// the run starts and ends.
func TestRunLateStart(t *testing.T) {
	t.Parallel()
	const start = 1 << 54 // floats are 4 apart
	h := &History{Times: [][]float64{{start + 4}}}
	r := must(Run(must(NewReplay(h, start)), &roundRobin{pages: 1}, RunConfig{Start: start, Duration: 10.5, Rate: 1e-9, Buckets: 1}))
	require.InDelta(t, 1-8.0/12, r.Freshness, 1e-15)
	require.InDelta(t, 64.0/2/12, r.Age, 1e-15)
	require.InDelta(t, 1-8.0/12, r.Curve[0].Freshness, 1e-15)
	require.EqualValues(t, start+12, r.Curve[0].End)

	// A run that is stopped before the time has moved at all was never stale.
	r, err := Run(must(NewReplay(h, start)), &failing{nextErr: ErrUnknown, roundRobin: roundRobin{pages: 1}}, RunConfig{Start: start, Duration: 10})
	require.ErrorIs(t, err, ErrUnknown)
	require.Equal(t, Result{Freshness: 1, Curve: []Bucket{}}, r)
}

type failing struct {
	roundRobin
	nextErr, observeErr, backErr error
	page                         int
}

func (f *failing) Next(now float64) (int, error) {
	page, _ := f.roundRobin.Next(now)
	if now >= 5 {
		return page + f.page, f.nextErr
	}
	return page, nil
}

func (f *failing) Observe(_ int, now float64, _ bool) error {
	if now >= 5 {
		return f.observeErr
	}
	return nil
}

func (f *failing) GiveBack(int, float64) error { return f.backErr }

// Progress is told at every hundredth of the polls, and at the end.
func TestRunProgress(t *testing.T) {
	t.Parallel()
	env, err := NewPoisson([]float64{1, 2}, check.Source(1))
	require.NoError(t, err)
	var told []float64
	cfg := RunConfig{Rate: 1, Polls: 350, Progress: func(done float64) { told = append(told, done) }}
	_, err = Run(env, &roundRobin{pages: 2}, cfg)
	require.NoError(t, err)
	require.Len(t, told, 117, "every third poll, and the last one")
	for k, done := range told {
		require.Equal(t, min(1, float64(3*(k+1))/350), done)
	}
}

func TestRunErrors(t *testing.T) {
	t.Parallel()
	env := func() Env {
		e, err := NewPoisson([]float64{1, 2}, check.Source(1))
		require.NoError(t, err)
		return e
	}
	good := RunConfig{Rate: 1, Polls: 10}
	broken := errors.New("broken")
	for polls, f := range map[int]*failing{4: {nextErr: broken}, 5: {observeErr: broken}} {
		f.pages = 2
		cfg := good
		cfg.Buckets = 4
		result, err := Run(env(), f, cfg)
		require.ErrorIs(t, err, broken)
		require.EqualError(t, err, "webenv: run stopped at time 5: broken")
		// The account is that of a run that ends then.
		want, err := Run(env(), &roundRobin{pages: 2}, RunConfig{Polls: polls, Duration: 5, Buckets: 2})
		require.NoError(t, err)
		require.Equal(t, want, result)
	}
	waiting := good
	waiting.Latency = func(page int) float64 { return float64(1 + 99*page) }
	result, err := Run(env(), &failing{roundRobin: roundRobin{pages: 2}, nextErr: broken}, waiting)
	require.ErrorIs(t, err, broken)
	require.Equal(t, []int{2, 2}, []int{result.Polls, result.Lost})
	lossy := good
	lossy.Loss, lossy.Source = 1, check.Source(1)
	_, err = Run(env(), &failing{roundRobin: roundRobin{pages: 2}, backErr: broken}, lossy)
	require.EqualError(t, err, "webenv: run stopped at time 1: broken")
	// The same where answers arrive between two polls, at the end, and too late.
	for _, c := range []struct {
		latency, loss float64
		f             failing
		time          string
	}{
		{0.5, 0, failing{observeErr: broken}, "5.5"}, {2.5, 1, failing{backErr: broken}, "3.5"},
		{4, 0, failing{observeErr: broken}, "5"}, {20, 0, failing{backErr: broken}, "10"},
		{9, 1, failing{backErr: broken}, "10"},
	} {
		late := good
		late.Latency, late.Loss, late.Source = func(int) float64 { return c.latency }, c.loss, check.Source(1)
		c.f.pages = 2
		_, err := Run(env(), &c.f, late)
		require.EqualError(t, err, "webenv: run stopped at time "+c.time+": broken")
	}
	for _, page := range []int{7, -7} {
		_, err = Run(env(), &failing{roundRobin: roundRobin{pages: 2}, page: page}, good)
		require.ErrorIs(t, err, ErrUnknown)
	}

	nan, inf := math.NaN(), math.Inf(1)
	for _, change := range []func(*RunConfig){
		func(o *RunConfig) { o.Rate = -1 },
		func(o *RunConfig) { o.Rate = nan },
		func(o *RunConfig) { o.Rate = inf },
		func(o *RunConfig) { o.Start = nan },
		func(o *RunConfig) { o.Start = inf },
		func(o *RunConfig) { o.Start = -inf },
		func(o *RunConfig) { o.Start = 1e300 },
		func(o *RunConfig) { o.Polls = -1 },
		func(o *RunConfig) { o.Duration = -1 },
		func(o *RunConfig) { o.Duration = nan },
		func(o *RunConfig) { o.Duration = inf },
		func(o *RunConfig) { o.Buckets = -1 },
		func(o *RunConfig) { o.Loss = nan },
		func(o *RunConfig) { o.Loss = 1.5 },
		func(o *RunConfig) { o.Weights = []float64{1} },
		func(o *RunConfig) { o.Weights = []float64{1, -1} },
		func(o *RunConfig) { o.Weights = []float64{1, nan} },
		func(o *RunConfig) { o.Weights = []float64{0, 0} },
		func(o *RunConfig) { o.Weights = []float64{1e308, 1e308} },
	} {
		o := good
		change(&o)
		result, err := Run(env(), &roundRobin{pages: 2}, o)
		require.ErrorIs(t, err, ErrConfig, "%+v", o)
		require.Zero(t, result)
	}
	for _, latency := range []float64{nan, -1} {
		o := good
		o.Latency = func(int) float64 { return latency }
		result, err := Run(env(), &roundRobin{pages: 2}, o)
		require.ErrorIs(t, err, ErrConfig)
		require.Zero(t, result.Polls)
	}
	_, err = Run(&Replay{}, &roundRobin{pages: 2}, good)
	require.ErrorIs(t, err, ErrNoPages)
	require.Panics(t, func() {
		_, _ = Run(env(), &roundRobin{pages: 2}, RunConfig{Rate: 1, Polls: 1, Loss: 0.5})
	}, "nil source")
	require.Panics(t, func() { _, _ = Run(nil, &roundRobin{pages: 2}, good) })
	require.Panics(t, func() { _, _ = Run(env(), nil, good) })

	never := good
	never.Latency = func(int) float64 { return inf }
	result, err = Run(env(), &roundRobin{pages: 2}, never)
	require.NoError(t, err)
	require.Zero(t, result.Polls)
	require.Positive(t, result.Lost)
}

// knows is an environment whose pages change at a time of its choice.
type knows struct{ since float64 }

func (knows) Len() int { return 2 }

func (k knows) Poll(int, float64) (since float64, changed bool) { return k.since, true }

// An environment that finds a change at an impossible time gives no impossible account.
func TestRunOfABadEnvironment(t *testing.T) {
	t.Parallel()
	for _, since := range []float64{math.NaN(), math.Inf(-1), math.Inf(1), 2.5} {
		result, err := Run(knows{since}, &roundRobin{pages: 2}, RunConfig{Polls: 4})
		require.ErrorIs(t, err, ErrTime, "%v", since)
		require.Equal(t, 1.0, result.Freshness)
		require.Zero(t, result.Polls)
		_, err = Run(knows{since}, &roundRobin{pages: 2}, RunConfig{Polls: 1, Duration: 2, Loss: 1, Source: check.Source(1)})
		require.ErrorIs(t, err, ErrTime, "at the end")
	}
	result, err := Run(knows{1}, &roundRobin{pages: 2}, RunConfig{Polls: 4})
	require.NoError(t, err)
	require.Equal(t, 4, result.Detected)
}

// limited is a scheduler that may poll at every third time only.
type limited struct {
	roundRobin
	calls int
}

type notNow struct{ error }

func (notNow) NoPage() {}

func (l *limited) Next(now float64) (int, error) {
	if l.calls++; l.calls%3 != 0 {
		return 0, fmt.Errorf("wait: %w", notNow{errors.New("no page")})
	}
	return l.roundRobin.Next(now)
}

// Polls that the scheduler has no page for are not spent, and the run goes on.
func TestRunUnspent(t *testing.T) {
	t.Parallel()
	env := must(NewPoisson([]float64{1, 2}, check.Source(1)))
	got, err := Run(env, &limited{roundRobin: roundRobin{pages: 2}}, RunConfig{Polls: 32})
	require.NoError(t, err)
	require.Equal(t, []int{10, 22, 0}, []int{got.Polls, got.Unspent, got.Lost})
	env = must(NewPoisson([]float64{1, 2}, check.Source(1)))
	want, err := Run(env, &roundRobin{pages: 2}, RunConfig{Rate: 1. / 3, Polls: 10, Duration: 32})
	require.NoError(t, err)
	want.Unspent = got.Unspent
	require.Equal(t, want, got)
}

// pages is a scheduler of ids that travelled: some were removed, some given out again.
type pages struct {
	ids  []int
	next int
	told map[int]int
	lost map[int]int
}

func (p *pages) Next(float64) (int, error) {
	p.next++
	return p.ids[(p.next-1)%len(p.ids)], nil
}

func (p *pages) Observe(id int, _ float64, _ bool) error { p.told[id]++; return nil }

func (p *pages) GiveBack(id int, _ float64) error { p.lost[id]++; return nil }

// all is a scheduler that lists its pages.
type all struct{ *pages }

func (a all) All() iter.Seq[int] { return slices.Values(a.ids) }

// A learner that has removed and added pages is told of its ids, and only its pages count.
func TestRunIdsTravel(t *testing.T) {
	t.Parallel()
	const again = 1 << 32
	run := func(plain bool, cfg RunConfig, ids ...int) (Result, *pages, error) {
		env, err := NewSlots([]float64{1, 1, 1}, AtMostOnce, 0, check.Source(1))
		require.NoError(t, err)
		p := &pages{ids: ids, told: map[int]int{}, lost: map[int]int{}}
		var sched Scheduler = all{p}
		if plain {
			sched = p
		}
		result, err := Run(env, sched, cfg)
		return result, p, err
	}
	got, p, err := run(false, RunConfig{Rate: 1, Polls: 8}, again+1, 2*again)
	require.NoError(t, err)
	require.Equal(t, map[int]int{again + 1: 4, 2 * again: 4}, p.told)
	require.Equal(t, 8.0, got.Value)
	// Both pages change at each whole time. Page 1 is polled at 1, 3, 5 and 7, page 0 at 2, 4, 6
	// and 8: it is stale for 1 of 2 units, and page 1 from 2 to 3, … and from 8 on.
	require.Equal(t, 0.5+0.5/8, got.Freshness)

	// The third page has no say, whatever its weight.
	weighed, _, err := run(false, RunConfig{Rate: 1, Polls: 8, Weights: []float64{1, 1, 50}}, again+1, 2*again)
	require.NoError(t, err)
	require.Equal(t, got, weighed)
	// Without All it counts, and is stale all the time but the first unit.
	got, _, err = run(true, RunConfig{Rate: 1, Polls: 8}, again+1, 2*again)
	require.NoError(t, err)
	require.InDelta(t, (2*(0.5+0.5/8)+1./8)/3, got.Freshness, 1e-15)

	late := RunConfig{Rate: 1, Polls: 8, Latency: func(page int) float64 { require.Less(t, page, 3); return 2.5 }}
	_, p, err = run(false, late, again+1, 2*again)
	require.NoError(t, err)
	require.Equal(t, map[int]int{again + 1: 3, 2 * again: 2}, p.told)
	require.Equal(t, map[int]int{again + 1: 1, 2 * again: 2}, p.lost)

	_, _, err = run(false, RunConfig{})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "the scheduler has no page")
	for _, id := range []int{3, again + 3, -1} {
		for _, plain := range []bool{false, true} {
			_, _, err = run(plain, RunConfig{}, 0, id)
			require.ErrorIs(t, err, ErrUnknown)
		}
	}
}

// Of two answers that come at the same time, that to the poll asked for first is told first.
func TestRunTies(t *testing.T) {
	t.Parallel()
	env, err := NewPoisson([]float64{1, 2}, check.Source(1))
	require.NoError(t, err)
	var order []int
	_, err = Run(env, &roundRobin{pages: 2}, RunConfig{
		Polls: 8, Duration: 20, Latency: func(page int) float64 { return []float64{4, 3}[page] },
		OnPoll: func(p Poll) { order = append(order, p.Page) },
	})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 0, 1, 0, 1, 0, 1}, order)
}

// The zero settings poll each page a hundred times.
func TestRunDefaults(t *testing.T) {
	t.Parallel()
	env, err := NewPoisson([]float64{1, 2}, check.Source(1))
	require.NoError(t, err)
	result, err := Run(env, &roundRobin{pages: 2}, RunConfig{Buckets: 1})
	require.NoError(t, err)
	require.Equal(t, 200, result.Polls)
	require.Equal(t, 200.0, result.Curve[0].End)
}

// A bucket contains its end, whatever the rounding.
func TestBucketsContainTheirEnd(t *testing.T) {
	t.Parallel()
	env, err := NewPoisson([]float64{1}, check.Source(1))
	require.NoError(t, err)
	for _, rate := range []float64{0.3, 1, 3, 7} {
		polls := map[float64]int{}
		result, err := Run(env, &roundRobin{pages: 1}, RunConfig{
			Start: 1e3 * rate, Rate: rate, Polls: 10, Buckets: 5, OnPoll: func(p Poll) { polls[p.Time]++ },
		})
		require.NoError(t, err)
		begin := math.Inf(-1)
		for _, b := range result.Curve {
			want := 0
			for at := range polls {
				if begin < at && at <= b.End {
					want++
				}
			}
			require.Equal(t, want, b.Polls, "rate %v, until %v", rate, b.End)
			begin = b.End
		}
	}
}

// So it does for times that differ from ends by the last bit, where quotients are rounded both ways.
func TestBucketOfATime(t *testing.T) {
	t.Parallel()
	rng := rand.New(check.Source(1))
	for range 2000 {
		b := newBuckets(50, 100*rng.Float64(), 150*rng.Float64())
		for i, x := range b.curve[:49] {
			require.Equal(t, i, b.at(x.End))
			require.Equal(t, i+1, b.at(math.Nextafter(x.End, math.Inf(1))))
		}
	}
}
