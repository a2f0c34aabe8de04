package recrawl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv/live"
)

// An accessPoint is a place from which sites are fetched, with machines that share the work. Here
// the network is simulated: a site of its own continent answers in 0.2 seconds, one of another in
// 0.8, and while it is blocked none answers within 30.
type accessPoint struct {
	continent int
	blocked   bool
	now       time.Time
	noise     *rand.Rand
	client    *http.Client
	machines  *binpack.Packer
	place     map[int]int // site → its id in machines
	failed    int         // requests
}

func newAccessPoint(continent int) *accessPoint {
	a := &accessPoint{continent: continent, noise: rand.New(rand.NewPCG(1, uint64(continent))), place: map[int]int{}}
	// What is measured is that of the Transport, whatever the client does above it.
	a.client = &http.Client{Transport: &live.Transport{Base: a, Now: func() time.Time { return a.now }}}
	a.machines, _ = binpack.NewPacker(binpack.PackerConfig{})
	for range 12 {
		_, _ = a.machines.AddNode(10, binpack.NodeConfig{}) // each is to be busy for ten seconds a crawl
	}
	return a
}

// RoundTrip implements http.RoundTripper, in simulated time.
func (a *accessPoint) RoundTrip(r *http.Request) (*http.Response, error) {
	var site int
	_, _ = fmt.Sscanf(r.URL.Host, "site%d.test", &site)
	seconds := 0.8
	switch {
	case a.blocked:
		a.now = a.now.Add(30 * time.Second)
		return nil, errors.New("timeout")
	case site%3 == a.continent:
		seconds = 0.2
	}
	a.now = a.now.Add(time.Duration(seconds * (0.8 + 0.4*a.noise.Float64()) * float64(time.Second)))
	w := httptest.NewRecorder()
	fmt.Fprint(w, "a page of site ", site)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// poll polls a site from the access point.
func (a *accessPoint) poll(site int) live.Poll {
	url := fmt.Sprintf("http://site%d.test/", site)
	ctx, fetch := live.Begin(context.Background(), url)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err == nil {
		var resp *http.Response
		if resp, err = a.client.Do(r); err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	return fetch.End(err)
}

// took tells the machines how long a site took; it gets a place if it is new there.
func (a *accessPoint) took(site int, seconds float64) error {
	id, known := a.place[site]
	if known {
		return a.machines.SetWeight(id, seconds)
	}
	id, _, err := a.machines.AddSite(min(seconds, 10), binpack.SiteConfig{})
	a.place[site] = id
	return err
}

func (a *accessPoint) leave(site int) error {
	id, ok := a.place[site]
	if !ok {
		return nil
	}
	delete(a.place, site)
	return a.machines.RemoveSite(id)
}

// used returns the number of machines with sites.
func (a *accessPoint) used() (n int) {
	for machine := range a.machines.AllNodes() {
		if state, err := a.machines.Node(machine); err == nil && state.Sites > 0 {
			n++
		}
	}
	return n
}

// What a poll measures feeds two packages: an Assigner learns from the durations which access point
// is the fastest for each site, and a Packer spreads the sites of each access point over its
// machines. When an access point is blocked, its time limits drive the sites away.
func Example_accessPoints() {
	const sites = 120
	assigner, err := partition.NewAssigner(3, sites, partition.AssignerConfig{}, rand.NewPCG(2, 2))
	if err != nil {
		panic(err)
	}
	points := []*accessPoint{newAccessPoint(0), newAccessPoint(1), newAccessPoint(2)}
	crawl := func() (seconds float64) {
		for site := range sites {
			arm, err := assigner.Next(site)
			if err != nil {
				panic(err)
			}
			poll := points[arm].poll(site)
			// A failure has taken its time too: until the time limit.
			err = assigner.Observe(site, poll.Duration.Seconds())
			if poll.Outcome() == live.Failed {
				points[arm].failed++
			}
			for other, a := range points {
				if other != arm {
					err = errors.Join(err, a.leave(site))
				}
			}
			if err = errors.Join(err, points[arm].took(site, poll.Duration.Seconds())); err != nil {
				panic(err)
			}
			seconds += poll.Duration.Seconds()
		}
		for _, a := range points {
			// The moves that it returns are those to carry out.
			if _, err := a.machines.Rebalance(binpack.RebalanceConfig{}); err != nil {
				panic(err)
			}
		}
		return seconds
	}
	for k := range 30 {
		points[2].blocked = k >= 10
		seconds := crawl()
		if k == 0 || k == 9 || k == 10 || k == 29 {
			fmt.Printf("crawl %d: %.0f s\n", k+1, seconds)
			for _, a := range points {
				fmt.Printf("  %d sites on %d machines, %d failures\n", len(a.place), a.used(), a.failed)
				a.failed = 0
			}
		}
	}
	// Output:
	// crawl 1: 71 s
	//   46 sites on 3 machines, 0 failures
	//   44 sites on 3 machines, 0 failures
	//   30 sites on 2 machines, 0 failures
	// crawl 10: 24 s
	//   40 sites on 2 machines, 0 failures
	//   40 sites on 2 machines, 0 failures
	//   40 sites on 2 machines, 0 failures
	// crawl 11: 194 s
	//   57 sites on 3 machines, 0 failures
	//   58 sites on 3 machines, 0 failures
	//   5 sites on 2 machines, 5 failures
	// crawl 30: 48 s
	//   61 sites on 3 machines, 0 failures
	//   59 sites on 3 machines, 0 failures
	//   0 sites on 0 machines, 0 failures
}
