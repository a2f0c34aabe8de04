package partition

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func equalSizes(objects, classes int) []int { return slices.Repeat([]int{objects / classes}, classes) }

// pairSource asks for two objects of the same true class with probability p, else
// of two different ones; object i truly belongs to class i/size.
type pairSource struct {
	objects, size int
	p             float64
	rng           *rand.Rand
}

func (s pairSource) next() (i, j int) {
	i = s.rng.IntN(s.objects)
	together := s.rng.Float64() < s.p
	for {
		if j = s.rng.IntN(s.objects); i != j && (i/s.size == j/s.size) == together {
			return i, j
		}
	}
}

// right tells whether classes are the true ones, whatever their numbers.
func right(class func(int) (int, error), objects, size int) bool {
	for i := range objects {
		a, _ := class(i)
		b, _ := class(i / size * size)
		if a != b {
			return false
		}
	}
	return true
}

// queriesTo runs an automaton until it converged; ok is false if it did not within the
// limit.
func queriesTo(t testing.TB, variant OMAVariant, objects, classes int, p float64, seed uint64, limit int) (queries int, ok bool) {
	a, err := migration(variant, equalSizes(objects, classes), 10, rand.NewPCG(seed, 1))
	require.NoError(t, err)
	src := pairSource{objects, objects / classes, p, rand.New(rand.NewPCG(seed, 2))}
	for q := 1; q <= limit; q++ {
		if err := a.Query(src.next()); err != nil {
			t.Fatal(err)
		}
		if a.Converged() {
			return q, right(a.Class, objects, objects/classes)
		}
	}
	return limit, false
}

func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(sd)
}

// The reference is the mean of 200 runs of an independent implementation. With equal
// distributions, the means of n and of 200 runs differ by a variable of standard
// deviation s·√(1/n + 1/200): the bound is four of these. (s is measured; 0.006 % of
// true cases fail each, none at these seeds.)
func TestQueriesToConvergence(t *testing.T) {
	t.Parallel()
	const reference = 200
	runs := 60
	if testing.Short() {
		runs = 15
	}
	for _, c := range []struct {
		objects, classes int
		p                float64
		queries          [4]float64 // by variant; 0 if too long to be run here
	}{
		{9, 3, .9, [4]float64{185, 84, 78, 63}},
		{18, 3, 1, [4]float64{0, 172, 174, 156}},
		{18, 3, .9, [4]float64{5355, 233, 223, 178}},
		{18, 3, .7, [4]float64{6304, 799, 421, 461}},
		{18, 9, .7, [4]float64{4144, 563, 296, 929}},
		{30, 3, .8, [4]float64{21258, 790, 653, 650}},
		{30, 10, .7, [4]float64{0, 2359, 730, 2110}},
	} {
		for variant, want := range c.queries {
			if want == 0 || testing.Short() && want > 10000 {
				continue
			}
			t.Run(fmt.Sprintf("%d in %d, p=%v, %v", c.objects, c.classes, c.p, OMAVariant(variant)), func(t *testing.T) {
				var q []float64
				for seed := range runs {
					n, ok := queriesTo(t, OMAVariant(variant), c.objects, c.classes, c.p, uint64(seed), 1_000_000)
					require.True(t, ok, "seed %d", seed)
					q = append(q, float64(n))
				}
				mean, sd := meanSD(q)
				bound := 4 * sd * math.Sqrt(1/float64(runs)+1.0/reference)
				t.Logf("mean %.0f sd %.0f, reference %.0f, bound %.0f", mean, sd, want, bound)
				require.InDelta(t, want, mean, bound)
			})
		}
	}
}

// Two objects that belong together wait for each other for ever where every other
// object is inside: with queries of true pairs only, nothing can bring one to
// the boundary of the two classes. Of 200 runs of the reference 149 were stuck.
func TestDeadlockAndCure(t *testing.T) {
	t.Parallel()
	runs := 200
	if testing.Short() {
		runs = 40
	}
	stuck := 0
	for seed := range runs {
		if _, ok := queriesTo(t, OMA, 18, 3, 1, uint64(seed), 20_000); !ok {
			stuck++
		}
		_, ok := queriesTo(t, EOMA, 18, 3, 1, uint64(seed), 20_000)
		require.True(t, ok, "EOMA stuck, seed %d", seed)
	}
	// Both counts are binomial; the difference of the rates has this sd.
	const rate = 149.0 / 200
	sd := math.Sqrt(rate * (1 - rate) * (1/float64(runs) + 1.0/200))
	require.InDelta(t, rate, float64(stuck)/float64(runs), 4*sd)
	require.Positive(t, stuck)
}

// Counting needs a small part of the queries: to the first one after which the partition
// stays right.
func TestCoAccessQueries(t *testing.T) {
	t.Parallel()
	runs := 60
	if testing.Short() {
		runs = 30
	}
	for _, c := range []struct {
		objects, classes int
		p                float64
		automaton        float64 // queries of the best one
	}{{9, 3, .9, 63}, {18, 3, 1, 156}, {18, 3, .9, 178}, {18, 3, .7, 421}, {18, 9, .7, 296}, {30, 3, .8, 650}, {30, 10, .7, 730}} {
		var q []float64
		for seed := range runs {
			a, err := counting(equalSizes(c.objects, c.classes))
			require.NoError(t, err)
			size := c.objects / c.classes
			src := pairSource{c.objects, size, c.p, rand.New(rand.NewPCG(uint64(seed), 3))}
			// A random start: the true classes must not be the first ones.
			name := rand.New(rand.NewPCG(uint64(seed), 4)).Perm(c.objects)
			class := func(i int) (int, error) { return a.Class(name[i]) }
			first := 0
			for n := 1; n <= 20*c.objects; n++ {
				i, j := src.next()
				require.NoError(t, a.Query(name[i], name[j]))
				if !right(class, c.objects, size) {
					first = n + 1
				}
			}
			q = append(q, float64(first))
		}
		// The best automaton of TestQueriesToConvergence needs more than three times
		// the mean, four standard errors above what was measured here.
		mean, sd := meanSD(q)
		require.Less(t, 3*(mean+4*sd/math.Sqrt(float64(runs))), c.automaton, "%d in %d, p=%v", c.objects, c.classes, c.p)
	}
}

// After every query no swap of two objects puts more of the counted queries within classes: every
// pair is tried, with counts kept here.
func TestCoAccessIsALocalOptimum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		sizes := make([]int, 2+rng.IntN(4))
		for k := range sizes {
			sizes[k] = 1 + rng.IntN(5)
		}
		c, err := counting(sizes)
		require.NoError(t, err)
		n := len(c.class)
		count := make([]int, n*n)
		within := func(class []int32) (sum int) {
			for i := range n {
				for j := range i {
					if class[i] == class[j] {
						sum += count[i*n+j]
					}
				}
			}
			return sum
		}
		for range 150 {
			i, j := rng.IntN(n), rng.IntN(n)
			if i == j {
				continue
			}
			require.NoError(t, c.Query(i, j))
			count[max(i, j)*n+min(i, j)]++
			sum, class := within(c.class), slices.Clone(c.class)
			for i := range n {
				for j := range i {
					class[i], class[j] = class[j], class[i]
					require.LessOrEqual(t, within(class), sum, "seed %d: objects %d and %d", seed, i, j)
					class[i], class[j] = class[j], class[i]
				}
			}
		}
	}
}

// The cases of the variant, each once.
func TestCases(t *testing.T) {
	t.Parallel()
	a, err := migration(OMA, []int{3, 3}, 4, rand.NewPCG(1, 2))
	require.NoError(t, err)
	place := func(states ...uint8) {
		a.member = []int32{0, 1, 2, 3, 4, 5}
		a.seat()
		copy(a.state, states)
		a.count()
	}
	class := func(i int) int { c, err := a.Class(i); require.NoError(t, err); return c }

	place(1, 2, 4, 4, 3, 1)
	require.NoError(t, a.Query(0, 1))
	require.Equal(t, []uint8{1, 1, 4, 4, 3, 1}, a.state, "reward, the innermost stays")
	require.NoError(t, a.Query(0, 4))
	require.Equal(t, []uint8{2, 1, 4, 4, 4, 1}, a.state, "(a) neither at the boundary")
	require.NoError(t, a.Query(2, 5))
	require.Equal(t, []uint8{2, 1, 4, 4, 4, 2}, a.state, "(b) the other one moves")
	require.NoError(t, a.Query(5, 2))
	require.Equal(t, []uint8{2, 1, 4, 4, 4, 3}, a.state, "(b) in the other order")
	require.NoError(t, a.Query(2, 4))
	require.Equal(t, []int{0, 0, 1, 0, 1, 1}, []int{class(0), class(1), class(2), class(3), class(4), class(5)},
		"(c) 3 is nearest to the boundary but for 4 itself")
	require.Equal(t, []uint8{2, 1, 4, 4, 4, 3}, a.state)
	require.False(t, a.Converged())

	a.variant = EOMA
	place(1, 2, 4, 4, 3, 1)
	require.NoError(t, a.Query(2, 5))
	require.Equal(t, []int{1, 0}, []int{class(2), class(3)}, "EOMA swaps with another boundary object")
	require.Equal(t, []uint8{1, 2, 4, 4, 3, 1}, a.state)
	place(1, 2, 4, 2, 3, 1)
	require.NoError(t, a.Query(5, 2))
	require.Equal(t, []uint8{1, 2, 4, 2, 3, 2}, a.state, "no such object: the partner moves outward")
}

func TestPursuitIgnoresRarePairs(t *testing.T) {
	t.Parallel()
	a, err := migration(PEOMA, []int{2, 2}, 5, rand.NewPCG(1, 2))
	require.NoError(t, err)
	ask := func(i, j int) []uint8 { require.NoError(t, a.Query(i, j)); return slices.Clone(a.state) }
	for range 20 {
		ask(0, 1)
	}
	// One query of 21 is less than 1/κ = 1/6.
	before := slices.Clone(a.state)
	require.Equal(t, before, ask(0, 2))
	require.Equal(t, before, ask(2, 0))
	require.Equal(t, before, ask(0, 2))
	require.NotEqual(t, before, ask(0, 2), "4 of 24 are as many")
}

func TestTransitivity(t *testing.T) {
	t.Parallel()
	states := func(variant OMAVariant) []uint8 {
		a, err := migration(variant, []int{4, 4}, 9, rand.NewPCG(1, 2))
		require.NoError(t, err)
		a.member = []int32{0, 1, 2, 3, 4, 5, 6, 7}
		a.seat()
		for range 14 { // κ = 28 queries
			require.NoError(t, a.Query(0, 1))
			require.NoError(t, a.Query(1, 2))
		}
		for i := range a.state {
			a.state[i] = 9
		}
		require.NoError(t, a.Query(0, 1))
		return a.state
	}
	require.Equal(t, []uint8{8, 8, 9, 9}, states(PEOMA)[:4])
	require.Equal(t, []uint8{7, 8, 8, 9}, states(TPEOMA)[:4], "(0, 1) counts for (0, 2), as 1 and 2 are often together")
}

// Classes of 2, 4 and 6 objects, under GCDOMA in parts of 2. The automata settle in
// the right partition or not at all: the small classes fit together into the large one,
// are only rewarded there, and leave no room. The same is a local optimum of counting.
func TestUnequalClasses(t *testing.T) {
	t.Parallel()
	sizes := []int{2, 4, 6}
	truth := []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}
	type learner interface {
		Query(i, j int) error
		Class(object int) (int, error)
	}
	run := func(a learner, converged func() bool, seed uint64) bool {
		rng := rand.New(rand.NewPCG(seed, 2))
		name := rng.Perm(len(truth))
		for range 5000 {
			together := rng.Float64() < .9
			i, j := rng.IntN(12), rng.IntN(12)
			for i == j || (truth[i] == truth[j]) != together {
				i, j = rng.IntN(12), rng.IntN(12)
			}
			require.NoError(t, a.Query(name[i], name[j]))
			if converged() {
				break
			}
		}
		for i := range truth {
			for j := range truth {
				ci, _ := a.Class(name[i])
				cj, _ := a.Class(name[j])
				if (truth[i] == truth[j]) != (ci == cj) {
					return false
				}
			}
		}
		return true
	}
	for _, variant := range []OMAVariant{EOMA, PEOMA, TPEOMA, GCDOMA} {
		found := 0
		for seed := range uint64(20) {
			a, err := migration(variant, sizes, 10, rand.NewPCG(seed, 1))
			require.NoError(t, err)
			ok := run(a, a.Converged, seed)
			require.False(t, a.Converged() && !ok, "%v, seed %d settled in a wrong partition", variant, seed)
			if ok {
				found++
			}
		}
		t.Logf("%v: %d of 20", variant, found)
		require.Positive(t, found, "%v", variant)
		require.Less(t, found, 20, "%v", variant)
	}
	found := 0
	for seed := range uint64(20) {
		c, err := counting(sizes)
		require.NoError(t, err)
		if run(c, func() bool { return false }, seed) {
			found++
		}
	}
	t.Logf("CoAccess: %d of 20", found)
	require.Greater(t, found, 10)
	require.Less(t, found, 20)
}

// However it is asked, an automaton keeps its classes' sizes, and saved and restored
// continues as the original does.
func partitionerProperty(t *rapid.T) {
	sizes := rapid.SliceOfN(rapid.SampledFrom([]int{2, 4, 6}), 2, 4).Draw(t, "sizes")
	variant := OMAVariant(rapid.IntRange(int(OMA), int(GCDOMA)).Draw(t, "variant"))
	a, err := migration(variant, sizes, rapid.IntRange(2, 5).Draw(t, "states"), rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	require.NoError(t, err)
	c, err := counting(sizes)
	require.NoError(t, err)
	for range rapid.IntRange(1, 60).Draw(t, "queries") {
		i, j := rapid.IntRange(0, len(a.part)-1).Draw(t, "i"), rapid.IntRange(0, len(a.part)-1).Draw(t, "j")
		if i == j {
			require.ErrorIs(t, a.Query(i, j), ErrUnknown)
			require.ErrorIs(t, c.Query(i, j), ErrUnknown)
			continue
		}
		saved, err := a.MarshalBinary()
		require.NoError(t, err)
		var b objectMigration
		require.NoError(t, b.UnmarshalBinary(saved))
		require.NoError(t, a.Query(i, j))
		require.NoError(t, b.Query(i, j))
		wantState, err := a.MarshalBinary()
		require.NoError(t, err)
		gotState, err := b.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, wantState, gotState)

		saved, err = c.MarshalBinary()
		require.NoError(t, err)
		var e coAccess
		require.NoError(t, e.UnmarshalBinary(saved))
		require.Equal(t, *c, e, "links are those of the counts")
		require.NoError(t, c.Query(i, j))

		settled := true
		left, leftC := slices.Clone(sizes), slices.Clone(sizes)
		for k := range len(a.part) {
			class, _ := a.Class(k)
			left[class]--
			class, _ = c.Class(k)
			leftC[class]--
			state := a.state[k]
			settled = settled && (state == 1 || state == 2 && variant != OMA)
		}
		require.Equal(t, make([]int, len(sizes)), left)
		require.Equal(t, make([]int, len(sizes)), leftC)
		require.Equal(t, settled, a.Converged())
	}
}

func TestPartitioner(t *testing.T) { t.Parallel(); rapid.Check(t, partitionerProperty) }
func FuzzPartitioner(f *testing.F) { f.Fuzz(rapid.MakeFuzz(partitionerProperty)) }

func TestFamilyRejects(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 2)
	for name, c := range map[string]struct {
		variant OMAVariant
		sizes   []int
		states  int
	}{
		"variant":       {GCDOMA + 1, []int{2, 2}, 5},
		"one class":     {OMA, []int{2}, 5},
		"states":        {OMA, []int{2, 2}, 1},
		"many states":   {OMA, []int{2, 2}, 256},
		"size":          {OMA, []int{2, 0}, 5},
		"coprime sizes": {GCDOMA, []int{2, 3}, 5},
		"overflow":      {OMA, []int{1 << 30, 1 << 30}, 5},
		"counts":        {PEOMA, []int{1 << 16, 1 << 16}, 5},
	} {
		_, err := NewOMA(c.variant, c.sizes, c.states, src)
		require.ErrorIs(t, err, ErrConfig, name)
	}
	require.Panics(t, func() { _, _ = NewOMA(OMA, []int{2, 2}, 5, nil) })
	for _, sizes := range [][]int{nil, {3}, {3, 0}, {1 << 16, 1}} {
		_, err := NewCoAccess(sizes)
		require.ErrorIs(t, err, ErrConfig)
	}
	c, err := counting([]int{2, 2})
	require.NoError(t, err)
	a, err := migration(OMA, []int{2, 2}, 0, src)
	require.NoError(t, err)
	require.Equal(t, defaultOMAStates, a.states)
	a, err = migration(OMA, []int{2, 2}, 5, src)
	require.NoError(t, err)
	for _, bad := range []int{-1, 4} {
		require.ErrorIs(t, a.Query(0, bad), ErrUnknown)
		require.ErrorIs(t, a.Query(bad, 0), ErrUnknown)
		_, err = a.Class(bad)
		require.ErrorIs(t, err, ErrUnknown)
		_, err = c.Class(bad)
		require.ErrorIs(t, err, ErrUnknown)
	}
}

// A saved state whose objects do not fill the classes is refused.
func TestCoAccessContradictions(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*coAccess){
		"too few objects":  func(c *coAccess) { c.sizes[1]++ },
		"too many objects": func(c *coAccess) { c.sizes[1]-- },
		"a third class":    func(c *coAccess) { c.class[0] = 2 },
		"a single class":   func(c *coAccess) { c.sizes, c.class = []int{4}, make([]int32, 4) },
		"counts of none":   func(c *coAccess) { c.counts.count[1]++ },
		"counts that overflow": func(c *coAccess) {
			for k := range c.counts.count {
				c.counts.count[k] = math.MaxUint32 - uint32(k)
				c.counts.queries += math.MaxUint32 - uint64(k)
			}
		},
	} {
		c, err := counting([]int{2, 2})
		require.NoError(t, err)
		spoil(c)
		data, err := c.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, new(coAccess).UnmarshalBinary(data), ErrCorrupt, name)
	}
}

// So is one of the OMA family whose parts contradict each other, each in one thing only.
func TestOMAContradictions(t *testing.T) {
	t.Parallel()
	good := func() *objectMigration {
		p, err := migration(OMA, []int{2, 3}, 4, rand.NewPCG(1, 2))
		require.NoError(t, err)
		return p
	}
	load := func(p *objectMigration) error {
		data, err := p.MarshalBinary()
		require.NoError(t, err)
		return new(objectMigration).UnmarshalBinary(data)
	}
	require.NoError(t, load(good()))
	for name, spoil := range map[string]func(p *objectMigration){
		"a class of one":          func(p *objectMigration) { p.sizes = []int{1, 4} },
		"a single class":          func(p *objectMigration) { p.sizes = []int{5} },
		"no common divisor":       func(p *objectMigration) { p.variant = GCDOMA },
		"fewer places":            func(p *objectMigration) { p.sizes = []int{2, 2}; p.state = p.state[:4] },
		"more places":             func(p *objectMigration) { p.sizes = []int{3, 3}; p.state = append(p.state, 1) },
		"an object too many":      func(p *objectMigration) { p.member = append(p.member, 5) },
		"an object too few":       func(p *objectMigration) { p.member = p.member[:4] },
		"an object there twice":   func(p *objectMigration) { p.member[0] = p.member[1] },
		"an unknown object":       func(p *objectMigration) { p.member[0] = 5 },
		"state 0":                 func(p *objectMigration) { p.state[4] = 0 },
		"a state beyond the last": func(p *objectMigration) { p.state[4] = 5 },
		"a single state":          func(p *objectMigration) { p.states, p.state = 1, []uint8{1, 1, 1, 1, 1} },
		"no source":               func(p *objectMigration) { p.src = nil },
	} {
		p := good()
		spoil(p)
		require.ErrorIs(t, load(p), ErrCorrupt, name)
	}
}

// With as many queries as are counted, swaps still come to an end, and no more are counted.
func TestCoAccessCountsEnd(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c, err := counting([]int{3, 3, 3})
		require.NoError(t, err)
		left := uint64(mostQueries - 3)
		for k := range c.counts.count {
			n := rng.Uint64N(left/4 + 1)
			c.counts.count[k], left = uint32(n), left-n
		}
		c.counts.count[0] += uint32(left)
		c.counts.queries = mostQueries - 3
		data, err := c.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, c.UnmarshalBinary(data))
		for k := range 60 {
			require.NoError(t, c.Query(k%9, (k+1+rng.IntN(8))%9))
		}
		require.EqualValues(t, mostQueries, c.counts.queries)
		data, err = c.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, c.UnmarshalBinary(data))
	}
}

// migration is NewOMA with access to what is inside.
func migration(variant OMAVariant, sizes []int, states int, src rand.Source) (*objectMigration, error) {
	a, err := NewOMA(variant, sizes, states, src)
	if err != nil {
		return nil, err
	}
	return a.(*objectMigration), nil
}

// counting is NewCoAccess with access to what is inside.
func counting(sizes []int) (*coAccess, error) {
	c, err := NewCoAccess(sizes)
	if err != nil {
		return nil, err
	}
	return c.(*coAccess), nil
}

// The moves of figure 3.3-1 of Chen & Wang (2006), after Oommen & Ma (1988): two classes of three
// objects, three states, of which 1 is the most internal and 3 the boundary.
func TestOMAMoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		i, j         int
		state, after []uint8
		then         []int // classes, nil for those before
	}{
		{"reward", 0, 1, []uint8{2, 1, 3, 3, 3, 3}, []uint8{1, 1, 3, 3, 3, 3}, nil},
		{"(a) neither at the boundary", 0, 3, []uint8{2, 1, 3, 1, 3, 3}, []uint8{3, 1, 3, 2, 3, 3}, nil},
		{"(b) the first at the boundary", 0, 3, []uint8{3, 1, 1, 1, 2, 2}, []uint8{3, 1, 1, 2, 2, 2}, nil},
		{"(b) the second at the boundary", 0, 3, []uint8{1, 1, 1, 3, 2, 2}, []uint8{2, 1, 1, 3, 2, 2}, nil},
		// The second, 3, stays, and 5, which is nearest to the boundary, gives way.
		{"(c) both at the boundary", 0, 3, []uint8{3, 1, 1, 3, 1, 2}, []uint8{3, 1, 1, 3, 1, 3}, []int{1, 0, 0, 1, 1, 0}},
	} {
		p, err := migration(OMA, []int{3, 3}, 3, rand.NewPCG(1, 2))
		require.NoError(t, err)
		for k := range p.member {
			p.member[k] = int32(k)
		}
		p.seat()
		copy(p.state, c.state)
		p.count()
		require.NoError(t, p.Query(c.i, c.j), c.name)
		require.Equal(t, c.after, p.state, c.name)
		if c.then == nil {
			c.then = []int{0, 0, 0, 1, 1, 1}
		}
		for object, want := range c.then {
			class, err := p.Class(object)
			require.NoError(t, err)
			require.Equal(t, want, class, "%s: object %d", c.name, object)
		}
	}
}

// A size that is too much only beside the others is told as such.
func TestTooManyObjects(t *testing.T) {
	t.Parallel()
	_, err := NewCoAccess([]int{maxCounted, 1})
	require.EqualError(t, err, ErrConfig.Error()+": class 1: size 1: more than 65536 objects in all")
	_, err = NewOMA(OMA, []int{1<<31 - 2, 2}, 0, rand.NewPCG(1, 2))
	require.EqualError(t, err, ErrConfig.Error()+": class 1: size 2: 2147483648 objects or more in all")
}
