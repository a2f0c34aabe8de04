package automata

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A scheme is one way to make an automaton, for the tests that all must pass.
type scheme struct {
	name string
	make func(actions int) (Automaton, error)
	// pursues says that a reward may lower the chosen action's probability,
	// because the scheme moves towards the best estimate instead.
	pursues bool
	// absorbs says that a unit vector stays for ever.
	absorbs bool
}

// empty returns an automaton to restore into.
func (s scheme) empty() Automaton { return must(s.make(2)) }

var schemes = []scheme{
	{name: "Tsetlin", make: func(r int) (Automaton, error) { return NewTsetlin(r, 4) }},
	{name: "Krinsky", make: func(r int) (Automaton, error) { return NewKrinsky(r, 4) }},
	{name: "Krylov", make: func(r int) (Automaton, error) { return NewKrylov(r, 4) }},
	{name: "L_R-P", make: func(r int) (Automaton, error) { return NewLinear(r, 0.03, 0.03) }},
	{name: "L_R-I", make: func(r int) (Automaton, error) { return NewLinear(r, 0.03, 0) }, absorbs: true},
	{name: "L_R-εP", make: func(r int) (Automaton, error) { return NewLinear(r, 0.03, 0.001) }},
	{name: "DL_R-I", make: func(r int) (Automaton, error) { return NewDLRI(r, 20) }, absorbs: true},
	{name: "DL_R-P", make: func(r int) (Automaton, error) { return NewDLRP(r, 20) }},
	{name: "CP_RP", make: func(r int) (Automaton, error) { return NewCPRP(r, 0.03, 2) }, pursues: true},
	{name: "CP_RI", make: func(r int) (Automaton, error) { return NewCPRI(r, 0.03, 2) }, pursues: true},
	{name: "DP_RP", make: func(r int) (Automaton, error) { return NewDPRP(r, 20, 2) }, pursues: true},
	{name: "DP_RI", make: func(r int) (Automaton, error) { return NewDPRI(r, 20, 2) }, pursues: true},
	{name: "GPA", make: func(r int) (Automaton, error) { return NewGPA(r, 0.03, 2) }, pursues: true},
	{name: "DGPA", make: func(r int) (Automaton, error) { return NewDGPA(r, 20, 2) }, pursues: true},
	{name: "Bayesian", make: func(r int) (Automaton, error) { return NewBayesian(r) }},
	{name: "DBPA", make: func(r int) (Automaton, error) { return NewDBPA(r, 20, 2) }, pursues: true},
	{name: "HDPA", make: func(r int) (Automaton, error) { return NewHDPA(r, 20, 2) }, pursues: true},
}

// each runs a test for each scheme.
func each(t *testing.T, test func(t *testing.T, s scheme)) {
	for _, s := range schemes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// answers draws rewards of the P-, Q- and S-model.
var answers = rapid.OneOf(
	rapid.SampledFrom([]float64{0, 1}),
	rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.75, 1}),
	rapid.Float64Range(0, 1),
)

// TestBadAnswersChangeNothing covers every refusal of Learn, and nil sources.
func TestBadAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s scheme) {
		a := must(s.make(3))
		src := rand.NewPCG(1, 2)
		for range 50 {
			require.NoError(t, a.Learn(a.Select(src), uniform(src), src))
		}
		before := must(a.MarshalBinary())
		source := must(src.MarshalBinary())
		for _, action := range []int{-1, 3, math.MaxInt, math.MinInt} {
			require.ErrorIs(t, a.Learn(action, 1, src), ErrUnknown)
		}
		for _, reward := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.001, 1.001} {
			require.ErrorIs(t, a.Learn(1, reward, src), ErrReward)
		}
		require.ErrorContains(t, a.Learn(1, 2, src), "action 1: reward 2")
		const noSource = "automata: nil source of randomness"
		require.PanicsWithValue(t, noSource, func() { a.Select(nil) })
		require.PanicsWithValue(t, noSource, func() { _ = a.Learn(1, 1, nil) })
		require.Equal(t, before, must(a.MarshalBinary()))
		require.Equal(t, source, must(src.MarshalBinary()), "the source was drawn from")
	})
}

func TestBadParameters(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	each(t, func(t *testing.T, s scheme) {
		for _, actions := range []int{-1, 0, 1, maxActions + 1} {
			_, err := s.make(actions)
			require.ErrorIs(t, err, ErrConfig)
		}
	})
	refused := func(a any, err error) {
		t.Helper()
		require.ErrorIs(t, err, ErrConfig)
		require.Nil(t, a)
	}
	for _, n := range []int{-1, 0, maxStates + 1} {
		refused(NewTsetlin(2, n))
		refused(NewKrinsky(2, n))
		refused(NewKrylov(2, n))
		refused(NewWalk(n, 1))
		refused(NewOverload(n, 1))
		refused(NewSPL(n))
		refused(NewDLRI(2, n))
		refused(NewDLRP(2, n))
		refused(NewDPRI(2, n, 10))
		refused(NewDPRP(2, n, 10))
		refused(NewDGPA(2, n, 10))
		refused(NewDBPA(2, n, 10))
		refused(NewHDPA(2, n, 10))
		refused(NewHSSL(n))
	}
	refused(NewHSSL(maxDepth + 1))
	refused(NewOverload(8, 9))
	refused(NewOverload(8, 0))
	for _, rate := range []float64{nan, inf, -0.1, 0, 1.1} {
		refused(NewLinear(2, rate, rate))
		refused(NewLinear(2, rate, 0))
		refused(NewCPRP(2, rate, 10))
		refused(NewGPA(2, rate, 10))
		refused(NewLinear(2, rate, 0.1))
	}
	for _, rate := range []float64{nan, inf, -0.1, 0.51} {
		refused(NewLinear(2, 0.5, rate))
	}
	for _, priming := range []int{-1, maxPriming + 1} {
		refused(NewDPRI(2, 10, priming))
		refused(NewCPRI(2, 0.1, priming))
		refused(NewHDPA(2, 10, priming))
	}
	for _, lambda := range []float64{nan, inf, -1, 0} {
		refused(NewWalk(8, lambda))
	}
}

// TestDistribution drives every scheme with any answers to any actions, selected
// or not, and checks what holds of the probabilities at every step.
func TestDistribution(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s scheme) { rapid.Check(t, distributionProperty(s)) })
}

func FuzzDistribution(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		distributionProperty(rapid.SampledFrom(schemes).Draw(t, "scheme"))(t)
	}))
}

func distributionProperty(s scheme) func(t *rapid.T) {
	return func(t *rapid.T) {
		most, tolerance := 40, 0.0
		if s.name == "Bayesian" { // its probabilities are integrals
			most, tolerance = 4, 2e-7
		}
		r := rapid.IntRange(2, 9).Draw(t, "actions")
		src := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)
		a := must(s.make(r))
		require.Equal(t, r, a.Actions())
		d, ok := a.(Distribution)
		var before, now []float64
		steps := rapid.IntRange(1, most).Draw(t, "steps")
		for step := range steps {
			action := a.Select(src)
			require.True(t, action >= 0 && action < r)
			if rapid.Bool().Draw(t, "late") { // an answer to something asked earlier
				action = rapid.IntRange(0, r-1).Draw(t, "action")
			}
			reward := answers.Draw(t, "reward")
			if ok {
				before = probabilities(d)
			}
			require.NoError(t, a.Learn(action, reward, src))
			if !ok {
				continue
			}
			now = probabilities(d)
			sum := 0.0
			for _, p := range now {
				require.True(t, p >= 0 && p <= 1, "probability %v", p)
				sum += p
			}
			rounding := float64((r+2)*(step+2)) * 0x1p-52 // each step rounds r+2 times
			require.InDelta(t, 1, sum, tolerance+rounding)
			if reward == 1 && !s.pursues {
				require.GreaterOrEqual(t, now[action], before[action]-tolerance, "a reward lowered the chosen action")
			}
			c, converged := d.Converged(0.75)
			if converged {
				require.GreaterOrEqual(t, now[c], 0.75)
			} else if s.name != "Bayesian" { // which looks at one action only
				for _, p := range now {
					require.Less(t, p, 0.75)
				}
			}
		}
	}
}

// An action whose probability is the threshold itself has converged, one just below has not.
func TestConvergedAtTheThreshold(t *testing.T) {
	t.Parallel()
	leaves := must(newHDPA(4, 8, 1)) // ¾·¾ of the last action
	leaves.left = []int32{0, 4, 12, 4}
	for name, c := range map[string]struct {
		d      interface{ Converged(float64) (int, bool) }
		action int
		p      float64
	}{
		"vector":           {vector{0.125, 0.75, 0.125}, 1, 0.75},
		"units":            {&units{[]int64{1, 1, 6}, 8, 2}, 2, 0.75},
		"tree, right":      {leaves, 3, 0.5625},
		"tree, left":       {&hdpa{left: []int32{0, 14, 12, 8}, resolution: 8}, 0, 0.65625},
		"tree, left right": {&hdpa{left: []int32{0, 16, 2, 8}, resolution: 8}, 1, 0.875},
	} {
		action, ok := c.d.Converged(c.p)
		require.True(t, ok, name)
		require.Equal(t, c.action, action, name)
		_, ok = c.d.Converged(math.Nextafter(c.p, 2))
		require.False(t, ok, name)
	}
	// What is certain has converged at the highest threshold.
	_, ok := vector{0, 1}.Converged(1)
	require.True(t, ok)
	// The Bayesian automaton has no such round probabilities.
	b := must(NewBayesian(2)).(*bayesian)
	for range 3 {
		require.NoError(t, b.Learn(1, 1, rand.NewPCG(1, 1)))
	}
	p := b.Probability(1)
	action, ok := b.Converged(p)
	require.True(t, ok)
	require.Equal(t, 1, action)
	_, ok = b.Converged(math.Nextafter(p, 2))
	require.False(t, ok)
	each(t, func(t *testing.T, s scheme) {
		d, ok := must(s.make(2)).(Distribution)
		if !ok {
			return
		}
		for _, bad := range []float64{0, 0.5, math.Nextafter(1, 2), math.NaN()} {
			require.Panics(t, func() { d.Converged(bad) })
		}
		require.NotPanics(t, func() { d.Converged(math.Nextafter(0.5, 1)) })
	})
}

// Where probabilities add up to a little less than 1, the rest goes to the last action that is
// possible at all.
func TestVectorDrawsTheRest(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, vector{0.5, 0.25, 0}.draw(tails))
	require.Equal(t, 0, vector{0.5, 0.25, 0}.draw(heads))
}

// TestRewardOfTheLeader has the pursuit schemes' promise: a reward of the action
// with the best estimate never lowers its probability.
func TestRewardOfTheLeader(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s scheme) {
		if !s.pursues {
			return
		}
		rapid.Check(t, func(t *rapid.T) {
			r := rapid.IntRange(2, 9).Draw(t, "actions")
			src := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)
			a := must(s.make(r)).(Distribution)
			leader := rapid.IntRange(0, r-1).Draw(t, "leader")
			learn := func(action int) {
				reward := 0.0 // the others are never rewarded
				if action == leader {
					reward = 1
				}
				require.NoError(t, a.Learn(action, reward, src))
			}
			for range 3 * r { // priming, in which every action gets an answer
				learn(a.Select(src))
			}
			for range 50 {
				before := a.Probability(leader)
				learn(a.Select(src))
				require.GreaterOrEqual(t, a.Probability(leader), before)
			}
		})
	})
}

// TestAbsorbingStatesAbsorb starts from a unit vector, reached by learning.
func TestAbsorbingStatesAbsorb(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s scheme) {
		if !s.absorbs {
			return
		}
		for action := range 3 {
			a := must(s.make(3)).(Distribution)
			src := rand.NewPCG(uint64(action), 0)
			n := 0
			for ; a.Probability(action) < 1 && n < 100_000; n++ {
				require.NoError(t, a.Learn(action, 1, src))
			}
			// L_R-I gets within rounding of 1 (ln(2^-1074)/ln(1-a) steps to 0 for the
			// others).
			for range 30_000 {
				require.NoError(t, a.Learn(action, 1, src))
			}
			at := probabilities(a)
			for range 1000 {
				got := a.Select(src)
				require.Equal(t, action, got)
				require.NoError(t, a.Learn(got, uniform(src), src))
			}
			require.Equal(t, at, probabilities(a))
			c, ok := a.Converged(0.999)
			require.True(t, ok)
			require.Equal(t, action, c)
		}
	})
}

// TestInFlight answers in another order than asked, and loses every third answer.
func TestInFlight(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s scheme) {
		a := must(s.make(4))
		env := must(NewPModel(0.9, 0.2, 0.1, 0.2))
		src := rand.NewPCG(5, 6)
		rng := rand.New(src)
		var out []int
		asked := make([]int, 4)
		for range 8000 {
			for len(out) < 8 {
				action := a.Select(src)
				asked[action]++
				out = append(out, action)
			}
			k := rng.IntN(len(out))
			if rng.IntN(3) > 0 {
				require.NoError(t, a.Learn(out[k], env.Respond(out[k], src), src))
			}
			out[k] = out[len(out)-1]
			out = out[:len(out)-1]
		}
		// A quarter is chance. The worst here is L_R-P, whose mean probability of
		// an action is in the inverse ratio of its penalties: 10 in 13.6.
		require.Greater(t, asked[0], 8000/2)
	})
}

// TestDefaultPriming checks what priming 0 stands for.
func TestDefaultPriming(t *testing.T) {
	t.Parallel()
	require.Equal(t, must(NewDPRI(3, 5, 10)), must(NewDPRI(3, 5, 0)))
}

// TestPriming checks that each action is pulled the stated number of times, in turn.
func TestPriming(t *testing.T) {
	t.Parallel()
	a := must(NewDPRI(3, 5, 4))
	src := rand.NewPCG(1, 1)
	for k := range 12 {
		action := a.Select(src)
		require.Equal(t, k%3, action)
		require.NoError(t, a.Learn(action, float64(action)/2, src))
		require.Equal(t, 1.0/3, a.Probability(2), "priming does not move probabilities")
	}
	for action, want := range []float64{0, 0.5, 1} {
		mean, n := a.Estimate(action)
		require.Equal(t, want, mean)
		require.Equal(t, 4, n)
	}
	require.NoError(t, a.Learn(a.Select(src), 1, src))
	require.Equal(t, 7.0/15, a.Probability(2))
}

// TestPrimingWithLostAnswers loses all answers of action 0 in the priming: it ends
// nevertheless, and so many later answers only serve the estimates.
func TestPrimingWithLostAnswers(t *testing.T) {
	t.Parallel()
	a := must(NewDPRP(2, 5, 3))
	src := rand.NewPCG(1, 1)
	for range 6 {
		if action := a.Select(src); action == 1 {
			require.NoError(t, a.Learn(1, 0.5, src))
		}
	}
	mean, n := a.Estimate(0)
	require.Equal(t, [2]float64{0, 0}, [2]float64{mean, float64(n)})
	for range 3 {
		require.Equal(t, 0.5, a.Probability(0))
		require.NoError(t, a.Learn(a.Select(src), 1, src))
	}
	require.NoError(t, a.Learn(a.Select(src), 1, src))
	require.NotEqual(t, 0.5, a.Probability(0))
}

// TestNoAllocation is the promise of the package comment.
func TestNoAllocation(t *testing.T) {
	for _, s := range schemes { // one after the other: AllocsPerRun wants it
		a := must(s.make(10))
		src := rand.NewPCG(1, 2)
		require.Zero(t, testing.AllocsPerRun(500, func() {
			if a.Learn(a.Select(src), uniform(src), src) != nil {
				panic("refused")
			}
		}), s.name)
		if d, ok := a.(Distribution); ok {
			require.Zero(t, testing.AllocsPerRun(5, func() {
				d.Probability(1)
				d.Converged(0.9)
			}), s.name)
		}
	}
}
