package belief

import "math"

// A View is a belief as Value and Edited take it, whose weights are multiplied by the prior to decide
// by and that of a leaning. It serves for any number of gaps, until either changes.
type View struct {
	steady Row // weights of the class that has all cells
	// other has those of the classes that leave cells out: no two of these have the same one. Of each
	// four cells the first is in neither, the third in class 0, and the second and the last in class 1.
	other Row
	mass  [Classes]float64 // sums
	one   float64          // over the sum of all
}

// See sets v to the view of a packed belief. As in Value, four cells at a time are summed apart, so
// that no sum waits for the one before, and in variables, as an array would be in memory.
func (m *Model) See(v *View, p *Packed, leaning *Row) {
	m.follow(p)
	var mass0, mass1, mass2, mass3, mass4, mass5, mass6 float64
	for j := range Cells / 4 {
		k, i1, i2 := 4*j, firstMiddle+2*j, firstSlow+4*j
		lean := (*[4]float64)(leaning[k:])
		w0 := weightOf[p.w[j]] * m.lens[j] * lean[2]
		w1, w2 := weightOf[p.w[i1]]*m.lens[i1]*lean[1], weightOf[p.w[i1+1]]*m.lens[i1+1]*lean[3]
		packed, lens := (*[4]uint8)(p.w[i2:]), (*[4]float64)(m.lens[i2:])
		w3, w4 := weightOf[packed[0]]*lens[0]*lean[0], weightOf[packed[1]]*lens[1]*lean[1]
		w5, w6 := weightOf[packed[2]]*lens[2]*lean[2], weightOf[packed[3]]*lens[3]*lean[3]
		*(*[4]float64)(v.steady[k:]) = [4]float64{w3, w4, w5, w6}
		*(*[4]float64)(v.other[k:]) = [4]float64{0, w1, w0, w2}
		mass0 += float64(w0)
		mass1 += float64(w1)
		mass2 += float64(w2)
		mass3 += float64(w3)
		mass4 += float64(w4)
		mass5 += float64(w5)
		mass6 += float64(w6)
	}
	v.mass = [Classes]float64{mass0, mass1 + mass2, (mass3 + mass4) + (mass5 + mass6)}
	v.one = 1 / (v.mass[0] + v.mass[1] + v.mass[2])
}

// Value returns the mean over the posterior of what a poll is worth a time gap > 0 after the last
// answer, and its standard deviation. The gap counts as one of another length, see Learn, and all rates
// are so many times as great. Where Plain, a page that jumps is taken for one that bursts by a part bursts;
// else it goes, by a part rests, where the rates of all pages are.
// This is where the time goes.
func (m *Model) Value(b *View, gap, counts, times, bursts, rests float64) (mean, spread float64) {
	g := gridAt(m.slowestRate(), counts*times)
	if m.worth.Plain {
		var v Row
		m.worth.Table.read(&v, g)
		landed := 0.0
		for k := range v {
			landed += float64(m.land[k] * v[k])
		}
		if bursts > 0 {
			landed += float64(bursts * (m.worth.Burst.mean(&m.land, g) - landed))
		}
		return m.mean(b, &v, landed, gap) * counts, 0
	}
	var h halfway
	if !m.worth.Chance {
		b.halve(&h, g, m.survive)
	}
	quick, middle, slow := stayings(gap / m.cycle)
	// What jumps goes to each cell of its class alike; the part that rests goes where all pages are.
	jump0, jump1, jump2 := b.mass[0]*(1-quick), b.mass[1]*(1-middle), b.mass[2]*(1-slow)
	toAll, alike := (jump0+jump1+jump2)*rests, (1-rests)/Cells
	land0 := jump2 * alike
	land1 := land0 + jump1*(middleStride*alike)
	land2 := land0 + jump0*(quickStride*alike)
	lo, hi := (*Row)(m.worth.Table[g.row][g.at:]), (*Row)(m.worth.Table[g.row+1][g.at:])
	var mean0, mean1, mean2, mean3, square0, square1, square2, square3 float64
	for k := 0; k <= Cells-4; k += 4 {
		from, to := (*[4]float64)(lo[k:]), (*[4]float64)(hi[k:])
		v0, v1 := from[0]+float64(g.rest*(to[0]-from[0])), from[1]+float64(g.rest*(to[1]-from[1]))
		v2, v3 := from[2]+float64(g.rest*(to[2]-from[2])), from[3]+float64(g.rest*(to[3]-from[3]))
		r0, r1, r2, r3 := v0, v1, v2, v3 // for those that jumped
		if k < h.cells {
			// One division for four: no divisor is less than 4e-10, as tables begin there.
			d, x := (*[4]float64)(h.gone[k:]), (*[4]float64)(h.half[k:])
			d01, d23 := d[0]*d[1], d[2]*d[3]
			one := 1 / (d01 * d23)
			one01, one23 := one*d23, one*d01
			r0 = v0 * ((1 - float64(h.current*x[0])) * (one01 * d[1]))
			r1 = v1 * ((1 - float64(h.current*x[1])) * (one01 * d[0]))
			r2 = v2 * ((1 - float64(h.current*x[2])) * (one23 * d[3]))
			r3 = v3 * ((1 - float64(h.current*x[3])) * (one23 * d[2]))
		}
		w, o, all := (*[4]float64)(b.steady[k:]), (*[4]float64)(b.other[k:]), (*[4]float64)(m.land[k:])
		y0, z0 := float64(float64(slow*w[0])*v0), float64((land0+float64(toAll*all[0]))*r0)
		y1, z1 := float64((float64(slow*w[1])+float64(middle*o[1]))*v1), float64((land1+float64(toAll*all[1]))*r1)
		y2, z2 := float64((float64(slow*w[2])+float64(quick*o[2]))*v2), float64((land2+float64(toAll*all[2]))*r2)
		y3, z3 := float64((float64(slow*w[3])+float64(middle*o[3]))*v3), float64((land1+float64(toAll*all[3]))*r3)
		mean0, square0 = mean0+(y0+z0), square0+(float64(y0*v0)+float64(z0*r0))
		mean1, square1 = mean1+(y1+z1), square1+(float64(y1*v1)+float64(z1*r1))
		mean2, square2 = mean2+(y2+z2), square2+(float64(y2*v2)+float64(z2*r2))
		mean3, square3 = mean3+(y3+z3), square3+(float64(y3*v3)+float64(z3*r3))
	}
	mean = (mean0 + mean1 + mean2 + mean3) * b.one
	square := (square0 + square1 + square2 + square3) * b.one
	spread = math.Sqrt(max(0, square-float64(mean*mean)))
	for range m.worth.Power {
		mean *= counts
		spread *= counts
	}
	return mean, spread
}

// mean is the mean over the posterior of what has the values v at the rates, and landed for a page that
// jumped within the gap.
func (m *Model) mean(b *View, v *Row, landed, gap float64) float64 {
	stays, mean := staying(gap/m.cycle), 0.0
	for c, stay := range stays {
		mean += float64(b.mass[c] * (1 - stay) * landed)
	}
	of := [4]float64{0, stays[1], stays[0], stays[1]}
	for k := range v {
		mean += float64((float64(stays[Steady]*b.steady[k]) + float64(of[k%4]*b.other[k])) * v[k])
	}
	return mean * b.one
}

// A halfway says how much more likely a copy is stale if the page jumped to a rate in the middle of
// the gap than if it had had that rate all the time: (1 − current·half)/gone of the slowest cells,
// 1 of the others. That matters after a burst: the copy is stale for certain, and a new one would
// last. Where Chance is set it was found to make no difference.
type halfway struct {
	cells   int
	current float64 // how likely a copy is current at half the gap
	// How likely no change is in half the gap, and a change in all of it.
	half, gone Row
}

// halve sets h to that of a gap; the table is that of survive.
func (b *View) halve(h *halfway, gap gridPoint, table *Table) {
	// Of the fastest rates next to no copy is current at half the gap: that leaves 1.
	h.cells = min(Cells, max(0, surelyStale-gap.at+3)&^3)
	lo, hi := (*Row)(table[gap.row][gap.at:]), (*Row)(table[gap.row+1][gap.at:])
	var now0, now1 float64
	for k := 0; k < h.cells; k += 4 {
		from, to := (*[4]float64)(lo[k:]), (*[4]float64)(hi[k:])
		stay0, stay1 := from[0]+float64(gap.rest*(to[0]-from[0])), from[1]+float64(gap.rest*(to[1]-from[1]))
		stay2, stay3 := from[2]+float64(gap.rest*(to[2]-from[2])), from[3]+float64(gap.rest*(to[3]-from[3]))
		half0, half1, half2, half3 := math.Sqrt(stay0), math.Sqrt(stay1), math.Sqrt(stay2), math.Sqrt(stay3)
		w, o := (*[4]float64)(b.steady[k:]), (*[4]float64)(b.other[k:])
		now0 += float64((w[0] + o[0]) * half0)
		now1 += float64((w[1] + o[1]) * half1)
		now0 += float64((w[2] + o[2]) * half2)
		now1 += float64((w[3] + o[3]) * half3)
		*(*[4]float64)(h.gone[k:]) = [4]float64{1 - stay0, 1 - stay1, 1 - stay2, 1 - stay3}
		*(*[4]float64)(h.half[k:]) = [4]float64{half0, half1, half2, half3}
	}
	h.current = (now0 + now1) * b.one
}

// surelyStale is a place of the grid at which e^(−v/2) is less than the rounding of 1, v being e^4.8
// or more.
const surelyStale = gridOrigin + 8
