package partition

// tuning holds the constants of Assigner whose values were chosen by measuring.
type tuning struct {
	boldness       float64 // share of the posterior's standard deviation that a draw has
	skewedShare    float64 // share of that where noise is skewed
	skewedVariance float64 // relative variance from which on noise is taken to be skewed

	slack    float64 // drift of the CUSUM: it detects changes of more than twice this
	surprise float64 // a residual counts as at most so many standard deviations

	memory       float64 // durations that an estimate of a site looks back on, at most 255
	priorSquares float64 // squared relative residuals assumed before any duration was repeated
	priorRepeats float64 // repeats that they are worth
	shrinkage    float64 // repeats of its own that all sites' noise is worth to a site
	noiseMemory  float64 // repeats that the noise of all sites looks back on

	slownessCrawls   float64 // crawls over which an arm's slowness is tracked
	slownessAccesses float64 // or accesses, if that is longer
	recovery         float64 // share of the way to 1 that an unused arm's slowness goes in a crawl

	firstStep float64 // relative step in which an arm's number of sites may change in a crawl
	leastStep float64
	growth    float64 // of a step, unless it reverses and halves

	reserve        float64 // share of a capacity kept for sites that try the arm
	firstPriceStep float64 // change of a price in a crawl in which twice the capacity is asked
	leastPriceStep float64
	mostPriceStep  float64
}

// tuned is what every Assigner uses. Only the sweep changes it.
//
//	go test ./partition -run Sweep -sweep -v
//
// runs every value halved, as it is and doubled, in six environments of 8 arms and 1000
// sites over 100 crawls, and prints the time beyond the optimum in %, over 6 seeds. As it
// is: 8.27 under uniform noise, 48.6 (± .4) under exponential noise, 34.8 (± .1) where all
// fastest arms switch, 12.6 (± .5) under congestion, 7.88 (± .05) under congestion with
// exact durations, 17.5 (± .4) with a limited arm. The comments below tell what halving and
// doubling change; where they tell nothing, it is less than two standard errors.
var tuned = tuning{
	boldness:         0.35,        // exponential 41.0 | 78.6, switch 34.5 | 36.8, exact 7.73 | 8.32
	skewedShare:      0.25 / 0.35, // exponential 41.7 | 78.4
	skewedVariance:   0.5 * 0.5,   // switch 40.1 | 34.8
	slack:            0.75,        // exponential 56.1 | 46.3, switch 32.2 | 61.0, uniform 9.07 | 8.27
	surprise:         5,           // exponential 42.5 | 50.5, switch 36.5 | 35.0, exact 7.88 | 8.55
	memory:           100,         // durations
	priorSquares:     0.3 * 0.3 * 10,
	priorRepeats:     10,
	shrinkage:        4,
	noiseMemory:      1e5,
	slownessCrawls:   10,   // switch 36.1 | 34.2
	slownessAccesses: 100,  // more than slownessCrawls only in arms of less than 10 sites
	recovery:         0.02, // no arm is empty for long in the six; see TestAssignerTracksSlowness
	firstStep:        0.25, // congestion 15.0 | 11.0, uniform 8.62 | 8.19, switch 35.7 | 34.3
	leastStep:        0.02, // switch 35.3 | 34.5
	growth:           1.5,  // congestion 29.9 | 11.0, uniform 9.47 | 8.19
	reserve:          0.03, // of the capacity; what its sites may exceed it by when new ones try it
	firstPriceStep:   0.1,
	leastPriceStep:   0.01,
	mostPriceStep:    1, // limited 17.3 | 18.3, of which .916 | .778 of the limit are used
}
