package binpack

import "math"

// A spell is a period for which some nodes have been superfluous.
type spell struct {
	nodes int
	cost  float64 // what each of them has cost in this time
}

// spells are the spells of all superfluous nodes, the longest first. They do not say which nodes
// are superfluous, only how many.
type spells []spell

// become sets the number of superfluous nodes to k. If there were more, the nodes that became
// superfluous last no longer are.
func (s *spells) become(k int) {
	for _, x := range *s {
		k -= x.nodes
	}
	if k > 0 {
		*s = append(*s, spell{nodes: k})
	}
	for k < 0 {
		last := len(*s) - 1
		k += (*s)[last].end(-k)
		if (*s)[last].nodes == 0 {
			*s = (*s)[:last]
		}
	}
}

// needed ends the longest spells, those of n nodes or of all if there are fewer.
func (s *spells) needed(n int) {
	for n > 0 && len(*s) > 0 {
		n -= (*s)[0].end(n)
		if (*s)[0].nodes == 0 {
			*s = (*s)[1:]
		}
	}
}

// end takes up to n nodes out of the spell and returns how many it took.
func (s *spell) end(n int) int {
	n = min(n, s.nodes)
	s.nodes -= n
	return n
}

// lengthen makes all spells longer. cost is what a node has cost meanwhile.
func (s spells) lengthen(cost float64) {
	for i := range s {
		s[i].cost = min(s[i].cost+cost, math.MaxFloat64)
	}
}

// longest returns what a node of the longest spell has cost, or −1 if no node is superfluous.
func (s spells) longest() float64 {
	if len(s) == 0 {
		return -1
	}
	return s[0].cost
}
