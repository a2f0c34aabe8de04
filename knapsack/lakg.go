package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/source"
	"github.com/recrawl/recrawl/knapsack/internal/game"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
)

// LAKGConfig holds the settings of LAKG.
type LAKGConfig struct {
	// States is N, the resolution of the amounts: 1 to 65535, default 1500. With more states LAKG
	// learns more slowly and comes closer to the optimum.
	States int
	// Lambda is λ, the exponent of the amounts: above 0, default 1.3, and not so large that the least
	// amount, (1/N)^λ, is below 1e-100.
	Lambda float64
	// Capacity is c, the polls per unit of time at which the knapsack counts as full: above 0,
	// default 1, with one poll as the unit of time.
	Capacity float64
	// Start is the amount with which a page begins, rounded to the nearest of the N amounts: up
	// to 1. The default is Capacity over the number of pages at the beginning, or the least amount
	// if there are none, as in a Keyed; a negative one stands for the least amount. The paper does
	// not state it. A lower one learns faster: in the paper's environments the least amount finds 4
	// to 58 % more in 40,000 polls.
	Start float64
	// Spacing is that of a page's polls at the learnt amounts; default Random, as in the paper.
	Spacing Spacing
}

// The first of the settings that Granmo et al. 2006 measure in section III. With 300 to 750
// states it finds up to 31 % more in the first 40,000 polls (go test ./knapsack -v -run Sweep
// -sweep, which shows other starts, too), and comes less close to the optimum in the end.
const (
	lakgStates = 1500
	lakgLambda = 1.3
)

// resolve replaces the settings that are left out, for n pages, by their defaults.
func (c LAKGConfig) resolve(n int) LAKGConfig {
	if c.States == 0 {
		c.States = lakgStates
	}
	if c.Lambda == 0 {
		c.Lambda = lakgLambda
	}
	if c.Capacity == 0 {
		c.Capacity = 1
	}
	// A page that begins too low rises with every change found. One that begins too high comes down by
	// one state a poll, which all pages together take N·n polls for.
	share := 0.
	if n > 0 {
		share = min(1, c.Capacity/float64(n))
	}
	c.Start = orDefault(c.Start, share)
	c.Spacing = c.Spacing.or(Random)
	return c
}

func (c LAKGConfig) check() error {
	switch {
	case c.States < 1 || c.States > math.MaxUint16:
		return fmt.Errorf("%w: %d states", ErrConfig, c.States)
	case !(c.Lambda > 0) || math.IsInf(c.Lambda, 1) ||
		!(math.Pow(1/float64(c.States), c.Lambda) >= optimum.LeastInput): // or products with it could be 0
		return fmt.Errorf("%w: Lambda is %v, with %d states", ErrConfig, c.Lambda, c.States)
	case !(c.Capacity > 0) || math.IsInf(c.Capacity, 1):
		return fmt.Errorf("%w: Capacity is %v", ErrConfig, c.Capacity)
	case !(c.Start >= 0 && c.Start <= 1):
		return fmt.Errorf("%w: Start is %v", ErrConfig, c.Start)
	}
	return spacingNames.Check(c.Spacing)
}

// LAKG is the Learning Automata Knapsack Game of Granmo, Oommen, Myrer and Olsen 2006, section
// II. Next gives the page to poll, Observe learns, Frequency returns the amount that a page has
// come to: the polls per unit of time that it gets once all amounts come to the Capacity. Take it
// for the algorithm of the paper, and where a few bytes a page are all there is: it estimates
// nothing. RateFilter learns faster and finds more.
//
// # Cost
//
// With Random spacing, time: O(log N) for Next and Observe, independent of the number of pages.
// Memory: 10.3 bytes a page (12.3 after a removal), plus O(N). With Even spacing, time: O(log n).
// Memory: 31 bytes a page. Nothing is allocated once the lists of pages have grown.
//
// # How it works
//
// Each page has an automaton with a state s in 1..N and the amount x = (s/N)^λ. Pages are polled
// at frequencies proportional to their amounts. The knapsack is full if Σx ≥ c. A poll moves its
// page's automaton
//
//	s ← s + 1   if the page had changed, s < N and the knapsack is not full
//	s ← s − 1   if it had not changed, s > 1 and the knapsack is full
//
// and leaves it otherwise. The amounts move towards those at which all pages are equally likely
// to have changed when polled, which is the optimum of Detections at equal weights, for polls of
// the Spacing. With Random spacing and pages that change with probability u in a time step, as in
// the paper, that is x ∝ u/(1−u), and with Even spacing x ∝ −ln(1−u). The paper defines the value
// of amounts for even spacing and polls at random: in its environment (0.9, 1.5) LAKG passes the
// best amounts for even spacing on its way, and stays above the proportional policy for good only
// if both are valued for the same spacing. See figure 4 in "The five papers" of RESULTS.md
// (go run ./examples/papers -only granmo has all figures).
//
// Pages lie in buckets, one for each state, so that a draw is one among N bucket totals and one
// inside a bucket. With Random spacing and 2^15 pages or more, the random numbers of the next 16
// polls are drawn in advance, so that the memory which these polls will need is read at the same
// time. The pages that they choose are the same as without, if nobody else draws from the source.
type LAKG struct {
	amountsRostered
	cfg LAKGConfig
}

// Embedded by this name it is not shown in the documentation.
type amountsRostered = rostered[*game.Amounts]

var _ Learner = (*LAKG)(nil)

// NewLAKG returns a LAKG of the pages 0..n−1. It returns ErrConfig for a setting out of its range;
// n may be 0 to 2^30. A nil src panics, also with Even spacing, which draws nothing.
func NewLAKG(n int, cfg LAKGConfig, src rand.Source) (*LAKG, error) {
	source.Require(src, "knapsack")
	if err := checkPages(n); err != nil {
		return nil, err
	}
	cfg = cfg.resolve(n)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	book := newBook(n)
	l, err := game.New(n, cfg.game(), src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &LAKG{amountsRostered{book, l}, cfg}, nil
}

// game returns the settings as the automata take them.
func (c LAKGConfig) game() game.Config {
	return game.Config{States: c.States, Lambda: c.Lambda, Capacity: c.Capacity, Start: c.Start, Even: c.Spacing == Even}
}

// Observe implements Scheduler.
func (l *LAKG) Observe(page int, now float64, changed bool) error {
	slot, err := l.answer(page, now)
	if err == nil {
		l.roster.Learn(slot, changed)
		l.roster.Put(slot, now)
	}
	return err
}

var lakgFormat = codec.Format{Magic: "recrawl/knapsack.LAKG", Version: 2}

// MarshalBinary returns the state, source included.
func (l *LAKG) MarshalBinary() ([]byte, error) { return lakgFormat.Save(l.encode) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (l *LAKG) UnmarshalBinary(data []byte) error {
	return codec.Load(l, lakgFormat, data, (*LAKG).decode)
}

func (l *LAKG) encode(e *codec.Encoder) {
	l.book.encode(e)
	e.Int(l.cfg.States)
	e.Float64(l.cfg.Lambda)
	e.Float64(l.cfg.Capacity)
	e.Float64(l.cfg.Start)
	e.Byte(byte(l.cfg.Spacing))
	l.roster.Encode(e)
}

func (l *LAKG) decode(d *codec.Decoder) {
	l.book = decodeBook(d)
	l.cfg = LAKGConfig{d.Int(), d.Float64(), d.Float64(), d.Float64(), Spacing(d.Byte())}
	if d.Check(l.cfg.check()); d.Err() == nil {
		l.roster = game.Decode(d, l.cfg.game(), l.ids.Slots(), l.ids.Live, l.idle)
	}
}
