package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv/internal/webtest"
)

var errDisk = errors.New("the disk is full")

// edited is a web of one page with a story for each version, to which /moved leads too.
type edited struct {
	version int
	etag    bool
}

func (e *edited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/moved" {
		http.Redirect(w, r, fmt.Sprint("/", e.version), http.StatusFound)
		return
	}
	if tag := fmt.Sprintf(`"%d"`, e.version); e.etag {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html")
	for story := e.version; story > 0; story-- {
		fmt.Fprintf(w, "<p>Story %d\n", story)
	}
}

// A version that the caller could not keep is found again, with its body, and so is one whose body
// was not read to its end.
func TestEndTakesBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []struct {
		name        string
		etag, exact bool
	}{{"content", false, false}, {"etag", true, false}, {"exact", false, true}} {
		for _, path := range []string{"/", "/moved"} {
			for _, read := range []int64{1 << 20, 1, 0} { // bytes, before the store fails
				t.Run(fmt.Sprint(mode.name, path, read), func(t *testing.T) {
					t.Parallel()
					web := &edited{version: 1, etag: mode.etag}
					transport := &Transport{Base: webtest.InProcess{Handler: web}, Exact: mode.exact}
					client := &http.Client{Transport: transport}
					poll := func(failed error, most int64) (p Poll, body string) {
						ctx, fetch := Begin(t.Context(), "p")
						resp, err := client.Do(get(t, "http://web.test"+path).WithContext(ctx))
						require.NoError(t, err)
						b, err := io.ReadAll(io.LimitReader(resp.Body, most))
						require.NoError(t, err)
						resp.Body.Close()
						return fetch.End(failed), string(b)
					}
					fails := func() {
						t.Helper()
						before, err := transport.MarshalBinary()
						require.NoError(t, err)
						for range 3 {
							p, _ := poll(errDisk, read)
							require.Error(t, p.Err)
							require.Equal(t, Failed, p.Outcome())
							require.Equal(t, [3]bool{}, [3]bool{p.Changed, p.First, p.Again})
						}
						after, err := transport.MarshalBinary()
						require.NoError(t, err)
						require.Equal(t, before, after)
					}
					keeps := func(first, changed bool) {
						t.Helper()
						p, body := poll(nil, 1<<20)
						require.NoError(t, p.Err)
						require.Equal(t, [2]bool{first, changed}, [2]bool{p.First, p.Changed})
						if first || changed {
							require.Contains(t, body, fmt.Sprint("<p>Story ", web.version))
						}
					}
					fails()
					require.Zero(t, transport.Len())
					keeps(true, false)
					for web.version = 2; web.version < 4; web.version++ {
						fails()
						keeps(false, true)
						fails()
						keeps(false, false)
					}
				})
			}
		}
	}
}

// A caller that looks at the Poll before it stores the copy calls End again with what came of that.
func TestEndTwice(t *testing.T) {
	t.Parallel()
	web := &edited{version: 1, etag: true}
	client := &http.Client{Transport: &Transport{Base: webtest.InProcess{Handler: web}}}
	begin := func() *Fetch {
		ctx, fetch := Begin(t.Context(), "p")
		require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
		return fetch
	}
	require.True(t, begin().End(nil).First)
	web.version = 2
	fetch := begin()
	require.True(t, fetch.End(nil).Changed)
	require.ErrorIs(t, fetch.End(errDisk).Err, errDisk)
	require.ErrorIs(t, fetch.End(nil).Err, errDisk, "it has failed")
	require.True(t, begin().End(nil).Changed)
	require.ErrorIs(t, fetch.End(errDisk).Err, errDisk)
	require.Equal(t, ByStatus, begin().End(nil).Decision, "what is taken back stays so")
}

// A body that is closed after End teaches nothing, because the learner has been told of a failure. So it
// is if an earlier request of the fetch, such as a redirect, has ended.
func TestEndBeforeClose(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{nil, errDisk} {
		for _, path := range []string{"/", "/moved"} {
			web := &edited{version: 1, etag: true}
			transport := &Transport{Base: webtest.InProcess{Handler: web}}
			client := &http.Client{Transport: transport}
			require.True(t, fetched(t, client, "http://web.test"+path, "p").First)
			web.version = 2
			ctx, fetch := Begin(t.Context(), "p")
			resp, err := client.Do(get(t, "http://web.test"+path).WithContext(ctx))
			require.NoError(t, err)
			require.ErrorIs(t, fetch.End(failed).Err, ErrNotSent)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
			require.ErrorIs(t, fetch.End(nil).Err, ErrNotSent)
			require.True(t, fetched(t, client, "http://web.test"+path, "p").Changed)
		}
	}
}

// A second try within a fetch gets the body again. What the first one found is no reason to answer 304.
func TestEndOfTries(t *testing.T) {
	t.Parallel()
	web := &edited{version: 1, etag: true}
	client := &http.Client{Transport: &Transport{Base: webtest.InProcess{Handler: web}}}
	for _, want := range []Poll{{First: true}, {Changed: true, Decision: ByETag}, {Changed: true, Decision: ByETag}} {
		ctx, fetch := Begin(t.Context(), "p")
		for range 3 {
			require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
		}
		p := fetch.End(nil)
		require.Equal(t, want, Poll{First: p.First, Changed: p.Changed, Decision: p.Decision})
		web.version++
	}
}

// An error of the request stays what it is, whatever the caller says about it.
func TestEndKeepsFailures(t *testing.T) {
	t.Parallel()
	timeout := errors.New("timeout")
	base := &scripted{answers: []*answer{
		{status: 200, header: `ETag: "1"`, body: "version 1"},
		{status: 200, header: `ETag: "2"`, body: "vers", err: timeout},
		{status: 503, header: "Retry-After: 60"},
		{status: 404},
		{status: 410},
		{status: 0, err: timeout},
		{status: 200, header: `ETag: "2"`, body: "version 2"},
	}}
	client := &http.Client{Transport: &Transport{Base: base}}
	for i, want := range []Outcome{Answered, Failed, Vetoed, Gone, Gone, Failed, Answered} {
		ctx, fetch := Begin(t.Context(), "p")
		resp, err := client.Do(get(t, "http://web.test/").WithContext(ctx))
		status := 0
		if err == nil {
			status = resp.StatusCode
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if want != Answered {
			err = errors.Join(errDisk, err)
		}
		p := fetch.End(err)
		require.Equal(t, want, p.Outcome(), "poll %d", i)
		require.Equal(t, status, p.Status)
		require.Equal(t, want == Answered, p.Err == nil)
		if a := base.answers[i]; a.err != nil {
			require.ErrorIs(t, p.Err, a.err)
		} else if status >= 400 {
			require.ErrorIs(t, p.Err, ErrStatus)
		}
		require.Equal(t, i == 6, p.Changed)
	}
}

// A change that was taken for noise until an answer 304 is reported once more if the caller could
// not get the copy.
func TestEndOfALateChange(t *testing.T) {
	t.Parallel()
	s := &site{mediaType: "text/html"}
	client := &http.Client{Transport: &Transport{Base: s}}
	poll := func(failed error) Poll {
		ctx, fetch := Begin(t.Context(), "p")
		require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
		return fetch.End(failed)
	}
	for k := range 6 {
		s.body = clockAt(k)
		poll(nil)
	}
	s.body = clockAt(99)
	for range 11 {
		require.False(t, poll(nil).Changed)
	}
	require.ErrorIs(t, poll(errDisk).Err, errDisk)
	require.True(t, poll(nil).Changed)
	require.False(t, poll(nil).Changed)
}

// A second copy that failed teaches nothing.
func TestEndOfASecondCopy(t *testing.T) {
	t.Parallel()
	s := &site{mediaType: "text/html", body: clockAt(1)}
	transport := &Transport{Base: s}
	client := &http.Client{Transport: transport}
	poll := func(ctx context.Context, failed error) Poll {
		ctx, fetch := Begin(ctx, "p")
		require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
		return fetch.End(failed)
	}
	require.True(t, poll(t.Context(), nil).First)
	before, err := transport.MarshalBinary()
	require.NoError(t, err)
	s.body = clockAt(2)
	require.Error(t, poll(Teaching(t.Context()), errDisk).Err)
	after, err := transport.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.True(t, poll(t.Context(), nil).Changed)
}

// A fetch that began before the Transport was restored takes nothing of that back.
func TestEndAfterRestore(t *testing.T) {
	t.Parallel()
	web := &edited{version: 1}
	transport := &Transport{Base: webtest.InProcess{Handler: web}}
	client := &http.Client{Transport: transport}
	save := func() []byte {
		require.NoError(t, fetched(t, client, "http://web.test/", "p").Err)
		saved, err := transport.MarshalBinary()
		require.NoError(t, err)
		return saved
	}
	older := save()
	web.version++
	newer := save()
	require.NoError(t, transport.UnmarshalBinary(older))
	web.version--
	ctx, fetch := Begin(t.Context(), "p")
	require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
	require.NoError(t, transport.UnmarshalBinary(newer))
	require.ErrorIs(t, fetch.End(errDisk).Err, errDisk)
	web.version++
	require.False(t, fetched(t, client, "http://web.test/", "p").Changed)
}

// Nor does one that was redirected before the Transport was restored, or the page forgotten, and reads the page
// afterwards.
func TestEndAfterRestoreOnTheWay(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []bool{false, true} {
		web := &edited{version: 1}
		transport := &Transport{Base: webtest.InProcess{Handler: web}}
		client := &http.Client{Transport: transport}
		poll := func() Poll { return fetched(t, client, "http://web.test/moved", "p") }
		require.True(t, poll().First)
		older, err := transport.MarshalBinary()
		require.NoError(t, err)
		web.version++
		require.True(t, poll().Changed)
		newer, err := transport.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, transport.UnmarshalBinary(older))
		ctx, fetch := Begin(t.Context(), "p")
		resp, err := client.Do(get(t, "http://web.test/moved").WithContext(ctx))
		require.NoError(t, err)
		if forgotten {
			transport.Forget("p")
		} else {
			require.NoError(t, transport.UnmarshalBinary(newer))
		}
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.ErrorIs(t, fetch.End(errDisk).Err, errDisk)
		next := poll()
		require.Equal(t, forgotten, next.First)
		require.False(t, next.Changed)
	}
}

// If another fetch finds a version after a redirect and before the body at its end, that version stays when what
// the redirected fetch found is taken back.
func TestEndAfterAnotherOnTheWay(t *testing.T) {
	t.Parallel()
	web := &edited{version: 1}
	client := &http.Client{Transport: &Transport{Base: webtest.InProcess{Handler: web}, Exact: true}}
	poll := func() Poll { return fetched(t, client, "http://web.test/moved", "p") }
	require.True(t, poll().First)
	ctx, fetch := Begin(t.Context(), "p")
	resp, err := client.Do(get(t, "http://web.test/moved").WithContext(ctx))
	require.NoError(t, err)
	web.version++
	require.True(t, poll().Changed)
	_, err = io.Copy(io.Discard, resp.Body) // of the version before
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.ErrorIs(t, fetch.End(errDisk).Err, errDisk)
	web.version--
	require.True(t, poll().Changed) // from the version that the other fetch found
}

// A version that was found before a second copy came through a redirect is still that of its fetch,
// also for a fetch that overlaps: if both are taken back the next poll finds it.
func TestEndOfARedirectedSecondCopy(t *testing.T) {
	t.Parallel()
	web := &edited{version: 1}
	client := &http.Client{Transport: &Transport{Base: webtest.InProcess{Handler: web}}}
	require.True(t, fetched(t, client, "http://web.test/moved", "p").First)
	web.version++
	one, first := Begin(t.Context(), "p")
	require.NoError(t, readAll(one, t, client, "http://web.test/moved"))
	require.NoError(t, readAll(Teaching(one), t, client, "http://web.test/moved"))
	two, second := Begin(t.Context(), "p")
	require.NoError(t, readAll(two, t, client, "http://web.test/moved"))
	require.Error(t, first.End(errDisk).Err)
	require.Error(t, second.End(errDisk).Err)
	require.True(t, fetched(t, client, "http://web.test/moved", "p").Changed)
}

// A second copy teaches nothing if what the first was compared with has been taken back: the next
// poll finds the version.
func TestSecondCopyAfterTakeBack(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/moved"} {
		for _, exact := range []bool{false, true} {
			web := &edited{}
			client := &http.Client{Transport: &Transport{Base: webtest.InProcess{Handler: web}, Exact: exact}}
			for range 2 {
				web.version++
				one, first := Begin(t.Context(), "p")
				require.NoError(t, readAll(one, t, client, "http://web.test"+path))
				two, second := Begin(t.Context(), "p")
				require.NoError(t, readAll(two, t, client, "http://web.test"+path))
				require.Error(t, first.End(errDisk).Err)
				require.NoError(t, readAll(Teaching(two), t, client, "http://web.test"+path))
				require.False(t, second.End(nil).Changed)
				next := fetched(t, client, "http://web.test"+path, "p")
				require.True(t, next.First || next.Changed, "%s, exact %v, version %d", path, exact, web.version)
			}
		}
	}
}

// A redirect in place of a second copy is undecided. If it is still there at the next poll, that
// finds it.
func TestRedirectInSecondCopy(t *testing.T) {
	t.Parallel()
	moved := &answer{status: 302, header: "Location: /moved"}
	base := &scripted{answers: []*answer{{status: 200, body: "<p>version 1"}, moved, moved, moved}}
	var got Poll
	client := &http.Client{
		Transport:     &Transport{Base: base, OnPoll: func(p Poll) { got = p }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, fetch := Begin(t.Context(), "p")
	require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
	require.NoError(t, readAll(Teaching(ctx), t, client, "http://web.test/"))
	require.Equal(t, Undecided, got.Decision)
	require.False(t, got.Changed)
	require.True(t, fetch.End(nil).First)
	require.Equal(t, ByLocation, fetched(t, client, "http://web.test/", "p").Decision)
	require.True(t, got.Changed)
	require.False(t, fetched(t, client, "http://web.test/", "p").Changed)
}

// Whatever fetches of a page overlap and whichever of them are taken back or in flight at a restart,
// in any order: a crawler that stores what is first or changed has the newest version after the next
// poll.
func TestEndLosesNoVersion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		web := &edited{version: 1, etag: rapid.Bool().Draw(t, "etag")}
		transport := &Transport{Base: webtest.InProcess{Handler: web}, Exact: rapid.Bool().Draw(t, "exact")}
		client := &http.Client{Transport: transport}
		path := rapid.SampledFrom([]string{"/", "/moved"}).Draw(t, "path")
		type polling struct {
			fetch   *Fetch
			resp    *http.Response
			version int
			read    bool
		}
		var inFlight []*polling
		stored := 0
		begin := func() *polling {
			ctx, fetch := Begin(context.Background(), "p")
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://web.test"+path, nil)
			require.NoError(t, err)
			resp, err := client.Do(r)
			require.NoError(t, err)
			p := &polling{fetch: fetch, resp: resp, version: web.version}
			inFlight = append(inFlight, p)
			return p
		}
		read := func(p *polling) {
			_, err := io.Copy(io.Discard, p.resp.Body)
			require.NoError(t, err)
			p.resp.Body.Close()
			p.read = true
		}
		end := func(p *polling) {
			if found := p.fetch.End(nil); found.Changed || found.First {
				require.Equal(t, http.StatusOK, found.Status, "there is no copy")
				stored = max(stored, p.version)
			}
		}
		take := func(t *rapid.T, read bool) *polling {
			var those []*polling
			for _, p := range inFlight {
				if p.read == read {
					those = append(those, p)
				}
			}
			if len(those) == 0 {
				t.Skip("none")
			}
			return rapid.SampledFrom(those).Draw(t, "poll")
		}
		drop := func(p *polling) {
			inFlight = slices.DeleteFunc(inFlight, func(q *polling) bool { return q == p })
		}
		t.Repeat(map[string]func(*rapid.T){
			"edit":  func(*rapid.T) { web.version++ },
			"begin": func(*rapid.T) { begin() },
			"read":  func(t *rapid.T) { read(take(t, false)) },
			"end": func(t *rapid.T) {
				p := take(t, true)
				end(p)
				drop(p)
			},
			"fail": func(t *rapid.T) {
				p := take(t, true)
				require.Error(t, p.fetch.End(errDisk).Err)
				drop(p)
			},
			"fail unread": func(t *rapid.T) {
				p := take(t, false)
				p.resp.Body.Close()
				require.Error(t, p.fetch.End(errDisk).Err)
				drop(p)
			},
			"restart": func(t *rapid.T) {
				saved, err := transport.MarshalBinary()
				require.NoError(t, err)
				transport = &Transport{Base: transport.Base, Exact: transport.Exact}
				require.NoError(t, transport.UnmarshalBinary(saved))
				client, inFlight = &http.Client{Transport: transport}, nil
			},
		})
		for len(inFlight) > 0 {
			p := inFlight[0]
			if !p.read {
				read(p)
			}
			require.Error(t, p.fetch.End(errDisk).Err)
			drop(p)
		}
		p := begin()
		read(p)
		end(p)
		require.Equal(t, web.version, stored)
	})
}

// Fetches of one page may end at the same time.
func TestEndConcurrent(t *testing.T) {
	t.Parallel()
	web := &edited{version: 1}
	transport := &Transport{Base: webtest.InProcess{Handler: web}}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	var polls sync.WaitGroup
	for worker := range 4 {
		polls.Go(func() {
			for k := range 50 {
				ctx, fetch := Begin(t.Context(), "p")
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://web.test/moved", nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				var failed error
				if (k+worker)%3 == 0 {
					failed = errDisk
				}
				if p := fetch.End(failed); !errors.Is(p.Err, failed) {
					t.Error(p.Err)
				}
			}
		})
	}
	polls.Wait()
	require.NoError(t, fetched(t, client, "http://web.test/moved", "p").Err)
	require.Equal(t, ByContent, fetched(t, client, "http://web.test/moved", "p").Decision)
	require.Equal(t, 1, transport.Len())
}

// A version that a fetch has found is saved when the fetch has ended. If the program ends before, it
// finds the version again after a restart.
func TestSavedBeforeEnd(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		web := &edited{version: 1, etag: true}
		transport := &Transport{Base: webtest.InProcess{Handler: web}, Exact: exact}
		begin := func(transport *Transport) *Fetch {
			ctx, fetch := Begin(t.Context(), "p")
			resp, err := (&http.Client{Transport: transport}).Do(get(t, "http://web.test/").WithContext(ctx))
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
			return fetch
		}
		restarted := func() *Transport {
			saved, err := transport.MarshalBinary()
			require.NoError(t, err)
			after := &Transport{Base: transport.Base, Exact: exact}
			require.NoError(t, after.UnmarshalBinary(saved))
			return after
		}
		first := begin(transport)
		require.Zero(t, restarted().Len())
		require.True(t, begin(restarted()).End(nil).First)
		require.True(t, first.End(nil).First)
		web.version++
		second := begin(transport)
		web.version++
		third := begin(transport)
		require.True(t, begin(restarted()).End(nil).Changed)
		require.True(t, third.End(nil).Changed)
		require.Equal(t, ByStatus, begin(restarted()).End(nil).Decision)
		require.True(t, second.End(nil).Changed)
		web.version++
		fetch := begin(transport)
		require.True(t, fetch.End(nil).Changed)
		require.ErrorIs(t, fetch.End(errDisk).Err, errDisk)
		require.True(t, begin(restarted()).End(nil).Changed)
	}
}

// A second copy in the same fetch as the first leaves what that found, even if the second fails.
func TestSecondCopyInTheSameFetch(t *testing.T) {
	t.Parallel()
	base := &scripted{answers: []*answer{
		{status: 200, body: "<p>version 1"}, {status: 200, body: "<p>version 1"},
		{status: 200, body: "<p>version 2"}, {status: 301, header: "Location: /moved"}, {status: 200, body: "<p>version 2"},
		{status: 200, body: "<p>version 3"}, {status: 503},
		{status: 503}, {status: 200, body: "<p>version 4"},
	}}
	client := &http.Client{Transport: &Transport{Base: base}}
	for i, want := range []Poll{
		{Status: 200, First: true, Again: true},
		{Status: 200, Changed: true, Decision: ByContent},
		{Status: 200, Changed: true, Decision: ByContent},
		{Status: 503},
	} {
		ctx, fetch := Begin(t.Context(), "p")
		for _, ctx := range []context.Context{ctx, Teaching(ctx)} {
			require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
		}
		p := fetch.End(nil)
		require.Equal(t, want, Poll{Status: p.Status, First: p.First, Again: p.Again, Changed: p.Changed, Decision: p.Decision}, "fetch %d", i)
	}
}
