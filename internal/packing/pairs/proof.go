package pairs

// A Proof shows that no packing into a number of bins exists: a tree of decisions whether two items
// are together, with values of the items at each leaf. Package binpack says how it is checked.
type Proof struct {
	Cuts  [][3]int32
	Nodes []ProofNode // the root first, and every node before its children
}

// A ProofNode is a decision about a pair, or a leaf.
type ProofNode struct {
	Pair            [2]int32
	Together, Apart int // nodes; 0 in a leaf
	Value           []int64
	Penalty         []Penalty
}

// A Penalty is the value that a pattern loses that holds two items of a cut.
type Penalty struct {
	Cut   int
	Value int64
}

// proof collects the tree, with the cuts that it uses.
func (s *search) proof(root *node) Proof {
	var p Proof
	triples := make([][3]int32, len(s.names))
	for t, name := range s.names {
		triples[name] = t
	}
	named := make(map[int]int)
	var walk func(n *node) int
	walk = func(n *node) int {
		at := len(p.Nodes)
		p.Nodes = append(p.Nodes, ProofNode{})
		if n.value != nil {
			for k := range n.penalty {
				c := n.penalty[k].Cut
				if _, ok := named[c]; !ok {
					named[c] = len(p.Cuts)
					p.Cuts = append(p.Cuts, triples[c])
				}
				n.penalty[k].Cut = named[c]
			}
			p.Nodes[at].Value, p.Nodes[at].Penalty = n.value, n.penalty
			return at
		}
		t := walk(n.together)
		a := walk(n.apart)
		p.Nodes[at].Pair, p.Nodes[at].Together, p.Nodes[at].Apart = n.pair, t, a
		return at
	}
	walk(root)
	return p
}

// overweight proves that the weights are too much: the value of an item is its weight.
func (s *search) overweight() Proof {
	return Proof{Nodes: []ProofNode{{Value: s.w}}}
}

// Named returns the proof for n items, of which those of the problem are the ones in the list. The
// others have no value.
func (p Proof) Named(n int, item []int32) Proof {
	for k, t := range p.Cuts {
		p.Cuts[k] = [3]int32{item[t[0]], item[t[1]], item[t[2]]}
	}
	for k := range p.Nodes {
		node := &p.Nodes[k]
		if node.Value == nil {
			node.Pair = [2]int32{item[node.Pair[0]], item[node.Pair[1]]}
			continue
		}
		value := make([]int64, n)
		for i, u := range node.Value {
			value[item[i]] = u
		}
		node.Value = value
	}
	return p
}
