package automata

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkStep is a Select and the Learn of its answer.
func BenchmarkStep(b *testing.B) {
	for _, s := range schemes {
		for _, r := range []int{10, 128} {
			b.Run(fmt.Sprintf("%s/r=%d", s.name, r), func(b *testing.B) {
				a := must(s.make(r))
				src := rand.NewPCG(1, 2)
				b.ReportAllocs()
				for b.Loop() {
					action := a.Select(src)
					if err := a.Learn(action, float64(src.Uint64()>>63), src); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkConvergence reports the answers that the literature's environment A
// costs until an action has probability 0.999, and the share of right ones.
func BenchmarkConvergence(b *testing.B) {
	env := must(NewPModel(environmentA...))
	for _, c := range []struct {
		name string
		make func() Distribution
	}{
		{"L_R-I", func() Distribution { return must(NewLinear(10, 0.01, 0)) }},
		{"CP_RP", func() Distribution { return must(NewCPRP(10, 0.01, 0)) }},
		{"DP_RI", func() Distribution { return must(NewDPRI(10, 188, 0)) }},
		{"GPA", func() Distribution { return must(NewGPA(10, 0.0127, 0)) }},
		{"DGPA", func() Distribution { return must(NewDGPA(10, 24, 0)) }},
		{"DBPA", func() Distribution { return must(NewDBPA(10, 50, 0)) }},
		{"HDPA", func() Distribution { return must(NewHDPA(10, 200, 0)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := rand.NewPCG(1, 2)
			steps, right, runs := 0, 0, 0
			for b.Loop() {
				for d := c.make(); ; {
					action := d.Select(src)
					if err := d.Learn(action, env.Respond(action, src), src); err != nil {
						b.Fatal(err)
					}
					steps++
					if best, ok := d.Converged(0.999); ok {
						runs++
						if best == 0 {
							right++
						}
						break
					}
				}
			}
			b.ReportMetric(float64(steps)/float64(runs), "answers/run")
			b.ReportMetric(100*float64(right)/float64(runs), "right-%")
		})
	}
}

// BenchmarkWalk is a step of the discretised walk.
func BenchmarkWalk(b *testing.B) {
	w := must(NewWalk(1500, 1.3))
	src := rand.NewPCG(1, 2)
	state, sum := 750, 0.0
	b.ReportAllocs()
	for b.Loop() {
		state = w.StepFull(state, src.Uint64()>>63 == 1, state > 700)
		sum += w.Amount(state)
	}
	if sum <= 0 {
		b.Fatal("amounts are positive")
	}
}
