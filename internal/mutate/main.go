// Command mutate measures whether the tests of a package can fail. It makes small changes of the
// package's source, one at a time (mutants), and runs the tests against each. A mutant that no
// test notices survives, and is listed for someone to read: either a test is missing, or the
// change makes no difference that a test should see.
//
//	go run ./internal/mutate -pkg ./automata -sample 60 -seed 1
//
// # What is changed
//
// Comparisons (their boundary, their direction), arithmetic, increments, literals (0 to 1, 1 to
// 0, other ints by one, other floats doubled), what is returned (the opposite, one more, no
// error), and single statements, which are removed. Only lines that the tests run are changed,
// and constants and variables of the package. The wording of errors, the room in make and the
// lengths of arrays are left alone.
//
// # How it works
//
// The source tree is never written to: a mutant is built by the overlay of the go command. Each
// short test first runs alone and without a change, with rapid's seed 1, to see what it covers. A
// mutant is given to the tests that run its line, the fastest first, until one fails. What takes
// -factor times as long as without a change, or more than -memory, counts as noticed. Tests that
// match -golden run last: they pin what seeded runs choose and save, and notice that something
// changed, but not that it is worse. What only they notice is counted apart.
//
// A full run takes hours. -sample takes mutants at equal distances in the text, from a random
// start, so that each file has its share. The share killed comes with Wilson's 95 % interval.
// -at file.go:12: tries the mutants of one line, to see whether a new test is worth its name, and
// -run names that test. With a longer regexp, -at takes the sample from some files.
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	j := judge{grace: 5 * time.Second}
	pkg := flag.String("pkg", ".", "the package to change")
	tests := flag.String("tests", "", "packages whose tests judge it, with commas between (default: itself)")
	sample := flag.Int("sample", 60, "how many mutants to try; 0 tries all")
	seed := flag.Uint64("seed", 1, "seed of the sample")
	at := flag.String("at", "", "try those mutants only whose place starts so, a regexp, such as file.go:12:")
	list := flag.Bool("list", false, "print the mutants and do not try them")
	flag.StringVar(&j.only, "run", "", "the tests, a regexp, that judge beside those of -golden (default: all)")
	flag.StringVar(&j.golden, "golden", "Golden", "the tests, a regexp, that pin choices and bytes and run last")
	flag.Float64Var(&j.factor, "factor", 10, "a run that takes so many times the unchanged one is stopped")
	flag.IntVar(&j.memory, "memory", 4, "gigabytes that a run may reserve")
	flag.Parse()
	if *tests == "" {
		*tests = *pkg
	}
	if err := mutate(&j, *pkg, strings.Split(*tests, ","), *sample, *seed, *at, *list); err != nil {
		log.Fatal(err)
	}
}

func mutate(j *judge, pkg string, tests []string, sample int, seed uint64, at string, list bool) error {
	var err error
	if j.tmp, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer os.RemoveAll(j.tmp)
	all, err := j.prepare(pkg, tests)
	if err != nil {
		return err
	}
	if at != "" {
		there, err := regexp.Compile("^(?:" + at + ")")
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(m mutant) bool { return !there.MatchString(m.String()) })
	}
	if list {
		for _, m := range all {
			fmt.Println(m)
		}
		return nil
	}
	if sample == 0 || sample > len(all) {
		sample = len(all)
	}
	fmt.Printf("%s: %d of %d mutants; the tests take %v\n", pkg, sample, len(all), j.clean().Round(time.Millisecond))
	var count [verdicts]int
	rnd := rand.New(rand.NewPCG(seed, 1))
	for k, run := range strata(len(all), sample, rnd.Float64()) {
		fmt.Fprintf(os.Stderr, "\r%d of %d ", k+1, sample)
		// The first of the stratum that compiles stands for it.
		for _, i := range run {
			v, err := j.try(all[i])
			if err != nil {
				return err
			}
			if v != invalid {
				count[v]++
				if v != killed {
					fmt.Fprint(os.Stderr, "\r")
					fmt.Printf("%-8v %v\n", v, all[i])
				}
				break
			}
		}
	}
	fmt.Fprint(os.Stderr, "\r")
	fmt.Println(summary(pkg, count))
	return nil
}

// strata divides the numbers below n into k runs of nearly equal length. The first starts at a
// random place, u of the way through its length, and the last goes round to the start.
func strata(n, k int, u float64) [][]int {
	runs := make([][]int, k)
	step := float64(n) / float64(max(k, 1))
	for i := range runs {
		from, to := int((float64(i)+u)*step), int((float64(i+1)+u)*step)
		for j := from; j < to; j++ {
			runs[i] = append(runs[i], j%n)
		}
	}
	return runs
}

func summary(pkg string, count [verdicts]int) string {
	n := count[killed] + count[golden] + count[survived]
	if n == 0 {
		return pkg + ": no mutants"
	}
	lo, hi := wilson(count[killed]+count[golden], n)
	return fmt.Sprintf("%s: %d mutants, %d killed, %d by golden files only, %d survived: %.1f %% (95 %%: %.1f to %.1f)",
		pkg, n, count[killed], count[golden], count[survived],
		100*float64(count[killed]+count[golden])/float64(n), 100*lo, 100*hi)
}

// wilson returns the 95 % interval of a probability of which k of n trials came true.
func wilson(k, n int) (lo, hi float64) {
	const z = 1.96
	p, m := float64(k)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, mid-half), min(1, mid+half)
}
