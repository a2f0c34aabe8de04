package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/binpack"
)

// balancer keeps the sites of a workload on its nodes. place returns the node of each site, −1 for
// those that are gone; the slice stays its own.
type balancer interface {
	place() ([]int, error)
}

// living is the library's packer under one of its policies.
type living struct {
	*workload
	packer  *binpack.Packer
	limit   binpack.RebalanceConfig
	sites   []int // ids, −1 for those gone
	nodes   []int // ids
	slots   map[int]int
	known   []float64 // capacities told
	drained []bool
	at      []int // site by slot
	home    []int
}

func newLiving(cfg binpack.PackerConfig, limit binpack.RebalanceConfig) func(*workload) (balancer, error) {
	return func(w *workload) (balancer, error) {
		p, err := binpack.NewPacker(cfg)
		return &living{workload: w, packer: p, limit: limit, slots: map[int]int{}}, err
	}
}

func (l *living) place() ([]int, error) {
	if err := l.tellNodes(); err != nil {
		return nil, err
	}
	if err := l.tellSites(); err != nil {
		return nil, err
	}
	moves, err := l.packer.Rebalance(l.limit)
	l.carryOut(moves)
	return l.home, err
}

func (l *living) carryOut(moves []binpack.Move) {
	for _, m := range moves {
		l.home[l.at[binpack.Slot(m.Site)]] = l.slots[m.To]
	}
}

// tellNodes tells the packer which nodes came, failed or changed.
func (l *living) tellNodes() error {
	for n, c := range l.capacity {
		switch {
		case n == len(l.nodes):
			id, err := l.packer.AddNode(c, binpack.NodeConfig{})
			if err != nil {
				return err
			}
			l.slots[id] = n
			l.nodes, l.known, l.drained = append(l.nodes, id), append(l.known, c), append(l.drained, false)
		case c != l.known[n] && c > 0:
			if err := l.packer.SetCapacity(l.nodes[n], c); err != nil {
				return err
			}
		case c != l.known[n]:
			moves, err := l.packer.RemoveNode(l.nodes[n])
			if err != nil {
				return err
			}
			l.carryOut(moves)
		}
		l.known[n] = c
		if l.workload.drained[n] != l.drained[n] && c > 0 {
			l.drained[n] = l.workload.drained[n]
			if err := l.packer.Drain(l.nodes[n], l.drained[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellSites tells the packer which sites left or came, and the weights.
func (l *living) tellSites() error {
	for i, w := range l.weights {
		if i == len(l.sites) {
			l.sites, l.home = append(l.sites, -1), append(l.home, -1)
		}
		id := l.sites[i]
		var err error
		switch {
		case w < 0 && id < 0:
		case w < 0:
			err = l.packer.RemoveSite(id)
			l.sites[i], l.home[i] = -1, -1
		case id >= 0:
			err = l.packer.SetWeight(id, w)
		default:
			var node int
			id, node, err = l.packer.AddSite(w, binpack.SiteConfig{})
			if err != nil {
				return err
			}
			l.sites[i], l.home[i] = id, l.slots[node]
			for slot := binpack.Slot(id); slot >= len(l.at); {
				l.at = append(l.at, 0)
			}
			l.at[binpack.Slot(id)] = i
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scratch packs everything anew by Best Fit Decreasing.
type scratch struct{ *workload }

func newScratch(w *workload) (balancer, error) { return scratch{w}, nil }

func (s scratch) place() ([]int, error) {
	var items, nodes []int
	p := binpack.Problem[float64]{}
	for i, w := range s.weights {
		if w >= 0 {
			items = append(items, i)
			p.Weights = append(p.Weights, w)
		}
	}
	for _, n := range s.largestFirst() {
		nodes = append(nodes, n)
		p.Capacities = append(p.Capacities, s.capacity[n])
	}
	if slices.Min(p.Capacities) == slices.Max(p.Capacities) {
		p.Capacity, p.Capacities = p.Capacities[0], nil // which is much faster
	}
	rule := binpack.BestFitDecreasing
	switch {
	case p.Capacities == nil:
	case len(nodes) > 1000:
		rule = binpack.NextFitDecreasing // the others would scan all nodes for every site
	default:
		rule = binpack.FirstFitDecreasing // which opens the largest node first, best fit the smallest
	}
	packed, err := binpack.Pack(p, rule)
	if err != nil {
		return nil, err
	}
	home := slices.Repeat([]int{-1}, len(s.weights))
	for k, i := range items {
		home[i] = nodes[packed.Bin[k]]
	}
	return home, nil
}

// largestFirst returns the nodes that take sites by decreasing capacity, equal ones in their order.
func (w *workload) largestFirst() (nodes []int) {
	for n, c := range w.capacity {
		if c > 0 && !w.drained[n] {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(w.capacity[b], w.capacity[a]) })
	return nodes
}

// hashing is consistent hashing with bounded loads (Mirrokni, Thorup &
// Zadimoghaddam 2018), by weight: a site goes to the first node clockwise
// that has the room. There are as many nodes as leave 1/(1+slack) of them filled.
type hashing struct {
	*workload
	ring []point
	of   []int // the nodes on the ring
	home []int
}

type point struct {
	at   uint64
	node int
}

const (
	slack        = .1
	virtualNodes = 64
)

func newHashing(w *workload) (balancer, error) { return &hashing{workload: w}, nil }

// build makes the ring of the first nodes that have the room.
func (h *hashing) build() {
	total := 0.0
	for _, w := range h.weights {
		total += max(w, 0)
	}
	var of []int
	for _, n := range h.largestFirst() {
		if total > 0 {
			of = append(of, n)
			total -= h.capacity[n] / (1 + slack)
		}
	}
	if slices.Equal(of, h.of) {
		return
	}
	h.of, h.ring = of, h.ring[:0]
	for _, n := range of {
		src := rand.NewPCG(uint64(n), 78)
		for range int(math.Ceil(virtualNodes * h.capacity[n] / h.capacity[of[0]])) {
			h.ring = append(h.ring, point{src.Uint64(), n})
		}
	}
	sort.Slice(h.ring, func(a, b int) bool { return h.ring[a].at < h.ring[b].at })
}

func (h *hashing) place() ([]int, error) {
	h.build()
	load := make([]float64, len(h.capacity))
	for i, w := range h.weights {
		if i == len(h.home) {
			h.home = append(h.home, -1)
		}
		h.home[i] = -1
		if w < 0 {
			continue
		}
		at := rand.NewPCG(uint64(i), 77).Uint64()
		k := sort.Search(len(h.ring), func(k int) bool { return h.ring[k].at >= at })
		best := h.ring[k%len(h.ring)].node
		for d := range h.ring {
			if n := h.ring[(k+d)%len(h.ring)].node; load[n]+w <= h.capacity[n] {
				best = n
				break
			}
		}
		h.home[i] = best
		load[best] += w
	}
	return h.home, nil
}

// greedy is what a script does: above a threshold it moves the smallest sites that bring a node
// below it again to the emptiest node, and when the rest is empty enough it closes the emptiest.
type greedy struct {
	*workload
	home  []int
	load  []float64
	sites []int // of each node
}

const (
	fillTo  = .97 // of what a node is relieved to, and takes
	closeAt = .92 // of the rest, after closing
)

func newGreedy(w *workload) (balancer, error) { return &greedy{workload: w}, nil }

// to returns the node in use that is emptiest with a site of weight w, else a spare, or −1.
func (g *greedy) to(w float64, except int, spares bool) int {
	best, least, spare := -1, fillTo, -1
	for n, c := range g.capacity {
		if c == 0 || g.drained[n] || n == except {
			continue
		}
		if g.sites[n] == 0 {
			if spare < 0 || c > g.capacity[spare] {
				spare = n
			}
		} else if f := (g.load[n] + w) / c; f <= least {
			best, least = n, f
		}
	}
	if best < 0 && spares {
		return spare
	}
	return best
}

func (g *greedy) move(i, n int) {
	if from := g.home[i]; from >= 0 {
		g.load[from] -= g.weights[i]
		g.sites[from]--
	}
	g.home[i] = n
	g.load[n] += g.weights[i]
	g.sites[n]++
}

func (g *greedy) place() ([]int, error) {
	g.load, g.sites = make([]float64, len(g.capacity)), make([]int, len(g.capacity))
	on := make([][]int, len(g.capacity))
	var homeless []int
	for i, w := range g.weights {
		if i == len(g.home) {
			g.home = append(g.home, -1)
		}
		if w < 0 {
			g.home[i] = -1
			continue
		}
		if n := g.home[i]; n >= 0 && g.capacity[n] > 0 && !g.drained[n] {
			g.load[n] += w
			g.sites[n]++
			on[n] = append(on[n], i)
		} else {
			homeless = append(homeless, i)
		}
	}
	byWeight := func(sites []int) {
		sort.SliceStable(sites, func(a, b int) bool { return g.weights[sites[a]] > g.weights[sites[b]] })
	}
	byWeight(homeless)
	for _, i := range homeless {
		if n := g.home[i]; n >= 0 {
			g.home[i] = -1 // it failed, or is drained
		}
		n := g.to(g.weights[i], -1, true)
		if n < 0 {
			n = 0
		}
		g.move(i, n)
	}
	for n, c := range g.capacity {
		if g.load[n] <= c || g.sites[n] < 2 {
			continue
		}
		byWeight(on[n])
		for g.load[n] > c && len(on[n]) > 1 {
			// The smallest that suffices, else the largest.
			k := sort.Search(len(on[n]), func(k int) bool { return g.weights[on[n][k]] < g.load[n]-fillTo*c }) - 1
			k = max(k, 0)
			to := g.to(g.weights[on[n][k]], n, true)
			if to < 0 {
				break
			}
			g.move(on[n][k], to)
			on[n] = slices.Delete(on[n], k, k+1)
		}
	}
	g.close()
	return g.home, nil
}

// close empties the node of least fill, if the others have the room.
func (g *greedy) close() {
	total, room, least := 0., 0., -1
	for n, c := range g.capacity {
		if g.sites[n] > 0 {
			total += g.load[n]
			room += c
			if least < 0 || g.load[n]/c < g.load[least]/g.capacity[least] {
				least = n
			}
		}
	}
	if least < 0 || total > closeAt*(room-g.capacity[least]) {
		return
	}
	var out []int
	for i, n := range g.home {
		if n == least {
			out = append(out, i)
		}
	}
	sort.SliceStable(out, func(a, b int) bool { return g.weights[out[a]] > g.weights[out[b]] })
	for _, i := range out {
		n := g.to(g.weights[i], least, false)
		if n < 0 {
			return
		}
		g.move(i, n)
	}
}

// tight are the settings of a packer for which nodes count for more than moves: closing one pays
// for itself in some five units of time instead of 32.
func tight() binpack.PackerConfig {
	return binpack.PackerConfig{Headroom: -1, MoveCost: .1}
}
