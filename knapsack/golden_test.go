package knapsack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/internal/golden"
)

// goldenRun polls a learner from step `from` up to step `to` as a crawl does, with answers that
// come late, come never, and with pages that come and go. It returns the pages given, by slot and
// generation.
func goldenRun(t testing.TB, l Learner, pages, flying *[]int, from, to int) (choices []string) {
	for k := from; k < to; k++ {
		now := float64(k)
		if page, err := l.Next(now); err == nil {
			*flying = append(*flying, page)
			choices = append(choices, fmt.Sprintf("%d.%d", Slot(page), page>>32))
		} else {
			require.ErrorIs(t, err, ErrNoPage)
			choices = append(choices, "-")
		}
		if len(*flying) > 3 {
			page := (*flying)[k%3]
			*flying = append((*flying)[:k%3], (*flying)[k%3+1:]...)
			if k%17 == 0 {
				require.NoError(t, l.GiveBack(page, now))
			} else {
				require.NoError(t, l.Observe(page, now, (Slot(page)*Slot(page)+k)%(3+Slot(page)) < 2))
			}
		}
		if k%60 == 50 {
			i := k / 60 % len(*pages)
			gone := (*pages)[i]
			require.NoError(t, l.Remove(gone))
			*pages = append((*pages)[:i], (*pages)[i+1:]...)
			for j, page := range *flying {
				if page == gone {
					*flying = append((*flying)[:j], (*flying)[j+1:]...)
					break
				}
			}
		}
		if k%60 >= 55 && k%60 < 57 {
			page := l.Add()
			*pages = append(*pages, page)
			if f, ok := l.(*Fixed); ok {
				require.NoError(t, f.SetFrequency(page, 1.5))
			}
		}
	}
	return choices
}

// Every learner gives the pages that it gave when testdata was written.
func TestGoldenChoices(t *testing.T) {
	t.Parallel()
	for _, c := range learners {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := c.make(12, 3)
			var flying []int
			pages := slices.Collect(l.All())
			var text strings.Builder
			for line := range slices.Chunk(goldenRun(t, l, &pages, &flying, 0, 500), 25) {
				fmt.Fprintln(&text, strings.Join(line, " "))
			}
			golden.Check(t, "choices/"+c.name+".golden", text.String())
		})
	}
}

type savedLearner interface {
	Learner
}

// The saved states of a golden run, polls in flight included: see codectest.Run.
func TestSaved(t *testing.T) {
	t.Parallel()
	for k, c := range learners {
		if strings.HasPrefix(c.name, "rate-filter") {
			continue // has a test of its own
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			codectest.Run(t, c.name, savedCase(t, k))
		})
	}
}

func FuzzSaved(f *testing.F) {
	cases := []*codectest.Case{savedKeyed()}
	for k := range learners {
		if !strings.HasPrefix(learners[k].name, "rate-filter") {
			cases = append(cases, savedCase(f, k))
		}
	}
	codectest.Fuzz(f, cases...)
}

// savedCase is that of learner k of learners.
func savedCase(t testing.TB, k int) *codectest.Case {
	c := learners[k]
	l := c.make(5, 3)
	var flying []int
	pages := slices.Collect(l.All())
	goldenRun(t, l, &pages, &flying, 0, 113)
	var traits []codectest.Trait
	if _, ok := l.(*VLAKG); ok {
		traits = append(traits, codectest.Drifts)
	}
	return codectest.Of(l.(savedLearner), func() savedLearner { return c.zero().(savedLearner) }, useLearner, traits...)
}

// useLearner does with a learner what a crawler does, whatever its state.
func useLearner(l savedLearner) any {
	var did []any
	for k := range 40 {
		now := 400 + float64(k)
		page, err := l.Next(now)
		did = append(did, page, err)
		if k%5 > 0 {
			did = append(did, l.Observe(page, now, k%3 == 0))
		}
		if k%10 == 0 {
			did = append(did, l.Add(), l.Remove(page))
		}
	}
	return fmt.Sprint(did, l.Len(), slices.Collect(l.All()))
}
