package automata

import (
	"encoding"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

// TestSaveAndRestore saves every scheme at many moments, restores it into an empty
// one with the saved source, and requires the same bits from there on.
func TestSaveAndRestore(t *testing.T) {
	each(t, func(t *testing.T, s scheme) {
		for _, steps := range []int{0, 1, 7, 60, 400} {
			a, src := must(s.make(5)), rand.NewPCG(9, uint64(steps))
			env := must(NewSModel(0.2, 0.3, 0.4, 0.75, 0.5, 0.3))
			run(t, a, env, src, steps)
			data, source := must(a.(saver).MarshalBinary()), must(src.MarshalBinary())

			require.NoError(t, s.empty.UnmarshalBinary(data))
			require.Equal(t, a, s.empty.(Automaton))
			b, src2 := s.empty.(Automaton), new(rand.PCG)
			require.NoError(t, src2.UnmarshalBinary(source))
			require.Equal(t, run(t, a, env, src, 300), run(t, b, env, src2, 300))
			require.Equal(t, must(a.(saver).MarshalBinary()), must(b.(saver).MarshalBinary()))
		}
	})
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

// TestRestoreRefuses tries every prefix and every flipped bit of a saved state,
// and the states of all other types; the receiver must not change.
func TestRestoreRefuses(t *testing.T) {
	each(t, func(t *testing.T, s scheme) {
		a := must(s.make(3))
		run(t, a, must(NewPModel(0.2, 0.6, 0.4)), rand.NewPCG(3, 4), 40)
		v := a.(saver)
		data := must(v.MarshalBinary())
		refuse := func(bad []byte) {
			t.Helper()
			require.ErrorIs(t, v.UnmarshalBinary(bad), ErrCorrupt)
		}
		for n := range data {
			refuse(data[:n])
		}
		for i := range data {
			bad := append([]byte(nil), data...)
			bad[i] ^= 1 << (i % 8)
			refuse(bad)
		}
		refuse(append(append([]byte(nil), data...), 0))
		other := must(NewSPL(5))
		refuse(must(other.MarshalBinary()))
		require.ErrorIs(t, other.UnmarshalBinary(data), ErrCorrupt)
		require.Equal(t, data, must(v.MarshalBinary()))

		prefixed := must(v.AppendBinary([]byte("prefix")))
		require.Equal(t, "prefix"+string(data), string(prefixed))
	})
}

// TestRestoreRefusesContradictions saves states with a right checksum whose values
// cannot be.
func TestRestoreRefusesContradictions(t *testing.T) {
	write := func(magic string, put ...any) []byte {
		e := codec.NewEncoder(nil, magic, 1)
		for _, p := range put {
			switch p := p.(type) {
			case int:
				e.Int(p)
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
		into encoding.BinaryUnmarshaler
		data []byte
	}{
		"one action":                {new(Tsetlin), write(magicTsetlin, 1, 4, 0, 1)},
		"state beyond the boundary": {new(Tsetlin), write(magicTsetlin, 2, 4, 0, 5)},
		"state 0":                   {new(Krinsky), write(magicKrinsky, 2, 4, 0, 0)},
		"no such action":            {new(Krylov), write(magicKrylov, 2, 4, 2, 1)},
		"rate above 1":              {new(Linear), write(magicLinear, 1.5, 0.0, half)},
		"penalty above reward rate": {new(Linear), write(magicLinear, 0.1, 0.2, half)},
		"sum of 0.9":                {new(Linear), write(magicLinear, 0.1, 0.1, []float64{0.5, 0.4})},
		"negative probability":      {new(Linear), write(magicLinear, 0.1, 0.1, []float64{1.5, -0.5})},
		"a single probability":      {new(Linear), write(magicLinear, 0.1, 0.1, []float64{1})},
		"too many units":            {new(DiscreteLinear), write(magicDiscreteLinear, true, 4, []uint64{5, 4})},
		"too few units":             {new(DiscreteLinear), write(magicDiscreteLinear, true, 4, []uint64{3, 4})},
		"units that wrap around":    {new(DiscreteLinear), write(magicDiscreteLinear, true, 4, []uint64{9, 1<<64 - 1})},
		"resolution 0":              {new(DiscreteLinear), write(magicDiscreteLinear, true, 0, []uint64{0, 0})},
		"half a pull":               {new(GPA), write(magicGPA, 0.1, half, 1, 0, none, []float64{0.5, 1})},
		"more reward than pulls":    {new(GPA), write(magicGPA, 0.1, half, 1, 0, []float64{2, 0}, []float64{1, 1})},
		"three means of two":        {new(GPA), write(magicGPA, 0.1, half, 1, 0, []float64{0, 0, 0}, none)},
		"too much priming":          {new(GPA), write(magicGPA, 0.1, half, 1, 3, none, none)},
		"no priming":                {new(GPA), write(magicGPA, 0.1, half, 0, 0, none, none)},
		"huge number of actions":    {new(Bayesian), write(magicBayesian, 1<<40, 1, 0, none, none)},
		"branch above 1":            {new(HDPA), write(magicHDPA, 4, []uint32{0, 9}, 1, 0, none, none)},
		"point beyond N":            {new(SPL), write(magicSPL, 4, 5)},
		"node 0":                    {new(HSSL), write(magicHSSL, 4, 0)},
		"node too deep":             {new(HSSL), write(magicHSSL, 4, 32)},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, c.into.UnmarshalBinary(c.data), ErrCorrupt)
		})
	}
	late := codec.NewEncoder(nil, magicSPL, 2)
	require.ErrorIs(t, new(SPL).UnmarshalBinary(must(late.Finish())), ErrVersion)
}

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden pins the saved bytes of every scheme after 100 steps and its next 40
// actions. Its environment answers 0 or 1 and its seed is fixed, so that only a
// change of a rule, of the use of the source or of the format can change it.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for _, s := range schemes {
		a, src := must(s.make(3)), rand.NewPCG(11, 12)
		env := must(NewPModel(0.2, 0.7, 0.5))
		run(t, a, env, src, 100)
		data := must(a.(saver).MarshalBinary())
		fmt.Fprintf(&b, "%s\n%s\n%v\n", s.name, hex.EncodeToString(data), run(t, a, env, src, 40))
	}
	const name = "testdata/golden.txt"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// FuzzRestore feeds anything to every UnmarshalBinary: what is accepted must be
// saved again as the same bytes and must work.
func FuzzRestore(f *testing.F) {
	for i, s := range schemes {
		a := must(s.make(3))
		f.Add(i, must(a.(saver).MarshalBinary()))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		if i < 0 || i >= len(schemes) {
			return
		}
		v := schemes[i].empty
		if v.UnmarshalBinary(data) != nil {
			return
		}
		require.Equal(t, data, must(v.MarshalBinary()))
		a := v.(Automaton)
		src := rand.NewPCG(1, 1)
		require.NoError(t, a.Learn(a.Select(src), 0.5, src))
	})
}
