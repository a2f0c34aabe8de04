package fetch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host that asks for too long a delay is barred, and nobody waits for that delay: its robots.txt is asked
// for again a day later, and counts.
func TestHugeDelay(t *testing.T) {
	t.Parallel()
	for _, huge := range []string{"1801", "1000000", "inf"} {
		c := newManual()
		delay := huge
		web := newAsked(c, func(url string) (int, string, string) {
			return http.StatusOK, "", "User-agent: *\nCrawl-delay: " + delay
		})
		f := web.fetcher(t, Config{Delay: time.Second})
		asked := func() int { return len(web.times["http://a.test/robots.txt"]) }
		res := f.Poll(t.Context(), 1, "http://a.test/", nil)
		require.True(t, res.Forbidden)
		require.Equal(t, time.Second, res.Delay)
		c.pass(robotsAge - time.Second)
		allowed, err := f.Check(t.Context(), "http://a.test/")
		require.NoError(t, err)
		require.False(t, allowed)
		require.Equal(t, 1, asked())
		c.pass(time.Second)
		allowed, err = f.Check(t.Context(), "http://a.test/")
		require.NoError(t, err)
		require.False(t, allowed)
		require.Equal(t, 2, asked())
		c.pass(robotsAge)
		_, _, err = f.Get(t.Context(), "http://a.test/map", 100)
		require.ErrorIs(t, err, ErrRobots)
		require.Equal(t, 3, asked())
		require.Zero(t, c.slept)
		c.pass(robotsAge)
		delay = "1800"
		res = f.Poll(t.Context(), 1, "http://a.test/", nil)
		require.NoError(t, res.Err)
		require.Equal(t, 30*time.Minute, res.Delay)
		require.Equal(t, 30*time.Minute, c.slept)
		c.pass(robotsAge)
		delay = huge
		require.True(t, f.Poll(t.Context(), 1, "http://a.test/", nil).Forbidden, "also if it was allowed before")
	}
}

// A redirect is followed where the delay of its host is not too long, and a poll does not wait for more of
// them in all: it would keep a worker. A document may take longer, as it keeps none.
func TestRedirectsAtSlowHosts(t *testing.T) {
	t.Parallel()
	for delay, followed := range map[time.Duration]int{time.Second: 9, 50 * time.Second: 2, 2 * time.Minute: 1, 121 * time.Second: 0, 30 * time.Minute: 0} {
		c := newManual()
		web := newAsked(c, func(url string) (int, string, string) {
			if strings.HasSuffix(url, "/robots.txt") {
				return http.StatusOK, "", fmt.Sprintf("User-agent: *\nCrawl-delay: %v", delay.Seconds())
			}
			if strings.HasSuffix(url, "/doc") {
				return http.StatusFound, "/document", ""
			}
			if strings.HasSuffix(url, "/document") {
				return http.StatusOK, "", "a map"
			}
			return http.StatusFound, url + "x", ""
		})
		f := web.fetcher(t, Config{})
		allowed, err := f.Check(t.Context(), "http://a.test/")
		require.NoError(t, err)
		require.True(t, allowed)
		c.pass(delay)
		res := f.Poll(t.Context(), 1, "http://a.test/", nil)
		require.Equal(t, http.StatusFound, res.Status)
		require.Equal(t, 1+followed, len(web.times)-1, delay)
		require.Equal(t, time.Duration(followed)*delay, c.slept)
		if followed < 9 {
			require.ErrorIs(t, res.Err, errTurn)
			require.NotErrorIs(t, res.Err, ErrLater, "it counts")
		}
		body, _, err := f.Get(t.Context(), "http://a.test/doc", 100)
		require.NoError(t, err)
		require.Equal(t, "a map", string(body))
	}
}

// A user's own delay has redirects followed, however long it is.
func TestRedirectsAtOwnDelay(t *testing.T) {
	t.Parallel()
	web := newAsked(newManual(), func(url string) (int, string, string) {
		switch url {
		case "http://a.test/":
			return http.StatusFound, "/1", ""
		case "http://a.test/1":
			return http.StatusFound, "/2", ""
		case "http://a.test/2":
			return http.StatusOK, "", "a page"
		}
		return http.StatusNotFound, "", ""
	})
	require.NoError(t, web.fetcher(t, Config{Delay: time.Hour}).Poll(t.Context(), 1, "http://a.test/", nil).Err)
}

// A robots.txt that leads to a slow host does not keep a worker either.
func TestRobotsAtSlowHosts(t *testing.T) {
	t.Parallel()
	c := newManual()
	web := newAsked(c, func(url string) (int, string, string) {
		if url == "http://a.test/robots.txt" {
			return http.StatusFound, "http://slow.test/rules", ""
		}
		return http.StatusOK, "", "User-agent: *\nCrawl-delay: 600"
	})
	f := web.fetcher(t, Config{})
	require.NoError(t, f.Poll(t.Context(), 1, "http://slow.test/", nil).Err)
	c.pass(0)
	require.ErrorIs(t, f.Poll(t.Context(), 1, "http://a.test/", nil).Err, errTurn)
	require.Zero(t, c.slept)
	c.pass(10 * time.Minute)
	require.NoError(t, f.Poll(t.Context(), 1, "http://a.test/", nil).Err)
	require.Equal(t, 10*time.Minute, c.slept, "its own delay, which is waited for")
}

// A look at robots.txt waits for no long delay.
func TestCheckAtSlowHosts(t *testing.T) {
	t.Parallel()
	c := newManual()
	web := newAsked(c, func(url string) (int, string, string) {
		return http.StatusOK, "", "User-agent: *\nCrawl-delay: 600"
	})
	f := web.fetcher(t, Config{})
	require.NoError(t, f.Poll(t.Context(), 1, "http://b.test/", nil).Err)
	f.robots.forget("http://b.test")
	c.pass(0)
	slept := c.slept
	_, err := f.Check(t.Context(), "http://b.test/")
	require.ErrorIs(t, err, ErrLater)
	require.Equal(t, slept, c.slept)
}

// A robots.txt that redirects within its host is read again each day, however long the host's delay.
func TestRobotsMovedAtASlowHost(t *testing.T) {
	t.Parallel()
	c := newManual()
	web := newAsked(c, func(url string) (int, string, string) {
		if url == "https://a.test/robots.txt" {
			return http.StatusMovedPermanently, "/rules", ""
		}
		return http.StatusOK, "", "User-agent: *\nCrawl-delay: 1800"
	})
	f := web.fetcher(t, Config{})
	for day := range 4 {
		require.NoError(t, f.Poll(t.Context(), 1, "https://a.test/", nil).Err, day)
		c.pass(robotsAge)
	}
	require.Len(t, web.times["https://a.test/rules"], 4)
}

// The delay of a host whose robots.txt is elsewhere counts, also if the poll does not come back in time.
func TestDelayOfRobotsElsewhere(t *testing.T) {
	t.Parallel()
	c := newManual()
	var f *Fetcher
	var back func()
	web := newAsked(c, func(url string) (int, string, string) {
		switch url {
		case "http://a.test/robots.txt":
			return http.StatusFound, "http://b.test/rules", ""
		case "http://b.test/rules":
			leave, err := f.gate.enter(t.Context(), "a.test", false)
			require.NoError(t, err)
			back = leave
		}
		return http.StatusOK, "", "User-agent: *\nCrawl-delay: 5"
	})
	f = web.fetcher(t, Config{Timeout: 100 * time.Millisecond})
	res := f.Poll(t.Context(), 1, "http://a.test/", nil)
	require.Error(t, res.Err)
	require.Equal(t, 5*time.Second, res.Delay)
	require.Equal(t, 5*time.Second, f.gate.delayOf("a.test"), "while another one is through")
	back()
}

// The delay that a host had before this process began holds for whatever asks it first, until its robots.txt is
// read, but for no longer than a Crawl-delay may be.
func TestDelayOfBefore(t *testing.T) {
	t.Parallel()
	const robots = "http://a.test/robots.txt"
	for name, c := range map[string]struct {
		before, now, wait time.Duration // as was known, as is said now, and that is kept before robots.txt
	}{
		"the same":       {15 * time.Second, 15 * time.Second, 15 * time.Second},
		"shorter now":    {15 * time.Second, 0, 15 * time.Second},
		"longer now":     {15 * time.Second, 20 * time.Second, 15 * time.Second},
		"not known":      {0, 20 * time.Second, time.Second},
		"a user's, once": {48 * time.Hour, 0, longestDelay},
	} {
		for way, ask := range map[string]func(f *Fetcher) error{
			"poll": func(f *Fetcher) error {
				res := f.Poll(t.Context(), 1, "http://a.test/", nil)
				require.Equal(t, max(c.now, time.Second), res.Delay, name)
				return res.Err
			},
			"document": func(f *Fetcher) error {
				_, _, err := f.Get(t.Context(), "http://a.test/", 100)
				return err
			},
			"redirect": func(f *Fetcher) error {
				res := f.Poll(t.Context(), 1, "http://b.test/", nil)
				if max(c.wait, c.now) > longestWait {
					require.ErrorIs(t, res.Err, errTurn)
					res.Err = nil
				}
				return res.Err
			},
		} {
			clock := newManual()
			begin := clock.Now()
			web := newAsked(clock, func(url string) (int, string, string) {
				if url == "http://b.test/" {
					return http.StatusFound, "http://a.test/", ""
				}
				if url == robots {
					return http.StatusOK, "", fmt.Sprintf("User-agent: *\nCrawl-delay: %v", c.now.Seconds())
				}
				return http.StatusOK, "", "a page"
			})
			f := web.fetcher(t, Config{
				Delay: time.Second, Ours: func(string) (time.Time, bool) { return begin, true },
				Before: func(host string) time.Duration {
					if host == "a.test" {
						return c.before
					}
					return 0
				},
			})
			require.NoError(t, ask(f), name+" "+way)
			if len(web.times[robots]) == 0 {
				require.Equal(t, "redirect", way)
				continue
			}
			at := web.times[robots][0]
			require.GreaterOrEqual(t, at.Sub(begin), c.wait, name+" "+way)
			if way != "redirect" {
				require.Equal(t, c.wait, at.Sub(begin), name+" "+way)
			}
			require.GreaterOrEqual(t, web.times["http://a.test/"][0].Sub(at), max(c.now, time.Second), name+" "+way)
		}
	}
}

// A robots.txt that cannot be fetched says nothing of the delay: the one of before stays.
func TestDelayStaysWithoutRobots(t *testing.T) {
	t.Parallel()
	web := newAsked(newManual(), func(string) (int, string, string) { return http.StatusServiceUnavailable, "", "" })
	f := web.fetcher(t, Config{Delay: time.Second, Before: func(string) time.Duration { return time.Minute }})
	res := f.Poll(t.Context(), 1, "http://a.test/", nil)
	require.ErrorIs(t, res.Err, ErrNoRobots)
	require.Equal(t, time.Minute, res.Delay)
}

// A host that becomes this process's while it is asked for has its delay from then on.
func TestDelayOfAHostThatBecomesOurs(t *testing.T) {
	t.Parallel()
	c := newManual()
	begin := c.Now()
	ours := false
	web := newAsked(c, func(string) (int, string, string) { return http.StatusOK, "", "a page" })
	f := web.fetcher(t, Config{
		Ours: func(string) (time.Time, bool) { return begin, ours },
		Before: func(string) time.Duration {
			if ours {
				return time.Minute
			}
			return 0
		},
	})
	defer f.gate.leaves(f.gate.uses("a.test")) // by who reads a document, say
	require.ErrorIs(t, f.Poll(t.Context(), 1, "http://a.test/", nil).Err, ErrElsewhere)
	ours = true
	require.NoError(t, f.Poll(t.Context(), 1, "http://a.test/", nil).Err)
	require.Equal(t, time.Minute, web.times["http://a.test/robots.txt"][0].Sub(begin))
}
