package binpack

import "math"

// A spell is a time for which some nodes have been superfluous.
type spell struct {
	nodes int
	cost  float64 // what each of them has cost in this time
}

// spells are those of all superfluous nodes, the longest first. Which nodes they are is open: it is
// the number that has a history.
type spells []spell

// become makes them those of k nodes. Where there were more, the last to become superfluous are so no
// longer.
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

// needed ends the longest spells, of n nodes if there are as many.
func (s *spells) needed(n int) {
	for n > 0 && len(*s) > 0 {
		n -= (*s)[0].end(n)
		if (*s)[0].nodes == 0 {
			*s = (*s)[1:]
		}
	}
}

// end takes n nodes out, if there are as many, and returns how many.
func (s *spell) end(n int) int {
	n = min(n, s.nodes)
	s.nodes -= n
	return n
}

// lengthen makes them longer, by what a node costs meanwhile.
func (s spells) lengthen(cost float64) {
	for i := range s {
		s[i].cost = min(s[i].cost+cost, math.MaxFloat64)
	}
}

// longest returns what a node of the longest spell has cost, −1 if no node is superfluous.
func (s spells) longest() float64 {
	if len(s) == 0 {
		return -1
	}
	return s[0].cost
}
