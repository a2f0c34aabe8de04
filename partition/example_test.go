package partition_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/partition"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Sites are accessed from the access point that the assigner says, and it is told how long
// that took.
func Example() {
	a, err := partition.NewAssigner(3, 100, partition.AssignerConfig{}, rand.NewPCG(1, 2))
	check(err)
	// Site i is fastest from access point i mod 3; durations scatter by 20 %.
	rng := rand.New(rand.NewPCG(3, 4))
	access := func(site, arm int) float64 {
		mean := 50.0
		if site%3 == arm {
			mean = 25
		}
		return mean * (0.8 + 0.4*rng.Float64())
	}
	for crawl := 1; crawl <= 10; crawl++ {
		fastest := 0
		for site := range a.All() {
			arm, err := a.Next(site)
			check(err)
			if arm == site%3 {
				fastest++
			}
			check(a.Observe(site, access(site, arm)))
		}
		if crawl <= 4 || crawl == 10 {
			fmt.Printf("crawl %d: %d of 100 sites from their fastest access point\n", crawl, fastest)
		}
	}
	// Output:
	// crawl 1: 31 of 100 sites from their fastest access point
	// crawl 2: 39 of 100 sites from their fastest access point
	// crawl 3: 30 of 100 sites from their fastest access point
	// crawl 4: 98 of 100 sites from their fastest access point
	// crawl 10: 100 of 100 sites from their fastest access point
}

// One interface drives the assigner and the schemes that it is measured against. The last
// crawl takes the least time with the assigner, as durations are not exact.
func ExampleAssigner() {
	type scheme interface {
		Next(site int) (arm int, err error)
		Observe(site int, duration float64) error
	}
	const sites, arms = 400, 4
	assigner, err := partition.NewAssigner(arms, sites, partition.AssignerConfig{}, rand.NewPCG(1, 2))
	check(err)
	twoma, err := partition.NewTWOMA(arms, sites, partition.TWOMAConfig{}, rand.NewPCG(1, 2))
	check(err)
	for _, s := range []scheme{assigner, twoma, partition.RoundRobin(arms)} {
		rng := rand.New(rand.NewPCG(3, 4))
		total := 0.0
		for range 50 {
			total = 0
			for site := range sites {
				arm, err := s.Next(site)
				check(err)
				mean := 50.0
				if site/arms%arms == arm {
					mean = 25
				}
				total += mean
				check(s.Observe(site, mean*(0.8+0.4*rng.Float64())))
			}
		}
		fmt.Printf("%T: the last crawl takes %.0f\n", s, total)
	}
	// Output:
	// *partition.Assigner: the last crawl takes 10000
	// *partition.TWOMA: the last crawl takes 10300
	// partition.RoundRobin: the last crawl takes 17500
}

// Access points come and go, and have limited hours.
func ExampleAssigner_AddArm() {
	cfg := partition.AssignerConfig{
		Capacity: []float64{math.Inf(1), 1000}, // time units that each has for a crawl
	}
	a, err := partition.NewAssigner(2, 50, cfg, rand.NewPCG(1, 2))
	check(err)
	crawl := func(n int) {
		for range n {
			for site := range 50 {
				arm, err := a.Next(site)
				check(err)
				// From access point 0 every site takes 60, from 1 it takes 40, from the third 20.
				check(a.Observe(site, float64(60-20*arm)))
			}
		}
	}
	crawl(30)
	_, time, _ := a.Load(1)
	fmt.Println("the limited access point works within its hours:", time <= 1000)
	third, err := a.AddArm(math.Inf(1))
	check(err)
	crawl(30)
	sites, time, _ := a.Load(third)
	fmt.Printf("access point %d has %d sites and takes %.0f\n", third, sites, time)
	// Output:
	// the limited access point works within its hours: true
	// access point 2 has 50 sites and takes 1000
}

// Where an access point has limited hours, the sites that it matters most to reach fast get it.
func ExampleAssigner_SetWeight() {
	a, err := partition.NewAssigner(2, 40, partition.AssignerConfig{}, rand.NewPCG(1, 2))
	check(err)
	for site := range 10 {
		check(a.SetWeight(site, 50)) // updates a crawl; the others have 1
	}
	check(a.SetCapacity(0, 11)) // time for 10 sites, and a little that is kept free
	for range 200 {
		for site := range a.All() {
			arm, err := a.Next(site)
			check(err)
			check(a.Observe(site, float64(1+arm))) // access point 0 takes 1, the other one 2
		}
	}
	heavy := 0
	for site := range 10 {
		if arm, err := a.Next(site); err == nil && arm == 0 {
			heavy++
		}
	}
	fmt.Println("of 10 heavy sites from the fast access point:", heavy)
	// Output:
	// of 10 heavy sites from the fast access point: 10
}

// An access point that is down for a known time is put off, and an access that was never made is given back.
func ExampleAssigner_Defer() {
	a, err := partition.NewAssigner(2, 3, partition.AssignerConfig{}, rand.NewPCG(1, 2))
	check(err)
	arm, err := a.Next(0)
	check(err)
	check(a.GiveBack(0)) // no answer will come: nothing is learnt
	check(a.Defer(arm, 5))
	away := 0
	for site := range a.All() {
		if other, err := a.Next(site); err == nil && other != arm {
			away++
		}
	}
	fmt.Println("sites that use the other one:", away)
	// Output:
	// sites that use the other one: 3
}

// When an access point goes, its sites get another one. What was asked from there is
// forgotten, and a late answer is refused.
func ExampleAssigner_RemoveArm() {
	a, err := partition.NewAssigner(3, 30, partition.AssignerConfig{}, rand.NewPCG(1, 2))
	check(err)
	// Arm ids are not small numbers for ever: Slot turns them into an index.
	hosts := []string{"Oslo", "Bergen", "Tromsø"}
	gone, err := a.Next(7)
	check(err)
	check(a.RemoveArm(gone))
	fmt.Println("a late answer:", a.Observe(7, 25))
	hosts[partition.Slot(gone)] = "Stavanger"
	arm, err := a.AddArm(math.Inf(1))
	check(err)
	fmt.Println("a new id:", arm != gone, "of the same slot:", partition.Slot(arm) == partition.Slot(gone))
	used := map[string]int{}
	for site := range a.All() {
		arm, err := a.Next(site)
		check(err)
		used[hosts[partition.Slot(arm)]]++
	}
	fmt.Println(len(used), "access points in use:", len(slices.Collect(a.AllArms())))
	// Output:
	// a late answer: partition: answer to a question that is not open: site 7
	// a new id: true of the same slot: true
	// 3 access points in use: 3
}

// Save in the middle of a run, with an answer still to come, and go on after a restart.
func ExampleAssigner_MarshalBinary() {
	a, err := partition.NewAssigner(2, 3, partition.AssignerConfig{}, rand.NewPCG(1, 2))
	check(err)
	before, err := a.Next(0)
	check(err)
	saved, err := a.MarshalBinary()
	check(err)

	var b partition.Assigner
	check(b.UnmarshalBinary(saved))
	after, err := b.Next(0)
	check(err)
	fmt.Println("the same question is open:", before == after)
	check(b.Observe(0, 25))
	_, tried, err := b.Expected(0, after)
	check(err)
	fmt.Println("answered:", tried)
	// Output:
	// the same question is open: true
	// answered: true
}

func ExampleTWOMA() {
	t, err := partition.NewTWOMA(4, 1000, partition.TWOMAConfig{}, rand.NewPCG(1, 2))
	check(err)
	total := 0.0
	for crawl := 1; crawl <= 40; crawl++ {
		total = 0
		for site := range 1000 {
			arm, err := t.Next(site)
			check(err)
			duration := 53.6
			if arm == site/4%4 { // its fastest arm
				duration = 24.7
			}
			total += duration
			check(t.Observe(site, duration))
		}
		if crawl == 1 || crawl == 5 || crawl == 40 {
			fmt.Printf("crawl %d took %.0f\n", crawl, total)
		}
	}
	// Output:
	// crawl 1 took 46375
	// crawl 5 took 28977
	// crawl 40 took 24700
}

// Sites 0, 1, 2 are fast from access point 0 and the others from 1, but they start in turns.
// They are accessed in random order, and every two accesses make a pair.
func ExamplePairTWOMA() {
	p, err := partition.NewPairTWOMA(2, 6, partition.PairTWOMAConfig{})
	check(err)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		for _, site := range rng.Perm(6) {
			arm, err := p.Next(site)
			check(err)
			duration := 30.0
			if (site < 3) == (arm == 0) {
				duration = 10
			}
			check(p.Observe(site, duration))
		}
	}
	for site := range 6 {
		arm, _ := p.Next(site)
		fmt.Print(arm, " ")
	}
	// Output: 0 0 0 1 1 1
}

func ExampleRoundRobin() {
	for site := range 5 {
		arm, _ := partition.RoundRobin(3).Next(site)
		fmt.Print(arm, " ")
	}
	// Output: 0 1 2 0 1
}

// Objects that are asked for together come to share a class: even with even, odd with odd.
// Each member of the family needs another number of queries.
func ExampleNewOMA() {
	for _, variant := range []partition.OMAVariant{partition.OMA, partition.EOMA, partition.PEOMA, partition.TPEOMA, partition.GCDOMA} {
		p, err := partition.NewOMA(variant, []int{3, 3}, 5, rand.NewPCG(1, 2))
		check(err)
		rng := rand.New(rand.NewPCG(3, 4))
		queries := 0
		for !p.Converged() {
			i, j := rng.IntN(6), rng.IntN(6)
			if i != j && (i%2 == j%2 || rng.IntN(10) == 0) {
				check(p.Query(i, j))
				queries++
			}
		}
		fmt.Print(variant, ", ", queries, " queries:")
		for object := range 6 {
			class, _ := p.Class(object)
			fmt.Print(" ", class)
		}
		fmt.Println()
	}
	// Output:
	// OMA, 85 queries: 0 1 0 1 0 1
	// EOMA, 53 queries: 0 1 0 1 0 1
	// PEOMA, 53 queries: 0 1 0 1 0 1
	// TPEOMA, 43 queries: 0 1 0 1 0 1
	// GCDOMA, 53 queries: 0 1 0 1 0 1
}

// Counting pairs needs the fewest queries.
func ExampleNewCoAccess() {
	c, err := partition.NewCoAccess(slices.Repeat([]int{2}, 3))
	check(err)
	for _, pair := range [][2]int{{0, 5}, {1, 4}, {2, 3}} {
		check(c.Query(pair[0], pair[1]))
	}
	for object := range 6 {
		class, _ := c.Class(object)
		fmt.Print(class, " ")
	}
	// Output: 2 0 1 1 0 2
}
