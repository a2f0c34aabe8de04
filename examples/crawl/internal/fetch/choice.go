package fetch

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/partition"
)

// A choice learns from durations which access point is the fastest for each of some hosts.
type choice struct {
	src      rand.Source
	points   map[string]Point     // those that may be used now
	first    Point                // of them, of this machine
	assigner *partition.Assigner  // nil while there never was a second point
	arms     map[string]int       // of the assigner, by names of points
	gone     map[string]time.Time // since when points cannot be used
	sites    map[string]int       // of the assigner, by hosts
}

const (
	// explore is how often a point is tried that is not the fastest, as it may have become it.
	explore = 0.02
	// grain is added to all times: what takes some milliseconds and then ten, as this machine is
	// busy, is not an access point that is down.
	grain = 20 * time.Millisecond
	// forgotten is the time after which what is known of a point is forgotten that is not there.
	forgotten = time.Hour
	// away puts an arm off until it is back.
	away = math.MaxInt32
)

func newChoice(seed uint64, part int) *choice {
	return &choice{
		src: rand.NewPCG(seed, 0x90147+uint64(part)), arms: map[string]int{}, gone: map[string]time.Time{}, sites: map[string]int{},
	}
}

// offer replaces the points that may be used, one at least. What is known of one that is not among
// them is kept for some time.
func (c *choice) offer(points []Point, now time.Time) (err error) {
	c.points, c.first = map[string]Point{}, points[0]
	for _, p := range points {
		c.points[p.Name] = p
	}
	if c.assigner == nil {
		if len(c.points) < 2 {
			return nil
		}
		c.arms[c.first.Name] = 0
		if c.assigner, err = partition.NewAssigner(1, 0, partition.AssignerConfig{Explore: explore}, c.src); err != nil {
			return err
		}
	}
	for _, p := range points { // not from the map: the order decides what is drawn
		if _, ok := c.arms[p.Name]; !ok {
			if c.arms[p.Name], err = c.assigner.AddArm(math.Inf(1)); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.arms)) {
		_, there := c.points[name]
		if err := c.attend(name, there, now); err != nil {
			return err
		}
	}
	return nil
}

// attend puts a point off while it is not there.
func (c *choice) attend(name string, there bool, now time.Time) error {
	arm := c.arms[name]
	since, gone := c.gone[name]
	switch {
	case there && gone:
		delete(c.gone, name)
		return c.assigner.Defer(arm, 0)
	case !there && !gone:
		c.gone[name] = now
		return c.assigner.Defer(arm, away)
	case !there && now.Sub(since) > forgotten:
		delete(c.gone, name)
		delete(c.arms, name)
		return c.assigner.RemoveArm(arm)
	}
	return nil
}

// next returns the point for a host.
func (c *choice) next(host string) (Point, error) {
	if c.assigner == nil {
		return c.first, nil
	}
	site, ok := c.sites[host]
	if !ok {
		site = c.assigner.Add()
		c.sites[host] = site
	}
	for again := true; ; again = false {
		arm, err := c.assigner.Next(site)
		if err != nil {
			return c.first, err
		}
		if p, ok := c.points[c.name(arm)]; ok {
			return p, nil
		}
		// It was asked for before the point went, or all that are there are taken to be down.
		if err := c.assigner.GiveBack(site); err != nil || !again {
			return c.first, err
		}
	}
}

// name returns the name of an arm.
func (c *choice) name(arm int) string {
	for name, a := range c.arms {
		if a == arm {
			return name
		}
	}
	return ""
}

// took tells how long a host took by a point, unless that says nothing of the point.
func (c *choice) took(host string, way *route, d time.Duration) error {
	site, ok := c.sites[host]
	if c.assigner == nil || !ok {
		return nil
	}
	arm, err := c.assigner.Next(site) // the same one, unless it is gone
	switch {
	case err != nil:
		return err
	case way.refused, way.lost != "", way.ended, c.name(arm) != way.chosen:
		return c.assigner.GiveBack(site)
	}
	return c.assigner.Observe(site, (max(d, 0) + grain).Seconds())
}

// forget forgets a host.
func (c *choice) forget(host string) error {
	site, ok := c.sites[host]
	if !ok {
		return nil
	}
	delete(c.sites, host)
	return c.assigner.Remove(site)
}

// load returns the number of hosts at a point.
func (c *choice) load(name string) int {
	arm, ok := c.arms[name]
	if c.assigner == nil || !ok {
		return 0
	}
	n, _, _ := c.assigner.Load(arm) // the arm is there
	return n
}

var choiceFormat = codec.Format{Magic: "recrawl/crawl.Points", Version: 1}

// saved returns what is known; nil if that is nothing.
func (c *choice) saved() ([]byte, error) {
	if c.assigner == nil {
		return nil, nil
	}
	assigner, err := c.assigner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return choiceFormat.Save(func(e *codec.Encoder) {
		e.Bytes(assigner)
		for _, ids := range []map[string]int{c.arms, c.sites} {
			e.Int(len(ids))
			for _, name := range slices.Sorted(maps.Keys(ids)) {
				e.Bytes([]byte(name))
				e.Int(ids[name])
			}
		}
	})
}

// restore restores it. If it fails nothing is known.
func (c *choice) restore(saved []byte, now time.Time) error {
	if len(saved) == 0 {
		return nil
	}
	err := codec.Load(c, choiceFormat, saved, func(v *choice, d *codec.Decoder) {
		*v = choice{src: c.src, gone: map[string]time.Time{}}
		a, err := partition.NewAssigner(1, 0, partition.AssignerConfig{}, c.src)
		if err == nil {
			err = a.UnmarshalBinary(d.Bytes())
		}
		if d.Check(err); err != nil {
			return
		}
		v.assigner = a
		v.arms = getIDs(d, slices.Collect(a.AllArms()))
		v.sites = getIDs(d, slices.Collect(a.All()))
	})
	if err != nil {
		return fmt.Errorf("fetch: what was learnt of access points cannot be read: %w", err)
	}
	for name, arm := range c.arms { // until they are offered
		c.gone[name] = now
		if err := c.assigner.Defer(arm, away); err != nil {
			return err
		}
	}
	return nil
}

// getIDs reads names of ids, which must be all that there are.
func getIDs(d *codec.Decoder, all []int) map[string]int {
	names := map[string]int{}
	left := map[int]bool{}
	for _, id := range all {
		left[id] = true
	}
	for range d.Count(16) {
		name, id := string(d.Bytes()), d.Int()
		_, twice := names[name]
		if d.Require(left[id] && !twice, "%q of id %d", name, id); d.Err() != nil {
			return nil
		}
		delete(left, id)
		names[name] = id
	}
	d.Require(len(left) == 0, "%d ids without a name", len(left))
	return names
}
