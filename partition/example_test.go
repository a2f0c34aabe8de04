package partition_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/partition"
)

// Sites are accessed from the access point that the assigner says, and it is told how
// long that took.
func ExampleAssigner() {
	a, err := partition.NewAssigner(3, 100, partition.DefaultSettings, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
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
		for site := range 100 {
			arm, err := a.Arm(site)
			if err != nil {
				panic(err)
			}
			if arm == site%3 {
				fastest++
			}
			if err := a.Observe(site, access(site, arm)); err != nil {
				panic(err)
			}
		}
		if crawl <= 4 || crawl == 10 {
			fmt.Printf("crawl %d: %d of 100 sites from their fastest access point\n", crawl, fastest)
		}
	}
	// Output:
	// crawl 1: 31 of 100 sites from their fastest access point
	// crawl 2: 39 of 100 sites from their fastest access point
	// crawl 3: 30 of 100 sites from their fastest access point
	// crawl 4: 97 of 100 sites from their fastest access point
	// crawl 10: 100 of 100 sites from their fastest access point
}

// Access points come and go, and have limited hours.
func ExampleAssigner_AddArm() {
	set := partition.DefaultSettings
	set.Capacity = []float64{math.Inf(1), 1000} // time units that each has for a crawl
	a, err := partition.NewAssigner(2, 50, set, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	crawl := func(n int) {
		for range n {
			for site := range 50 {
				arm, err := a.Arm(site)
				if err != nil {
					panic(err)
				}
				// From access point 0 every site takes 60, from 1 it takes 40, from the third 20.
				if err := a.Observe(site, float64(60-20*arm)); err != nil {
					panic(err)
				}
			}
		}
	}
	crawl(30)
	_, time, _ := a.Load(1)
	fmt.Println("the limited access point works within its hours:", time <= 1000)
	third, err := a.AddArm(math.Inf(1))
	if err != nil {
		panic(err)
	}
	crawl(30)
	sites, time, _ := a.Load(third)
	fmt.Printf("access point %d has %d sites and takes %.0f\n", third, sites, time)
	// Output:
	// the limited access point works within its hours: true
	// access point 2 has 50 sites and takes 1000
}

func ExampleTWOMA() {
	t, err := partition.NewTWOMA(4, 1000, partition.Recommended, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	total := 0.0
	for crawl := 1; crawl <= 40; crawl++ {
		total = 0
		for site := range 1000 {
			arm, err := t.Arm(site)
			if err != nil {
				panic(err)
			}
			duration := 53.6
			if arm == site/4%4 { // its perfect arm
				duration = 24.7
			}
			total += duration
			if err := t.Observe(site, duration); err != nil {
				panic(err)
			}
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

func ExamplePairTWOMA() {
	p, err := partition.NewPairTWOMA(2, 6, 5)
	if err != nil {
		panic(err)
	}
	// Sites 0, 1, 2 are fast from access point 0 and the others from 1, but
	// they start in turns.
	duration := func(site int) float64 {
		arm, err := p.Arm(site)
		if err != nil {
			panic(err)
		}
		if (site < 3) == (arm == 0) {
			return 10
		}
		return 30
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		order := rng.Perm(6)
		for k := 0; k < 6; k += 2 {
			i, j := order[k], order[k+1]
			if err := p.Observe(i, j, duration(i), duration(j)); err != nil {
				panic(err)
			}
		}
	}
	for site := range 6 {
		arm, _ := p.Arm(site)
		fmt.Print(arm, " ")
	}
	// Output: 0 0 0 1 1 1
}

func ExampleUniform() {
	for site := range 5 {
		arm, _ := partition.Uniform(3).Arm(site)
		fmt.Print(arm, " ")
	}
	// Output: 0 1 2 0 1
}

// Objects that are asked for together come to share a class.
func ExamplePartitioner() {
	p, err := partition.NewPartitioner(partition.EOMA, []int{3, 3}, 5, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for !p.Converged() {
		i, j := rng.IntN(6), rng.IntN(6)
		if i != j && i%2 == j%2 { // even with even, odd with odd
			if err := p.Query(i, j); err != nil {
				panic(err)
			}
		}
	}
	a, _ := p.Class(0)
	b, _ := p.Class(1)
	for object := range 6 {
		c, _ := p.Class(object)
		fmt.Print(c == a, c == b, " ")
	}
	// Output: true false false true true false false true true false false true
}

func ExampleCoAccess() {
	c, err := partition.NewCoAccess(slices.Repeat([]int{2}, 3))
	if err != nil {
		panic(err)
	}
	for _, pair := range [][2]int{{0, 5}, {1, 4}, {2, 3}} {
		if err := c.Query(pair[0], pair[1]); err != nil {
			panic(err)
		}
	}
	a, _ := c.Class(0)
	b, _ := c.Class(5)
	fmt.Println(a == b)
	// Output: true
}
