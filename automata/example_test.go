package automata_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
)

// Which of three mirrors answers most often in time? The automaton is asked for
// one, and told how it went.
func Example() {
	mirrors, err := automata.NewPModel(0.6, 0.9, 0.5) // in life: the network
	if err != nil {
		panic(err)
	}
	a, err := automata.NewDPRI(3, 50, 0)
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	for {
		mirror := a.Select(src)
		inTime := mirrors.Respond(mirror, src) // 1 or 0
		if err := a.Learn(mirror, inTime, src); err != nil {
			panic(err)
		}
		if best, ok := a.Converged(0.999); ok {
			fmt.Println("mirror", best)
			return
		}
	}
	// Output: mirror 1
}

// Answers may come in any order, or never.
func Example_inFlight() {
	a, err := automata.NewLinear(3, 0.1, 0) // L_R-I
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	first, second, third := a.Select(src), a.Select(src), a.Select(src)
	fmt.Println("asked", first, second, third)
	fmt.Println(a.Learn(third, 1, src), a.Learn(first, 0, src)) // the second got lost
	fmt.Printf("%.2f %.2f %.2f\n", a.Probability(0), a.Probability(1), a.Probability(2))
	fmt.Println(a.Learn(7, 1, src))
	// Output:
	// asked 2 1 2
	// <nil> <nil>
	// 0.30 0.30 0.40
	// automata: no such action: action 7 of 3
}

// A learner and its source, saved together, go on where they were.
func Example_save() {
	a, err := automata.NewGPA(4, 0.05, 2)
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	for range 20 {
		if err := a.Learn(a.Select(src), 0.5, src); err != nil {
			panic(err)
		}
	}
	state, err := a.MarshalBinary()
	if err != nil {
		panic(err)
	}
	source, err := src.MarshalBinary()
	if err != nil {
		panic(err)
	}

	b, err := automata.NewGPA(4, 0.05, 2)
	if err != nil {
		panic(err)
	}
	var src2 rand.PCG
	if err := b.UnmarshalBinary(state); err != nil {
		panic(err)
	}
	if err := src2.UnmarshalBinary(source); err != nil {
		panic(err)
	}
	for range 5 {
		fmt.Print(a.Select(src) == b.Select(&src2), " ")
	}
	fmt.Println(b.UnmarshalBinary(state[:30]))
	// Output: true true true true true corrupt saved state: 30 bytes with a wrong checksum
}

// How deep must a Tsetlin automaton be to choose the better of two actions 99 % of
// the time?
func ExampleFixedStructure() {
	for _, states := range []int{1, 3, 5, 7} {
		a, err := automata.NewTsetlin(2, states)
		if err != nil {
			panic(err)
		}
		share, err := a.Stationary([]float64{0.8, 0.6})
		if err != nil {
			panic(err)
		}
		fmt.Printf("N = %d: %.4f\n", states, share[0])
	}
	// Output:
	// N = 1: 0.6667
	// N = 3: 0.8984
	// N = 5: 0.9810
	// N = 7: 0.9971
}

func ExampleNewLinear() {
	a, err := automata.NewLinear(2, 0.5, 0.5) // L_R-P
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	for _, reward := range []float64{1, 0, 0.5} { // S-model rewards do both, in part
		if err := a.Learn(0, reward, src); err != nil {
			panic(err)
		}
		fmt.Println(a.Probability(0), a.Probability(1))
	}
	// Output:
	// 0.75 0.25
	// 0.375 0.625
	// 0.4375 0.5625
}

// DP_RI pursues the action that did best so far; DBPA is optimistic about one of few
// answers.
func ExampleNewDBPA() {
	src := rand.NewPCG(1, 2)
	for name, scheme := range map[string]func(actions, resolution, priming int) (automata.Estimator, error){
		"DP_RI": automata.NewDPRI,
		"DBPA":  automata.NewDBPA,
	} {
		a, err := scheme(2, 20, 1)
		if err != nil {
			panic(err)
		}
		// Twelve rewards in twenty answers for action 0, and one in two for action 1.
		for k := range 20 {
			reward := 0.0
			if k%5 < 3 {
				reward = 1
			}
			if err := a.Learn(0, reward, src); err != nil {
				panic(err)
			}
		}
		for _, reward := range []float64{1, 0} {
			if err := a.Learn(1, reward, src); err != nil {
				panic(err)
			}
		}
		before := a.Probability(1)
		if err := a.Learn(0, 1, src); err != nil {
			panic(err)
		}
		mean, answers := a.Estimate(1)
		fmt.Printf("%s: action 1 has mean %v of %d answers, and becomes likelier: %t\n", name, mean, answers, a.Probability(1) > before)
	}
	// Unordered output:
	// DP_RI: action 1 has mean 0.5 of 2 answers, and becomes likelier: false
	// DBPA: action 1 has mean 0.5 of 2 answers, and becomes likelier: true
}

// GPA moves towards every action that seems better than the one selected.
func ExampleNewGPA() {
	a, err := automata.NewGPA(4, 0.2, 1)
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	for _, reward := range []float64{0.5, 0.9, 0.8, 0.1} { // the priming: one answer each
		if err := a.Learn(a.Select(src), reward, src); err != nil {
			panic(err)
		}
	}
	if err := a.Learn(0, 0.5, src); err != nil { // actions 1 and 2 have done better
		panic(err)
	}
	for action := range a.Actions() {
		fmt.Printf("%.2f ", a.Probability(action))
	}
	fmt.Println()
	// Output: 0.20 0.30 0.30 0.20
}

// The steps are whole, so certainty comes in finite time.
func ExampleNewDLRI() {
	a, err := automata.NewDLRI(2, 4) // steps of 1/8
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	for range 4 {
		if err := a.Learn(1, 1, src); err != nil {
			panic(err)
		}
		fmt.Println(a.Probability(1))
	}
	// Output:
	// 0.625
	// 0.75
	// 0.875
	// 1
}

// A Krinsky automaton follows the best of two actions, which changes every 500 answers.
func ExampleNewKrinsky() {
	first, err := automata.NewPModel(0.9, 0.2)
	if err != nil {
		panic(err)
	}
	then, err := automata.NewPModel(0.2, 0.9)
	if err != nil {
		panic(err)
	}
	env, err := automata.NewPeriodic(500, first, then)
	if err != nil {
		panic(err)
	}
	a, err := automata.NewKrinsky(2, 3)
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	sum := 0.0
	for range 10_000 {
		action := a.Select(src)
		reward := env.Respond(action, src)
		sum += reward
		if err := a.Learn(action, reward, src); err != nil {
			panic(err)
		}
	}
	fmt.Printf("mean reward %.2f\n", sum/10_000)
	// Output: mean reward 0.89
}

// Thompson sampling gives hopeless actions up early, and never quite.
func ExampleNewBayesian() {
	a, err := automata.NewBayesian(3)
	if err != nil {
		panic(err)
	}
	env, err := automata.NewPModel(0.8, 0.2, 0.7)
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	pulls := make([]int, 3)
	for range 1000 {
		action := a.Select(src)
		pulls[action]++
		if err := a.Learn(action, env.Respond(action, src), src); err != nil {
			panic(err)
		}
	}
	fmt.Println("the worst was tried often:", pulls[1] > 50)
	fmt.Printf("and would be again with probability %.2f\n", a.Probability(1))
	// Output:
	// the worst was tried often: false
	// and would be again with probability 0.00
}

// A thousand actions cost ten steps down a tree.
func ExampleNewHDPA() {
	means := make([]float64, 1000)
	for i := range means {
		means[i] = 0.5 * float64(i) / 1000
	}
	means[321] = 0.95
	env, err := automata.NewPModel(means...)
	if err != nil {
		panic(err)
	}
	a, err := automata.NewHDPA(len(means), 100, 0)
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	for {
		action := a.Select(src)
		if err := a.Learn(action, env.Respond(action, src), src); err != nil {
			panic(err)
		}
		if best, ok := a.Converged(0.999); ok {
			fmt.Println("action", best)
			return
		}
	}
	// Output: action 321
}

// One Walk serves all pages; each keeps its state.
func ExampleWalk() {
	w, err := automata.NewWalk(10, 2)
	if err != nil {
		panic(err)
	}
	states := []int{w.State(0.25), w.State(0.25)}
	changed := []bool{true, false}
	full := false // is Σ x at the budget?
	for page := range states {
		states[page] = w.StepFull(states[page], changed[page], full)
		fmt.Printf("page %d: state %d, x = %.2f\n", page, states[page], w.Amount(states[page]))
	}
	// Output:
	// page 0: state 6, x = 0.36
	// page 1: state 5, x = 0.25
}

// How often is a page polled in the long run, if every second poll finds a change
// whatever its frequency, and a poll is as likely as x?
func ExampleBirthDeath() {
	w, err := automata.NewWalk(4, 1)
	if err != nil {
		panic(err)
	}
	up, down := make([]float64, 4), make([]float64, 4)
	for i := range up {
		x := w.Amount(i + 1)
		up[i], down[i] = x/2, x/2
	}
	pi, err := automata.BirthDeath(up, down)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.2f\n", pi)
	// Output: [0.48 0.24 0.16 0.12]
}

func ExampleOverload() {
	o, err := automata.NewOverload(8, 2)
	if err != nil {
		panic(err)
	}
	state := 2
	for _, overloaded := range []bool{true, true, false, true} {
		fmt.Printf("state %d: relieve with probability %.2f\n", state, o.Probability(state))
		state = o.Step(state, overloaded)
	}
	// Output:
	// state 2: relieve with probability 0.06
	// state 4: relieve with probability 0.25
	// state 6: relieve with probability 0.56
	// state 5: relieve with probability 0.39
}

// A setting near 0.37 is best; a noisy comparison, right four times of five, says
// on which side it is.
func ExampleSPL() {
	a, err := automata.NewSPL(100)
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		right := a.Point() < 0.37
		if rng.Float64() < 0.2 {
			right = !right
		}
		a.Learn(right)
	}
	fmt.Printf("%.2f\n", a.Point())
	// Output: 0.38
}

// The same on a tree of 128 intervals, with three comparisons at a time.
func ExampleHSSL() {
	a, err := automata.NewHSSL(7)
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	right := func(x float64) bool { return (x < 0.37) != (rng.Float64() < 0.2) }
	for range 100 {
		left, middle, end := a.Points()
		a.Learn(right(left), right(middle), right(end))
	}
	fmt.Printf("%.2f\n", a.Point())
	// Output: 0.37
}

// An environment that is good for action 0 for ten answers on average, then for action 1
// for five.
func ExampleNewMarkov() {
	first, err := automata.NewPModel(1, 0)
	if err != nil {
		panic(err)
	}
	then, err := automata.NewPModel(0, 1)
	if err != nil {
		panic(err)
	}
	env, err := automata.NewMarkov([][]float64{{0.9, 0.1}, {0.2, 0.8}}, first, then)
	if err != nil {
		panic(err)
	}
	src := rand.NewPCG(1, 2)
	sum := 0.0
	for range 100_000 {
		sum += env.Respond(0, src)
	}
	fmt.Printf("%.2f of the time\n", sum/100_000)
	// Output: 0.67 of the time
}
