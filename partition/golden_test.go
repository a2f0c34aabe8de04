package partition

import (
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/internal/golden"
)

// The choices of each scheme at a fixed seed do not change from one version to the next, or
// from one machine to another, unnoticed.
func TestGolden(t *testing.T) {
	t.Parallel()
	var got string
	trace := func(name string, s assigner) {
		h := fnv.New64a()
		for n := range 2000 {
			j, err := s.Next(n % 20)
			require.NoError(t, err)
			h.Write([]byte{byte(j)})
			require.NoError(t, s.Observe(n%20, float64(20+(n*7+j*5)%13+20*((n+j)%3))))
		}
		got += fmt.Sprintf("%s %x\n", name, h.Sum64())
	}
	src := func() rand.Source { return rand.NewChaCha8([32]byte{1}) }
	for _, cfg := range []TWOMAConfig{fitted, recommended} {
		w, err := NewTWOMA(3, 20, cfg, src())
		require.NoError(t, err)
		trace(fmt.Sprintf("TWOMA entry %d", cfg.Entry), w)
	}
	a, err := NewAssigner(3, 20, AssignerConfig{Threshold: 5, Explore: 0.1, Capacity: []float64{200, 500, 900}}, src())
	require.NoError(t, err)
	trace("Assigner", a)
	for variant := OMA; variant <= GCDOMA; variant++ {
		p, err := NewOMA(variant, []int{4, 4, 4}, 5, src())
		require.NoError(t, err)
		h := fnv.New64a()
		for n := range 500 {
			i := n * 5 % 12
			require.NoError(t, p.Query(i, (i+1+n%11)%12))
			class, err := p.Class(i)
			require.NoError(t, err)
			h.Write([]byte{byte(class)})
		}
		got += fmt.Sprintf("rule %d %x\n", variant, h.Sum64())
	}
	class := func(name string, query func(i, j int) error, class func(int) (int, error)) {
		h := fnv.New64a()
		for n := range 500 {
			i := n * 5 % 12
			require.NoError(t, query(i, (i+1+n%11)%12))
			c, err := class(i)
			require.NoError(t, err)
			h.Write([]byte{byte(c)})
		}
		got += fmt.Sprintf("%s %x\n", name, h.Sum64())
	}
	unequal, err := NewOMA(GCDOMA, []int{4, 8}, 5, src())
	require.NoError(t, err)
	class("GCDOMA, parts", unequal.Query, unequal.Class)
	counts, err := NewCoAccess([]int{2, 4, 6})
	require.NoError(t, err)
	class("CoAccess", counts.Query, counts.Class)
	pairs, err := NewPairTWOMA(3, 20, PairTWOMAConfig{})
	require.NoError(t, err)
	h := fnv.New64a()
	for n := range 1000 {
		i, j := n*7%20, (n*7+1+n%19)%20
		a, err := pairs.Next(i)
		require.NoError(t, err)
		b, err := pairs.Next(j)
		require.NoError(t, err)
		h.Write([]byte{byte(a), byte(b)})
		require.NoError(t, pairs.Observe(i, float64(20+(n*7+a*5)%13+20*((n+a)%3))))
		require.NoError(t, pairs.Observe(j, float64(20+(n*3+b*5)%13+20*((n+b)%3))))
	}
	got += fmt.Sprintf("PairTWOMA %x\n", h.Sum64())

	golden.Check(t, "choices.golden", got)
}

// access asks an assigner for its arms and tells it durations, some rounds.
func access(a assigner, sites iter.Seq[int]) (arms []int) {
	for n := range 5 {
		for site := range sites {
			j, err := a.Next(site)
			if err != nil {
				panic(err)
			}
			arms = append(arms, j)
			if err := a.Observe(site, float64(10+(n+site+j)%5)); err != nil {
				panic(err)
			}
		}
	}
	return arms
}

// ask sends queries to a grouping of 0..n-1 and returns the classes.
func ask(query func(i, j int) error, class func(int) (int, error), n int) (classes []int) {
	for k := range 3 * n {
		if i, j := k%n, k*3%n; i != j {
			if err := query(i, j); err != nil {
				panic(err)
			}
		}
	}
	for i := range n {
		c, err := class(i)
		if err != nil {
			panic(err)
		}
		classes = append(classes, c)
	}
	return classes
}

// Every type is saved as the same bytes, restored, and refused if spoiled.
func TestSaved(t *testing.T) {
	t.Parallel()
	for name, c := range savedCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codectest.Run(t, name, c)
		})
	}
	s, err := NewAssigner(2, 2, AssignerConfig{}, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	_, err = s.MarshalBinary()
	require.ErrorContains(t, err, "use *rand.PCG or *rand.ChaCha8")
}

// Classes that hold an object twice are refused, also where the data end with them.
func TestClassesWithAnObjectTwice(t *testing.T) {
	t.Parallel()
	data, err := partitionerFormat.Save(func(e *codec.Encoder) {
		e.Byte(byte(OMA))
		e.Ints([]int{2, 2})
		e.Int(5)
		e.Int(4)
		for _, object := range []uint32{0, 1, 1, 3} {
			e.Uint32(object)
		}
	})
	require.NoError(t, err)
	require.ErrorContains(t, new(objectMigration).UnmarshalBinary(data), "object 1 listed twice")
}

func FuzzSaved(f *testing.F) {
	cases := savedCases(f)
	var list []*codectest.Case
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		list = append(list, cases[name])
	}
	codectest.Fuzz(f, list...)
}

func savedCases(t testing.TB) map[string]*codectest.Case {
	w, err := NewTWOMA(2, 3, TWOMAConfig{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	for i, d := range []float64{10, 20, 30} {
		require.NoError(t, w.Observe(i, d))
	}
	p, err := NewPairTWOMA(2, 4, PairTWOMAConfig{})
	require.NoError(t, err)
	for _, i := range []int{0, 2, 1, 3} {
		require.NoError(t, p.Observe(i, float64(10+i/2*20)))
	}
	s, err := NewAssigner(2, 2, AssignerConfig{Threshold: 5, Explore: 0.1, Capacity: []float64{200, 500}}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.NoError(t, s.SetWeight(0, 2))
	for n := range 12 {
		j, err := s.Next(n % 2)
		require.NoError(t, err)
		require.NoError(t, s.Observe(n%2, float64(10+n%5+j)))
	}
	_, err = s.Next(0)
	require.NoError(t, err)
	o, err := migration(PEOMA, []int{2, 2}, 5, rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.NoError(t, o.Query(0, 3))
	c, err := counting([]int{2, 2})
	require.NoError(t, err)
	require.NoError(t, c.Query(0, 3))
	require.NoError(t, s.Remove(1))
	s.Add()
	return map[string]*codectest.Case{
		"TWOMA": codectest.Of(w, func() *TWOMA { return new(TWOMA) }, func(w *TWOMA) any { return access(w, w.All()) }),
		"PairTWOMA": codectest.Of(p, func() *PairTWOMA { return new(PairTWOMA) }, func(p *PairTWOMA) any {
			return access(p, func(yield func(int) bool) {
				for i := range len(p.arm) {
					if !yield(i) {
						return
					}
				}
			})
		}),
		"Assigner": codectest.Of(s, func() *Assigner { return new(Assigner) }, func(a *Assigner) any { return access(a, a.All()) }),
		"Partitioner": codectest.Of(o, func() *objectMigration { return new(objectMigration) }, func(p *objectMigration) any {
			return ask(p.Query, p.Class, len(p.part))
		}),
		"CoAccess": codectest.Of(c, func() *coAccess { return new(coAccess) }, func(c *coAccess) any {
			return ask(c.Query, c.Class, len(c.class))
		}),
	}
}
