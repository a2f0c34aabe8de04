package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/webenv"
)

// points is the number of points of a curve.
const points = 200

// An outcome is how a policy did: one value per run, and mean curves.
type outcome struct {
	policy    policy
	polls     int
	detected  []float64 // sum of the weights of the pages that had changed
	freshness []float64
	age       []float64 // in days or slots
	harmonic  []float64 // only where a record tells every change
	delay     []float64 // in days or slots; only where the web tells every change
	// Curves over time, by the end of each part of it.
	time       []float64 // days or slots since the start
	cumulative []float64 // mean number of detections so far
	fresh      []float64 // mean freshness of the part
}

// An experiment is what each policy is put through.
type experiment struct {
	world    *world
	goal     goal
	seed     uint64
	runs     int // where chance plays a role
	http     bool
	scenario scenario
	groups   string // as -groups
}

// measure lets a policy crawl the world, several times if chance plays a role.
// progress is told the share that is done.
func (e *experiment) measure(p policy, progress func(share float64)) (*outcome, error) {
	runs := e.runs
	if e.world.history != nil && !p.random || e.http {
		runs = 1
	}
	o := &outcome{policy: p}
	for run := range runs {
		err := e.run(o, run, runs, func(done float64) { progress((float64(run) + done) / float64(runs)) })
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// run lets a policy crawl the world once, as one run of several.
func (e *experiment) run(o *outcome, run, runs int, progress func(float64)) error {
	w := e.world
	// All policies meet the same web, and draw from another stream than it.
	env, err := w.open(rand.NewPCG(e.seed, uint64(2*run)))
	if err != nil {
		return err
	}
	weights := e.scenario.weights(w, rand.NewPCG(^e.seed, 0)) // the same in all runs
	job := w.job(env, e.goal.objective, rand.NewPCG(e.seed, uint64(2*run+1)))
	job.weights, job.costs = weights, e.scenario.costs(w, rand.NewPCG(^e.seed, 0))
	job.groups = cmp.Or(e.groups, "folder")
	scheduler, err := o.policy.new(job)
	if err != nil {
		return fmt.Errorf("%s: %w", o.policy.name, err)
	}
	scheduler = e.scenario.inform(scheduler, w, job)
	scheduler = heard(scheduler, e.scenario.announcements(w, rand.NewPCG(^e.seed, uint64(run+1))))
	missed := newMissed(w, weights)
	options := webenv.RunConfig{
		Start: w.start, Duration: w.duration, Polls: w.polls, Rate: w.rate, Weights: weights,
		Buckets: points, OnPoll: missed.poll, Progress: progress,
	}
	crawl := webenv.Run
	switch {
	case e.http:
		crawl = w.overHTTP
	case job.costs != nil:
		crawl = w.atCost(job.costs, missed)
	}
	result, err := crawl(env, scheduler, options)
	if err != nil {
		return fmt.Errorf("%s: %w", o.policy.name, err)
	}
	if e.http { // the server does not say
		_, result.Delay = missed.costs()
	}
	o.add(w, result, missed, float64(runs))
	return nil
}

// add takes in one run of several.
func (o *outcome) add(w *world, r webenv.Result, missed *missed, runs float64) {
	o.polls = r.Polls
	if w.history != nil {
		harmonic, _ := missed.costs()
		o.harmonic = append(o.harmonic, harmonic)
	}
	if !math.IsNaN(r.Delay) {
		o.delay = append(o.delay, r.Delay/w.longUnit())
	}
	o.detected = append(o.detected, r.Value)
	o.freshness = append(o.freshness, r.Freshness)
	o.age = append(o.age, r.Age/w.longUnit())
	if o.time == nil {
		o.time = make([]float64, len(r.Curve))
		o.cumulative = make([]float64, len(r.Curve))
		o.fresh = make([]float64, len(r.Curve))
	}
	sum := 0
	for k, bucket := range r.Curve {
		sum += bucket.Detected
		o.time[k] = (bucket.End - w.start) / w.longUnit()
		o.cumulative[k] += float64(sum) / runs
		o.fresh[k] += bucket.Freshness / runs
	}
}

// missed sums up two costs of a run over a record: the harmonic one, 1 + 1/2 + … + 1/k as
// long as a copy lacks k changes, and the delay of every change until its discovery.
// Without a record it does nothing.
type missed struct {
	w        *world
	weights  []float64   // of the pages, nil if they are equal
	next     [][]float64 // changes of each page that no poll has seen
	harmonic float64     // integral over time, sum over pages
	delay    float64     // sum over changes
	changes  float64
}

func newMissed(w *world, weights []float64) *missed {
	m := &missed{w: w, weights: weights}
	if w.history == nil {
		return m
	}
	m.next = slices.Clone(w.history.Times)
	for page := range m.next { // the copies are made at the start
		m.see(page, w.start)
	}
	m.harmonic, m.delay, m.changes = 0, 0, 0
	return m
}

func (m *missed) poll(p webenv.Poll) {
	if m.next != nil {
		m.see(p.Page, p.Time)
	}
}

func (m *missed) see(page int, now float64) {
	weight := 1.0
	if m.weights != nil {
		weight = m.weights[page]
	}
	for k := 1.0; len(m.next[page]) > 0 && m.next[page][0] <= now; k++ {
		late := now - m.next[page][0]
		m.harmonic += weight * late / k
		m.delay += weight * late
		m.changes += weight
		m.next[page] = m.next[page][1:]
	}
}

// costs looks at all pages at their end, and returns the harmonic cost in the mean over
// page-time, and the delay in the mean over changes.
func (m *missed) costs() (harmonic, delay float64) {
	for page := range m.next {
		m.see(page, m.w.life(page).to)
	}
	return m.harmonic / m.w.pageTime(m.weights), m.delay / max(m.changes, 1)
}
