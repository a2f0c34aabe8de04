package partition

import "github.com/recrawl/recrawl/internal/ids"

// Uniform is the baseline of the papers, round robin over a number of arms (at
// least 1): the site with id i from arm i mod arms, for ever.
type Uniform int

// Arm returns the arm from which to access a site. The error is ErrObject for a
// negative id, ErrArm if there is no arm.
func (u Uniform) Arm(site int) (int, error) {
	if site < 0 {
		return 0, noObject(site)
	}
	if u < 1 {
		return 0, noArm(int(u))
	}
	return ids.Slot(site) % int(u), nil
}
