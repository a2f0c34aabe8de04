package binpack

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/packing"
	"github.com/recrawl/recrawl/internal/packing/pairs"
	"github.com/recrawl/recrawl/internal/packing/petersen"
)

// augmented draws a problem like ANI (Delorme, Iori & Martello 2016), of a core and triples that
// fill a bin, or with split set like AI: then one item is two.
func augmented(rng *rand.Rand, c, triples int, split bool) Problem[int] {
	p := Problem[int]{Weights: petersen.Core(rng, c), Capacity: c}
	for range triples {
		a, b := 0, 0
		for c-a-b < c/6 || a == 0 {
			a, b = c/6+rng.IntN(c/3), c/6+rng.IntN(c/3)
		}
		p.Weights = append(p.Weights, a, b, c-a-b)
	}
	if split {
		a := 1 + rng.IntN(p.Weights[0]-1)
		p.Weights[0] -= a
		p.Weights = append(p.Weights, a)
	}
	rng.Shuffle(len(p.Weights), func(i, j int) { p.Weights[i], p.Weights[j] = p.Weights[j], p.Weights[i] })
	return p
}

// proofOf solves a problem whose last bin needs a proof, and requires that it holds.
func proofOf(t require.TestingT, p Problem[int]) Proof {
	s, err := Solve(context.Background(), p, SolveConfig{})
	require.NoError(t, err)
	require.True(t, s.Proved)
	require.NotNil(t, s.Proof)
	n, err := CheckProof(p, *s.Proof)
	require.NoError(t, err)
	require.Equal(t, s.Lower, n)
	require.Less(t, certified(s.Certificate), n)
	return *s.Proof
}

func TestProofOfAugmented(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		p := augmented(rand.New(rand.NewPCG(uint64(i), 91)), 20_000, 6, false)
		proof := proofOf(t, p)
		data, err := json.Marshal(proof)
		require.NoError(t, err)
		var again Proof
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, proof, again)
	}
}

// What the problem without conflicts and pins needs is needed with them, and has the same proof.
func TestProofBesideConflicts(t *testing.T) {
	t.Parallel()
	p := augmented(rand.New(rand.NewPCG(0, 91)), 20_000, 6, false)
	p.Conflicts, p.Pins = [][2]int{{0, 1}}, map[int]int{0: 2}
	s, err := Solve(context.Background(), p, SolveConfig{Nodes: 2000})
	require.NoError(t, err)
	require.Equal(t, 10, s.Lower)
	require.NotNil(t, s.Proof)
	n, err := CheckProof(p, *s.Proof)
	require.NoError(t, err)
	require.Equal(t, 10, n)
}

// An item in two pieces makes the last bin superfluous.
func TestAugmentedSplit(t *testing.T) {
	t.Parallel()
	for i := range 3 {
		s := solve(t, augmented(rand.New(rand.NewPCG(uint64(i), 92)), 2500, 30, true))
		require.True(t, s.Proved)
	}
}

// treeProof is a proof with decisions, several leaves and penalties: below a first decision, one
// with cuts, and one with a tree instead.
func treeProof(t *testing.T) (Problem[int], Proof) {
	p := Problem[int]{Weights: petersen.Core(rand.New(rand.NewPCG(1, 93)), 1000), Capacity: 1000}
	in := &pairs.Problem{Capacity: 1000, Bins: 3}
	for _, w := range p.Weights {
		in.Weights = append(in.Weights, int64(w))
	}
	var proofs [2]*Proof
	for k, cuts := range []int{0, -1} {
		a := pairs.Decide(context.Background(), in, pairs.Config{Cuts: cuts})
		require.Equal(t, pairs.Impossible, a.Verdict)
		proofs[k] = newProof(&packing.Proof{Bins: 3, Proof: a.Proof})
		n, err := CheckProof(p, *proofs[k])
		require.NoError(t, err)
		require.Equal(t, 4, n)
	}
	require.NotEmpty(t, proofs[0].Cuts)
	require.Len(t, proofs[0].Nodes, 1)
	require.Len(t, proofs[1].Nodes, 3)
	both := Proof{Bins: 3, Cuts: proofs[0].Cuts, Nodes: []ProofNode{{Pair: [2]int{2, 7}, Together: 1, Apart: 2}, proofs[0].Nodes[0]}}
	for _, n := range proofs[1].Nodes {
		if n.Value == nil {
			n.Together += 2
			n.Apart += 2
		}
		both.Nodes = append(both.Nodes, n)
	}
	n, err := CheckProof(p, both)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	return p, both
}

// Of a proof that claims what is wrong the checker accepts nothing, whatever the values: the
// problem fits into the bins.
func proofProperty(t *rapid.T) {
	c := rapid.IntRange(10, 60).Draw(t, "c")
	p := Problem[int]{Weights: rapid.SliceOfN(rapid.IntRange(1, c), 2, 8).Draw(t, "w"), Capacity: c}
	n := len(p.Weights)
	value := rapid.SliceOfN(rapid.Int64Range(-40, 100), n, n)
	item := rapid.IntRange(0, n-1)
	proof := Proof{Bins: bruteBins(p) + rapid.IntRange(-1, 1).Draw(t, "more")}
	if n > 2 {
		first := rapid.IntRange(0, n-3).Draw(t, "first")
		proof.Cuts = [][3]int{{first, first + 1, n - 1}}
	}
	leaf := func() ProofNode {
		l := ProofNode{Value: value.Draw(t, "value")}
		if proof.Cuts != nil && rapid.Bool().Draw(t, "cut") {
			l.Penalty = map[int]int64{0: rapid.Int64Range(0, 50).Draw(t, "penalty")}
		}
		return l
	}
	if rapid.Bool().Draw(t, "tree") {
		proof.Nodes = []ProofNode{{Pair: [2]int{item.Draw(t, "a"), item.Draw(t, "b")}, Together: 1, Apart: 2}, leaf(), leaf()}
	} else {
		proof.Nodes = []ProofNode{leaf()}
	}
	if k, err := CheckProof(p, proof); err == nil {
		require.LessOrEqual(t, k, bruteBins(p))
	}
}

func TestCheckProofIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, proofProperty)
}

func FuzzCheckProof(f *testing.F) { f.Fuzz(rapid.MakeFuzz(proofProperty)) }

// Whatever is changed in a proof, it is rejected.
func TestForgedProofs(t *testing.T) {
	t.Parallel()
	p, good := treeProof(t)
	forge := func(name string, change func(*Proof)) {
		data, err := json.Marshal(good)
		require.NoError(t, err)
		var bad Proof
		require.NoError(t, json.Unmarshal(data, &bad))
		change(&bad)
		_, err = CheckProof(p, bad)
		require.ErrorIs(t, err, ErrInvalid, name)
	}
	forge("one bin more", func(p *Proof) { p.Bins++ })
	forge("no bins", func(p *Proof) { p.Bins = 0 })
	forge("no nodes", func(p *Proof) { p.Nodes = nil })
	forge("a node without a parent", func(p *Proof) { p.Nodes = append(p.Nodes, p.Nodes[len(p.Nodes)-1]) })
	forge("a cut without an item", func(p *Proof) { p.Cuts[0][1] = len(good.Nodes[0].Value) + 1000 })
	forge("a cut with an item twice", func(p *Proof) { p.Cuts[0][1] = p.Cuts[0][0] })
	forge("no penalties", func(p *Proof) {
		p.Nodes = []ProofNode{p.Nodes[1]}
		p.Nodes[0].Penalty = nil
	})
	leaves := 0
	for k, n := range good.Nodes {
		if n.Value == nil {
			forge("pair", func(p *Proof) { p.Nodes[k].Pair[0] = -1 })
			forge("pair twice", func(p *Proof) { p.Nodes[k].Pair[0] = p.Nodes[k].Pair[1] })
			forge("the other way round", func(p *Proof) {
				if n := &p.Nodes[k]; k > 0 {
					n.Together, n.Apart = n.Apart, n.Together
				} else {
					p.Nodes = p.Nodes[:2]
				}
			})
			forge("only together", func(p *Proof) { p.Nodes[k].Apart = p.Nodes[k].Together })
			forge("only apart", func(p *Proof) { p.Nodes[k].Together = p.Nodes[k].Apart })
			forge("a child before its parent", func(p *Proof) { p.Nodes[k].Apart = k })
			forge("a child out of range", func(p *Proof) { p.Nodes[k].Apart = len(p.Nodes) })
			continue
		}
		leaves++
		forge("too few values", func(p *Proof) { p.Nodes[k].Value = p.Nodes[k].Value[1:] })
		forge("a value above all sums", func(p *Proof) { p.Nodes[k].Value[0] = 1 << 62 })
		forge("no values", func(p *Proof) { p.Nodes[k].Value, p.Nodes[k].Penalty = make([]int64, len(n.Value)), nil })
		for i := range n.Value {
			// Below a decision, no bin may take the item, and then any value of it is a proof.
			forge("a large value", func(p *Proof) {
				p.Nodes = []ProofNode{p.Nodes[1]}
				p.Nodes[0].Value[i] += 1 << 50
			})
			forge("a small value", func(p *Proof) { p.Nodes[k].Value[i] -= 1 << 50 })
		}
		forge("an unknown cut", func(p *Proof) { p.Nodes[k].Penalty = map[int]int64{len(p.Cuts): 1} })
		for cut := range n.Penalty {
			forge("a negative penalty", func(p *Proof) { p.Nodes[k].Penalty[cut] = -1 })
			forge("a large penalty", func(p *Proof) { p.Nodes[k].Penalty[cut] += 1 << 50 })
		}
	}
	require.Greater(t, leaves, 1)
	_, err := CheckProof(Problem[int]{Weights: p.Weights[1:], Capacity: p.Capacity}, good)
	require.ErrorIs(t, err, ErrInvalid, "another problem")
	other := slices.Clone(p.Weights)
	other[0]--
	_, err = CheckProof(Problem[int]{Weights: other, Capacity: p.Capacity}, good)
	require.ErrorIs(t, err, ErrInvalid, "a lighter item")
}

// A forged proof repeats one decision for many items of one weight: that takes neither much memory nor
// much time.
func TestForgedPairs(t *testing.T) {
	t.Parallel()
	chain := func(items, depth int) (Problem[int], Proof) {
		p := Problem[int]{Weights: slices.Repeat([]int{3}, items), Capacity: 10}
		leaf := ProofNode{Value: slices.Repeat([]int64{1}, items)}
		proof := Proof{Bins: items / 3}
		for k := range depth {
			proof.Nodes = append(proof.Nodes, ProofNode{Pair: [2]int{0, 1}, Together: 2*k + 1, Apart: 2*k + 2}, leaf)
		}
		proof.Nodes = append(proof.Nodes, leaf)
		return p, proof
	}
	p, proof := chain(10, 3)
	n, err := CheckProof(p, proof)
	require.NoError(t, err)
	require.Equal(t, 4, n, "nothing is wrong with repeating it")
	for _, c := range [][2]int{{3001, 1}, {1000, 5}} { // at once: too many by one decision, or by several
		p, proof := chain(c[0], c[1])
		_, err := CheckProof(p, proof)
		require.ErrorIs(t, err, ErrTooHard)
		require.ErrorContains(t, err, "more than")
	}
	_, proof = chain(100, 200) // 2 million pairs at the end, at 200 leaves
	c := proofChecker{proof: proof, steps: proofSteps, pairs: proofPairs, cells: proofCells, capacity: 10, weights: slices.Repeat([]int64{3}, 100)}
	require.NoError(t, c.prepare())
	require.ErrorIs(t, c.node(0), ErrTooHard)
	require.Less(t, len(c.parted), proofParted)

	// Two items that are together are too heavy, so that no leaf looks at the pairs that are listed for it.
	p = Problem[int]{Weights: slices.Repeat([]int{6}, 2000), Capacity: 10}
	leaf := ProofNode{Value: make([]int64, 2000)}
	proof = Proof{Bins: 1300, Nodes: []ProofNode{{Pair: [2]int{0, 1}, Together: 1, Apart: 42}}}
	for k := 1; k <= 39; k += 2 {
		proof.Nodes = append(proof.Nodes, ProofNode{Pair: [2]int{k + 1, k + 2}, Together: k + 2, Apart: k + 1}, leaf)
	}
	proof.Nodes = append(proof.Nodes, leaf, leaf)
	_, err = CheckProof(p, proof)
	require.ErrorContains(t, err, "pairs apart")
}

// A forged proof with very many decisions above a leaf, or very many items in a leaf, is refused before
// the recursion overflows the stack.
func TestForgedDepth(t *testing.T) {
	t.Parallel()
	proof := Proof{Bins: 1}
	for k := range proofDepth + 1 {
		proof.Nodes = append(proof.Nodes, ProofNode{Pair: [2]int{0, 1}, Together: k + 1, Apart: k + 1})
	}
	proof.Nodes = append(proof.Nodes, ProofNode{Value: []int64{1, 1}})
	_, err := CheckProof(Problem[int]{Weights: []int{1, 1}, Capacity: 3}, proof)
	require.ErrorIs(t, err, ErrTooHard)
	require.ErrorContains(t, err, "decisions above a node")

	items := proofDepth + 1 // all fit, so the search takes one after the other
	_, err = CheckProof(Problem[int]{Weights: make([]int, items), Capacity: 1},
		Proof{Bins: 1, Nodes: []ProofNode{{Value: slices.Repeat([]int64{1}, items)}}})
	require.ErrorIs(t, err, ErrTooHard)
}

// Many leaves with large tables, or below many decisions, take no more than so many cells.
func TestForgedCells(t *testing.T) {
	t.Parallel()
	const items, depth, capacity = 10, 30, 10
	leaf := ProofNode{Value: slices.Repeat([]int64{1}, items)}
	proof := Proof{Bins: items / 3, Nodes: []ProofNode{leaf}}
	check := func(cells int) (left int, err error) {
		c := proofChecker{proof: proof, steps: proofSteps, pairs: proofPairs, cells: cells, capacity: capacity, weights: slices.Repeat([]int64{3}, items)}
		require.NoError(t, c.prepare())
		err = c.node(0)
		return c.cells, err
	}
	_, err := check((items + 1) * (capacity + 1))
	require.ErrorContains(t, err, "tables and decisions")
	proof.Nodes = nil
	for k := range depth { // a row of decisions that join
		proof.Nodes = append(proof.Nodes, ProofNode{Pair: [2]int{0, 1}, Together: k + 1, Apart: depth + 1 + k})
	}
	for range depth + 1 {
		proof.Nodes = append(proof.Nodes, leaf)
	}
	left, err := check(proofCells)
	require.NoError(t, err)
	taken := proofCells - left
	require.Greater(t, taken, items*depth*depth/2, "what is joined is found at every leaf")
	_, err = check(taken)
	require.NoError(t, err)
	_, err = check(taken - 1)
	require.ErrorIs(t, err, ErrTooHard)
}

// The weights alone may be too much, and floats round the safe way.
func TestCheckProofOfWeights(t *testing.T) {
	t.Parallel()
	n, err := CheckProof(Problem[float64]{Weights: []float64{.5, .5, .25}, Capacity: 1},
		Proof{Bins: 1, Nodes: []ProofNode{{Value: []int64{2, 2, 1}}}})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = CheckProof(Problem[float64]{Weights: []float64{.25, .25, .5}, Capacity: 1},
		Proof{Bins: 1, Nodes: []ProofNode{{Value: []int64{1, 2, 7}}}})
	require.ErrorIs(t, err, ErrInvalid)
	_, err = CheckProof(Problem[int]{Weights: []int{1 << 40, 1 << 39}, Capacity: 1 << 41},
		Proof{Bins: 1, Nodes: []ProofNode{{Value: []int64{1, 1}}}})
	require.ErrorIs(t, err, ErrTooHard)
}
