package knapsack

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenRun polls a learner from step `from` up to step `to` as a crawl does, with
// answers that come late, come never, and with pages that come and go. It returns
// the pages given, by slot and generation.
func goldenRun(t *testing.T, l Learner, pages, flying *[]int, from, to int) (choices []string) {
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

// Every learner gives the pages that it gave when testdata was written, from a
// fresh start and from the state saved then, polls in flight included; and that
// state is saved again in the same bytes. To accept a change:
//
//	go test -run TestGolden -update ./knapsack
func TestGolden(t *testing.T) {
	const middle, end = 333, 500
	for _, c := range learners {
		t.Run(c.name, func(t *testing.T) {
			l := c.make(12, 3)
			var pages, flying []int
			for page := range 12 {
				pages = append(pages, page)
			}
			choices := goldenRun(t, l, &pages, &flying, 0, middle)
			middlePages, middleFlying := append([]int(nil), pages...), append([]int(nil), flying...)
			state := saved(t, l)
			choices = append(choices, goldenRun(t, l, &pages, &flying, middle, end)...)

			choicesFile := filepath.Join("testdata", "golden", c.name+".choices")
			stateFile := filepath.Join("testdata", "golden", c.name+".state")
			var text bytes.Buffer
			for line := range len(choices) / 25 {
				fmt.Fprintln(&text, strings.Join(choices[25*line:25*line+25], " "))
			}
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(stateFile), 0o755))
				require.NoError(t, os.WriteFile(choicesFile, text.Bytes(), 0o644))
				require.NoError(t, os.WriteFile(stateFile, state, 0o644))
				return
			}
			want, err := os.ReadFile(choicesFile)
			require.NoError(t, err)
			require.Equal(t, string(want), text.String())

			before, err := os.ReadFile(stateFile)
			require.NoError(t, err)
			restored := c.zero()
			require.NoError(t, restored.UnmarshalBinary(before))
			require.True(t, bytes.Equal(before, saved(t, restored)), "restored and saved again differs")
			rest := goldenRun(t, restored, &middlePages, &middleFlying, middle, end)
			require.Equal(t, choices[middle:], rest)
		})
	}
}
