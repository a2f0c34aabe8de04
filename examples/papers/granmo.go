package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

var granmo = paper{
	id: "granmo", name: "Granmo et al. 2006",
	title:  "Determining Optimal Polling Frequency Using a Learning Automata-based Solution to the Fractional Knapsack Problem",
	places: []string{"figure 1", "figure 2", "figure 3", "figure 4", "figure 5", "figure 6"},
	about: "The paper values a schedule by d = 1 − q^(1/x), which holds for evenly spaced polls, but it polls at random. " +
		"It does not say which of the two its axes show, so both are shown here, over whole runs. " +
		"LAKG makes all pages equally likely to have changed when polled. For random polls that is x ∝ u/(1−u), the optimum for random polls. " +
		"For even polls it is x ∝ −ln(1−u), the optimum for even polls. " +
		"Figure 4 says that LAKG passes the proportional policy and converges to near the optimum. That holds for good if LAKG is valued for polls of the kind it makes. " +
		"If it polls at random and is valued for even polls, which is what the paper describes, it holds for a while and then no longer. " +
		"The paper does not say how its Estimator polls in the phase and how it estimates. Two Estimators are shown: one polls evenly, the other at random, as LAKG does. " +
		"The second is the stronger opponent, as some of its gaps are short: pages that change often can then be told apart. " +
		"The paper does not say in which state the automata begin, and that decides how fast LAKG is at first. Here they begin at the amount nearest to 1/500, the capacity over the number of pages, if nothing else is said. " +
		"Rows “from state 1” have them begin at the least amount, as Yazidi's do. Then LAKG is quicker than the Estimator that polls evenly in figures 2 and 4, as the paper says, and runs scatter more.",
	parts: []part{
		{"granmo-exact", "what does not depend on chance", time.Second, granmoExact},
		{"granmo-static", "figures 2 to 4", 100 * time.Second, granmoStatic},
		{"granmo-dynamic", "figures 5 and 6", 70 * time.Second, granmoDynamic},
	},
}

// zipfs are the paper's environments of 500 pages, with the updates per step that it prints, and
// half a unit of their last digit.
var zipfs = []struct {
	alpha, beta, updates, within float64
	place                        string
}{{0.3, 1.5, 0.76, 0.005, "figure 2"}, {0.3, 1, 2.0, 0.05, "figure 3"}, {0.9, 1.5, 2.3, 0.05, "figure 4"}}

const zipfPages = 500

// A valuation is what some frequencies are worth, in detections per poll: if the polls of a page
// are evenly spaced, as the paper defines, and if they are drawn at random, as it polls.
type valuation struct{ even, random float64 }

// problems are those of allocating one poll per step to pages that change with probability u.
func problems(u []float64) (even, random knapsack.Problem) {
	even = knapsack.Problem{Budget: 1, Objective: knapsack.Detections, Spacing: knapsack.Even}
	random = knapsack.Problem{Budget: 1, Objective: knapsack.Detections, Spacing: knapsack.Random}
	for _, u := range u {
		even.Rates = append(even.Rates, -math.Log1p(-u))
		// A poll at random finds a change with probability 1 − x(1−u)/(1 − (1−x)(1−u)), which is
		// r/(r + x) with r = u/(1−u).
		random.Rates = append(random.Rates, u/(1-u))
	}
	return even, random
}

// value values frequencies, scaled to one poll per step.
func value(u, x []float64) (v valuation, err error) {
	total := 0.0
	for _, x := range x {
		total += x
	}
	scaled := make([]float64, len(x))
	for page, x := range x {
		scaled[page] = x / total
	}
	even, random := problems(u)
	if v.even, err = even.Value(scaled); err != nil {
		return v, err
	}
	v.random, err = random.Value(scaled)
	return v, err
}

// bounds are the policies that need no learning. best is best where polls are even, and bestRandom
// where they come at random.
type bounds struct{ uniform, proportional, best, bestRandom valuation }

func boundsOf(u []float64) (b bounds, err error) {
	even, random := problems(u)
	uniform := make([]float64, len(u))
	for page := range uniform {
		uniform[page] = 1
	}
	best, _, err := even.Optimal()
	if err != nil {
		return b, err
	}
	bestRandom, _, err := random.Optimal()
	if err != nil {
		return b, err
	}
	for _, policy := range []struct {
		v *valuation
		x []float64
	}{{&b.uniform, uniform}, {&b.proportional, u}, {&b.best, best}, {&b.bestRandom, bestRandom}} {
		if *policy.v, err = value(u, policy.x); err != nil {
			return b, err
		}
	}
	return b, nil
}

// granmoExact has the figures that do not depend on chance.
func granmoExact(*lab) ([]figure, error) {
	section := figure{place: "section III.A and C"}
	for _, x := range []struct{ every, published float64 }{{3, 0.875}, {2, 0.75}} {
		worth := knapsack.Detections.Value(knapsack.Even, math.Ln2, 1/x.every)
		section.rows = append(section.rows, exact(fmt.Sprintf("a page that stays unchanged with probability 0.5, polled every %g steps", x.every),
			"update detection probability, by knapsack.Detections.Value", "1", x.published, worth*x.every, 1e-12))
	}
	for _, z := range zipfs {
		updates := 0.0
		for _, u := range webenv.ZipfLaw(zipfPages, z.alpha, z.beta) {
			updates += u
		}
		section.rows = append(section.rows, exact(fmt.Sprintf("500 pages, α = %g, β = %g", z.alpha, z.beta), "updates", "per step",
			z.updates, updates, z.within).because("The paper calls q_k = α/k^β a probability of staying unchanged and means one of being updated: its totals follow from nothing else."))
	}
	return []figure{diagram("figure 1", "automata, scheduler and environment"), section}, nil
}

// A poller is a learner, as it is run here.
type poller struct {
	name string
	make func(l *lab, run int) (webenv.Scheduler, error)
}

func lakg(cfg knapsack.LAKGConfig) poller {
	name := fmt.Sprintf("LAKG N = %d, λ = %g", cfg.States, cfg.Lambda)
	if cfg.Start < 0 {
		name += ", from state 1"
	}
	if cfg.Spacing == knapsack.Even {
		name += ", even polls"
	}
	return poller{name, func(l *lab, run int) (webenv.Scheduler, error) {
		return knapsack.NewLAKG(zipfPages, cfg, l.source(run, 2))
	}}
}

// lakgs are the settings of the paper's figures, and lowLAKGs the same from the other end: the
// paper does not say in which state the automata begin.
var lakgs, lowLAKGs = paperLAKGs(0), paperLAKGs(-1)

func paperLAKGs(start float64) []poller {
	return []poller{
		lakg(knapsack.LAKGConfig{States: 1500, Lambda: 1.3, Start: start}), lakg(knapsack.LAKGConfig{States: 2500, Lambda: 1.3, Start: start}),
		lakg(knapsack.LAKGConfig{States: 5000, Lambda: 1.2, Start: start}),
	}
}

var (
	evenLAKG = lakg(knapsack.LAKGConfig{States: 1500, Lambda: 1.3, Spacing: knapsack.Even})
	vlakg    = poller{"VLAKG", func(l *lab, run int) (webenv.Scheduler, error) {
		return knapsack.NewVLAKG(zipfPages, knapsack.VLAKGConfig{Spacing: knapsack.Random}, l.source(run, 2))
	}}
	evenVLAKG = poller{"VLAKG, even polls", func(*lab, int) (webenv.Scheduler, error) {
		return knapsack.NewVLAKG(zipfPages, knapsack.VLAKGConfig{}, nil)
	}}
	rateFilter = poller{"RateFilter", func(*lab, int) (webenv.Scheduler, error) {
		return knapsack.NewRateFilter(zipfPages, knapsack.RateFilterConfig{Objective: knapsack.Detections})
	}}
)

// proportional is the policy that is told u, polls at random.
func proportional(u []float64) poller {
	return poller{"proportional to the true u, simulated", func(l *lab, run int) (webenv.Scheduler, error) {
		return knapsack.NewFixed(u, knapsack.Random, l.source(run, 2))
	}}
}

// A crawl is how a learner did, look by look.
type crawl struct {
	even, random []float64 // what its frequencies are worth; nil if it has none
	found        []float64 // share of the polls since the look before that found a change
}

// every is the number of polls between two looks.
const every = 2000

// poll lets a learner make so many polls, one per step.
func (l *lab) poll(cfg webenv.ZipfConfig, p poller, polls, run int) (c crawl, err error) {
	cfg.Pages = zipfPages
	env, err := webenv.NewZipf(cfg, l.source(run, 1))
	if err != nil {
		return c, err
	}
	s, err := p.make(l, run)
	if err != nil {
		return c, err
	}
	found := 0
	for k := 1; k <= polls; k++ {
		page, err := s.Next(float64(k))
		if err != nil {
			return c, err
		}
		_, changed := env.Poll(page, float64(k))
		if err := s.Observe(page, float64(k), changed); err != nil {
			return c, err
		}
		if changed {
			found++
		}
		if k%every > 0 {
			continue
		}
		c.found, found = append(c.found, float64(found)/every), 0
		v, ok, err := worth(env, s, float64(k))
		if err != nil {
			return c, err
		}
		if ok {
			c.even, c.random = append(c.even, v.even), append(c.random, v.random)
		}
	}
	return c, nil
}

// worth values the frequencies of a learner that has any.
func worth(env webenv.Simulated, s webenv.Scheduler, now float64) (v valuation, ok bool, err error) {
	learner, ok := s.(interface{ Frequency(int) (float64, error) })
	if !ok {
		return v, false, nil
	}
	u, x := make([]float64, env.Len()), make([]float64, env.Len())
	for page := range u {
		u[page] = -math.Expm1(-env.Rate(page, now))
		if x[page], err = learner.Frequency(page); err != nil {
			return v, false, err
		}
	}
	v, err = value(u, x)
	return v, true, err
}

// pollAll repeats poll.
func (l *lab) pollAll(cfg webenv.ZipfConfig, p poller, polls, runs int) ([]crawl, error) {
	if l.brief && p.name == rateFilter.name {
		polls = 10 * every // it takes longer than all the others
	}
	label := fmt.Sprintf("α = %g, β = %g: %s", cfg.Alpha, cfg.Beta, p.name)
	return replicate(label, runs, func(run int) (crawl, error) { return l.poll(cfg, p, polls, run) })
}

// estimate runs an Estimator through its phase and returns what the frequencies are worth that it
// ends with.
func (l *lab) estimate(cfg webenv.ZipfConfig, settings knapsack.EstimateFirstConfig, run int) (valuation, error) {
	cfg.Pages = zipfPages
	env, err := webenv.NewZipf(cfg, l.source(run, 1))
	if err != nil {
		return valuation{}, err
	}
	e, err := knapsack.NewEstimateFirst(zipfPages, settings, l.source(run, 2))
	if err != nil {
		return valuation{}, err
	}
	for k := 1; k <= settings.Phase; k++ {
		page, err := e.Next(float64(k))
		if err != nil {
			return valuation{}, err
		}
		_, changed := env.Poll(page, float64(k))
		if err := e.Observe(page, float64(k), changed); err != nil {
			return valuation{}, err
		}
	}
	v, _, err := worth(env, e, float64(settings.Phase))
	return v, err
}

// late returns the mean of the last quarter of a curve.
func late(c []float64) float64 {
	mean, _ := report.MeanSD(c[len(c)*3/4:])
	return mean
}

// at returns the value of a curve after so many polls.
func at(c []float64, polls int) float64 { return c[polls/every-1] }

// A readingOf says how a crawl is valued.
type readingOf struct {
	name  string
	curve func(crawl) []float64
	bound func(valuation) float64
}

var readings = []readingOf{
	{"valued for even polls", func(c crawl) []float64 { return c.even }, func(v valuation) float64 { return v.even }},
	{"valued for polls at random", func(c crawl) []float64 { return c.random }, func(v valuation) float64 { return v.random }},
}

// A field is what was measured in an environment.
type field struct {
	bounds
	lakg, low                    [][]crawl // by setting and run, low up to the last check
	even, vlakg, evenVLAKG, rate []crawl
	proportionally               []crawl
	phases                       []int
	estimator, atRandom, byRate  [][]valuation // by phase and run
}

// An opponent is an Estimator with which LAKG is compared.
type opponent struct {
	name string
	of   func(field) [][]valuation
}

var opponents = []opponent{
	{"Estimator that polls evenly", func(f field) [][]valuation { return f.estimator }},
	{"Estimator that polls at random", func(f field) [][]valuation { return f.atRandom }},
}

// checks are the numbers of polls after which LAKG is compared with an Estimator that then has ended
// its phase.
var checks = []int{10_000, 20_000, 40_000, 60_000}

func granmoStatic(l *lab) ([]figure, error) {
	runs, polls := l.runs(5, 10), pick(l, 200_000, 300_000)
	if l.brief {
		polls = 60_000
	}
	var figures []figure
	var fields []field
	for _, z := range zipfs {
		cfg := webenv.ZipfConfig{Alpha: z.alpha, Beta: z.beta}
		long := polls
		if z.place == "figure 4" && !l.brief {
			long = pick(l, 800_000, 1_000_000) // until the last of the settings has come to rest
		}
		f, err := l.field(cfg, polls, long, runs)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
		fig := figure{place: z.place, text: fmt.Sprintf("500 pages, α = %g, β = %g, one poll per step.", z.alpha, z.beta)}
		fig.rows = append(fig.rows, f.boundRows()...)
		for _, r := range readings {
			fig.charts = append(fig.charts, f.chart(fig.text, r, long))
			fig.rows = append(fig.rows, f.rows(r)...)
		}
		fig.rows = append(fig.rows, f.estimatorRows()...)
		fig.rows = append(fig.rows, f.sentences()...)
		switch z.place {
		case "figure 2":
			fig.rows = append(fig.rows, f.figure2()...)
		case "figure 3":
			fig.rows = append(fig.rows, f.figure3(fields[0])...)
		case "figure 4":
			fig.rows = append(fig.rows, f.figure4()...)
		}
		figures = append(figures, fig, f.further(z.alpha, z.beta))
	}
	// The variable-structure automaton comes after the figures, once for all environments.
	further := figure{place: "section IV (further work)", whole: true, text: "The paper names a variable structure automaton as further work. " +
		"VLAKG is one: see its documentation for the rule and for why it moves to the optimum. LAKG trades speed for accuracy by N. VLAKG is faster than the fastest " +
		"setting and about as accurate as the most accurate one. Both poll at random here, and are valued for polls at random."}
	kept := figures[:0]
	for _, f := range figures {
		if f.place == further.place {
			further.rows = append(further.rows, f.rows...)
			continue
		}
		kept = append(kept, f)
	}
	return append(kept, further), nil
}

// field measures an environment. LAKG and VLAKG, where they poll at random, make long polls.
func (l *lab) field(cfg webenv.ZipfConfig, polls, long, runs int) (f field, err error) {
	u := webenv.ZipfLaw(zipfPages, cfg.Alpha, cfg.Beta)
	if f.bounds, err = boundsOf(u); err != nil {
		return f, err
	}
	f.lakg, f.low = make([][]crawl, len(lakgs)), make([][]crawl, len(lakgs))
	for k := range lakgs {
		if f.lakg[k], err = l.pollAll(cfg, lakgs[k], long, runs); err != nil {
			return f, err
		}
		if f.low[k], err = l.pollAll(cfg, lowLAKGs[k], checks[len(checks)-1], runs); err != nil {
			return f, err
		}
	}
	if f.vlakg, err = l.pollAll(cfg, vlakg, long, runs); err != nil {
		return f, err
	}
	for _, other := range []struct {
		to *[]crawl
		p  poller
	}{{&f.even, evenLAKG}, {&f.evenVLAKG, evenVLAKG}, {&f.rate, rateFilter}, {&f.proportionally, proportional(u)}} {
		if *other.to, err = l.pollAll(cfg, other.p, polls, runs); err != nil {
			return f, err
		}
	}
	for _, phase := range []int{5000, 10_000, 20_000, 40_000, 60_000, 100_000, 150_000} {
		if phase < polls {
			f.phases = append(f.phases, phase)
		}
	}
	f.phases = append(f.phases, polls)
	for _, phase := range f.phases {
		for _, e := range []struct {
			to  *[][]valuation
			cfg knapsack.EstimateFirstConfig
		}{{&f.estimator, knapsack.EstimateFirstConfig{}}, {&f.atRandom, knapsack.EstimateFirstConfig{Spacing: knapsack.Random}}, {&f.byRate, knapsack.EstimateFirstConfig{Slot: -1}}} {
			e.cfg.Phase = phase
			v, err := replicate("Estimator", runs, func(run int) (valuation, error) { return l.estimate(cfg, e.cfg, run) })
			if err != nil {
				return f, err
			}
			*e.to = append(*e.to, v)
		}
	}
	return f, nil
}

func (f field) boundRows() (rows []Row) {
	row := func(name string, v valuation) {
		rows = append(rows, computed(name, "detections: even polls, polls at random", "per poll", []float64{v.even, v.random}))
	}
	row("uniform", f.uniform)
	row("proportional to the true u", f.proportional)
	row("optimal for even polls", f.best)
	row("optimal for polls at random", f.bestRandom)
	return rows
}

// rows are those of LAKG in a reading.
func (f field) rows(r readingOf) (rows []Row) {
	for k, p := range lakgs {
		rows = append(rows, sampled(p.name+", "+r.name, "detections in the last quarter", "per poll",
			each(f.lakg[k], func(c crawl) float64 { return late(r.curve(c)) })).
			instead("VLAKG", each(f.vlakg, func(c crawl) float64 { return late(r.curve(c)) })))
	}
	return rows
}

func (f field) estimatorRows() []Row {
	best := len(f.phases) - 1
	mean := func(v [][]valuation) []float64 {
		means := make([]float64, len(v))
		for k := range v {
			means[k], _ = report.MeanSD(each(v[k], func(v valuation) float64 { return v.random }))
		}
		return means
	}
	last := func(v [][]valuation) []float64 { return each(v[best], func(v valuation) float64 { return v.random }) }
	found := each(f.rate, func(c crawl) float64 { return late(c.found) })
	r := sampled("Estimator that polls evenly, x ∝ û as in the paper", fmt.Sprintf("detections after a phase of %d polls, polls at random", f.phases[best]), "per poll", last(f.estimator)).
		because("In the phase each page waits 500 steps for its next poll, so that pages that change nearly always by then cannot be told apart. After phases of %v polls: %s.", f.phases, report.Format(mean(f.estimator)))
	return []Row{
		r.instead("RateFilter, share of the last quarter of its polls that find a change", found),
		sampled("Estimator that polls at random, x ∝ û", r.Quantity, "per poll", last(f.atRandom)).because("After the same phases: %s.", report.Format(mean(f.atRandom))),
		sampled("Estimator that polls evenly, x ∝ λ̂", r.Quantity, "per poll", last(f.byRate)).because("Proportional to the rates: the optimum for even polls, if the estimates were right."),
		sampled(proportional(nil).name, "share of polls that find a change, last quarter", "per poll", each(f.proportionally, func(c crawl) float64 { return late(c.found) })).
			because("Computed: %.4f.", f.proportional.random).instead("RateFilter", found),
		sampled("LAKG N = 1500 that polls evenly", "share of polls that find a change, last quarter", "per poll", each(f.even, func(c crawl) float64 { return late(c.found) })).
			instead("RateFilter", found),
	}
}

// ahead compares the runs of a LAKG with an Estimator at every check.
func (f field) ahead(name string, runs []crawl, o opponent, r readingOf) Row {
	shares, least := make([]float64, len(checks)), 1.0
	from := 0 // the first check from which on LAKG is ahead on average
	for k, polls := range checks {
		ahead := 0.0
		for run, c := range runs {
			lead := at(r.curve(c), polls) - r.bound(o.of(f)[slices.Index(f.phases, polls)][run])
			if ahead += lead; lead > 0 {
				shares[k] += 1 / float64(len(runs))
			}
		}
		if least = min(least, shares[k]); ahead <= 0 {
			from = k + 1
		}
	}
	item := fmt.Sprintf("%s increases quicker than the %s (is ahead after 10,000, 20,000, 40,000 and 60,000 polls), %s", name, o.name, r.name)
	row := computed(item, "share of runs in which it holds, by number of polls", "1", shares).over(len(runs))
	if row.Published, row.Verdict = 1.0, Differs; least >= sure {
		row.Verdict = Reproduced
	}
	if from == len(checks) {
		return row.whereDiffers("On average it is behind at all four.")
	}
	return row.whereDiffers("On average it is ahead from %d polls on.", checks[from])
}

// sentences are what the text says about all of the figures.
func (f field) sentences() (rows []Row) {
	for _, o := range opponents {
		for _, r := range readings {
			for k, p := range lakgs {
				rows = append(rows, f.ahead(p.name, f.lakg[k], o, r))
			}
			for k, p := range lowLAKGs {
				rows = append(rows, f.ahead(p.name, f.low[k], o, r))
			}
		}
	}
	for _, r := range readings {
		rows = append(rows, f.accuracy(r))
	}
	return rows
}

// accuracy is the sentence that a higher N is more accurate and slower.
func (f field) accuracy(r readingOf) Row {
	var accurate []bool
	ends := make([]float64, len(lakgs))
	for run := range f.lakg[0] {
		end := func(k int) float64 { return late(r.curve(f.lakg[k][run])) }
		begin := func(k int) float64 { return at(r.curve(f.lakg[k][run]), 20_000) }
		accurate = append(accurate, end(0) < end(1) && end(1) < end(2) && begin(0) > begin(1) && begin(1) > begin(2))
		for k := range ends {
			ends[k] += end(k) / float64(len(f.lakg[0]))
		}
	}
	row := sentence("A higher N is more accurate in the end and slower (at 20,000 polls), "+r.name, accurate)
	if r.name == readings[0].name {
		return row.whereDiffers("The amounts that suit polls at random are not those that suit even polls: the closer LAKG comes to the former, the further it is from the latter.")
	}
	return row.whereDiffers("Not in all runs. On average the ends are %s.", report.Format(ends))
}

// optimum is the most that any frequencies are worth.
func (f field) optimum(r readingOf) float64 { return max(r.bound(f.best), r.bound(f.bestRandom)) }

// worthOf returns what an Estimator ends with in a run, phase by phase.
func (f field) worthOf(o opponent, r readingOf, run int) []float64 {
	return each(o.of(f), func(runs []valuation) float64 { return r.bound(runs[run]) })
}

// figure2 is what the text says about figure 2 only.
func (f field) figure2() (rows []Row) {
	for _, r := range readings {
		ratio := r.bound(f.proportional) / f.optimum(r)
		rows = append(rows,
			sentence("The proportional and the optimal policy are more or less the same (within 1 %), "+r.name, []bool{ratio > 0.99}).because("Their ratio is %.4f.", ratio),
			sentence("Both are superior to uniform (the proportional one is worth at least twice as much), "+r.name, []bool{r.bound(f.proportional) > 2*r.bound(f.uniform)}).
				because("%.4f and %.4f.", r.bound(f.proportional), r.bound(f.uniform)))
	}
	for _, o := range opponents {
		for _, r := range readings {
			steadily := make([]bool, len(f.lakg[0]))
			means := make([]float64, len(f.phases))
			for run := range steadily {
				curve := f.worthOf(o, r, run)
				steadily[run] = slices.IsSorted(curve)
				for k, v := range curve {
					means[k] += v / float64(len(steadily))
				}
			}
			rows = append(rows, sentence(fmt.Sprintf("%s increases steadily with the length of its phase (is worth more after each longer one), %s", o.name, r.name), steadily).
				because("After %v polls: %s.", f.phases, report.Format(means)).
				whereDiffers("The longest phases are worth about the same: it is near the proportional policy."))
		}
	}
	return rows
}

// figure3 is what the text says about figure 3 beside figure 2.
func (f field) figure3(figure2 field) (rows []Row) {
	for _, r := range readings {
		rows = append(rows, sentence("Uniform is more successful than in figure 2, "+r.name, []bool{r.bound(f.uniform) > r.bound(figure2.uniform)}).
			because("%.4f and %.4f.", r.bound(f.uniform), r.bound(figure2.uniform)))
		for _, o := range opponents {
			better, quicker := make([]bool, len(f.lakg[0])), make([]bool, len(f.lakg[0]))
			for run := range better {
				here, there := f.worthOf(o, r, run), figure2.worthOf(o, r, run)
				better[run] = !slices.ContainsFunc(steps(len(here), 1), func(k float64) bool { return here[int(k)-1] <= there[int(k)-1] })
				first := slices.Index(f.phases, checks[0])
				quicker[run] = here[first]/f.optimum(r) > there[first]/figure2.optimum(r)
			}
			rows = append(rows,
				sentence(fmt.Sprintf("%s is more successful than in figure 2 (after every phase), %s", o.name, r.name), better).
					whereDiffers("Not after all phases in all runs."),
				sentence(fmt.Sprintf("%s improves quicker than in figure 2 (after 10,000 polls it is nearer to the optimum), %s", o.name, r.name), quicker).
					whereDiffers("It comes near to the optimum in both, and runs scatter."))
		}
	}
	return rows
}

// figure4 is the claim of figure 4, in every reading.
func (f field) figure4() (rows []Row) {
	for _, r := range readings {
		ratio := f.optimum(r) / r.bound(f.proportional)
		rows = append(rows, sentence("The optimal policy is significantly better than the proportional one (by 3 %), "+r.name, []bool{ratio > 1.03}).
			because("By %.1f %%.", 100*(ratio-1)))
	}
	for k, p := range lakgs {
		for _, r := range readings {
			bound, best := r.bound(f.proportional), f.optimum(r)
			above := each(f.lakg[k], func(c crawl) bool { return stays(r.curve(c), bound) })
			once := each(f.lakg[k], func(c crawl) float64 { return maxOf(r.curve(c)) })
			peak, _ := report.MeanSD(once)
			rows = append(rows, sentence(fmt.Sprintf("%s breaches the bound of the proportional policy (%.4f) for good, %s", p.name, bound, r.name), above).
				because("It peaks at %.4f; the optimum is %.4f.", peak, best).
				whereDiffers("Polling at random it goes on to the optimum for random polls, which is worth %.4f if polls are even.", f.bestRandom.even))
		}
	}
	bound := f.proportional.even
	return append(rows, sentence(fmt.Sprintf("LAKG N = 1500 that polls evenly breaches the bound (%.4f) for good, valued for even polls", bound),
		each(f.even, func(c crawl) bool { return stays(c.even, bound) })).because("The optimum is %.4f.", f.best.even))
}

// stays reports whether a curve is above a bound in all of its last quarter.
func stays(curve []float64, bound float64) bool {
	for _, v := range curve[len(curve)*3/4:] {
		if v <= bound {
			return false
		}
	}
	return true
}

func maxOf(v []float64) float64 {
	most := math.Inf(-1)
	for _, x := range v {
		most = max(most, x)
	}
	return most
}

// further compares LAKG with its variable-structure successor.
func (f field) further(alpha, beta float64) figure {
	fig := figure{place: "section IV (further work)"}
	for _, t := range []int{20_000, 60_000} {
		early := func(p poller, runs []crawl) Row {
			return sampled(fmt.Sprintf("α = %g, β = %g: %s", alpha, beta, p.name), fmt.Sprintf("detections after %d polls", t), "per poll",
				each(runs, func(c crawl) float64 { return at(c.random, t) })).
				instead("VLAKG", each(f.vlakg, func(c crawl) float64 { return at(c.random, t) }))
		}
		for k, p := range lakgs {
			fig.rows = append(fig.rows, early(p, f.lakg[k]))
		}
		for k, p := range lowLAKGs {
			fig.rows = append(fig.rows, early(p, f.low[k]))
		}
	}
	for k, p := range lakgs {
		fig.rows = append(fig.rows, sampled(fmt.Sprintf("α = %g, β = %g: %s", alpha, beta, p.name), "detections in the last quarter", "per poll",
			each(f.lakg[k], func(c crawl) float64 { return late(c.random) })).
			instead("VLAKG", each(f.vlakg, func(c crawl) float64 { return late(c.random) })))
	}
	fig.rows = append(fig.rows, sampled(fmt.Sprintf("α = %g, β = %g: %s", alpha, beta, evenLAKG.name), "share of polls that find a change, last quarter", "1",
		each(f.even, func(c crawl) float64 { return late(c.found) })).
		instead("VLAKG, even polls", each(f.evenVLAKG, func(c crawl) float64 { return late(c.found) })))
	return fig
}

// chart draws a reading.
func (f field) chart(text string, r readingOf, polls int) report.Chart {
	x := steps(polls/every, every)
	c := report.Chart{Title: text + " LAKG polls at random, " + r.name, X: "polls (of the Estimator: its phase)", Y: "detections per poll"}
	curve := func(name string, crawls []crawl, main bool) {
		c.Series = append(c.Series, report.Series{Name: name, X: x, Y: report.MeanCurve(each(crawls, r.curve)), Main: main})
	}
	curve("LAKG 1500", f.lakg[0], true)
	curve("LAKG 2500", f.lakg[1], false)
	curve("LAKG 5000", f.lakg[2], true)
	curve("VLAKG", f.vlakg, true)
	for _, o := range opponents {
		e := report.Series{Name: o.name, Main: true}
		for k, phase := range f.phases {
			mean, _ := report.MeanSD(each(o.of(f)[k], r.bound))
			e.X, e.Y = append(e.X, float64(phase)), append(e.Y, mean)
		}
		c.Series = append(c.Series, e)
	}
	for _, b := range []struct {
		name string
		v    valuation
	}{{"uniform", f.uniform}, {"proportional", f.proportional}, {"optimum for even polls", f.best}, {"optimum for random polls", f.bestRandom}} {
		c.Series = append(c.Series, report.Series{Name: fmt.Sprintf("%s %.4f", b.name, r.bound(b.v)), X: []float64{every, float64(polls)},
			Y: []float64{r.bound(b.v), r.bound(b.v)}, Dashed: true})
	}
	return c
}
