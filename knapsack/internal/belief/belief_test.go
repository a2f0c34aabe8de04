package belief

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// begun returns a model for the probability of a change, with a unit of time.
func begun(cycle float64) *Model {
	chance := NewTable(func(v float64) float64 { return -math.Expm1(-v) })
	m := NewModel(Worth{Table: chance, Chance: true, Slowest: 64})
	m.Begin(cycle)
	return &m
}

// A reference is the Bayes filter of a page in plain float64, hypothesis by
// hypothesis, with the transition matrix written out.
type reference struct {
	class, cell []int
	w           []float64
}

func newReference() *reference {
	r := new(reference)
	for class := range Classes {
		for cell := stride[class] / 2; cell < Cells; cell += stride[class] {
			r.class, r.cell = append(r.class, class), append(r.cell, cell)
			r.w = append(r.w, float64(stride[class])/(Classes*Cells))
		}
	}
	return r
}

// moved returns the weights a time gap later.
func (r *reference) moved(gap, cycle float64) []float64 {
	next := make([]float64, len(r.w))
	for i := range r.w {
		class := r.class[i]
		stay := math.Exp(-gap / (switching[class] * cycle))
		for j := range r.w {
			p := 0.0
			if r.class[j] == class {
				p = (1 - stay) * float64(stride[class]) / Cells
			}
			if i == j {
				p += stay
			}
			next[i] += r.w[j] * p
		}
	}
	return next
}

// change is the probability of a change in the gap under a hypothesis.
func (r *reference) change(m *Model, i int, gap float64) float64 {
	return -math.Expm1(-gap * math.Exp(Step*(m.slowestRate()+float64(r.cell[i]))))
}

// learn returns the probability of what was found.
func (r *reference) learn(m *Model, gap, counts float64, changed bool) (total float64) {
	r.w = r.moved(gap, m.cycle)
	for i := range r.w {
		p := r.change(m, i, counts)
		if !changed {
			p = 1 - p
		}
		r.w[i] *= p
		total += r.w[i]
	}
	for i := range r.w {
		r.w[i] /= total
	}
	return total
}

// Every step of the filter agrees with one of the reference to the accuracy of its tables: linear
// interpolation of e^(−v) in ln v over steps of h errs by at most h²/8 · max |v·e^(−v)·(1−v)|, which
// is 0.31 h²/8. So does the likelihood of every hypothesis, and their mean, by which a weight is
// divided: together a weight errs by twice that over the mean.
func TestFilterStep(t *testing.T) {
	const tableError = 0.31 * (Step / gridFine) * (Step / gridFine) / 8
	rapid.Check(t, func(t *rapid.T) {
		cycle := math.Exp(rapid.Float64Range(-15, 15).Draw(t, "log cycle"))
		m, b := begun(cycle), new(Belief)
		fresh := m.Fresh()
		m.Unpack(&fresh, b)
		want := newReference()
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		for range steps {
			gap := cycle * math.Exp(rapid.Float64Range(-7, 3).Draw(t, "log gap"))
			counts := gap * math.Exp(rapid.Float64Range(-2, 2).Draw(t, "log factor"))
			changed := rapid.Bool().Draw(t, "changed")
			m.Learn(b, gap, counts, changed)
			mean := want.learn(m, gap, counts, changed)
			for i, w := range want.w {
				got := b.w[want.class[i]][want.cell[i]]
				require.InDelta(t, w, got, 2*tableError/mean, "hypothesis %d", i)
				want.w[i] = got
			}
		}
		// The chance of a change is that of the reference.
		gap := cycle * math.Exp(rapid.Float64Range(-7, 4).Draw(t, "last gap"))
		p := 0.0
		for i, w := range want.moved(gap, cycle) {
			p += w * want.change(m, i, gap)
		}
		rates := b.Marginal(gap / cycle)
		require.InDelta(t, 1-p, m.Survival(&rates, gap), tableError)
	})
}

// Packing is right on average: the error of a log weight is at most a step each
// time, and its mean over k times is 0 within 4 standard errors, the variance of
// a number rounded at random being at most step²/4, and within the 5e-4 of stepsOf twice.
func TestPackingIsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const k = 4000
	for range 5 {
		var flat Packed
		var b Belief
		flat.unpack(&b)
		var logs []float64 // below the greatest, relative to the flat prior
		for c, step := range stride {
			for i := step / 2; i < Cells; i += step {
				x := -10 * rng.Float64()
				b.w[c][i] *= math.Exp(x)
				logs = append(logs, x)
			}
		}
		b.scale()
		top := slices.Max(logs)
		var sum [Hypotheses]float64
		for dither := range uint64(k) {
			var p Packed
			b.pack(&p, dither)
			for i, q := range p.w {
				sum[i] += -weightStep * float64(q)
				require.InDelta(t, logs[i]-top, -weightStep*float64(q), weightStep+1e-3)
			}
		}
		for i := range sum {
			require.InDelta(t, logs[i]-top, sum[i]/k, 4*weightStep/2/math.Sqrt(k)+1e-3)
		}
	}
}

// What 35 bytes a page lose: predictions of a packed filter beside the reference
// along the same 60 polls. A packed log weight makes a random walk of at most
// step/2 a poll, 0.19 in all; a prediction moves by less than a quarter of
// that times p·(1−p)... in the mean over many pages there is no bias.
func TestPackedFilterFollowsTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const pages, polls = 200, 60
	var errs, squares float64
	for page := range pages {
		m, b := begun(1), new(Belief)
		p := m.Fresh()
		want := newReference()
		rate := math.Exp(3 * rng.NormFloat64())
		for poll := range polls {
			gap := 0.3 / rate * rng.ExpFloat64()
			changed := rng.Float64() < -math.Expm1(-rate*gap)
			m.Unpack(&p, b)
			m.Learn(b, gap, gap, changed)
			m.Pack(b, &p, uint64((poll+1)*(page+1)))
			want.learn(m, gap, gap, changed)
		}
		m.Unpack(&p, b)
		mean := 0.0
		for i, w := range want.w {
			mean += w * float64(want.cell[i])
		}
		d := b.MeanCell() - mean
		errs += d
		squares += d * d
	}
	sd := math.Sqrt(squares / pages)
	require.Less(t, sd*Step, 0.1, "of a factor of e")
	require.InDelta(t, 0, errs/pages, 4*sd/math.Sqrt(pages)+0.005)
}

func TestStepsOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-600, 600).Draw(t, "ln x"))
		require.InDelta(t, math.Log(x), weightStep*float64(stepsOf(x))/(1<<logFraction), 5e-4)
	})
	require.Less(t, weightStep*float64(stepsOf(0))/(1<<logFraction), -700.0)
}

// What Value averages over packed weights is the belief's, informed by the prior. As far as a page rests it
// lands as it is told.
func TestValue(t *testing.T) {
	t.Parallel()
	h := func(v float64) float64 { return 1 - (1+v)*math.Exp(-v) }
	worths := []Worth{
		{Table: NewTable(func(v float64) float64 { return -math.Expm1(-v) }), Chance: true, Slowest: 64},
		{Table: NewTable(func(v float64) float64 { return h(v) / v }), Power: 1, Slowest: 150},
		{Table: NewTable(func(v float64) float64 { return h(v) / (v * v) }), Power: 2, Slowest: 150},
	}
	rapid.Check(t, func(t *rapid.T) {
		worth := worths[rapid.IntRange(0, len(worths)-1).Draw(t, "worth")]
		cycle := math.Exp(rapid.Float64Range(-12, 12).Draw(t, "log cycle"))
		m := NewModel(worth)
		m.Begin(cycle)
		var prior Prior
		for c := range prior {
			for k := range prior[c] {
				prior[c][k] = 1
				if !worth.Chance {
					prior[c][k] = 1 / float64(1+k)
				}
			}
		}
		landing := new(Row)
		for k := range landing {
			landing[k] = 2.0 / Cells / (Cells + 1) * float64(1+k)
		}
		m.Focus(&prior, landing)
		rests := rapid.SampledFrom([]float64{0, 0.4, 1}).Draw(t, "rests")
		var b Belief
		p := drawPolled(t, &m, cycle)
		gap := cycle * math.Exp(rapid.Float64Range(-8, 4).Draw(t, "log gap"))
		counts := gap * rapid.Float64Range(0.3, 3).Draw(t, "factor") // but not for jumps
		leaning := Leaning(rapid.Float64Range(-9, 9).Draw(t, "leaning"), 4)
		m.Unpack(&p, &b)
		b.Inform(&prior)
		b.Lean(leaning)
		times := rapid.SampledFrom([]float64{1, 0.4, 2.5}).Draw(t, "times")
		current := 0.0 // after half the gap
		for c := range b.w {
			for k, w := range b.w[c] {
				current += w * math.Exp(-m.Rate(float64(k))*times*counts/2)
			}
		}
		mean, square := 0.0, 0.0
		for c, step := range stride {
			stay := math.Exp(-gap / (cycle * switching[c]))
			for k := range Cells {
				v := counts * times * m.Rate(float64(k))
				y := -math.Expm1(-v)
				jumped := y
				if !worth.Chance {
					y = h(v) * math.Pow(counts/v, float64(worth.Power))
					jumped = y * (1 - current*math.Exp(-v/2)) / -math.Expm1(-v)
				}
				x, fresh := b.w[c][k]*stay, rests*landing[k]
				if k%step == step/2 {
					fresh += (1 - rests) * float64(step) / Cells
				}
				fresh *= b.mass[c] * (1 - stay)
				mean += x*y + fresh*jumped
				square += x*y*y + fresh*jumped*jumped
			}
		}
		got, spread := m.Value(see(&m, &p, leaning), gap, counts, times, 0, rests)
		require.InEpsilon(t, mean, got, 5e-3)
		require.InDelta(t, math.Sqrt(max(0, square-mean*mean)), spread, 5e-3*(mean+spread))
	})
}

// A plain value that is linear in the rate is that of the mean rate, where a page that jumps
// lands as it is told, and is worth more as far as it bursts.
func TestPlainValue(t *testing.T) {
	t.Parallel()
	linear := func(x float64) *Table { return NewTable(func(v float64) float64 { return x * v }) }
	worth := Worth{Table: linear(0.5), Burst: linear(1.5), Power: 1, Plain: true, Slowest: 150}
	rapid.Check(t, func(t *rapid.T) {
		cycle := math.Exp(rapid.Float64Range(-12, 12).Draw(t, "log cycle"))
		m := NewModel(worth)
		m.Begin(cycle)
		prior, landing := new(Prior), new(Row)
		landed := 0.0
		for k := range Cells {
			landing[k] = 2.0 / Cells / (Cells + 1) * float64(1+k)
			landed += landing[k] * m.Rate(float64(k))
			for c := range prior {
				prior[c][k] = 1 / float64(1+k)
			}
		}
		m.Focus(prior, landing)
		var b Belief
		p := drawPolled(t, &m, cycle)
		gap := cycle * math.Exp(rapid.Float64Range(-8, 4).Draw(t, "log gap"))
		leaning := Leaning(rapid.Float64Range(-9, 9).Draw(t, "leaning"), 4)
		m.Unpack(&p, &b)
		b.Inform(prior)
		b.Lean(leaning)
		mean, bursts := 0.0, rapid.SampledFrom([]float64{0, 0.4, 1}).Draw(t, "bursts")
		for c := range b.w {
			stay := math.Exp(-gap / (cycle * switching[c]))
			mean += b.mass[c] * (1 - stay) * landed * (1 + 2*bursts)
			for k, w := range b.w[c] {
				mean += w * stay * m.Rate(float64(k))
			}
		}
		factor := rapid.Float64Range(0.3, 3).Draw(t, "factor") // time counts by it, but not for jumps
		times := rapid.SampledFrom([]float64{1, 0.4, 2.5}).Draw(t, "times")
		got, spread := m.Value(see(&m, &p, leaning), gap, gap*factor, times, bursts, 0)
		require.InEpsilon(t, times*mean*gap*gap*factor*factor/2, got, 5e-3)
		require.Zero(t, spread)
	})
}

// What is by hypothesis stays within its class when the grid moves, and nothing is lost.
func TestSlidePrior(t *testing.T) {
	t.Parallel()
	var p, want Prior
	total := 0.0
	for c, k := range Hypothesis {
		p[c][k] = float64(1 + k + 7*c)
		total += p[c][k]
		want[c][k] = FlatWeight(c)
	}
	before := p
	p.Slide(1)
	require.Equal(t, before[Steady][3], p[Steady][7])
	require.Zero(t, p[Steady][0])
	p.Slide(-7)
	slid, flat := 0.0, 0.0
	for c := range p {
		for k, x := range p[c] {
			slid += x
			flat += want[c][k]
			require.True(t, x == 0 || want[c][k] > 0, "class %d has no cell %d", c, k)
		}
	}
	require.InEpsilon(t, total, slid, 1e-12)
	require.InEpsilon(t, 1, flat, 1e-12)
}

// Slope is the slope of detections, 1 − (1+v)·e^(−v), of their probability 1 − e^(−v).
func TestSlope(t *testing.T) {
	t.Parallel()
	m := begun(1)
	for _, v := range []float64{0.01, 0.3, 1, 4, 20} {
		require.InEpsilon(t, 1-(1+v)*math.Exp(-v), m.Slope(-math.Expm1(-v)), 1e-6)
	}
	require.InDelta(t, 1, m.Slope(1.5), 1e-12, "optimism may exceed 1")
}

// Weights sum to 1 after a prior that makes them more or less, in all and by class.
func TestInformSumsToOne(t *testing.T) {
	t.Parallel()
	m := begun(1)
	var prior Prior
	for c := range prior {
		for k := range prior[c] {
			prior[c][k] = 3 + float64(k)
		}
	}
	var p Packed
	var b Belief
	m.Unpack(&p, &b)
	b.Inform(&prior)
	sum := 0.0
	for c := range b.w {
		mass := 0.0
		for k := range b.w[c] {
			mass += b.Weight(c, k)
		}
		require.InEpsilon(t, mass, b.mass[c], 1e-12)
		sum += mass
	}
	require.InEpsilon(t, 1, sum, 1e-12)
}

// Where a difference from 1 would lose its digits, four terms of a series are within the fifth.
func TestGain(t *testing.T) {
	t.Parallel()
	for _, p := range []float64{1e-3, 1e-2, 0.0199} {
		require.InEpsilon(t, p+(1-p)*math.Log1p(-p), Gain(p), 1.2e-8, "chance %v", p)
	}
}

// A change at a known time weighs a rate by λ·e^(−λτ), one within the gap by 1 − e^(−λτ).
func TestLearnTime(t *testing.T) {
	t.Parallel()
	m := begun(1)
	fresh := m.Fresh()
	var told, before, after Belief
	m.Unpack(&fresh, &told)
	m.Unpack(&fresh, &before)
	const gap = 0.01 // too short for jumps to matter
	m.LearnTime(&told, gap, gap)
	m.Unpack(&fresh, &after)
	m.Learn(&after, gap, gap, false)
	ratio := func(k int) float64 { return told.w[Steady][k] / after.w[Steady][k] }
	for k := 1; k < Cells; k++ {
		require.InEpsilon(t, math.Exp(Step), ratio(k)/ratio(k-1), 1e-6)
	}
}

// Beliefs and numbers by cell follow the grid when the unit of time changes: rates stay what
// they are.
func TestRescale(t *testing.T) {
	t.Parallel()
	m := begun(1)
	var b Belief
	p := m.Fresh()
	m.Unpack(&p, &b)
	for range 30 {
		m.Learn(&b, 0.4, 0.4, true)
		m.Learn(&b, 0.4, 0.4, false)
	}
	m.Pack(&b, &p, 1)
	rate := func() float64 {
		m.Unpack(&p, &b)
		return math.Exp(Step * (b.MeanCell() + m.slowestRate()))
	}
	before, moves := rate(), 0
	var sum, level Row
	cell := 9
	sum[cell], level[cell] = 5, 7
	at := m.Rate(float64(cell))
	for cycle := 1.0; cycle < 20; cycle *= 1.5 {
		moved := m.Rescale(cycle)
		Slide(&sum, -moved)
		Stretch(&level, -moved)
		cell -= gridMove * moved
		moves += moved
		require.InDelta(t, m.gridStart(), m.slowestRate(), 0.75*gridMove)
	}
	require.Negative(t, moves)
	require.InEpsilon(t, before, rate(), 0.15, "what falls off the ends moves the mean a little")
	require.InEpsilon(t, at, m.Rate(float64(cell)), 1e-9)
	require.EqualValues(t, 5, sum[min(cell, Cells-1)])
	if cell < Cells {
		require.EqualValues(t, 7, level[cell])
	}
}

// Quantiles are in order and spread over the width of a cell.
func TestQuantile(t *testing.T) {
	t.Parallel()
	m := begun(1)
	x := Row{4: 0.5, 5: 0.5}
	require.InEpsilon(t, m.Rate(4.5), m.Quantile(&x, 0.5), 1e-9)
	require.InEpsilon(t, m.Rate(4), m.Quantile(&x, 0.25), 1e-9)
	require.InEpsilon(t, (m.Rate(4)+m.Rate(5))/2, m.Mean(&x), 1e-9)
	require.InEpsilon(t, m.Rate(Cells-0.5), m.Quantile(&Row{}, 0.9), 1e-9)
}

// drawPolled draws what is believed of a page after some polls.
func drawPolled(t *rapid.T, m *Model, cycle float64) Packed {
	var b Belief
	p := m.Fresh()
	for k := range rapid.IntRange(0, 12).Draw(t, "polls") {
		m.Unpack(&p, &b)
		gap := cycle * math.Exp(rapid.Float64Range(-3, 2).Draw(t, "log gap"))
		m.Learn(&b, gap, gap, rapid.Bool().Draw(t, "changed"))
		m.Pack(&b, &p, uint64(k))
	}
	return p
}
