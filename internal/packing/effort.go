package packing

// effort bounds the work that the solver of bins of one capacity puts into each of its means.
type effort struct {
	dives        int // the most before the search by bin completion
	divesBefore  int // of them before the search among patterns
	nodesAtRoot  int // of the search among patterns
	nodesPerDive int // of the same at the end of a dive
	poolPatterns int // the most patterns for that search
	poolSteps    int // to list them
	nodeSteps    int // to list the children of a node of bin completion
	nodeChildren int // the most children; more make the search incomplete

	interiorDuals   int // optimal duals of which the mean is taken
	columnsPerRound int // the most columns added after a round of pricing
	refreshAfter    int // pivots after which the inverse of the basis is checked
}

// standard is the effort of Solve. Measured by
//
//	go test ./internal/packing -run Sweep -sweep
//
// which tries a quarter, half, twice and four times of each beside these, on 20 instances that
// neither the heuristics nor the linear programme decide. All are proved with every value of the
// limits but refreshAfter, in 495 to 621 nodes in sum, 523 with these: the values lie on a
// plateau, and bound what a harder instance may take. refreshAfter was set without measuring:
// it is when rounding is checked (see driftLimit).
var standard = effort{
	dives:        60,
	divesBefore:  2,
	nodesAtRoot:  1000,
	nodesPerDive: 64,
	poolPatterns: 1 << 13,
	poolSteps:    1 << 22,
	nodeSteps:    1 << 18,
	nodeChildren: 4096,

	interiorDuals:   10,
	columnsPerRound: 24,
	refreshAfter:    200,
}

const (
	// slackItems is the most items for which Minimum Bin Slack is tried, which takes time in their
	// square.
	slackItems = 20_000
	// slackAll is the most nodes of it, on all bins, where it is tried often: where the capacity is large hardly a bin is
	// filled exactly, so that each takes all that it has.
	slackAll = 1 << 22
	// kindsLimit is the most different weights for which the linear programme is solved. The
	// inverse of its basis has the square of that, 11 MB, and a pivot takes as many steps.
	kindsLimit = 1200
	// keepLimit is the most numbers in the inverses that a search keeps to go back to, 128 MiB;
	// others are computed again.
	keepLimit = 1 << 24
	// denseLimit bounds the steps of the dynamic programmes over all capacities: a tenth of a
	// second.
	denseLimit = 1 << 26
	// tableLimit is the largest table of the pricing, in entries of 8 bytes: 192 MiB.
	tableLimit = 3 << 23
	// tableRooms is the capacity from which a table of all rooms takes longer than a search that one
	// of rounded rooms guides, guideRooms the rooms of that one at first, and finerBy how many bits more
	// it tells apart each time a search gives up.
	tableRooms, guideRooms, finerBy = 1 << 17, 1 << 13, 2
	// fineKinds is how many different weights may be left in a dive for a search among patterns if the
	// capacity is as large: of more there are too many patterns, and to find that out takes long.
	fineKinds = 64
	// pricingNodes is the most nodes of that search: some tens of milliseconds.
	pricingNodes = 1 << 20
	// joinedColumns is the most columns that joining couples adds after such a search gave up, and
	// joinSteps how many couples and items at random it looks at for them: some ten milliseconds where
	// many couples may be the best, ten times as much where few may.
	joinedColumns, joinSteps = 100, 1 << 22
	// dualBits is the precision of the duals as a certificate. 24 bits leave 2^38 bins until the
	// sum of the values would overflow, and 2^24 items until rounding loses a bin.
	dualBits = 24
)

// Tolerances of the linear programme. A float64 sum of a few hundred terms of the size of a
// dual, at most 1, is wrong by some 1e-14, and an inverse that has seen refreshAfter pivots by
// driftLimit at most. Each of these lies between the error of what it is compared with and what
// matters: the bound is rounded up to whole bins.
const (
	// tiny is what counts as 0 in a pivot or a dual.
	tiny = 1e-9
	// epsilon is what counts as 0 in a sum of duals over a pattern or all items, and the scale of
	// the perturbation of the demand.
	epsilon = 1e-6
	// flat is what counts as 0 in a reduced cost of the simplex, or in a value.
	flat = 1e-8
	// tie is by how much two ratios of the simplex must differ not to be equal.
	tie = 1e-12
	// noPivot is the least coefficient on which the dual simplex pivots.
	noPivot = 1e-7
	// nothing and less is 0 in a direction, nothingInRow in a row of the inverse; both keep them
	// sparse.
	nothing      = 1e-12
	nothingInRow = 1e-14
	// driftLimit is how far the inverse may be off before it is computed afresh, driftFatal
	// after that before the linear programme is given up.
	driftLimit = 1e-7
	driftFatal = 1e-6
	// tolerance is for reduced costs that decide whether a pattern may be in a packing: the duals
	// are those of a demand perturbed by up to 2·epsilon an item, and some 50 items fit a bin.
	tolerance = 1e-4
	// boundMargin is by how many bins a bound in floating point must exceed a target.
	boundMargin = 1e-5
)

const (
	// stallAfter, times the rows, is the number of pivots after which the dual simplex gives up.
	stallAfter = 20
	// interiorScale is the part of an item by which the demand is perturbed for another optimal
	// dual: large against epsilon, and small against the half item or so that separates demands.
	interiorScale = .01
)
