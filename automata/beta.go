package automata

import (
	"math"
	"math/rand/v2"
)

// A posterior is the Beta(α, β) distribution of the mean reward of an action after
// some answers, from a uniform prior: α = 1 + rewards, β = 1 + penalties.
type posterior struct{ alpha, beta float64 }

// posterior returns the posterior of an action.
func (t *estimates) posterior(action int) posterior {
	return posterior{1 + t.sum[action], 1 + t.pulls[action] - t.sum[action]}
}

// draw samples from the distribution, as a ratio of Gamma variables.
func (p posterior) draw(src rand.Source) float64 {
	x, y := gamma(p.alpha, src), gamma(p.beta, src)
	return x / (x + y)
}

// gamma samples from the Gamma distribution of shape a ≥ 1 and scale 1 (Marsaglia
// & Tsang 2000).
func gamma(a float64, src rand.Source) float64 {
	rng := rand.New(src)
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-uniform(src)) < float64(0.5*x*x)+d-float64(d*v)+float64(d*math.Log(v)) {
			return d * v
		}
	}
}

func (p posterior) mean() float64 { return p.alpha / (p.alpha + p.beta) }

func (p posterior) sd() float64 {
	n := p.alpha + p.beta
	return math.Sqrt(p.alpha*p.beta/(n+1)) / n
}

func (p posterior) skewness() float64 {
	n := p.alpha + p.beta
	return 2 * (p.beta - p.alpha) / (n + 2) * math.Sqrt((n+1)/(p.alpha*p.beta))
}

// span returns an interval outside of which there is next to no mass: 9 standard deviations around
// the mean, and up to 17 on the side of a longer tail, which may fall off no faster than an
// exponential. The mass outside is less than the error that TestBayesianProbability allows.
func (p posterior) span() (low, high float64) {
	skew := p.skewness()
	low = max(0, p.mean()-float64((9+4*max(0, -skew))*p.sd()))
	high = min(1, p.mean()+float64((9+4*max(0, skew))*p.sd()))
	return low, high
}

// logScale returns the logarithm of 1/B(α, β).
func (p posterior) logScale() float64 {
	a, _ := math.Lgamma(p.alpha)
	b, _ := math.Lgamma(p.beta)
	ab, _ := math.Lgamma(p.alpha + p.beta)
	return ab - a - b
}

// density returns the density at x in (0, 1).
func (p posterior) density(x, logScale float64) float64 {
	return math.Exp(logScale + float64((p.alpha-1)*math.Log(x)) + float64((p.beta-1)*math.Log1p(-x)))
}

// cdf returns the distribution function at x, the regularised incomplete beta
// function I_x(α, β), by its continued fraction (DLMF 8.17.22) in the half of
// [0, 1] where that converges fast: O(√(α+β)) terms.
func (p posterior) cdf(x, logScale float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (p.alpha+1)/(p.alpha+p.beta+2):
		return 1 - posterior{p.beta, p.alpha}.cdf(1-x, logScale)
	}
	front := math.Exp(logScale+float64(p.alpha*math.Log(x))+float64(p.beta*math.Log1p(-x))) / p.alpha
	return front * betaFraction(p.alpha, p.beta, x)
}

// betaFraction evaluates the continued fraction by the modified Lentz method.
func betaFraction(a, b, x float64) float64 {
	const tiny, precision = 1e-300, 0x1p-52
	away := func(v float64) float64 { // from zero
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c := 1.0
	d := 1 / away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; ; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+float64(even*d))
		c = away(1 + even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+float64(odd*d))
		c = away(1 + odd/c)
		f *= d * c
		if math.Abs(d*c-1) <= precision || m > 1e6 {
			return f
		}
	}
}

// fewAnswers is where quantile changes its method. With at most that many rewards or at most that
// many penalties it searches for the quantile. With more of both, the search takes long and the
// logarithms lose digits, while nearlyNormal is off by less than 1e-6 standard deviations.
const fewAnswers = 1e6

// quantile returns the x with cdf(x) = q. It uses Newton's method, kept inside a bracket that
// shrinks with every step. The result depends only on α and β, not on earlier values.
func (p posterior) quantile(q float64) float64 {
	if min(p.alpha, p.beta) > fewAnswers {
		return p.nearlyNormal(q)
	}
	logScale := p.logScale()
	low, high := 0.0, 1.0
	x := p.mean()
	for range 100 { // usually five or so: Newton's method doubles the digits
		miss := p.cdf(x, logScale) - q
		if miss > 0 {
			high = x
		} else {
			low = x
		}
		next := x - miss/p.density(x, logScale)
		if !(next >= low && next <= high) { // or NaN
			next = (low + high) / 2
		}
		if math.Abs(next-x) <= 1e-7*p.sd() { // the error is of the order of this step squared
			return next
		}
		x = next
	}
	return x
}

// nearlyNormal returns the quantile of a normal distribution corrected for skewness (Cornish &
// Fisher 1938).
func (p posterior) nearlyNormal(q float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*q-1)
	return p.mean() + float64(p.sd()*(z+float64(p.skewness()/6*(float64(z*z)-1))))
}
