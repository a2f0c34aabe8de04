package webenv

import (
	"fmt"
	"iter"

	"github.com/recrawl/recrawl/internal/ids"
)

// A Chooser decides from which access point each site is accessed next, and learns from how long
// that took. The learners of package partition are choosers.
//
// A chooser may name sites and access points by ids whose slot, the low half of an int, is the
// number in the environment. If the chooser has a method All() iter.Seq[int], that lists its sites.
// Otherwise its sites are numbered from 0.
type Chooser interface {
	// Next returns the access point for the next access to a site.
	Next(site int) (arm int, err error)
	// Observe reports how long the access took.
	Observe(site int, duration float64) error
}

// A Crawl is the exact account of one crawl of [Durations], in which every site is accessed
// once.
type Crawl struct {
	Sites    int     // accesses
	Placed   int     // sites that were accessed from their perfect access points
	Duration float64 // total of the durations drawn
	Mean     float64 // total of the mean durations
	Perfect  float64 // total of the mean durations if every site had used its perfect access point
}

// Crawl lets a chooser access every site once and ends the crawl. An error of the chooser stops the
// crawl and is returned with the site. The error is [ErrUnknown] for a site or an access point that
// the environment does not have.
func (d *Durations) Crawl(c Chooser) (Crawl, error) {
	sites := func(yield func(int) bool) {
		for site := range d.Len() {
			if !yield(site) {
				return
			}
		}
	}
	if all, ok := c.(interface{ All() iter.Seq[int] }); ok {
		sites = all.All()
	}
	var account Crawl
	for id := range sites {
		if err := d.visit(c, id, &account); err != nil {
			return account, fmt.Errorf("webenv: crawl stopped at site %d: %w", id, err)
		}
	}
	d.EndCrawl()
	return account, nil
}

// visit makes one access.
func (d *Durations) visit(c Chooser, id int, account *Crawl) error {
	site := ids.Slot(id)
	if id < 0 || site >= d.Len() {
		return fmt.Errorf("%w: site %d of %d", ErrUnknown, site, d.Len())
	}
	chosen, err := c.Next(id)
	if err != nil {
		return err
	}
	arm := ids.Slot(chosen)
	if chosen < 0 || arm >= d.Arms() {
		return fmt.Errorf("%w: access point %d of %d", ErrUnknown, arm, d.Arms())
	}
	duration := d.Access(site, arm)
	account.Sites++
	account.Duration += duration
	account.Mean += d.Mean(site, arm)
	account.Perfect += d.Mean(site, d.Perfect(site))
	if arm == d.Perfect(site) {
		account.Placed++
	}
	return c.Observe(id, duration)
}
