package solver

// The solver's tuned values. None of them decides whether a result is right; they decide
// how soon a plan or a bound is found. Each was set on the families of examples/schedule
// when its phase was written, and all are measured again by
//
//	go test ./schedule/internal/solver -v -run Sweep -sweep
//
// which gives twelve seeded instances of each kind a million steps, with each value halved,
// as it is, and doubled, and prints the mean gap. What it says: the gaps of .109 % on
// identical, .0013 % on uniform, .22 % (22 × 5) and 2.1 % (60 × 8) on unrelated clients
// change by less than a tenth, but for those with figures below.
var (
	// firstBudget is the number of steps of the first turn of each phase. Half and double
	// leave .117 and .123 % on identical clients, .23 and .25 % on small unrelated ones.
	firstBudget = 20_000
	// growth multiplies the budget from turn to turn on identical and uniform clients,
	// growthUnrelated on unrelated ones. Half and double of growth leave .121 and .133 % on
	// identical clients; a growthUnrelated of 4 leaves .18 % on small unrelated ones.
	growth, growthUnrelated = 4, 2
	// treeShare is the share of a turn on unrelated clients that the tree gets, in budgets,
	// and rootShare that of the enumeration of the root's core. On small unrelated clients
	// a treeShare of 8 leaves .28 %, one of 32 .20 %.
	treeShare, rootShare = 16, 2
	// knapsackShare is the share of the knapsack bound, and firstRounds what it gets before the turns:
	// so many steps times the square of the number of pairs of a site and a client. A tree proves small
	// problems at once, where rounds of long knapsacks raise the bound by little; of 4000 pairs and more
	// it proves next to nothing, and the knapsacks narrow the gap.
	knapsackShare, firstRounds = 16, 4
	// rootStart is the share of the way to the best plan up to which the root's core is
	// enumerated at first.
	rootStart = .1

	// patience is the number of repartitions without a better plan after which the iterated
	// search returns to the best plan, and patiencePerClient what each client adds to it.
	patience, patiencePerClient = 20, 4
	// stir is one over the chance that a repartition takes any client and not the last, so
	// that new partners come up.
	stir = 4
	// leastKicks is the number of sites that the return disturbs at least; it is up to
	// moreKicks − 1 more.
	leastKicks, moreKicks = 2, 3
	// freeSites is the number of sites that a repartition rearranges at most on identical
	// and uniform clients, by meeting in the middle in 2^(n/2); freePairs that on unrelated
	// ones, in 2^n. A freeSites of 11 or 36 leaves .0021 % on uniform clients.
	freeSites, freePairs = 22, 12
	// pairLimit is the largest product of the size of one batch and that of two together for which
	// exchanges of two sites of the one are tried, chainLimit the number of tries of one chain
	// search. Twice as much of chainLimit leaves .0013 and not .0010 % on uniform clients.
	pairLimit, chainLimit = 1 << 16, 1 << 13

	// fineRoom is the largest room that a placement rounds down to a sum that sites can
	// have; above it such sums lie close together. placementLimit is the number of rooms
	// that one test may look at.
	fineRoom, placementLimit = 1 << 12, 1 << 13

	// diveEvery is the number of nodes to one dive.
	diveEvery = 16
	// coreShare is the share of a run's steps, as a divisor, that the enumeration of one
	// node's core may take before it gives way to branching. On small unrelated clients 16
	// leaves .22 and not .17 %.
	coreShare = 8
	// mostShare and leastShare limit how far from the bound to the best plan the target of
	// the tree lies; lastStretch is the relative gap from which on it is the best plan. On
	// small unrelated clients a mostShare of .25 leaves .25 %, one of 1 .45 %.
	mostShare, leastShare, lastStretch = .5, .02, 1e-4

	// firstFree is the number of sites in the first neighbourhoods, leastFree that in the
	// smallest.
	firstFree, leastFree = 20, 8
	// neighbourhoodSteps limits the enumeration of one, and exhaust is how many are
	// enumerated in full before they grow by a site.
	neighbourhoodSteps, exhaust = 20_000, 4

	// repairEvery is the number of rounds of the subgradient method to one plan made of its
	// knapsacks, halfLife the number of rounds without progress after which its step is
	// halved, and leastStep the step at which it ends.
	repairEvery, halfLife, leastStep = 4, 12, 1e-3
	// leastExcess, a share of the sum of the prices, is added to the excess that a step is
	// made from, so that a step is not 0 where the excess is.
	leastExcess = 1e-4
)

// Limits set by memory and by what a table can hold.
const (
	// packLimit is the largest number of sites for the exact search on identical and
	// uniform clients: a set of them is a key of 32 bytes. memoLimit is the number of
	// failures that it remembers, of 40 bytes each.
	packLimit, memoLimit = 256, 1 << 20
	// tableLimit is the largest capacity for which subset sums are tabulated, in 128 kB, or
	// 4 MB with the amounts that reach them.
	tableLimit = 1 << 20
	// differencingLimit is the largest number of sites for differencing, whose lists of
	// parts take O(n·m) memory.
	differencingLimit = 1 << 16
	// knapsackCells limits the tables of the knapsack bound, sites × capacity summed over
	// the clients: a bit each, 2 MB.
	knapsackCells = 1 << 24
	// priceSum is what all prices of the knapsack bound sum to at first, and priceMost the
	// largest price: sites × clients is at most knapsackCells, so that no sum overflows.
	priceSum, priceMost = 1 << 36, 1 << 38
	// multifitRounds is the number of bisections in Multifit: 2⁻⁴⁰ of the makespan is below
	// every tolerance. rootBisections is that of the root's cutoff, up to bisectionGap.
	// multifitGap ends Multifit before that, where the makespans left are equal but for rounding.
	multifitRounds, rootBisections, bisectionGap = 40, 20, 1e-6
	multifitGap                                  = 1e-12
	// coreMargin, as a share of t, is far above what the sums of reduced costs lose by
	// rounding.
	coreMargin = 1e-11
)
