package codectest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

// A ring is a counter that goes round.
type ring struct {
	at   int
	size int
	flaw string // what is wrong with its decoder
}

var format = codec.Format{Magic: "recrawl/codectest.ring", Version: 1}

func (r *ring) MarshalBinary() ([]byte, error) {
	return format.Save(func(e *codec.Encoder) { e.Int(r.size); e.Int(r.at) })
}

func (r *ring) UnmarshalBinary(data []byte) error {
	return codec.Load(r, format, data, func(to *ring, d *codec.Decoder) {
		to.flaw = r.flaw
		switch r.flaw {
		case "":
			to.size = d.IntIn(1, 1000)
			to.at = d.IntIn(0, to.size-1)
		case "unchecked":
			to.size, to.at = d.Int(), d.Int()
		case "early":
			r.size = d.IntIn(1, 1000)
			to.size, to.at = r.size, d.IntIn(0, r.size-1)
		case "reset":
			to.size = d.IntIn(1, 1000)
			d.IntIn(0, to.size-1)
		case "alarm":
			to.size, to.at = d.Int(), d.Int()
			if d.Err() == nil && (to.size < 1 || to.at >= to.size) {
				panic("out of range")
			}
		}
	})
}

func (r *ring) use() any {
	var seen []int
	for range 5 {
		seen = append(seen, new([1000]int)[r.at]+r.at)
		r.at = (r.at + 1) % r.size
	}
	return seen
}

func run(t *testing.T, flaw string) {
	empty := func() *ring { return &ring{size: 2, at: 1, flaw: flaw} }
	Run(t, "ring", Of(&ring{at: 3, size: 7, flaw: flaw}, empty, (*ring).use))
}

func TestRun(t *testing.T) { run(t, "") }

// TestRunFinds runs a flawed decoder in a process of its own, which must fail.
func TestRunFinds(t *testing.T) {
	if flaw := os.Getenv("CODECTEST_FLAW"); flaw != "" {
		run(t, flaw)
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	for _, flaw := range []string{"unchecked", "early", "reset", "alarm"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRunFinds$")
		cmd.Env = append(os.Environ(), "CODECTEST_FLAW="+flaw)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "the flaw %q goes unnoticed:\n%s", flaw, out)
	}
}

func FuzzRing(f *testing.F) {
	empty := func() *ring { return &ring{} }
	Fuzz(f, Of(&ring{at: 3, size: 7}, empty, (*ring).use), Of(&ring{size: 1}, empty, (*ring).use))
}
