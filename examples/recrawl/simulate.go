package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/recrawl/recrawl/webenv"
)

// simulations is the help on -env. Rates that are said to be log-normal have the
// mean and the standard deviation of the logarithm given.
const simulations = `  zipf:A,B[,r=POLLS]      a page of rank k changes with probability A/k^B in each slot; ranks
                          are drawn; with r, a page swaps its with the next one every r polls
  tld[:fixed]             four sites, one in each of com, net, edu, org, whose pages
                          change with probability 0.3, 0.25, 0.1, 0.05 in each slot
  tld:zipf[,shift=SLOTS]  the same sites; a page of rank k changes with probability 1/k^θ,
                          where θ = 0.75, 1, 1.5, 2; ranks are drawn; with shift, each page
                          takes the probability of the next rank every SLOTS slots
  poisson:RATE[,SIGMA]    log-normal rates, with a mean of RATE changes a day; SIGMA (1.5)
                          is the standard deviation of their logarithm. With still=90,
                          90 % of the pages never change, and RATE is that of the others
  bursty:RATE[,SIGMA]     the same, but a page makes most changes in bursts of 3 days
  calm[:RATE]             all pages change about equally rarely (0.01 a day, SIGMA 0.3)`

// simulation returns the world that a -env asks for.
func simulation(spec string, pages int) (*world, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	args, err := parseArgs(rest)
	if err != nil {
		return nil, fmt.Errorf("-env %s: %w", spec, err)
	}
	w := &world{name: spec, pages: pages}
	switch kind {
	case "zipf":
		err = w.zipf(args)
	case "tld":
		err = w.tld(args)
	case "poisson":
		err = w.poisson(args, 1.5)
	case "bursty":
		err = w.bursty(args)
	case "calm":
		if len(args.positional) == 0 {
			args.positional = []float64{0.01}
		}
		err = w.poisson(args, 0.3)
	default:
		err = errors.New("no such simulation; there are zipf, tld, poisson, bursty and calm")
	}
	if err == nil {
		_, err = w.open(rand.NewPCG(0, 0)) // for settings out of range
	}
	if err != nil {
		return nil, fmt.Errorf("-env %s: %w", spec, err)
	}
	return w, nil
}

func (w *world) zipf(a envArgs) error {
	if err := a.check(2, 2, nil, "r"); err != nil {
		return err
	}
	cfg := webenv.ZipfConfig{Pages: w.pages, Alpha: a.positional[0], Beta: a.positional[1], SwapEvery: a.named["r"]}
	if cfg.Alpha == 0 { // which would be the default
		return errors.New("with alpha 0 no page changes")
	}
	if cfg.Beta < 0 { // which would be 0
		return fmt.Errorf("exponent %v: want 0 at least", cfg.Beta)
	}
	if cfg.Beta == 0 { // which would be the default
		cfg.Beta = -1
	}
	w.slots, w.swapEvery = true, cfg.SwapEvery
	w.open = func(src rand.Source) (environment, error) {
		cfg := cfg
		cfg.SwapEvery = w.swapEvery
		env, err := webenv.NewZipf(cfg, src)
		if err != nil {
			return nil, err
		}
		return shuffle(env, src), nil
	}
	return nil
}

// shuffle gives the pages other numbers, which do not tell how often they change. Many schedules
// poll the pages by number at first, and would learn of the first ones from shorter gaps.
func shuffle(env environment, src rand.Source) environment {
	s := shuffled{env, rand.New(src).Perm(env.Len())}
	if d, ok := env.(delayer); ok {
		return shuffledDelayer{s, d}
	}
	return s
}

type shuffled struct {
	environment
	pages []int // by their new numbers
}

func (s shuffled) Poll(page int, now float64) (since float64, changed bool) {
	return s.environment.Poll(s.pages[page], now)
}

func (s shuffled) Rate(page int, now float64) float64 { return s.environment.Rate(s.pages[page], now) }

// A delayer knows about every change, see [webenv.Env].
type delayer interface {
	Delays(page int, since, now float64) (changes, delay float64)
}

type shuffledDelayer struct {
	shuffled
	delays delayer
}

func (s shuffledDelayer) Delays(page int, since, now float64) (changes, delay float64) {
	return s.delays.Delays(s.pages[page], since, now)
}

func (w *world) tld(a envArgs) error {
	if err := a.check(0, 0, []string{"fixed", "zipf"}, "shift"); err != nil {
		return err
	}
	var sites []webenv.Site
	for k, domain := range []string{"com", "net", "edu", "org"} {
		sites = append(sites, webenv.Site{Domain: domain, Pages: (w.pages + k) / 4})
	}
	law := webenv.DomainLaw
	if a.word == "zipf" {
		law = webenv.DomainZipfLaw
	}
	u, err := law(sites)
	if err != nil {
		return err
	}
	shift := a.named["shift"]
	w.slots, w.moves = true, float64(shift)
	w.open = func(src rand.Source) (environment, error) {
		env, err := webenv.NewSlots(u, webenv.AtMostOnce, shift, src)
		if err != nil {
			return nil, err
		}
		return shuffle(env, src), nil
	}
	return nil
}

func (w *world) poisson(a envArgs, sigma float64) error {
	rates, err := a.rates(w.pages, sigma)
	w.open = func(src rand.Source) (environment, error) { return webenv.NewPoisson(rates(src), src) }
	return err
}

func (w *world) bursty(a envArgs) error {
	// Of all time a tenth is active, and of all changes 0.1·7.3 = 73 %: the mean is 1.
	burst := webenv.BurstyConfig{Quiet: 0.3, Active: 7.3, QuietStay: 27 * day, ActiveStay: 3 * day}
	rates, err := a.rates(w.pages, 1.5)
	w.open = func(src rand.Source) (environment, error) {
		own := rates(src)
		env, err := webenv.NewBursty(own, burst, src)
		return longRun{env, own}, err
	}
	return err
}

// longRun is a bursty environment whose true rates are those in the long run:
// no crawler knows whether a page is in a burst.
type longRun struct {
	webenv.Simulated
	rates []float64
}

func (e longRun) Rate(page int, _ float64) float64 { return e.rates[page] }

// envArgs is what comes after the colon of a -env: "0.3,1.5,r=1000".
type envArgs struct {
	positional []float64
	word       string
	named      map[string]int
}

func parseArgs(s string) (envArgs, error) {
	a := envArgs{named: map[string]int{}}
	if s == "" {
		return a, nil
	}
	for field := range strings.SplitSeq(s, ",") {
		if name, value, ok := strings.Cut(field, "="); ok {
			v, err := strconv.Atoi(value)
			if err != nil || v < 0 {
				return a, fmt.Errorf("%s=%q is not a whole number", name, value)
			}
			a.named[name] = v
			continue
		}
		v, err := strconv.ParseFloat(field, 64)
		switch {
		case err == nil && (math.IsNaN(v) || math.IsInf(v, 0)):
			return a, fmt.Errorf("%q is not a finite number", field)
		case err == nil:
			a.positional = append(a.positional, v)
		case a.word == "":
			a.word = field
		default:
			return a, fmt.Errorf("%q is not a number", field)
		}
	}
	return a, nil
}

// check wants between least and most numbers, one of the words or none, and no
// names but name.
func (a envArgs) check(least, most int, words []string, name string) error {
	n := len(a.positional)
	switch {
	case a.word != "" && len(words) > 0 && !slices.Contains(words, a.word):
		return fmt.Errorf("%q is none of %s", a.word, strings.Join(words, ", "))
	case a.word != "" && len(words) == 0:
		return fmt.Errorf("%q is not a number", a.word)
	case n < least && least == most:
		return fmt.Errorf("%d numbers, want %d", n, least)
	case n < least || n > most:
		return fmt.Errorf("%d numbers, want %d to %d", n, least, most)
	}
	for k := range a.named {
		if k != name {
			return fmt.Errorf("no setting is called %q", k)
		}
	}
	return nil
}

// mostRate is more than any page changes in a day, and at mostSigma rates differ by a factor of 10^17
// as a rule. Far beyond them the figures leave the range of numbers. Some page has to change.
const (
	mostRate  = 1e6
	mostSigma = 10.0
	mostStill = 99
)

// rates returns a function that draws rates per second.
func (a envArgs) rates(pages int, sigma float64) (func(rand.Source) []float64, error) {
	if err := a.check(1, 2, nil, "still"); err != nil {
		return nil, err
	}
	perDay, still := a.positional[0], a.named["still"]
	if len(a.positional) == 2 {
		sigma = a.positional[1]
	}
	switch {
	case !(perDay > 0 && perDay <= mostRate):
		return nil, fmt.Errorf("RATE %v: want more than 0 and at most %v changes a day", perDay, mostRate)
	case !(sigma >= 0 && sigma <= mostSigma):
		return nil, fmt.Errorf("SIGMA %v: want 0 to %v", sigma, mostSigma)
	case still > mostStill:
		return nil, fmt.Errorf("still=%d: want at most %d %% of the pages", still, mostStill)
	}
	return func(src rand.Source) []float64 {
		rates := make([]float64, pages*still/100)
		rates = append(rates, webenv.LogNormalLaw(pages-len(rates), perDay/day, sigma, src)...)
		if still > 0 { // the number of a page does not tell that it never changes, see shuffle
			rand.New(src).Shuffle(pages, func(i, j int) { rates[i], rates[j] = rates[j], rates[i] })
		}
		return rates
	}, nil
}
