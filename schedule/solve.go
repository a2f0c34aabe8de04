package schedule

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/schedule/internal/instance"
	"github.com/recrawl/recrawl/schedule/internal/solver"
)

// SolveConfig has the limits of [Solve] and [Improve]. The zero value is the default: search until
// the plan is proved optimal, the context ends, or the default number of steps is used up.
type SolveConfig struct {
	// Steps limits the search steps, which are counted the same on every machine. 0 means no limit
	// if the context has a deadline, and 200 million otherwise: mostly some seconds of work, and a
	// minute or two with thousands of clients. With twenty or more unrelated clients and thousands
	// of pairs of sites and clients it is only .2 to 2 seconds, because linear programs count many
	// steps; a deadline of some seconds then gives better plans. A negative number means no limit.
	// The first local searches may take up to a million steps each beyond the limit.
	Steps int64
	// Gap is the relative gap to the lower bound at which a solver may stop. 0 means to go
	// on until the plan is proved optimal.
	Gap float64
	// Seed is the seed of all random numbers. The same seed and the same limit on steps give the
	// same result on every machine.
	Seed uint64
	// Start is a plan to start from. Nil means none.
	Start Plan
	// Progress is called with each better plan and each better bound. The function may keep the
	// plan. Each call costs O(n). Nil means no reports.
	Progress func(Result)
}

// defaultSteps limits a solver if neither its config nor its context does. See SolveConfig.Steps for
// how long that takes.
const defaultSteps = 200_000_000

// solver checks the config and returns the solver's.
func (cfg SolveConfig) solver(ctx context.Context, p *Problem) (solver.Config, error) {
	c := solver.Config{Steps: cfg.Steps, Gap: cfg.Gap, Tolerance: tolerance}
	if !(cfg.Gap >= 0) {
		return c, fmt.Errorf("%w: gap %v", ErrConfig, cfg.Gap)
	}
	_, deadline := ctx.Deadline()
	switch {
	case cfg.Steps < 0 || cfg.Steps == 0 && deadline:
		c.Steps = math.MaxInt64
	case cfg.Steps == 0:
		c.Steps = defaultSteps
	}
	if cfg.Start != nil {
		if err := p.Check(cfg.Start); err != nil {
			return c, err
		}
		c.Start = cfg.Start
	}
	if cfg.Progress != nil {
		c.Progress = func(o solver.Outcome) { cfg.Progress(p.result(o)) }
	}
	return c, nil
}

// Solve looks for a plan with the least makespan and for a proof, until a limit of the config or
// the context ends the search. It returns the best plan with a lower bound. If the two meet, the
// status is [Optimal]. Take it wherever there are seconds to spend; [LPT] answers at once.
//
// # Guarantees
//
// The result passes [Problem.CheckResult]. A cancelled context is no error: the result is the best
// plan and bound so far, and its status reports the cancellation. Errors concern only the config.
//
// The context may end at any moment. Solve looks at it after every millisecond or so of work, also
// while it sorts or computes bounds, and then takes O(n + m) to return. With a million sites that
// is up to some 50 milliseconds of processor time. If there is no plan by then, Solve makes one
// without sorting:
//
//   - On identical clients that are free at 0, its makespan is at most twice the optimum.
//   - On uniform clients, each client takes sites up to twice a lower bound, and the fastest takes
//     the rest.
//   - On unrelated clients, each site in the order given goes to the client that finishes it first.
//
// # How it works
//
// LPT, MULTIFIT and differencing make plans, and local search improves them. On identical and
// uniform clients the lower bound is raised to sums that sites can have. If a gap remains, the
// iterated search of [Improve] and an exact search take turns, with growing budgets. The exact
// search depends on the clients:
//
//   - Identical and uniform clients, up to 256 sites: sequential partitioning decides whether the
//     sites fit by a given time.
//   - Identical clients with at most six sites each, up to 600 sites: the exact bin packing of
//     package binpack decides that.
//   - Unrelated clients: branch and bound on the linear relaxation, which also searches the
//     neighbourhood of the best plan. It takes turns with a bound by one knapsack problem per
//     client. The more pairs of sites and clients there are, the more steps the knapsack bound gets
//     before the first turn.
//   - Unrelated clients, more than 262,144 pairs of sites and clients: passes over the pairs find
//     prices of the clients, in place of the linear program. The prices give a bound, and sites are
//     assigned one after the other where they are cheapest. This takes O(n + m) memory besides the
//     durations.
//
// # Source
//
// Sequential partitioning: Korf, Schreiber and Moffitt 2014. Linear relaxation: Lenstra,
// Shmoys and Tardos 1990.
func Solve(ctx context.Context, p *Problem, cfg SolveConfig) (Result, error) {
	return search(ctx, p, cfg, solver.Solve)
}

// Improve improves a plan until it meets the lower bound, or until a limit of the config or the
// context ends the search. It starts from the plan in cfg.Start, or from the plan of [LPT]. Take it
// for problems that are too large for proofs.
//
// # Guarantees
//
// Up to rounding (see [Problem]), the plan that it returns is never worse than the one that it
// started from. Errors and the seed are as for [Solve].
//
// # How it works
//
// Each round takes the client that finishes last and another client chosen at random, and divides
// their sites between the two anew, in the best way. When that no longer helps, the search returns
// to the best plan, disturbs it at random and repairs it by local search.
func Improve(ctx context.Context, p *Problem, cfg SolveConfig) (Result, error) {
	return search(ctx, p, cfg, solver.Improve)
}

func search(ctx context.Context, p *Problem, cfg SolveConfig,
	run func(context.Context, *instance.Instance, *rand.Rand, solver.Config) solver.Outcome) (Result, error) {
	c, err := cfg.solver(ctx, p.made())
	if err != nil {
		return Result{}, err
	}
	return p.result(run(ctx, p.grid, rand.New(rand.NewPCG(cfg.Seed, seedStream)), c)), nil
}

// seedStream keeps the random numbers of solvers apart from others of the same seed.
const seedStream = 1

// LowerBound returns a time that no plan beats. [Solve] finds better bounds in more time.
//
// # Cost
//
// Time: O(n log n + m log m) on identical and uniform clients, a linear program on
// unrelated ones.
//
// # How it works
//
// Identical and uniform clients: let K_j be the total size that client j can do by a time t, in
// whole units, and let the K_j be in descending order. The bound is the least t that passes three
// tests:
//
//   - The sum of all K_j holds the total size W.
//   - For every k < m, the k largest K_j hold the k largest sites.
//   - For every h up to 8m, the clients hold at least h of the h largest sites by number. Each
//     client is counted with as many of the smallest of them as fit.
//
// On identical clients these tests give max(p₁, ⌈W/m⌉) and the bound Σ_{i=0..k} p_{km+1−i}. On
// uniform clients they give the maximum over k < m of Σ(k largest)/Σ(k fastest).
//
// Identical clients must pass a fourth test. If at most c of the h largest sites fit on a client by
// t, at least k = h − m·(c−1) clients hold c of them. So k·t must be at least the sum of the k·c
// smallest.
//
// Unrelated clients: the bound is that of the linear relaxation, computed as the Lagrangian bound
// of its machine rows. Take prices λ ≥ 0 with sum 1 for the clients. Then no plan is better than
// Σ_z min_j λ_j d_zj. The best λ belongs to a dual solution. A simplex method in floating point
// finds the prices, and the bound is evaluated for them with a margin for rounding. With more than
// 262,144 pairs, passes over the pairs find the prices by adjusting them to the loads; these prices
// are slightly worse than the best. The bound is also at least the time by which the clients can do
// that many sites, if each client does its shortest ones.
func LowerBound(p *Problem) float64 {
	return max(0, solver.LowerBound(p.made().grid)-p.grid.Rounding)
}
