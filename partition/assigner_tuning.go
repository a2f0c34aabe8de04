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
	recovery         float64 // share of the way back to 1 that the slowness of an unused arm goes in a crawl

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
// runs every value halved, as it is, and doubled, in six environments, and prints the time
// beyond the optimum.
var tuned = tuning{
	boldness:         0.35,
	skewedShare:      0.25 / 0.35,
	skewedVariance:   0.5 * 0.5,
	slack:            0.75,
	surprise:         5,
	memory:           100,
	priorSquares:     0.3 * 0.3 * 10,
	priorRepeats:     10,
	shrinkage:        4,
	noiseMemory:      1e5,
	slownessCrawls:   10,
	slownessAccesses: 100,
	recovery:         0.02,
	firstStep:        0.25,
	leastStep:        0.02,
	growth:           1.5,
	reserve:          0.03,
	firstPriceStep:   0.1,
	leastPriceStep:   0.01,
	mostPriceStep:    1,
}
