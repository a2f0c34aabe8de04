package schedule

import (
	"fmt"
	"slices"

	"github.com/recrawl/recrawl/schedule/internal/instance"
	"github.com/recrawl/recrawl/schedule/internal/solver"
)

// LPT is the rule "longest processing time first": it takes the sites in descending order of
// duration and gives each to the client that finishes it first. Take it for a good plan at once.
//
// On identical clients that are all free at 0 its makespan is at most 4/3 − 1/(3m) times the
// optimum (Graham 1969), and on uniform ones at most 1.5773 times (Kovács 2010).
//
// Time: O(n log n + n·m).
func LPT(p *Problem) Plan { return solver.LPT(p.made().grid) }

// Multifit searches by bisection for the smallest makespan at which first-fit-decreasing packs all
// sites into the clients' capacities. Clients are filled in ascending order of capacity. It starts
// from the plan of [LPT] and never returns a worse one.
//
// On identical clients that are all free at 0 its makespan is at most 13/11 times the
// optimum (Coffman, Garey and Johnson 1978, Yue 1990). On unrelated clients the sites are
// taken in descending order of their shortest duration, and the plan has no guarantee.
//
// Time: O(n log n + R·n·m) for at most R = 40 bisections.
func Multifit(p *Problem) Plan { return solver.Multifit(p.made().grid) }

// KarmarkarKarp is the largest differencing method (Karmarkar and Karp 1982) in its form for m
// sets. It merges the two partial partitions with the largest spreads, so that the largest set of
// one joins the smallest of the other, until one partition is left. The method makes sums equal, so
// it is only for identical clients that are free at the same time. For other clients it returns
// ErrProblem.
//
// Time: O(n log n + n·m log m).
func KarmarkarKarp(p *Problem) (Plan, error) {
	if !p.alike() {
		return nil, fmt.Errorf("%w: differencing makes sums equal, and the clients differ", ErrProblem)
	}
	return solver.KarmarkarKarp(p.grid), nil
}

// alike reports whether no client differs from another.
func (p *Problem) alike() bool {
	for j, u := range p.made().unit {
		if u != p.unit[0] || p.grid.Off[j] != p.grid.Off[0] {
			return false
		}
	}
	return !p.unrelated
}

// LocalSearch improves a plan until no step of its neighbourhoods improves it, and returns the new
// plan, which is never worse. The error is that of [Problem.Check].
//
// A step takes work off a client that finishes last. Afterwards this client and all others involved
// finish earlier than it did before. A step is one of these:
//
//   - a move of one site;
//   - a swap of one site for one and, on identical and uniform clients, of two for one or one for
//     two;
//   - a chain of moves over up to four clients, which may close to a cyclic exchange.
//
// Time: O(n·m) per step for moves and swaps (O(n²·m) on unrelated clients), O(n²) for
// exchanges of three.
func LocalSearch(p *Problem, plan Plan) (Plan, error) {
	if err := p.Check(plan); err != nil {
		return nil, err
	}
	return p.improve(plan, func(g *instance.Instance, plan Plan) Plan { return solver.LocalSearch(g, plan) }), nil
}

// improve runs a search on a plan, and returns the given plan if that one is better by the
// durations as given. A plan that ends late needs a coarse grid. As it comes to end earlier, the
// search continues on finer grids. Invariant: each grid is for plans that end before a smaller
// power of two.
func (p *Problem) improve(plan Plan, run func(*instance.Instance, Plan) Plan) Plan {
	better, g := plan, p.grid.Reaching(p.Makespan(plan))
	for {
		better = run(g, better)
		finer := p.grid.Reaching(p.Makespan(better))
		if finer.Most >= g.Most {
			break
		}
		g = finer
	}
	if p.Makespan(better) > p.Makespan(plan) {
		return slices.Clone(plan)
	}
	return better
}
