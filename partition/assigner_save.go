package partition

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

var assignerFormat = codec.Format{Magic: "recrawl/partition.Assigner", Version: 5}

// MarshalBinary returns the whole state.
func (a *Assigner) MarshalBinary() ([]byte, error) { return assignerFormat.Save(a.encode) }

// UnmarshalBinary restores a saved state, which then continues bit for bit (see the package).
func (a *Assigner) UnmarshalBinary(data []byte) error {
	return codec.Load(a, assignerFormat, data, (*Assigner).decode)
}

func (a *Assigner) encode(e *codec.Encoder) {
	e.Float64(a.cfg.Threshold)
	e.Float64(a.cfg.Explore)
	a.arms.Encode(e)
	for j := range a.arm {
		a.arm[j].encode(e)
	}
	e.Int(a.width)
	a.sites.Encode(e)
	s := &a.site
	e.Uint16s(s.at)
	for _, asked := range s.asked {
		e.Bool(asked)
	}
	e.Float32s(s.weight)
	e.Bool(a.unit.known)
	e.Int(a.unit.exponent)
	for _, v := range s.floats() {
		e.Float32s(*v)
	}
	e.Bytes(s.repeats)
	e.Bytes(s.count)
	for _, v := range a.relative.floats() {
		e.Float64(*v)
	}
	e.Int(a.told)
	e.Source(a.src)
}

// These are bounds that no valid state exceeds, and products of several of them are finite. mostOf
// is above all sums of durations. mostSquare is above all sums of squared ratios of two float32
// durations. mostMean is above all means of durations. mostSlowness is above all ratios of two
// durations of which the smaller is not 0 as a float32.
const (
	mostMean     = 20 * longest
	mostOf       = 1e36
	mostSquare   = 1e150
	mostSlowness = 1e72
)

// The exponents of the weights above 0. Weights are float32.
const leastExponent, mostExponent = -149, 127

func (a *Assigner) decode(d *codec.Decoder) {
	a.cfg.Threshold = d.Float64In(math.SmallestNonzeroFloat64, math.Inf(1))
	a.cfg.Explore = d.Float64In(0, 1)
	a.arms = ids.Decode(d)
	d.Require(a.arms.Len() > 0, "no arms")
	for range a.arms.Slots() {
		if d.Err() != nil {
			return // so that corrupt data cannot make it allocate more memory than their own size
		}
		m := decodeArm(d)
		d.Require(m.measured <= mostSlowness*m.forecast, "durations of %v, %v expected", m.measured, m.forecast)
		d.Require(m.latest <= mostSlowness*m.latestForecast, "latest durations of %v, %v expected", m.latest, m.latestForecast)
		a.arm = append(a.arm, m)
	}
	a.width = d.IntIn(len(a.arm), nowhere-1)
	a.sites = ids.Decode(d)
	n, s := a.sites.Slots(), &a.site
	s.at = d.Uint16sIn(n, nowhere)
	s.asked = d.Bools(n)
	if s.weight = d.Float32sIn(codec.AnyLen, 0, math.MaxFloat32); s.weight != nil {
		d.Require(len(s.weight) == n, "weights of %d sites, of %d", len(s.weight), n)
	}
	a.unit.known = d.Bool()
	a.unit.exponent = d.IntIn(leastExponent, mostExponent)
	d.Require(s.weight != nil && a.unit.known || a.unit.exponent == 0, "a unit of weights that is not known")
	for _, v := range s.floats() {
		length := n
		if v == &s.base {
			length *= a.width
		}
		most := float32(mostOf)
		if v == &s.base || v == &s.held {
			most = mostMean
		}
		*v = d.Float32sIn(length, 0, most)
	}
	s.repeats, s.count = d.BytesLen(n), d.BytesLen(n*a.width)
	for _, v := range a.relative.floats() {
		*v = d.Float64In(0, mostSquare)
	}
	d.Require(a.relative.level <= mostMean, "first durations of %v", a.relative.level)
	d.Require(a.relative.means > 1/mostSquare, "noise of mean durations of %v", a.relative.means)
	a.told = d.IntIn(0, codec.MostCount)
	a.src = d.NeedSource()
	if d.Err() == nil {
		a.checkPlaces(d)
		a.checkMeans(d)
		a.checkOpen()
		a.countWeights()
	}
}

// checkPlaces checks that every site is in an arm that exists, and the arms' numbers of
// sites.
func (a *Assigner) checkPlaces(d *codec.Decoder) {
	sites := make([]int, len(a.arm))
	for slot, at := range a.site.at {
		switch {
		case at == nowhere:
			d.Require(!a.site.asked[slot], "site %d asked from nowhere", slot)
		case int(at) >= len(a.arm) || !a.arms.Live(int(at)) || !a.sites.Live(slot):
			d.Fail("site %d in arm %d", slot, at)
			return
		default:
			sites[at]++
		}
	}
	for j := range a.arm {
		d.Require(sites[j] == a.arm[j].sites, "%d sites in arm %d, %d counted", a.arm[j].sites, j, sites[j])
	}
}

// checkMeans checks that only sites and arms that exist have mean durations, and that there is no mean
// without a duration.
func (a *Assigner) checkMeans(d *codec.Decoder) {
	for k, n := range a.site.count {
		slot, j := k/a.width, k%a.width
		if n > 0 && (j >= len(a.arm) || !a.arms.Live(j) || !a.sites.Live(slot)) || n == 0 && a.site.base[k] != 0 {
			d.Fail("%d durations of site %d in arm %d, mean %v", n, slot, j, a.site.base[k])
			return
		}
	}
}

func (s *siteState) floats() []*[]float32 {
	return []*[]float32{&s.held, &s.up, &s.down, &s.squares, &s.base}
}

func (r *relativeNoise) floats() []*float64 {
	return []*float64{&r.squares, &r.means, &r.n, &r.level, &r.firsts}
}

func (m *armState) encode(e *codec.Encoder) {
	for _, v := range []float64{m.capacity, m.measured, m.forecast, m.price, m.work, m.priceStep, m.excess, m.denied, m.step, m.change,
		m.latest, m.latestForecast, m.usual} {
		e.Float64(v)
	}
	for _, v := range []int{m.sites, m.low, m.high, m.atOpening, m.answers} {
		e.Int(v)
	}
	m.outage.encode(e)
}

func (o *outage) encode(e *codec.Encoder) {
	for _, v := range []float64{o.alarm, o.alone, o.means} {
		e.Float64(v)
	}
	e.Bool(o.down)
	e.Bool(o.tried)
	for _, v := range []int{o.deferred, o.shut, o.wait} {
		e.Int(v)
	}
}

func decodeOutage(d *codec.Decoder) outage {
	return outage{alarm: d.Float64In(0, mostOf), alone: d.Float64In(0, mostOf), means: d.Float64In(0, mostOf), down: d.Bool(), tried: d.Bool(),
		deferred: d.IntIn(0, codec.MostCount), shut: d.IntIn(0, longestWait), wait: d.IntIn(1, longestWait)}
}

func decodeArm(d *codec.Decoder) armState {
	return armState{
		capacity:  d.Float64In(math.SmallestNonzeroFloat64, math.Inf(1)),
		measured:  d.Float64In(0, mostOf),
		forecast:  d.Float64In(0, mostOf),
		price:     d.Float64In(0, mostPrice),
		work:      d.Float64In(0, mostOf),
		priceStep: d.Float64In(0, mostPrice),
		excess:    d.Float64In(-mostOf, mostOf),
		denied:    d.Float64In(0, mostOf),
		step:      d.Float64In(0, mostOf),
		change:    d.Float64In(-mostOf, mostOf),

		latest:         d.Float64In(0, mostOf),
		latestForecast: d.Float64In(0, mostOf),
		usual:          d.Float64In(0, mostOf),

		sites:     d.IntIn(0, codec.MostCount),
		low:       d.IntIn(-codec.MostCount, codec.MostCount),
		high:      d.IntIn(-codec.MostCount, codec.MostCount),
		atOpening: d.IntIn(0, codec.MostCount),
		answers:   d.IntIn(0, codec.MostCount),
		outage:    decodeOutage(d),
	}
}
