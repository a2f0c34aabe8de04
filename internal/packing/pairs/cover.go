package pairs

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
)

// cover looks for disjoint patterns of a pool that hold all items, by belief propagation and
// decimation: messages between items and patterns estimate in which share of all such choices each
// pattern is, the likeliest ones are chosen, and so on with what is left. The last part is searched
// exactly.
//
// Where there are many packings but each leaves no room, as in problems without waste, this finds one
// in some tenths of a second: fixing patterns of a linear programme goes wrong there, because its
// vertices say little about how many packings a pattern leaves.
//
// # Source
//
// Belief propagation and decimation: Montanari, Ricci-Tersenghi & Semerjian 2007. The exact search:
// Knuth's Algorithm X (2000).
type cover struct {
	sets    [][]int32
	first   []int32 // place of the messages of each set
	alive   []int32 // sets disjoint from those chosen
	odds    []float64
	share   []float64 // estimate of each set
	sum     []float64 // of the odds, by item
	covered []bool
	left    int // items
	chosen  []int32
	best    []int32 // sets by noisy share, scratch
	noisy   []float64
}

const (
	// firstSteps is the most steps of the messages at first, nextSteps after each choice; they end
	// when no share changes by more than firstSettled and nextSettled. With firstSettled = .02 all
	// tries failed on some instances that none fails on with less. The least number of steps lets the
	// messages begin to move.
	firstSteps, nextSteps     = 400, 60
	firstLeast, nextLeast     = 30, 3
	firstSettled, nextSettled = 1e-4, .02
	// damping is the part of a message that is kept.
	damping = .5
	// certain is the share of patterns that are all chosen, and choices the part of what is left that
	// is chosen at least.
	certain, choices = .98, 1. / 200
	// noise makes one try differ from another: the most part that is added to a share.
	noise = .3
	// The rest of endSets sets is searched exactly, in endSteps steps, which take less time than the
	// choices before.
	endSets, endSteps = 350, 3000
	// farOdds keeps messages finite.
	farOdds = 1e12
)

// newCover prepares a cover of n items and lets the messages settle.
func newCover(ctx context.Context, n int, sets [][]int32, rng *rand.Rand) *cover {
	c := &cover{sets: sets, first: make([]int32, len(sets)+1), share: make([]float64, len(sets)), sum: make([]float64, n),
		covered: make([]bool, n), left: n, noisy: make([]float64, len(sets))}
	for k, s := range sets {
		c.alive = append(c.alive, int32(k))
		c.first[k+1] = c.first[k] + int32(len(s))
		for range s {
			c.odds = append(c.odds, .5+float64(rng.Float64()))
		}
	}
	c.settle(ctx, firstLeast, firstSteps, firstSettled)
	return c
}

// again returns a copy from which a try begins.
func (c *cover) again() *cover {
	d := *c
	d.alive, d.odds, d.covered = slices.Clone(c.alive), slices.Clone(c.odds), slices.Clone(c.covered)
	d.share, d.sum, d.noisy = slices.Clone(c.share), slices.Clone(c.sum), slices.Clone(c.noisy)
	return &d
}

// settle passes messages, at least and at most so many times, until shares change little.
func (c *cover) settle(ctx context.Context, least, most int, little float64) {
	for step := range most {
		if c.pass() < little && step >= least || ctx.Err() != nil {
			return
		}
	}
}

// pass updates all messages and returns the largest change of a share. The odds that a pattern is
// chosen, as far as one of its items knows from the others, are the product over these of 1/Σ odds of
// the other patterns that hold them.
func (c *cover) pass() (change float64) {
	clear(c.sum)
	for _, k := range c.alive {
		odds := c.odds[c.first[k]:c.first[k+1]]
		for e, i := range c.sets[k] {
			c.sum[i] += odds[e]
		}
	}
	for _, k := range c.alive {
		odds := c.odds[c.first[k]:c.first[k+1]]
		against := 1.0
		for e, i := range c.sets[k] {
			against *= max(c.sum[i]-odds[e], 1/farOdds)
		}
		share := 1 / (1 + against)
		change = max(change, share-c.share[k], c.share[k]-share)
		c.share[k] = share
		for e, i := range c.sets[k] {
			others := against / max(c.sum[i]-odds[e], 1/farOdds)
			odds[e] = float64(damping*odds[e]) + float64((1-damping)*min(1/others, farOdds))
		}
	}
	return change
}

// try looks for a cover once. It returns the numbers of its sets, or nil.
func (c *cover) try(ctx context.Context, rng *rand.Rand) []int32 {
	for c.left > 0 {
		if len(c.alive) <= endSets {
			rest := newEnding(c)
			if !rest.search() {
				return nil
			}
			return append(c.chosen, rest.chosen...)
		}
		c.choose(rng)
		c.settle(ctx, nextLeast, nextSteps, nextSettled)
		if ctx.Err() != nil {
			return nil
		}
		for i, x := range c.sum {
			if x == 0 && !c.covered[i] {
				return nil // no pattern is left for an item
			}
		}
	}
	return c.chosen
}

// choose takes the sets of the largest shares.
func (c *cover) choose(rng *rand.Rand) {
	c.best = append(c.best[:0], c.alive...)
	for _, k := range c.best {
		c.noisy[k] = c.share[k] * (1 + float64(noise*rng.Float64()))
	}
	slices.SortStableFunc(c.best, func(a, b int32) int { return cmp.Compare(c.noisy[b], c.noisy[a]) })
	least := max(int(float64(c.left)*choices), 1)
	for n, k := range c.best {
		if n >= least && c.share[k] < certain {
			break
		}
		if c.free(k) {
			c.chosen = append(c.chosen, k)
			for _, i := range c.sets[k] {
				c.covered[i] = true
				c.left--
			}
		}
	}
	c.alive = slices.DeleteFunc(c.alive, func(k int32) bool { return !c.free(k) })
}

// free reports whether no item of a set is covered.
func (c *cover) free(k int32) bool {
	return !slices.ContainsFunc(c.sets[k], func(i int32) bool { return c.covered[i] })
}
