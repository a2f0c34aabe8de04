package fingerprint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/noisypage"
)

func copyOf(body []byte) *Copy {
	c := &Copy{Type: "text/html"}
	_, _ = c.Write(body)
	return c
}

// learnt returns a detector that reports the changes of the body, or all, and that takes a second
// copy whenever that is advised, if it may.
func learnt(all, second bool) func(*noisypage.Page) noisypage.Detector {
	return func(web *noisypage.Page) noisypage.Detector {
		p := new(Page)
		return func(body []byte) bool {
			f := p.Observe(copyOf(body))
			if f.Again && second {
				p.Teach(copyOf(web.Poll()))
			}
			return f.Body || all && f.Minor
		}
	}
}

// TestNoise measures pages without real changes; -v prints what it finds. A detector
// that knows noise after two hits reports two changes for each page that changes at every poll, and
// none with a second copy at the start, unless that shows the same clock. Afterwards the critical
// values are the shares that the algorithm had when its parameters were chosen, and for a clock that
// stands still for 8 polls each time that it moves. For links, teasers and advertisements they are a twentieth to
// a third of what they were before blocks that come and go no longer made a place, and a text that left one gave
// it a hit; for items, a tenth and a quarter of what they were before blocks had kinds.
func TestNoise(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	critical := []float64{0, 0, 0.009, 0.20, 0.10, 0.012, 0.005, 0.009, 0, 5. / 33, 0, 0, 0.009, 0.001, 0.03, 0.01, 0.05, 0.06, 0.2}
	for i, n := range noisypage.Noises() {
		alone := noisypage.Measure(1, 0, learnt(true, false), n)
		taught := noisypage.Measure(1, 0, learnt(true, true), n)
		t.Logf("%-40s false changes a page in the first 6 polls: %.1f, with a second copy %.1f; share later: %.1f %%, %.1f %%", n.Name,
			perPage(alone.Early), perPage(taught.Early), 100*later(alone), 100*later(taught))
		require.LessOrEqual(t, later(alone), critical[i], n.Name)
		require.LessOrEqual(t, later(taught), critical[i], n.Name)
		if i >= 13 { // several places each, which a second copy does not show all
			require.Less(t, perPage(taught.Early), 0.8*perPage(alone.Early), n.Name)
			continue
		}
		require.LessOrEqual(t, perPage(alone.Early), 2.5, n.Name)
		if alone.Early > 0 && !strings.Contains(n.Name, "in a cache") {
			require.Less(t, perPage(taught.Early), 0.6*perPage(alone.Early), "a second copy teaches at once; a clock that stands still in it, half of the time: %s", n.Name)
		}
	}
}

func perPage(n int) float64 { return float64(n) / noisypage.Pages }

func later(c noisypage.Count) float64 {
	return float64(c.False-c.Early) / float64(c.Polls-6*noisypage.Pages)
}

// TestNoiseAndChanges has a real change before one poll of twenty. At most 3 % may be missed: the
// share that was missed of the real changes of real pages, all text, was 2.5 %. Of prices that change
// in place 8 % may be, twice the share of those changes that are less than five polls from both
// the one before and the one after. The null hypothesis is that the learnt fingerprint has as many
// false changes as the text.
func TestNoiseAndChanges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("polls of all kinds, three times, take minutes under the race detector")
	}
	var changes, missed, missedBody int
	for _, n := range noisypage.Noises() {
		text := noisypage.Measure(2, 0.05, noisypage.Text, n)
		all := noisypage.Measure(2, 0.05, learnt(true, true), n)
		body := noisypage.Measure(2, 0.05, learnt(false, true), n)
		t.Logf("%-40s false, missed: text %.1f %%, %.1f %%; learnt %.1f %%, %.1f %%; body %.1f %%, %.1f %%", n.Name, 100*text.FalseShare(),
			100*text.MissedShare(), 100*all.FalseShare(), 100*all.MissedShare(), 100*body.FalseShare(), 100*body.MissedShare())
		if text.False > 0 && !strings.Contains(n.Name, "in a cache") {
			require.Less(t, all.FalseShare(), text.FalseShare()/5, n.Name)
		}
		if strings.Contains(n.Name, "in place") {
			require.LessOrEqual(t, all.MissedShare(), 0.08, n.Name)
			require.LessOrEqual(t, body.MissedShare(), 0.08, n.Name)
		}
		changes, missed, missedBody = changes+all.Changes, missed+all.Missed, missedBody+body.Missed
	}
	require.LessOrEqual(t, float64(missed), 0.03*float64(changes))
	require.LessOrEqual(t, float64(missedBody), 0.03*float64(changes))
}
