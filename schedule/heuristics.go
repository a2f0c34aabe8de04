package schedule

import (
	"fmt"
	"slices"

	"github.com/recrawl/recrawl/schedule/internal/instance"
	"github.com/recrawl/recrawl/schedule/internal/solver"
)

// LPT is longest processing time first: the sites in descending order of duration, each to
// the client that finishes it first. Take it for a good plan at once.
//
// On identical clients that are all free at 0 its makespan is at most 4/3 − 1/(3m) times
// the optimum (Graham 1969), on uniform ones 1.5773 times (Kovács 2010).
//
// Time: O(n log n + n·m).
func LPT(p *Problem) Plan { return solver.LPT(p.grid) }

// Multifit looks by bisection for the smallest makespan at which first-fit-decreasing packs
// all sites into the clients' capacities, the client of the smallest capacity first. It
// starts from the plan of [LPT] and never returns a worse one.
//
// On identical clients that are all free at 0 its makespan is at most 13/11 times the
// optimum (Coffman, Garey and Johnson 1978, Yue 1990). On unrelated clients the sites are
// taken in descending order of their shortest duration, and the plan has no guarantee.
//
// Time: O(n log n + R·n·m) for at most R = 40 bisections.
func Multifit(p *Problem) Plan { return solver.Multifit(p.grid) }

// KarmarkarKarp is the largest differencing method (Karmarkar and Karp 1982) in its form
// for m sets: two partial partitions whose spreads are largest are merged so that the
// largest set of one joins the smallest of the other, until one is left. It makes sums equal,
// so that it is for identical clients that are free at the same time only, and returns
// ErrProblem for others.
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
	for j, u := range p.unit {
		if u != p.unit[0] || p.grid.Off[j] != p.grid.Off[0] {
			return false
		}
	}
	return !p.unrelated
}

// LocalSearch improves a plan until no step of its neighbourhoods does, and returns the new
// plan. A step takes work off a client that finishes last so that it and all others
// involved finish earlier than that: a move; a swap of one site for one, two for one or one
// for two (on identical and uniform clients); or a chain of moves over up to four clients,
// which may close to a cyclic exchange. The new plan is never worse. The error is that of
// [Problem.Check].
//
// Time: O(n·m) per step for moves and swaps (O(n²·m) on unrelated clients), O(n²) for
// exchanges of three.
func LocalSearch(p *Problem, plan Plan) (Plan, error) {
	if err := p.Check(plan); err != nil {
		return nil, err
	}
	return p.improve(plan, func(g *instance.Instance, plan Plan) Plan { return solver.LocalSearch(g, plan) }), nil
}

// improve runs a search on a plan, and returns the plan given if that one is better by the durations as
// they are. A plan that ends late needs a coarse grid, and the search goes on on finer ones as it ends
// earlier. Invariant: each grid is for plans that end before a smaller power of two.
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
