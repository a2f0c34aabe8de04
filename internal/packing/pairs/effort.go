package pairs

// effort is how much a search puts into each of its means.
type effort struct {
	cutRounds    int     // the most rounds of cuts at a node
	cutsPerRound int     // the most cuts of one
	cutsPerItem  int     // of those, with one item
	cutViolation float64 // the least by which a cut is broken

	coverFirst int     // tries to find a packing in a pool of patterns before the tree
	coverTries int     // of the same at nodes 1, 2, 4, 8 …
	fixEvery   int     // nodes from one try to find a packing to the next
	fixRuns    int     // of relax and fix in a try
	undoShare  int     // each run undoes the last 1/undoShare of what the one before fixed
	leastFixed float64 // the least use of a pattern to be fixed together with others
	restLeast  int     // bins from which on half are fixed and what is left is a problem of its own
	restNodes  int     // the most nodes of the search of that

	patternsPerRound int // the most patterns that one pricing adds
	patternsPerStart int // of those, whose last group is the same
	patternsPerGroup int // of those, with the same group that is not the last
	startSteps       int // the most steps of the search from one last group, at first
}

// standard is the effort of every search. Measured by
//
//	go test ./internal/packing/pairs -run Sweep -sweep
//
// which tries a half and twice of each beside these, on 12 instances with hardly any waste, half of
// which cannot be packed. All are decided with every value, in 12 to 16 nodes in sum, 15 with
// these: the values lie on a plateau. They were chosen on larger instances, and so were the tries to
// find a packing in a pool, which such small ones do not make: with 402 to 600 items one try of 3 to
// 20 succeeds where there is a packing.
var standard = effort{
	cutRounds:    10,
	cutsPerRound: 20,
	cutsPerItem:  4,
	cutViolation: .02,

	coverFirst: 16,
	coverTries: 64,
	fixEvery:   5,
	fixRuns:    3,
	undoShare:  4,
	leastFixed: .51,
	restLeast:  16,
	restNodes:  3,

	patternsPerRound: 300,
	patternsPerStart: 4,
	patternsPerGroup: 12,
	startSteps:       4000,
}
