package partition

import "fmt"

// RoundRobin is the baseline of the papers. Its value is the number of arms, at least 1. Next
// always returns arm i mod arms for the site in slot i. Observe learns nothing.
type RoundRobin int

// Next returns the arm from which to access a site. The error is ErrUnknown for a negative
// site and ErrConfig for less than one arm.
func (r RoundRobin) Next(site int) (int, error) {
	switch {
	case r < 1:
		return 0, fmt.Errorf("%w: %d arms", ErrConfig, int(r))
	case site < 0:
		return 0, unknownObject(site)
	}
	return Slot(site) % int(r), nil
}

// Observe checks a duration and forgets it. The error is ErrUnknown or ErrDuration.
func (r RoundRobin) Observe(site int, duration float64) error {
	if site < 0 {
		return unknownObject(site)
	}
	return checkDuration(site, duration)
}
