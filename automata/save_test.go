package automata

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/internal/golden"
)

// use runs an automaton, whatever it was loaded from, for some steps with a source of its
// own.
func use(a Automaton) any {
	src := rand.NewPCG(5, 6)
	var actions []int
	for range 40 {
		action := a.Select(src)
		if err := a.Learn(action, uniform(src), src); err != nil {
			return err
		}
		actions = append(actions, action)
	}
	return actions
}

func TestSaved(t *testing.T) {
	each(t, func(t *testing.T, s scheme) {
		a, src := must(s.make(3)), rand.NewPCG(11, 12)
		run(t, a, must(NewPModel(0.2, 0.7, 0.5)), src, 100)
		codectest.Run(t, strings.ReplaceAll(s.name, "ε", "e"), codectest.Of(a, s.empty, use))
	})
}

// TestSavedAtAnyTime loads every scheme at other moments, within its priming above all, and
// requires the same actions from there on.
func TestSavedAtAnyTime(t *testing.T) {
	each(t, func(t *testing.T, s scheme) {
		for _, steps := range []int{0, 1, 7, 11, 400} {
			a, b, src := must(s.make(5)), s.empty(), rand.NewPCG(9, uint64(steps))
			run(t, a, must(NewSModel(0.2, 0.3, 0.4, 0.75, 0.5, 0.3)), src, steps)
			require.NoError(t, b.UnmarshalBinary(must(a.MarshalBinary())))
			require.Equal(t, a, b)
			require.Equal(t, use(a), use(b))
			require.Equal(t, a, b)
		}
	})
}

// TestSavedSearch is TestSaved for the two searches.
func TestSavedSearch(t *testing.T) {
	t.Parallel()
	spl, hssl := savedSearches()
	codectest.Run(t, "SPL", spl)
	codectest.Run(t, "HSSL", hssl)
}

func savedSearches() (spl, hssl *codectest.Case) {
	src := rand.NewPCG(1, 2)
	coin := func() bool { return uniform(src) < 0.6 }
	a, b := must(NewSPL(20)), must(NewHSSL(6))
	for range 9 {
		a.Learn(coin())
		b.Learn(coin(), coin(), coin())
	}
	spl = codectest.Of(a, func() *SPL { return new(SPL) }, func(a *SPL) any {
		a.Learn(true)
		return a.Point()
	})
	hssl = codectest.Of(b, func() *HSSL { return new(HSSL) }, func(a *HSSL) any {
		a.Learn(true, false, false)
		return a.Point()
	})
	return spl, hssl
}

// run returns the actions selected.
func run(t *testing.T, a Automaton, env Environment, src rand.Source, steps int) []int {
	t.Helper()
	var actions []int
	for range steps {
		action := a.Select(src)
		require.NoError(t, a.Learn(action, env.Respond(action, src), src))
		actions = append(actions, action)
	}
	return actions
}

// TestRestoreRefusesContradictions saves states with a right checksum whose values
// cannot be.
func TestRestoreRefusesContradictions(t *testing.T) {
	t.Parallel()
	write := func(f codec.Format, put ...any) []byte {
		e := codec.NewEncoder(f.Magic, f.Version)
		for _, p := range put {
			switch p := p.(type) {
			case byte:
				e.Byte(p)
			case int:
				e.Int(p)
			case uint64:
				e.Uint64(p)
			case bool:
				e.Bool(p)
			case float64:
				e.Float64(p)
			case []float64:
				e.Float64s(p)
			case []uint64:
				e.Uint64s(p)
			case []uint32:
				e.Uint32s(p)
			default:
				panic(fmt.Sprintf("%T", p))
			}
		}
		return must(e.Finish())
	}
	half, none := []float64{0.5, 0.5}, []float64{0, 0}
	for name, c := range map[string]struct {
		into codectest.Saved
		data []byte
	}{
		"no such rule":              {new(fixed), write(fixedFormat, byte(fixedRules), 2, 4, 0, 1)},
		"no such pursuit":           {new(pursuit), write(pursuitFormat, byte(pursuitRules), 0.1, half, 1, 0, none, none)},
		"one action":                {new(fixed), write(fixedFormat, byte(tsetlin), 1, 4, 0, 1)},
		"state beyond the boundary": {new(fixed), write(fixedFormat, byte(tsetlin), 2, 4, 0, 5)},
		"state 0":                   {new(fixed), write(fixedFormat, byte(krinsky), 2, 4, 0, 0)},
		"no such action":            {new(fixed), write(fixedFormat, byte(krylov), 2, 4, 2, 1)},
		"rate above 1":              {new(linear), write(linearFormat, 1.5, 0.0, half)},
		"penalty above reward rate": {new(linear), write(linearFormat, 0.1, 0.2, half)},
		"sum of 0.9":                {new(linear), write(linearFormat, 0.1, 0.1, []float64{0.5, 0.4})},
		"negative probability":      {new(linear), write(linearFormat, 0.1, 0.1, []float64{1.5, -0.5})},
		"a single probability":      {new(linear), write(linearFormat, 0.1, 0.1, []float64{1})},
		"too many units":            {new(discreteLinear), write(discreteLinearFormat, true, 4, []uint64{5, 4})},
		"too few units":             {new(discreteLinear), write(discreteLinearFormat, true, 4, []uint64{3, 4})},
		"units that wrap around":    {new(discreteLinear), write(discreteLinearFormat, true, 4, []uint64{9, 1<<64 - 1})},
		"resolution 0":              {new(discreteLinear), write(discreteLinearFormat, true, 0, []uint64{0, 0})},
		"half a pull":               {new(pursuit), write(pursuitFormat, byte(gpa), 0.1, half, 1, 0, none, []float64{0.5, 1})},
		"more reward than pulls":    {new(pursuit), write(pursuitFormat, byte(gpa), 0.1, half, 1, 0, []float64{2, 0}, []float64{1, 1})},
		"three means of two":        {new(pursuit), write(pursuitFormat, byte(gpa), 0.1, half, 1, 0, []float64{0, 0, 0}, none)},
		"too much priming":          {new(pursuit), write(pursuitFormat, byte(gpa), 0.1, half, 1, 3, none, none)},
		"no priming":                {new(pursuit), write(pursuitFormat, byte(gpa), 0.1, half, 0, 0, none, none)},
		"huge number of actions":    {new(bayesian), write(bayesianFormat, uint64(1<<40), 1, 0, none, none)},
		"tree of one action":        {new(hdpa), write(hdpaFormat, 4, []uint32{0}, 1, 0, []float64{0}, []float64{0})},
		"branch above 1":            {new(hdpa), write(hdpaFormat, 4, []uint32{0, 9}, 1, 0, none, none)},
		"no points":                 {new(SPL), write(splFormat, 0, 0)},
		"point beyond N":            {new(SPL), write(splFormat, 4, 5)},
		"point before 0":            {new(SPL), write(splFormat, 4, -1)},
		"too many points":           {new(SPL), write(splFormat, maxStates+1, 0)},
		"node 0":                    {new(HSSL), write(hsslFormat, 4, 0)},
		"node too deep":             {new(HSSL), write(hsslFormat, 4, 32)},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, c.into.UnmarshalBinary(c.data), ErrCorrupt)
		})
	}
}

// TestGolden pins 40 actions of every scheme after 100 steps. Its environment answers 0
// or 1 and its seed is fixed, so that only a change of a rule or of the use of the source
// can change it.
func TestGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, s := range schemes {
		a, src := must(s.make(3)), rand.NewPCG(11, 12)
		env := must(NewPModel(0.2, 0.7, 0.5))
		run(t, a, env, src, 100)
		fmt.Fprintf(&b, "%s\n%v\n", s.name, run(t, a, env, src, 40))
	}
	golden.Check(t, "actions.golden", b.String())
}

func FuzzSaved(f *testing.F) {
	spl, hssl := savedSearches()
	cases := []*codectest.Case{spl, hssl}
	for _, s := range schemes {
		cases = append(cases, codectest.Of(must(s.make(3)), s.empty, use))
	}
	codectest.Fuzz(f, cases...)
}
