package schedule

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/schedule/internal/instance"
	"github.com/recrawl/recrawl/schedule/internal/solver"
)

// SolveConfig has the limits of [Solve] and [Improve]. The zero value is the default:
// search until the plan is proved optimal, the context ends, or some seconds of work are
// done.
type SolveConfig struct {
	// Steps limits the search steps, which are counted the same on every machine. 0 means
	// no limit if the context has a deadline, and 200 million otherwise, some seconds of
	// work. A negative number means no limit.
	Steps int64
	// Gap is the relative gap to the lower bound at which a solver may stop. 0 means to go
	// on until the plan is proved optimal.
	Gap float64
	// Seed is that of all random numbers: the same seed and the same limit on steps give the
	// same result on every machine.
	Seed uint64
	// Start is a plan to start from. Nil means none.
	Start Plan
	// Progress is called with each better plan and each better bound. The plan in it is the
	// receiver's to keep. It costs O(n) per call. Nil means not to report.
	Progress func(Result)
}

// defaultSteps limits a solver when neither its config nor its context does: some seconds of
// work.
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

// Solve looks for a plan with the least makespan and for the proof that it is, until a
// limit of the config or the context ends it. It returns the best plan with a lower bound,
// and [Optimal] as status if the two meet. Take it wherever there are
// seconds to spend; [LPT] answers at once.
//
// # Guarantees
//
// The result passes [Problem.CheckResult]. A context that is cancelled is no error: the
// result is the best plan and bound so far, and its status says so. Errors are about the
// config only.
//
// The context may end at any moment: it is looked at after every millisecond or so of work, sorting
// and bounds included, and what follows takes O(n + m). With a million sites that is up to some 50
// milliseconds of processor time. If there is no plan by then, one is made without sorting. On
// identical clients that are free at 0 its makespan is at most twice the optimum. On uniform ones
// each client is given sites up to twice a lower bound, and the fastest does the rest. On unrelated
// ones every site, in the order given, is where it ends first.
//
// # How it works
//
// LPT, MULTIFIT and differencing make plans, local search improves them. On identical and
// uniform clients the lower bound is lifted to sums that sites can have. What is left open
// goes in turns to the iterated search of [Improve] and to an exact search, with budgets
// that grow. The exact search on identical and uniform clients is sequential partitioning,
// for up to 256 sites: it decides whether the sites fit by a given time. On identical clients
// with at most six sites each, up to 600 sites, the exact bin packing of package binpack decides
// that. On unrelated clients it is branch and bound on the linear relaxation, which also searches
// the neighbourhood of the best plan. A bound by one knapsack problem per client takes turns with it;
// the more pairs of sites and clients there are, the more of the steps it gets before the first turn.
// With more than 262,144 pairs of sites and unrelated clients,
// prices of the clients, found in passes over the pairs, take the place of the linear program:
// they give a bound, and sites are assigned one after the other where they are cheapest. That
// keeps O(n + m) beside the durations.
//
// # Source
//
// Sequential partitioning: Korf, Schreiber and Moffitt 2014. Linear relaxation: Lenstra,
// Shmoys and Tardos 1990.
func Solve(ctx context.Context, p *Problem, cfg SolveConfig) (Result, error) {
	return search(ctx, p, cfg, solver.Solve)
}

// Improve improves a plan for as long as it may: from the plan in cfg.Start, or that of
// [LPT], until the plan meets the lower bound, or a limit of the config or the context ends
// it. Take it for problems that are too large for proofs.
//
// # Guarantees
//
// The plan that it returns is never worse than the one that it started from, but for
// rounding (see [Problem]). Errors and the seed are as for [Solve].
//
// # How it works
//
// Each round divides the sites of the client that finishes last and of another one, chosen
// at random, between the two anew, in the best way. When that stops paying, the search
// returns to the best plan, disturbs it at random and repairs it by local search.
func Improve(ctx context.Context, p *Problem, cfg SolveConfig) (Result, error) {
	return search(ctx, p, cfg, solver.Improve)
}

func search(ctx context.Context, p *Problem, cfg SolveConfig,
	run func(context.Context, *instance.Instance, *rand.Rand, solver.Config) solver.Outcome) (Result, error) {
	c, err := cfg.solver(ctx, p)
	if err != nil {
		return Result{}, err
	}
	return p.result(run(ctx, p.grid, rand.New(rand.NewPCG(cfg.Seed, seedStream)), c)), nil
}

// seedStream tells the random numbers of solvers from others of the same seed.
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
// On identical and uniform clients it is the least t at which the clients' integer
// capacities K_j (the sizes that client j can do by t), in descending order, pass three
// tests: all of them hold the total size W; for k < m the largest k hold the k largest
// sites; and for h up to 8m the h largest sites can be spread over the clients by number,
// each client being given the smallest of them. On identical clients these are max(p₁,
// ⌈W/m⌉) and the bound Σ_{i=0..k} p_{km+1−i}, on uniform ones the maximum over k < m of Σ(k
// largest)/Σ(k fastest).
//
// Identical clients pass a fourth test: if at most c of the h largest sites fit by t, at least
// k = h − m·(c−1) clients hold c of them, so that k·t is at least the sum of the k·c smallest.
//
// On unrelated clients it is the bound of the linear relaxation, found as the Lagrangian
// bound of its machine rows: with prices λ ≥ 0 of sum 1 for the clients, no plan is better
// than Σ_z min_j λ_j d_zj, and the best λ is that of a dual solution. The prices come from
// a simplex method in floating point. The bound is evaluated for them with a margin for
// rounding. It is at least the time by which the clients can do the number of sites, each client
// its shortest. With more than 262,144 pairs they come from passes over the pairs that change
// them by the loads, and are not the best by a little.
func LowerBound(p *Problem) float64 {
	return max(0, solver.LowerBound(p.grid)-p.grid.Rounding)
}
