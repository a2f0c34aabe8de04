package partition

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// scan is the least that any scheme with TWOMA's state does: it reads and writes both bytes
// of every object, in order.
func scan(arm, depth []uint8) (sum int) {
	for i := range arm {
		depth[i] ^= arm[i] & 1
		sum += int(arm[i]) + int(depth[i])
	}
	return sum
}

// BenchmarkTWOMA is one access: Next and Observe, with the duration computed from
// the arm. The bare pass over the two arrays stands beside it, per object too.
func BenchmarkTWOMA(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		a, err := NewTWOMA(30, n, fitted, rand.NewPCG(1, 2))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("access/objects=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				arm, _ := a.Next(i)
				d := 53.6
				if arm == i%30 {
					d = 24.7
				}
				_ = a.Observe(i, d)
				if i++; i == n {
					i = 0
				}
			}
		})
		b.Run(fmt.Sprintf("scan/objects=%d", n), func(b *testing.B) {
			sum, passes := 0, 0
			for b.Loop() {
				sum += scan(a.arm, a.depth)
				passes++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(passes)/float64(n), "ns/object")
			if sum == 0 {
				b.Fatal("nothing read")
			}
		})
	}
}

func BenchmarkAssigner(b *testing.B) {
	for _, arms := range []int{4, 8, 30} {
		b.Run(fmt.Sprintf("access/arms=%d", arms), func(b *testing.B) {
			const n = 10_000
			a := newAssigner(b, arms, n, AssignerConfig{}, 1)
			rng := rand.New(rand.NewPCG(1, 3))
			b.ReportAllocs()
			i, crawls, placed := 0, 0, 0
			for b.Loop() {
				arm, _ := a.Next(i)
				mean := 53.6
				if arm == i%arms {
					mean = 24.7
					placed++
				}
				_ = a.Observe(i, mean*(0.8+0.4*rng.Float64()))
				if i++; i == n {
					i = 0
					if crawls++; crawls > 1 {
						b.ReportMetric(float64(placed)/n*100, "placed-%")
					}
					placed = 0
				}
			}
		})
	}
}

func BenchmarkPartitioner(b *testing.B) {
	query := func(name string, a Partitioner, err error) {
		b.Run("query/"+name, func(b *testing.B) {
			require.NoError(b, err)
			src := pairSource{30, 10, 0.8, rand.New(rand.NewPCG(1, 3))}
			b.ReportAllocs()
			for b.Loop() {
				_ = a.Query(src.next())
			}
		})
	}
	for variant := OMA; variant <= TPEOMA; variant++ {
		a, err := NewOMA(variant, equalSizes(30, 3), 10, rand.NewPCG(1, 2))
		query(fmt.Sprintf("rule=%d", variant), a, err)
	}
	a, err := NewCoAccess(equalSizes(30, 3))
	query("CoAccess", a, err)
}
