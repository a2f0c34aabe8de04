package partition

import (
	"fmt"
	"math"
)

// leastWeight is the least weight that a site counts as, in the unit of weights. So a site of
// almost no weight is no worse off than it needs to be.
const leastWeight = 0x1p-30

// A weightUnit is the unit of the prices of arms. It is a power of two near the geometric mean of
// the weights above 0. So nothing depends on the unit of the weights, such as updates a second or a
// year, and a few very large weights do not make the steps of prices too long for the others.
type weightUnit struct {
	known        bool // 1 before the end of the first crawl with weights
	exponent     int  // exponent of the unit
	sum, weights int  // sum of the exponents of the weights above 0, and the number of these weights
}

// count adds a weight (by 1) or removes it (by −1).
func (u *weightUnit) count(weight float32, by int) {
	if weight > 0 {
		_, exponent := math.Frexp(float64(weight))
		u.sum += by * (exponent - 1)
		u.weights += by
	}
}

// follow moves the unit if the mean is more than 3/4 of an exponent away from it. Prices are
// counted in the unit and move with it, so it must not move to and fro between two exponents.
func (u *weightUnit) follow() {
	if off := u.sum - u.exponent*u.weights; u.weights > 0 && (!u.known || 4*max(off, -off) > 3*u.weights) {
		u.known, u.exponent = true, int(math.Round(float64(u.sum)/float64(u.weights)))
	}
}

// in returns a weight in the unit.
func (u *weightUnit) in(weight float64) float64 { return math.Ldexp(weight, -u.exponent) }

// SetWeight sets the weight of a site, which is 1 unless set. The weight is the value of saving a
// unit of time on the site, for instance the number of updates expected from it in a crawl. If arms
// have limited capacities, heavier sites get faster arms, and only the ratios of weights matter. If
// no arm is limited, every site gets its fastest arm and weights do not matter. Weights are kept as
// float32, so one below 1e-45 counts as 0. O(1). The error is ErrUnknown, or ErrConfig for a weight
// below 0 or above math.MaxFloat32.
func (a *Assigner) SetWeight(site int, weight float64) error {
	slot, err := a.siteSlot(site)
	if err != nil {
		return err
	}
	if !(weight >= 0 && weight <= math.MaxFloat32) {
		return fmt.Errorf("%w: site %d: weight %v", ErrConfig, site, weight)
	}
	s := &a.site
	if s.weight == nil {
		s.weight = make([]float32, len(s.at))
		for k := range s.weight {
			s.weight[k] = 1
		}
		a.countWeights()
	}
	a.unit.count(s.weight[slot], -1)
	s.weight[slot] = float32(weight)
	a.unit.count(s.weight[slot], 1)
	return nil
}

// countWeights counts the weights of all sites anew.
func (a *Assigner) countWeights() {
	a.unit.sum, a.unit.weights = 0, 0
	for slot, w := range a.site.weight {
		if a.sites.Live(slot) {
			a.unit.count(w, 1)
		}
	}
}
