package schedule

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func problem(t require.TestingT, p *Problem, err error) *Problem {
	require.NoError(t, err)
	return p
}

func TestBadProblems(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	unrelated := func(rows ...[]float64) func() (*Problem, error) {
		return func() (*Problem, error) { return NewUnrelated(rows) }
	}
	uniform := func(sizes, units []float64) func() (*Problem, error) {
		return func() (*Problem, error) { return NewUniform(sizes, units) }
	}
	for name, c := range map[string]struct {
		make func() (*Problem, error)
		err  error
		says string
	}{
		"no sites":           {uniform(nil, []float64{1}), ErrProblem, ""},
		"no clients":         {uniform([]float64{1}, nil), ErrProblem, ""},
		"NaN size":           {uniform([]float64{1, nan}, []float64{1}), ErrDuration, "site 1: NaN"},
		"infinite size":      {uniform([]float64{inf}, []float64{1}), ErrDuration, "site 0: +Inf"},
		"negative size":      {uniform([]float64{1, 2, -3}, []float64{1}), ErrDuration, "site 2: -3"},
		"zero size":          {uniform([]float64{0}, []float64{1}), ErrDuration, "site 0: 0"},
		"zero unit":          {uniform([]float64{1}, []float64{1, 0}), ErrDuration, "client 1"},
		"NaN unit":           {uniform([]float64{1}, []float64{nan}), ErrDuration, "client 0"},
		"product underflows": {uniform([]float64{1, 1e-200}, []float64{1, 1e-200}), ErrDuration, "1e-200 at 1e-200"},
		"sum overflows":      {uniform([]float64{1e308, 1e308}, []float64{1}), ErrDuration, ""},
		"product overflows":  {uniform([]float64{1e200}, []float64{1e200}), ErrDuration, ""},
		"no rows":            {unrelated(), ErrProblem, ""},
		"empty rows":         {unrelated([]float64{}), ErrProblem, ""},
		"ragged rows":        {unrelated([]float64{1, 2}, []float64{1}), ErrProblem, "site 1"},
		"negative pair":      {unrelated([]float64{1, 2}, []float64{1, -1}), ErrDuration, "site 1 on client 1: -1"},
		"too small":          {unrelated([]float64{1e-300}), ErrDuration, "choose a smaller unit of time"},
		"nowhere":            {unrelated([]float64{1, 1}, []float64{inf, inf}), ErrDuration, "no client can do site 1"},
		"unrelated overflow": {unrelated([]float64{1e308, 1}, []float64{1e308, 1}), ErrDuration, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.make()
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.says)
			require.Nil(t, p)
		})
	}
	require.Equal(t, leastDuration, must(NewUniform([]float64{leastDuration}, []float64{1})).Duration(0, 0))
	var err error
	for _, m := range []int{0, -1, math.MaxInt} {
		_, err = NewIdentical([]int{1}, m)
		require.ErrorIs(t, err, ErrProblem)
		require.ErrorContains(t, err, strconv.Itoa(m))
	}
	p := problem(t, must(NewIdentical([]int{1, 2}, 2)), nil)
	for _, bad := range [][]float64{{1}, {1, nan}, {-1, 0}, {inf, 0}} {
		_, err := p.WithStarts(bad, nil)
		require.Error(t, err)
		_, err = p.WithStarts(nil, bad)
		require.Error(t, err)
	}
	_, err = p.WithStarts([]float64{1e308, 1e308}, []float64{1e308, 0})
	require.ErrorIs(t, err, ErrDuration)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFinishCountsStartAndSetupOfUsedClientsOnly(t *testing.T) {
	t.Parallel()
	p := problem(t, must(NewUniform([]int{10, 4}, []float64{2, 1, 1})), nil)
	p = problem(t, must(p.WithStarts([]float64{1, 0, 1000}, []float64{.5, 3, 0})), nil)
	require.Equal(t, []float64{21.5, 7, 0}, p.Finish(Plan{0, 1}))
	require.Equal(t, 21.5, p.Makespan(Plan{0, 1}))
	require.Equal(t, []float64{0, 17, 0}, p.Finish(Plan{1, 1}))
	// The client that starts at 1000 is of no use, and does not raise the bound.
	r, err := Solve(t.Context(), p, SolveConfig{})
	require.NoError(t, err)
	require.Equal(t, 13.0, r.Makespan) // site 0 on client 1, site 1 on client 0
	require.Equal(t, Optimal, r.Status)
}

func TestCheckRejects(t *testing.T) {
	t.Parallel()
	p := problem(t, must(NewIdentical([]int{4, 3, 2}, 2)), nil)
	for _, plan := range []Plan{nil, {0, 1}, {0, 1, 2}, {0, -1, 0}, {0, 1, 0, 1}} {
		require.ErrorIs(t, p.Check(plan), ErrPlan)
		_, err := LocalSearch(p, plan)
		require.ErrorIs(t, err, ErrPlan)
	}
	able := must(NewUnrelated([][]float64{{1, math.Inf(1)}, {2, 3}}))
	require.NoError(t, able.Check(Plan{0, 1}))
	require.ErrorIs(t, able.Check(Plan{1, 1}), ErrPlan)
	good := Result{Plan: Plan{0, 1, 1}, Makespan: 5, Lower: 5, Status: Optimal}
	require.NoError(t, p.CheckResult(good))
	for name, spoil := range map[string]func(*Result){
		"plan":               func(r *Result) { r.Plan = Plan{0, 1, 7} },
		"makespan":           func(r *Result) { r.Makespan = 4 },
		"bound too high":     func(r *Result) { r.Lower = 6 },
		"NaN bound":          func(r *Result) { r.Lower = math.NaN() },
		"false proof":        func(r *Result) { r.Lower = 4 },
		"proof not claimed":  func(r *Result) { r.Status = Cancelled },
		"unknown status":     func(r *Result) { r.Lower, r.Status = 4, 9 },
		"worse, bound false": func(r *Result) { r.Plan, r.Makespan, r.Lower = Plan{0, 0, 0}, 9, 9 },
	} {
		bad := good
		spoil(&bad)
		require.Error(t, p.CheckResult(bad), name)
	}
}

func TestFullModelIsThePapersFormula(t *testing.T) {
	t.Parallel()
	sites := []SiteCost{{"a.example", 1000, 50}, {"bb.example", 400, 8}}
	clients := []ClientCost{
		{ServerResponse: .5, ServerSpeed: 10, DNS: .1, Compute: 100, Connect: []float64{.2, .3}, WebResponse: []float64{.4, .6}, WebSpeed: []float64{50, 25}},
		{ServerResponse: .7, ServerSpeed: 20, DNS: .2, Compute: 200, Connect: []float64{.1, .1}, WebResponse: []float64{.1, .1}, WebSpeed: []float64{10, 80}},
	}
	p, err := FullModel(sites, clients)
	require.NoError(t, err)
	q := (10.0 + 11.0) / 1024 // both names with their separators
	in := .5 + q/10
	work := (.1 + .2 + .4 + 1000./50 + 1000./100) + (.1 + .3 + .6 + 400./25 + 400./100)
	out := (50. + 8.) / 10
	require.InDelta(t, in+work+out, p.Makespan(Plan{0, 0}), 1e-9)
	require.InDelta(t, .7+11./1024/20+(.2+.1+.1+400./80+400./200)+8./20, p.Finish(Plan{0, 1})[1], 1e-9)

	_, err = FullModel(sites, []ClientCost{clients[0], {ServerSpeed: 1, Compute: 1}})
	require.ErrorIs(t, err, ErrProblem)
	_, err = FullModel([]SiteCost{{"x", math.NaN(), 0}}, clients)
	require.ErrorIs(t, err, ErrDuration)
	for _, bad := range []func(c *ClientCost){
		func(c *ClientCost) { c.WebSpeed = []float64{50, 0} }, func(c *ClientCost) { c.Connect = []float64{-1, 0} },
		func(c *ClientCost) { c.WebResponse = []float64{0, math.NaN()} }, func(c *ClientCost) { c.DNS = -1 },
		func(c *ClientCost) { c.ServerResponse = math.Inf(1) }, func(c *ClientCost) { c.WebSpeed = []float64{1e-308, 1} },
	} {
		c := clients[0]
		bad(&c)
		_, err = FullModel(sites, []ClientCost{c})
		require.ErrorIs(t, err, ErrDuration)
	}
	clients[0].WebResponse[1] = math.Inf(1)
	p = must(FullModel(sites, clients))
	require.ErrorIs(t, p.Check(Plan{0, 0}), ErrPlan, "client 0 cannot do site 1")
	require.NoError(t, p.Check(Plan{0, 1}))
	clients[0].Compute = 0
	_, err = FullModel(sites, clients)
	require.ErrorIs(t, err, ErrDuration)
	_, err = FullModel(nil, clients)
	require.ErrorIs(t, err, ErrProblem)
	_, err = FullModel(sites, nil)
	require.ErrorIs(t, err, ErrProblem)
}

func TestReducedModel(t *testing.T) {
	t.Parallel()
	p, err := ReducedModel([]float64{100, 300}, []float64{50, 20}, []float64{100, 20})
	require.NoError(t, err)
	require.InDelta(t, 400*(1./50+1./100), p.Makespan(Plan{0, 0}), 1e-12)
	require.InDelta(t, 300*(1./20+1./20), p.Duration(1, 1), 1e-12)
	_, err = ReducedModel([]float64{1}, []float64{1}, nil)
	require.ErrorIs(t, err, ErrProblem)
	for _, bad := range []float64{-1, 0, math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64} {
		_, err = ReducedModel([]float64{1}, []float64{bad}, []float64{1})
		require.ErrorIs(t, err, ErrDuration)
		_, err = ReducedModel([]float64{1}, []float64{1}, []float64{bad})
		require.ErrorIs(t, err, ErrDuration)
	}
}

// TestNames reads every name back, and refuses what is none.
func TestNames(t *testing.T) {
	t.Parallel()
	names(t, Optimal, "optimal")
	names(t, SkipOverflow, "skip overflow")
	require.Equal(t, "Status(9)", Status(9).String())
}

// names checks the enumeration whose last value is given.
func names[E interface {
	~uint8
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*E
	encoding.TextUnmarshaler
}](t *testing.T, last E, name string) {
	require.Equal(t, name, last.String())
	for v := E(0); v <= last; v++ {
		text, err := v.MarshalText()
		require.NoError(t, err)
		require.Equal(t, v.String(), string(text))
		var back E
		require.NoError(t, P(&back).UnmarshalText(text))
		require.Equal(t, v, back)
	}
	_, err := (last + 1).MarshalText()
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorIs(t, P(&last).UnmarshalText([]byte("no name")), ErrConfig)
}

// A Problem that was not made by its functions panics with a message.
func TestZeroProblem(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(p *Problem){
		"Sites":             func(p *Problem) { p.Sites() },
		"Clients":           func(p *Problem) { p.Clients() },
		"WithStarts":        func(p *Problem) { _, _ = p.WithStarts(nil, nil) },
		"LongestFirst":      func(p *Problem) { p.LongestFirst() },
		"Check":             func(p *Problem) { _ = p.Check(nil) },
		"Finish":            func(p *Problem) { p.Finish(nil) },
		"Makespan":          func(p *Problem) { p.Makespan(nil) },
		"CheckResult":       func(p *Problem) { _ = p.CheckResult(Result{}) },
		"LPT":               func(p *Problem) { LPT(p) },
		"Multifit":          func(p *Problem) { Multifit(p) },
		"KarmarkarKarp":     func(p *Problem) { _, _ = KarmarkarKarp(p) },
		"LocalSearch":       func(p *Problem) { _, _ = LocalSearch(p, nil) },
		"Duration":          func(p *Problem) { p.Duration(0, 0) },
		"RoundRobin":        func(p *Problem) { _, _ = RoundRobin(p, nil) },
		"Pull":              func(p *Problem) { _, _ = Pull(p, nil) },
		"Replan":            func(p *Problem) { _, _ = Replan(p, nil, 0) },
		"Solve":             func(p *Problem) { _, _ = Solve(t.Context(), p, SolveConfig{}) },
		"Improve":           func(p *Problem) { _, _ = Improve(t.Context(), p, SolveConfig{}) },
		"LowerBound":        func(p *Problem) { LowerBound(p) },
		"NewDispatcher":     func(p *Problem) { _, _ = NewDispatcher(p, nil, DispatcherConfig{}) },
		"NewPullDispatcher": func(p *Problem) { _, _ = NewPullDispatcher(p, nil, DispatcherConfig{}) },
	} {
		require.PanicsWithValue(t, "schedule: a Problem that is a zero value: make it with NewIdentical, NewUniform or NewUnrelated",
			func() { use(new(Problem)) }, name)
	}
}
