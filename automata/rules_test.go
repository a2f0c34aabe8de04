package automata

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// These tests do single steps of each rule by hand, or compare many of them with
// the formula of the paper written out naively.

func probabilities(d Distribution) []float64 {
	p := make([]float64, d.Actions())
	for action := range p {
		p[action] = d.Probability(action)
	}
	return p
}

func TestLinearRule(t *testing.T) {
	t.Parallel()
	learn := func(l Distribution, reward float64) []float64 {
		require.NoError(t, l.Learn(1, reward, heads))
		return probabilities(l)
	}
	third := 1.0 / 3
	for _, c := range []struct {
		l      Distribution
		reward float64
		want   []float64
	}{
		{must(NewLinear(3, 0.3, 0)), 1, []float64{0.7 / 3, third + 0.2, 0.7 / 3}},
		{must(NewLinear(3, 0.3, 0)), 0, []float64{third, third, third}},
		{must(NewLinear(3, 0.3, 0.3)), 1, []float64{0.7 / 3, third + 0.2, 0.7 / 3}},
		{must(NewLinear(3, 0.3, 0.3)), 0, []float64{0.15 + 0.7/3, 0.7 / 3, 0.15 + 0.7/3}},
		{must(NewLinear(3, 0.3, 0.03)), 0, []float64{0.015 + 0.97/3, 0.97 / 3, 0.015 + 0.97/3}},
		// x = ½: half of each.
		{must(NewLinear(3, 0.3, 0.3)), 0.5, []float64{0.075 + 0.7/3, third + 0.1 - 0.05, 0.075 + 0.7/3}},
	} {
		require.InDeltaSlice(t, c.want, learn(c.l, c.reward), 1e-15)
	}
}

// TestLRPMean checks what is known of L_R-P with two actions: its mean
// probabilities tend to the inverse ratio of the penalties. E[p'] − E[p] =
// a·(c₂·(1−p) − c₁·p) has no variance in it, so the mean is exact in the limit.
func TestLRPMean(t *testing.T) {
	t.Parallel()
	l := must(NewLinear(2, 0.05, 0.05))
	env := must(NewPModel(0.8, 0.4))
	src := rand.NewPCG(1, 2)
	const batches, size = 200, 2000
	var means []float64
	for range batches {
		sum := 0.0
		for range size {
			sum += l.Probability(0)
			action := l.Select(src)
			require.NoError(t, l.Learn(action, env.Respond(action, src), src))
		}
		means = append(means, sum/size)
	}
	// Batches of 2000 steps are all but independent: memory lasts about 1/(0.05·0.8) = 25.
	mean, se := meanAndError(means)
	require.InDelta(t, 0.75, mean, 4.5*se)
	require.Less(t, se, 0.003)
}

func meanAndError(v []float64) (mean, se float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	n := float64(len(v))
	return mean, math.Sqrt(se / (n - 1) / n)
}

func TestDiscreteLinearRule(t *testing.T) {
	t.Parallel()
	count := func(l Distribution) []int64 { return l.(*discreteLinear).count }
	l := must(NewDLRP(3, 2)) // units of 1/6
	for _, c := range []struct {
		action int
		reward float64
		want   []int64
	}{
		{0, 1, []int64{4, 1, 1}},
		{1, 1, []int64{3, 3, 0}},
		{1, 1, []int64{2, 4, 0}},
		{1, 0, []int64{3, 2, 1}},
		{2, 0, []int64{3, 2, 1}}, // has only one to give
		{0, 0, []int64{1, 3, 2}},
	} {
		require.NoError(t, l.Learn(c.action, c.reward, heads))
		require.Equal(t, c.want, count(l))
	}
	i := must(NewDLRI(3, 2))
	require.NoError(t, i.Learn(0, 0, heads))
	require.Equal(t, []int64{2, 2, 2}, count(i))
	for range 2 {
		require.NoError(t, i.Learn(0, 0.5, heads)) // counts as a reward
		require.NoError(t, i.Learn(1, 0.5, tails)) // counts as a penalty
	}
	require.Equal(t, []int64{6, 0, 0}, count(i))
}

// TestDLRPStationary compares DL_R-P for two actions with its birth-death chain: in
// state k of 2N it goes up with (k/2N)·d₁ + (1−k/2N)·c₂.
func TestDLRPStationary(t *testing.T) {
	t.Parallel()
	const n = 4 // units of 1/8
	d := []float64{0.7, 0.4}
	up, down := make([]float64, 2*n+1), make([]float64, 2*n+1)
	chain := make([][]float64, 2*n+1)
	for k := range up {
		p := float64(k) / (2 * n)
		up[k] = p*d[0] + (1-p)*(1-d[1])
		down[k] = p*(1-d[0]) + (1-p)*d[1]
		chain[k] = make([]float64, 2*n+1)
		for _, action := range []int{0, 1} {
			for _, reward := range []float64{0, 1} {
				l := must(NewDLRP(2, n)).(*discreteLinear)
				l.count[0], l.count[1] = int64(k), int64(2*n-k)
				q := l.Probability(action) * (reward*d[action] + (1-reward)*(1-d[action]))
				require.NoError(t, l.Learn(action, reward, heads))
				if q > 0 {
					chain[k][l.count[0]] += q
				}
			}
		}
	}
	require.InDeltaSlice(t, must(BirthDeath(up, down)), stationaryOf(chain), 1e-12)
}

// TestEstimatorRules compares every continuous estimator scheme, over any answers,
// with the paper's formula for the new vector, written for one vector at a time.
func TestEstimatorRules(t *testing.T) {
	t.Parallel()
	const lambda = 0.2
	best := func(d []float64) int {
		h := 0
		for i := range d {
			if d[i] >= d[h] {
				h = i
			}
		}
		return h
	}
	pursue := func(p, d []float64, i int, rate float64) []float64 {
		next := make([]float64, len(p))
		for j := range p {
			next[j] = (1 - rate) * p[j]
		}
		next[best(d)] += rate
		return next
	}
	rules := map[string]struct {
		make func(r int) Estimator
		next func(p, d []float64, i int, reward float64) []float64
	}{
		"CP_RP": {
			func(r int) Estimator { return must(NewCPRP(r, lambda, 1)) },
			func(p, d []float64, i int, reward float64) []float64 { return pursue(p, d, i, lambda) },
		},
		"CP_RI": {
			func(r int) Estimator { return must(NewCPRI(r, lambda, 1)) },
			func(p, d []float64, i int, reward float64) []float64 { return pursue(p, d, i, lambda*reward) },
		},
		"GPA": {
			func(r int) Estimator { return must(NewGPA(r, lambda, 1)) },
			func(p, d []float64, i int, reward float64) []float64 { return gpaRule(p, d, i, lambda) },
		},
		"DP_RP": {
			func(r int) Estimator { return must(NewDPRP(r, 7, 1)) },
			func(p, d []float64, i int, reward float64) []float64 { return discretePursuitRule(p, best(d), 7) },
		},
		"DP_RI": {
			func(r int) Estimator { return must(NewDPRI(r, 7, 1)) },
			func(p, d []float64, i int, reward float64) []float64 {
				if reward == 0 {
					return p
				}
				return discretePursuitRule(p, best(d), 7)
			},
		},
		"DBPA": {
			func(r int) Estimator { return must(NewDBPA(r, 7, 1)) },
			nil, // its estimates are quantiles; below
		},
		"DGPA": {
			func(r int) Estimator { return must(NewDGPA(r, 7, 1)) },
			func(p, d []float64, i int, reward float64) []float64 { return dgpaRule(p, d, i, 7) },
		},
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			tolerance := 1e-12
			if name == "DGPA" { // shares of less than Δ are rounded to whole units
				tolerance = 1.0 / (7 * stepUnits)
			}
			rapid.Check(t, func(t *rapid.T) {
				r := rapid.IntRange(2, 6).Draw(t, "actions")
				a := rule.make(r)
				src := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)
				for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
					i := a.Select(src)
					if rapid.Bool().Draw(t, "late") && step > r {
						i = rapid.IntRange(0, r-1).Draw(t, "action")
					}
					reward := float64(rapid.IntRange(0, 1).Draw(t, "reward"))
					if _, ok := a.(*pursuit); ok { // the others draw at such rewards
						reward = answers.Draw(t, "any reward")
					}
					p := probabilities(a)
					require.NoError(t, a.Learn(i, reward, src))
					want := p
					if step >= r {
						d := make([]float64, r)
						for j := range d {
							d[j], _ = a.Estimate(j)
						}
						if b, ok := a.(*discretePursuit); ok && b.rule == dbpa {
							copy(d, b.upper)
							if reward == 1 {
								want = discretePursuitRule(p, best(d), 7)
							}
						} else {
							want = rule.next(p, d, i, reward)
						}
					}
					require.InDeltaSlice(t, want, probabilities(a), tolerance)
				}
			})
		})
	}
}

// gpaRule returns the vector of GPA after an answer of action i.
func gpaRule(p, d []float64, i int, lambda float64) []float64 {
	next, k, rest := make([]float64, len(p)), 0.0, 1.0
	for j := range p {
		if d[j] > d[i] {
			k++
		}
	}
	for j := range p {
		if j == i {
			continue
		}
		next[j] = p[j] - lambda*p[j]
		if d[j] > d[i] {
			next[j] += lambda / k
		}
		rest -= next[j]
	}
	next[i] = rest
	return next
}

// dgpaRule returns the vector of DGPA of resolution n after an answer of action i.
func dgpaRule(p, d []float64, i int, n float64) []float64 {
	r := float64(len(p))
	delta, k := 1/(n*r), 0.0
	for j := range p {
		if d[j] > d[i] {
			k++
		}
	}
	next, rest := make([]float64, len(p)), 1.0
	for j := range p {
		switch {
		case j == i:
			continue
		case d[j] > d[i]:
			next[j] = p[j] + delta/k // above 1 only if the rest is below 0
		default:
			next[j] = math.Max(p[j]-delta/(r-k), 0)
		}
		rest -= next[j]
	}
	next[i] = rest
	if rest < 0 { // the case the paper leaves open
		for j := range p {
			if d[j] > d[i] {
				next[j] += rest / k
			}
		}
		next[i] = 0
	}
	return next
}

func discretePursuitRule(p []float64, h, n int) []float64 {
	delta := 1 / float64(len(p)*n)
	next, rest := make([]float64, len(p)), 1.0
	for j := range p {
		if j != h {
			next[j] = math.Max(p[j]-delta, 0)
			if next[j] < delta/2 { // what is left of 0 after the subtraction
				next[j] = 0
			}
			rest -= next[j]
		}
	}
	next[h] = rest
	return next
}

// TestDBPAUpper has the posterior of rewards only, Beta(5, 1), whose quantiles are
// fifth roots.
func TestDBPAUpper(t *testing.T) {
	t.Parallel()
	a := must(NewDBPA(2, 10, 4)).(*discretePursuit)
	require.InDelta(t, 0.95, a.upper[0], 1e-14)
	for range 4 {
		require.NoError(t, a.Learn(0, 1, heads))
	}
	require.InDelta(t, math.Pow(0.95, 1.0/5), a.upper[0], 1e-14)
	require.InDelta(t, 0.95, a.upper[1], 1e-14)
}

// TestHDPARule compares the tree with one of nodes and pointers that follows the
// paper: each inner node has its own pair of probabilities.
func TestHDPARule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const n = 3
		r := rapid.IntRange(2, 9).Draw(t, "actions")
		a := must(NewHDPA(r, n, 1))
		src := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)
		first := make([]float64, r) // probability of the first child of node k
		for k := range first {
			first[k] = 0.5
		}
		var estimate func(k int) float64
		estimate = func(k int) float64 {
			if k >= r {
				mean, _ := a.Estimate(k - r)
				return mean
			}
			return math.Max(estimate(2*k), estimate(2*k+1))
		}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			action := a.Select(src)
			reward := float64(rapid.IntRange(0, 1).Draw(t, "reward"))
			require.NoError(t, a.Learn(action, reward, src))
			if step >= r && reward == 1 {
				for k := (r + action) / 2; k >= 1; k /= 2 {
					if estimate(2*k) > estimate(2*k+1) {
						first[k] = math.Min(first[k]+1.0/(2*n), 1)
					} else {
						first[k] = math.Max(first[k]-1.0/(2*n), 0)
					}
				}
			}
			for i := range r {
				p := 1.0
				for k := r + i; k > 1; k /= 2 {
					if k%2 == 0 {
						p *= first[k/2]
					} else {
						p *= 1 - first[k/2]
					}
				}
				require.InDelta(t, p, a.Probability(i), 1e-12)
			}
		}
	})
}

// TestSelectFollowsProbability draws 20,000 times from each scheme at one moment and
// compares the counts with Probability by a χ² test. The critical value is the
// normal approximation of Wilson & Hilferty at z = 4.5, for 4 degrees of freedom.
func TestSelectFollowsProbability(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s scheme) {
		a, ok := must(s.make(5)).(Distribution)
		if !ok {
			return
		}
		src := rand.NewPCG(3, 1)
		run(t, a, must(NewPModel(0.5, 0.6, 0.4, 0.55, 0.3)), src, 40)
		const n = 20_000
		count := make([]float64, 5)
		for range n {
			count[a.Select(src)]++
		}
		chi := 0.0
		for i, c := range count {
			want := n * a.Probability(i)
			if want < 1e-9 {
				require.Zero(t, c)
				continue
			}
			require.Greater(t, want, 5.0, "too rare for a χ² test")
			chi += (c - want) * (c - want) / want
		}
		const k = 4.0
		critical := k * math.Pow(1-2/(9*k)+4.5*math.Sqrt(2/(9*k)), 3)
		require.Less(t, chi, critical)
	})
}
