package pairs

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/golden"
	"github.com/recrawl/recrawl/internal/packing/petersen"
)

// The bits of what decides which packing and which proof is found are the same on every processor.
func TestGoldenBits(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	bits := func(name string, v any) {
		data, err := binary.Append(nil, binary.LittleEndian, v)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %08x\n", name, crc32.ChecksumIEEE(data))
	}
	rng := rand.New(rand.NewPCG(1, 101))
	const c = 2500
	p := &Problem{Capacity: c, Bins: 33}
	for _, w := range petersen.Core(rng, c) {
		p.Weights = append(p.Weights, int64(w))
	}
	for range p.Bins - 3 {
		x := c/6 + rng.Int64N(c/3)
		y := c/6 + rng.Int64N(c/3)
		p.Weights = append(p.Weights, x, y, c-x-y)
	}
	d := newSpread(p.Weights, c, 0, p.Bins)
	sets := d.pool(context.Background(), rng)
	bits("factors", d.t)
	bits("use", d.use)
	bits("table", slices.Concat(d.table...))
	cover := newCover(context.Background(), len(p.Weights), sets, rng)
	bits("shares", cover.share)
	bits("odds", cover.odds)
	bits("chosen", cover.again().try(context.Background(), rng))
	s := newSearch(context.Background(), p, Config{Patterns: sets, NoPool: true})
	s.bound()
	bits("duals", s.lp.y)
	bits("use of patterns", s.lp.x)
	golden.Check(t, "bits.golden", b.String())
}
