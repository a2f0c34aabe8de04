package binpack

import (
	"github.com/recrawl/recrawl/internal/packing"
)

// A Proof shows that items do not fit into Bins bins: a tree of decisions whether two items share a
// bin, with values of the items at every leaf that leave no room for a packing. [Solve] returns one
// where no certificate proves its bound, and [CheckProof] verifies it.
//
// A proof is plain data: encoding/json saves and loads it, and no number in it is above 2⁵³.
//
// # How it works
//
// With K = Bins bins of capacity C, every bin of a packing has a load from C−W to C, where
// W = K·C − Σw is the waste of all bins. At a leaf the decisions above it merge items that share a
// bin, and keep others apart. Let u be the values of its items, B their sum less all penalties,
// and p any set of items with such a load that obeys these decisions. If
//
//	Σ_{i∈p} u_i − Σ{penalty of a cut: p holds two or three of its items} ≤ M   for all p
//
// and B > K·M, no packing obeys the decisions: its K bins would have at least B of value, because
// at most one bin holds two of three items. All numbers are whole, so nothing depends on rounding.
type Proof struct {
	Bins int `json:"bins"`
	// Cuts are sets of three items.
	Cuts [][3]int `json:"cuts,omitempty"`
	// Nodes are the nodes of the tree, the root first and every node before its children.
	Nodes []ProofNode `json:"nodes"`
}

// A ProofNode is a decision, or a leaf if Value is set.
type ProofNode struct {
	// Pair has two items. They share a bin below the node with number Together. Below Apart they do
	// not, nor do any that they stand for: an item that no decision above joins to another stands
	// for all of its weight of which that is so, because these can change places.
	Pair     [2]int `json:"pair,omitzero"`
	Together int    `json:"together,omitempty"`
	Apart    int    `json:"apart,omitempty"`
	// Value is that of each item, in a leaf.
	Value []int64 `json:"value,omitempty"`
	// Penalty is that of each cut, by number; cuts that are not in it have none.
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
