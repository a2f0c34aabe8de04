package binpack

import (
	"cmp"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/internal/packing"
)

// SchemeConfig has the settings of a [Scheme]. The defaults are those of Yazidi 2006, test 1. The
// paper does not give the length of the register, the states and threshold of the overload
// automaton, or how far a page is stepped down at a time. With the defaults for these a bin
// excludes sites with probability 4 % at first.
type SchemeConfig struct {
	Capacity       float64 // C of every bin, in pages per slot; 0 means 400
	States         int     // N of the walk of a page, at most 65535; 0 means 8
	Lambda         float64 // λ: the frequency in state s is (s/N)^λ; 0 means 1
	InitialState   int     // initial state of every page; 0 means 1
	Register       int     // L, the results remembered of each page, at most 64; 0 means 10
	OverloadStates int     // N_b, the states of the automaton of a bin; 0 means 10
	Threshold      int     // Th, its first and lowest state; 0 means 2, or N_b if that is less
	DecreaseStep   int     // states that a page goes down at a time to relieve a bin; 0 means 1
	Walk           PageWalk
	// InitialStates are the initial states of the pages, site after site, if they differ by page or
	// by domain. Nil means InitialState for all.
	InitialStates []int
}

// resolve returns the settings with defaults filled in.
func (c SchemeConfig) resolve() SchemeConfig {
	c.Capacity = cmp.Or(c.Capacity, 400)
	c.States = cmp.Or(c.States, 8)
	c.Lambda = cmp.Or(c.Lambda, 1)
	c.InitialState = cmp.Or(c.InitialState, 1)
	c.Register = cmp.Or(c.Register, 10)
	c.OverloadStates = cmp.Or(c.OverloadStates, 10)
	c.Threshold = cmp.Or(c.Threshold, min(2, c.OverloadStates))
	c.DecreaseStep = min(cmp.Or(c.DecreaseStep, 1), math.MaxUint16) // no page has further to go
	return c
}

// configure checks the settings and computes what depends on them.
func (s *Scheme) configure() (err error) {
	c := s.cfg
	switch {
	case c.States > math.MaxUint16:
		return fmt.Errorf("%w: %d states", ErrConfig, c.States)
	case c.InitialState < 1 || c.InitialState > c.States:
		return fmt.Errorf("%w: initial state %d of %d", ErrConfig, c.InitialState, c.States)
	case c.Register < 1 || c.Register > 64:
		return fmt.Errorf("%w: register of %d", ErrConfig, c.Register)
	case c.DecreaseStep < 1:
		return fmt.Errorf("%w: decrease by %d states", ErrConfig, c.DecreaseStep)
	}
	if err := pageWalks.Check(c.Walk); err != nil {
		return err
	}
	if s.walk, err = automata.NewWalk(c.States, c.Lambda); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if s.overload, err = automata.NewOverload(c.OverloadStates, c.Threshold); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	x := amounts(s.walk, c.States)
	up, down := c.Walk.steps(x)
	s.chance, s.up, s.down = probabilities(x), probabilities(up), probabilities(down)
	// A larger capacity than all pages could need makes no difference, but its quantum would be too
	// coarse for a page. So it is cut down.
	room := c.Capacity
	if most := max(float64(s.first[len(s.first)-1]), 1); room > most && !math.IsInf(room, 1) {
		room = most
	}
	u, err := toUnits(x, []float64{room}, false) // there are more pages than amounts to add up
	if err != nil {
		return fmt.Errorf("%w (the frequencies of the states in a capacity of %v)", err, c.Capacity)
	}
	s.amount, s.c, s.quantum = u.w, u.c[0], u.quantum
	pages, most := int64(s.first[len(s.first)-1]), s.amount[c.States-1]
	if pages > packing.MaxTotal/most {
		return fmt.Errorf("%w: %d pages in a capacity of %v are too many to add up", ErrConfig, pages, c.Capacity)
	}
	return nil
}

// probabilities returns thresholds: a random Uint64 is below the i-th with probability x[i]. A
// probability of 1 is certain, and a threshold of all ones stands for it.
func probabilities(x []float64) []uint64 {
	below := make([]uint64, len(x))
	for i, p := range x {
		below[i] = math.MaxUint64
		if p < 1 {
			below[i] = uint64(math.Ldexp(p, 64))
		}
	}
	return below
}
