package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// ZipfLaw returns a/k^beta for k = 1 to n: probabilities per slot if a ≤ 1, or rates. It panics if n is negative.
func ZipfLaw(n int, a, beta float64) []float64 {
	requirePages(n)
	law := make([]float64, n)
	for k := range law {
		law[k] = a * math.Pow(float64(k+1), -beta)
	}
	return law
}

// LogNormalLaw draws n rates from the log-normal distribution with the given mean, where sigma
// is the standard deviation of the logarithm. It panics if n is negative.
func LogNormalLaw(n int, mean, sigma float64, src rand.Source) []float64 {
	requirePages(n)
	rng := newRandom(src)
	law := make([]float64, n)
	for i := range law {
		law[i] = mean * math.Exp(sigma*(rng.NormFloat64()-sigma/2))
	}
	return law
}

func requirePages(n int) {
	if n < 0 {
		panic(fmt.Sprintf("webenv: %d pages", n))
	}
}

// A Site is a number of pages in a top-level domain: "com", "net", "edu" or "org".
type Site struct {
	Domain string
	Pages  int
}

// mostPages bounds the memory of a law.
const mostPages = 1e9

// domainLaws are the constants of Yazidi (2006), the chapter on simulation: the fixed
// probability of change per slot, and the skewness of the Zipf law.
var domainLaws = map[string]struct{ fixed, theta float64 }{
	"com": {0.3, 0.75},
	"net": {0.25, 1},
	"edu": {0.1, 1.5},
	"org": {0.05, 2},
}

// DomainLaw returns the probability of change per slot of each page of the sites, site after
// site, fixed by the top-level domain: 0.3 in com, 0.25 in net, 0.1 in edu, 0.05 in org (Yazidi
// 2006, simulation A; go run ./examples/papers -only yazidi). There are 10^9 pages at most.
func DomainLaw(sites []Site) ([]float64, error) {
	return domainLaw(sites, func(fixed, _ float64, _ int) float64 { return fixed })
}

// DomainZipfLaw returns the probability of change per slot of each page of the sites, site
// after site: page k = 1, 2, … of a site has 1/k^θ, θ = 0.75 in com, 1 in net, 1.5 in edu, 2 in
// org (Yazidi 2006, simulation B; go run ./examples/papers -only yazidi). The first page of a site
// changes in every slot. There are 10^9 pages at most.
func DomainZipfLaw(sites []Site) ([]float64, error) {
	return domainLaw(sites, func(_, theta float64, k int) float64 { return math.Pow(float64(k), -theta) })
}

func domainLaw(sites []Site, u func(fixed, theta float64, k int) float64) ([]float64, error) {
	var law []float64
	for i, s := range sites {
		c, ok := domainLaws[s.Domain]
		if !ok {
			return nil, fmt.Errorf("%w: site %d: domain %q is not com, net, edu or org", ErrConfig, i, s.Domain)
		}
		if s.Pages < 0 || s.Pages > mostPages-len(law) {
			return nil, fmt.Errorf("%w: site %d: %d pages", ErrConfig, i, s.Pages)
		}
		for k := 1; k <= s.Pages; k++ {
			law = append(law, u(c.fixed, c.theta, k))
		}
	}
	return law, nil
}
