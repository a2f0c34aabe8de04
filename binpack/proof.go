package binpack

import (
	"github.com/recrawl/recrawl/internal/packing"
)

// A Proof shows that the items of a problem do not fit into Bins bins. [Solve] returns one where no
// certificate proves its bound, and [CheckProof] verifies it. A proof is a tree of decisions on
// whether two items share a bin. At every leaf it has values of the items that rule out a packing.
//
// A proof is plain data: encoding/json saves and loads it, and no number in it is above 2⁵³.
//
// # How it works
//
// There are K = Bins bins of capacity C. The waste of all bins together is W = K·C − Σw, so every
// bin of a packing has a load from C−W to C. The decisions above a leaf merge items that share a
// bin, and keep other items apart. A leaf gives each item i a value u_i and each cut a penalty. Let
// B be the sum of all values minus all penalties. Let p be any set of items that has a load from
// C−W to C and obeys the decisions. If
//
//	Σ_{i∈p} u_i − Σ{penalty of a cut: p holds two or three of its items} ≤ M   for all p
//
// and B > K·M, no packing obeys the decisions. At most one bin holds two of the three items of a
// cut, so the left sides of the K bins add up to at least B. But they add up to at most K·M. All
// numbers are whole, so nothing depends on rounding.
type Proof struct {
	Bins int `json:"bins"`
	// Cuts are sets of three items.
	Cuts [][3]int `json:"cuts,omitempty"`
	// Nodes are the nodes of the tree, the root first and every node before its children.
	Nodes []ProofNode `json:"nodes"`
}

// A ProofNode is a decision, or a leaf if Value is set.
type ProofNode struct {
	// Pair is the two items of the decision. They share a bin in the subtree of node number
	// Together, and do not in the subtree of node number Apart. An item that no decision above
	// joins to another stands for all such items of the same weight, because these can change
	// places. So the items that the pair stands for do not share a bin in the subtree of Apart
	// either.
	Pair     [2]int `json:"pair,omitzero"`
	Together int    `json:"together,omitempty"`
	Apart    int    `json:"apart,omitempty"`
	// Value is the value of each item, in a leaf.
	Value []int64 `json:"value,omitempty"`
	// Penalty is the penalty of each cut, by the number of the cut. Cuts that are not in the map
	// have none.
	Penalty map[int]int64 `json:"penalty,omitempty"`
}

// newProof turns the solver's proof into the public one.
func newProof(in *packing.Proof) *Proof {
	if in == nil {
		return nil
	}
	p := &Proof{Bins: in.Bins, Nodes: make([]ProofNode, len(in.Nodes))}
	for _, c := range in.Cuts {
		p.Cuts = append(p.Cuts, [3]int{int(c[0]), int(c[1]), int(c[2])})
	}
	for k, n := range in.Nodes {
		to := &p.Nodes[k]
		to.Pair = [2]int{int(n.Pair[0]), int(n.Pair[1])}
		to.Together, to.Apart, to.Value = n.Together, n.Apart, n.Value
		for _, x := range n.Penalty {
			if to.Penalty == nil {
				to.Penalty = make(map[int]int64, len(n.Penalty))
			}
			to.Penalty[x.Cut] = x.Value
		}
	}
	return p
}
