package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// A serverClock is what a wire makes of the clock of the server behind it, which is set again and again. Times from
// before stay, as those do that a server has stored.
type serverClock struct {
	mu    sync.Mutex
	steps []clockStep
}

// A clockStep is when a clock was set, and by how many days it is ahead since.
type clockStep struct {
	at    time.Time
	ahead int
}

func (c *serverClock) step(days int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.steps); n > 0 {
		days += c.steps[n-1].ahead
	}
	c.steps = append(c.steps, clockStep{time.Now(), days})
}

// ahead returns by how many days the clock was ahead at a time.
func (c *serverClock) ahead(t time.Time) (days int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.steps {
		if !t.Before(s.at) {
			days = s.ahead
		}
	}
	return days
}

var (
	timeOfMessage = regexp.MustCompile(`\$JS\.ACK\.[^ ]+\.(\d{19})\.\d+ `)
	timeInAnswer  = regexp.MustCompile(`"(?:time|ts)":"(\d{4}-\d\d-\d\dT[^"]+Z)"`)
)

// change changes the times in what a server says. Their lengths stay as they are.
func (c *serverClock) change(said []byte) {
	for _, at := range timeOfMessage.FindAllSubmatchIndex(said, -1) {
		text := said[at[2]:at[3]]
		ns, _ := strconv.ParseInt(string(text), 10, 64) // has digits only
		t := time.Unix(0, ns)
		copy(text, strconv.FormatInt(t.AddDate(0, 0, c.ahead(t)).UnixNano(), 10))
	}
	for _, at := range timeInAnswer.FindAllSubmatchIndex(said, -1) {
		text := said[at[2]:at[3]]
		if t, err := time.Parse(time.RFC3339Nano, string(text)); err == nil {
			copy(text, t.UTC().AddDate(0, 0, c.ahead(t)).Format(time.DateOnly))
		}
	}
}

// whenServersAreSet calls a test with a server whose clock is to be set a day forward, and one to be set a day back.
func whenServersAreSet(t *testing.T, test func(t *testing.T, via *wire, days int)) {
	t.Parallel()
	for _, days := range []int{1, -1} {
		t.Run(fmt.Sprint(days), func(t *testing.T) {
			t.Parallel()
			test(t, newWire(t, strings.TrimPrefix(serve(t), "nats://"), ""), days)
		})
	}
}

// A node is there while it speaks, and dead when it falls silent, also while the clock of the servers is set.
func TestServersClock(t *testing.T) {
	whenServersAreSet(t, func(t *testing.T, via *wire, days int) {
		const lease = 3 * time.Second // of which the machine may take some
		one, two := node(t, "nats://"+via.address, "one", lease), node(t, "nats://"+via.address, "two", lease)
		s := own(t, two)
		appendAll(t, s, "a")
		time.Sleep(lease)  // so that they may bury each other
		for i := range 4 { // at other moments between what the nodes say
			via.clock.step(days)
			one.Session().Say(i)
			time.Sleep(lease / 20)
			one.Session().Say("this is judged by what it said before")
			time.Sleep(lease * 11 / 20)
		}
		for _, e := range []*engine.Engine{one, two} {
			select {
			case <-e.Session().Lost():
				t.Fatal("a node that speaks was declared dead: ", e.Name())
			default:
			}
		}
		appendAll(t, s, "b")
		two.Silence()
		via.clock.step(days)
		ctx, cancel := context.WithTimeout(t.Context(), 5*lease)
		defer cancel()
		for {
			_, err := one.Own(ctx, 0)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, engine.ErrBusy)
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// A node that comes back by the name of one that died waits until that was silent for a lease, and by the name of one that is there
// for its end, also while the clock of the servers is set.
func TestComeBackServersClock(t *testing.T) {
	whenServersAreSet(t, func(t *testing.T, via *wire, days int) {
		const lease = 3 * time.Second // of which the machine may take some
		cfg := engine.Config{Access: engine.Access{URL: "nats://" + via.address}, Name: "one", Lease: lease}
		one := open(t, cfg)
		s := own(t, one)
		via.clock.step(days)
		short, cancel := context.WithTimeout(t.Context(), 2*lease)
		defer cancel()
		_, err := engine.Open(short, cfg)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		appendAll(t, s, "a")
		require.True(t, one.Session().Sure())
		one.Silence()
		via.clock.step(days)
		short, cancel = context.WithTimeout(t.Context(), 5*lease)
		defer cancel()
		again, err := engine.Open(short, cfg)
		require.NoError(t, err)
		t.Cleanup(again.Close)
		require.False(t, s.Sure())
		own(t, again)
	})
}

// A node that died is silent for as long as the clock of its machine says, if that is where one comes back by its
// name. Elsewhere, and where the clock was set back since, a whole lease is waited for.
func TestComeBackLate(t *testing.T) {
	t.Parallel()
	if engine.Machine == "" {
		t.Skip("nothing tells this machine's clock from others")
	}
	const lease = 2 * time.Second
	for name, c := range map[string]struct {
		machine string
		ago     time.Duration
		waits   bool
	}{"here": {engine.Machine, time.Hour, false}, "elsewhere": {"another", time.Hour, true}, "clock set back": {engine.Machine, -time.Hour, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t)
			one := node(t, url, "one", lease)
			one.Silence()
			before, err := one.Board().Read(t.Context(), "node.one")
			require.NoError(t, err)
			var said map[string]any
			require.NoError(t, json.Unmarshal(before.Value, &said))
			require.Equal(t, engine.Machine, said["machine"])
			said["machine"], said["said"] = c.machine, time.Now().Add(-c.ago)
			value, err := json.Marshal(said)
			require.NoError(t, err)
			_, err = one.Board().Write(t.Context(), "node.one", value, before.Revision)
			require.NoError(t, err)
			began := time.Now()
			node(t, url, "one", lease)
			require.Equal(t, c.waits, time.Since(began) >= lease)
		})
	}
}

// A server forgets in time that a node is gone, and never that one is there: its clock may be set forward.
func TestForgets(t *testing.T) {
	t.Parallel()
	url := serve(t)
	one, two := node(t, url, "one", time.Second), node(t, url, "two", time.Second)
	two.Close()
	for name, want := range map[string]bool{"one": false, "two": true} {
		forgets, err := one.Forgets(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, forgets, name)
	}
	time.Sleep(time.Second / 2) // it has renewed its session
	forgets, err := one.Forgets(t.Context(), "one")
	require.NoError(t, err)
	require.False(t, forgets)
}
