package partition

import (
	"fmt"
	"math"
)

// leastWeight, in the unit of weights, is what a site of less weight counts as, so that it is no worse
// off than need be.
const leastWeight = 0x1p-30

// A weightUnit is what the prices of arms are counted in, a power of two: about the geometric mean
// of the weights above 0. So nothing depends on whether weights are updates a second or a year, and
// a few that are very great do not make the steps of prices too long for the others.
type weightUnit struct {
	known        bool // 1 before the end of the first crawl with weights
	exponent     int  // of the unit
	sum, weights int  // of the exponents of the weights above 0 of sites, and how many they are
}

// count takes in a weight that comes, or with −1 goes.
func (u *weightUnit) count(weight float32, by int) {
	if weight > 0 {
		_, exponent := math.Frexp(float64(weight))
		u.sum += by * (exponent - 1)
		u.weights += by
	}
}

// follow moves the unit if the mean has left it by 3/4 of an exponent: not to and fro between two,
// since prices, which are counted in it, move with it.
func (u *weightUnit) follow() {
	if off := u.sum - u.exponent*u.weights; u.weights > 0 && (!u.known || 4*max(off, -off) > 3*u.weights) {
		u.known, u.exponent = true, int(math.Round(float64(u.sum)/float64(u.weights)))
	}
}

// in returns a weight in the unit.
func (u *weightUnit) in(weight float64) float64 { return math.Ldexp(weight, -u.exponent) }

// SetWeight sets the weight of a site, 1 unless set: what it is worth to save a unit of time on the
// site, for instance the updates expected of it in a crawl. Where arms are limited, the heavier
// sites get the faster ones; only the ratios of weights matter. Where they are not, every site gets
// its fastest arm and weights do not matter. O(1). The error is ErrUnknown, or ErrWeight below 0 or
// above 3e38.
func (a *Assigner) SetWeight(site int, weight float64) error {
	slot, ok := a.sites.Slot(site)
	if !ok {
		return unknownObject(site)
	}
	if !(weight >= 0 && weight <= math.MaxFloat32) {
		return fmt.Errorf("%w: site %d: %v", ErrWeight, site, weight)
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
