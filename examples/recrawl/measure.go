package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// points is the number of points of a curve.
const points = 200

// An outcome is how a policy did: one value per run, and mean curves.
type outcome struct {
	policy    policy
	polls     int
	detected  []float64
	freshness []float64
	age       []float64 // in days or slots
	harmonic  []float64 // only where a record tells every change
	delay     []float64 // in days or slots, as harmonic
	// Curves over time, by the end of each part of it.
	time       []float64 // days or slots since the start
	cumulative []float64 // mean number of detections so far
	fresh      []float64 // mean freshness of the part
}

// An experiment is what each policy is put through.
type experiment struct {
	world     *world
	objective knapsack.Objective
	seed      uint64
	runs      int // where chance plays a role
	http      bool
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
	scheduler, err := o.policy.new(w.job(env, e.objective, rand.NewPCG(e.seed, uint64(2*run+1))))
	if err != nil {
		return fmt.Errorf("%s: %w", o.policy.name, err)
	}
	missed := newMissed(w)
	options := webenv.RunConfig{
		Start: w.start, Duration: w.duration, Polls: w.polls, Rate: w.rate,
		Buckets: points, OnPoll: missed.poll, Progress: progress,
	}
	crawl := webenv.Run
	if e.http {
		crawl = w.overHTTP
	}
	result, err := crawl(env, scheduler, options)
	if err != nil {
		return fmt.Errorf("%s: %w", o.policy.name, err)
	}
	o.add(w, result, missed, float64(runs))
	return nil
}

// add takes in one run of several.
func (o *outcome) add(w *world, r webenv.Result, missed *missed, runs float64) {
	o.polls = r.Polls
	if w.history != nil {
		harmonic, delay := missed.costs()
		o.harmonic = append(o.harmonic, harmonic)
		o.delay = append(o.delay, delay/w.longUnit())
	}
	o.detected = append(o.detected, float64(r.Detected))
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

// value returns the values by which an objective is judged, nil if they were not
// measured.
func (o *outcome) value(objective knapsack.Objective) []float64 {
	return [][]float64{o.detected, o.freshness, o.age, o.harmonic, o.delay}[objective]
}

// relative returns how many times better than another outcome this one is by an
// objective: more detections, or less staleness, age, harmonic cost or delay. It is NaN
// if that was not measured.
func (o *outcome) relative(to *outcome, objective knapsack.Objective) float64 {
	own, _ := report.MeanSD(o.value(objective))
	other, _ := report.MeanSD(to.value(objective))
	switch objective {
	case knapsack.Detections:
		return own / other
	case knapsack.Freshness:
		return (1 - other) / (1 - own)
	default:
		return other / own
	}
}

// missed sums up what needs every change of a record: the harmonic cost of a run, which
// is 1 + 1/2 + … + 1/k as long as a copy lacks k changes, and the delays of all changes.
// Without a record it does nothing.
type missed struct {
	w        *world
	next     [][]float64 // changes of each page that no poll has seen
	harmonic float64
	delay    float64
	found    int
}

func newMissed(w *world) *missed {
	m := &missed{w: w}
	if w.history == nil {
		return m
	}
	m.next = slices.Clone(w.history.Times)
	for page := range m.next {
		m.see(page, w.start)
	}
	m.harmonic, m.delay, m.found = 0, 0, 0 // the copies are made at the start
	return m
}

func (m *missed) poll(p webenv.Poll) {
	if m.next != nil {
		m.see(p.Page, p.Time)
	}
}

func (m *missed) see(page int, now float64) {
	for k := 1.0; len(m.next[page]) > 0 && m.next[page][0] <= now; k++ {
		late := now - m.next[page][0]
		m.harmonic += late / k
		m.delay += late
		m.found++
		m.next[page] = m.next[page][1:]
	}
}

// costs looks at all pages at the end, and returns the mean harmonic cost over page-time and
// the mean delay of a change.
func (m *missed) costs() (harmonic, delay float64) {
	for page := range m.next {
		m.see(page, m.w.start+m.w.duration)
	}
	return m.harmonic / (m.w.duration * float64(m.w.pages)), m.delay / float64(max(m.found, 1))
}
