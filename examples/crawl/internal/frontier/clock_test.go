package frontier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// Where the server's clock is ahead of the machine's, as after that was a day ahead, the times of clients are still in
// the future, and answers have them as they were given. An hour passes while the server's clock goes on by 54
// minutes.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*testing.T, *peer){
		"at once":  func(*testing.T, *peer) {},
		"snapshot": func(t *testing.T, p *peer) { p.restart(t) },
		"log": func(t *testing.T, p *peer) {
			p.breakLog()
			_ = p.halt()
			p.start(t)
		},
	} {
		for _, ahead := range []time.Duration{0, time.Second / 2, 24 * time.Hour} {
			t.Run(name+" "+ahead.String(), func(t *testing.T) {
				t.Parallel()
				clock := newHandClock()
				machine := func() time.Time { return clock.Now().Add(-ahead) }
				p := newPeer(t, func(c *frontier.Config) { c.Clock, c.Machine = clock, machine })
				hour, late := machine().Add(time.Hour), time.Duration(0)
				if ahead > time.Second {
					late = 6 * time.Minute
				}
				p.ok(t, known(info("", "past", "past"), uint64(machine().Add(-time.Minute).Unix())), known(info("", "never", "never"), 0),
					known(info("", "hour", "hour"), uint64(hour.Unix())),
					discovered(info("", "block", "block")), discovered(info("", "free", "free")))
				for key, until := range map[string]uint64{"block": uint64(hour.Unix()), "free": 0} {
					_, err := p.BlockQueueUntil(t.Context(), &pb.BlockQueueParams{Key: key, Time: until})
					require.NoError(t, err)
				}
				again(t, p)
				params := &pb.GetParams{DelayRequestable: 10_000}
				require.ElementsMatch(t, []string{"past", "free"}, p.get(t, params))
				clock.pass(time.Hour - late - 2*time.Second)
				require.Empty(t, p.get(t, params))
				clock.pass(4 * time.Second)
				require.ElementsMatch(t, []string{"hour", "block"}, p.get(t, params))
				require.EqualValues(t, hour.Unix(), p.status(t, "DEFAULT", "hour", "hour").GetKnown().RefetchableFromDate)
			})
		}
	}
}
