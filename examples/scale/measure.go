package main

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const (
	// operations is how many operations are measured at a time of what does one at a time; with -quick
	// a tenth.
	operations = 100_000
	// rounds is how often these take turns with as many random accesses, and accesses how many times as
	// many these are: on a machine that does other things, too, what both are slowed down by is not in
	// the median of their ratios.
	rounds, accesses = 5, 10
)

// A subject is something to measure.
type subject struct {
	name, operation string
	n               int
	// prepare makes it, which is not measured but for the bytes that it keeps, and returns what
	// does operation k. What does all of n at once returns how many operations that was.
	prepare func(n int, seed uint64, cycles float64) (do func(k int) (operations int, err error), err error)
	extra   float64 // bytes of each that are not the library's
	whole   bool    // do is called once
	flat    bool    // it keeps nothing
}

// figures are what was measured of a subject.
type figures struct {
	perOperation float64 // ns of processor time
	overRandom   float64 // that in random accesses; 0 if they were not measured in turn with it
	longest      time.Duration
	bytes        float64 // of each
}

// heapBytes returns what is on the heap.
func heapBytes() float64 {
	runtime.GC()
	runtime.GC() // what finalisers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// measure measures a subject.
func measure(s subject, seed uint64, cycles float64, operations int) (f figures, err error) {
	empty := heapBytes()
	do, err := s.prepare(s.n, seed, cycles)
	if err != nil {
		return f, err
	}
	f.bytes = max(0, (heapBytes()-empty)/float64(s.n)-s.extra)
	if s.whole {
		start, before := time.Now(), report.ProcessorTime()
		done, err := do(0)
		f.longest = time.Since(start)
		f.perOperation = float64((report.ProcessorTime() - before).Nanoseconds()) / float64(done)
		return f, err
	}
	random, k := randomAccess(s.n, seed), 0
	var times, ratios [rounds]float64
	for i := range rounds {
		access, from := random(accesses*operations), report.ProcessorTime()
		for range operations {
			if _, err := do(k); err != nil {
				return f, err
			}
			k++
		}
		times[i] = float64((report.ProcessorTime() - from).Nanoseconds()) / float64(operations)
		ratios[i] = times[i] / access
	}
	f.perOperation, f.overRandom = median(times[:]), median(ratios[:])
	// Once more: the clock takes as long as a short operation.
	for range operations {
		start := time.Now()
		if _, err := do(k); err != nil {
			return f, err
		}
		k++
		f.longest = max(f.longest, time.Since(start))
	}
	runtime.KeepAlive(do)
	return f, nil
}

// median sorts numbers of which there are an odd number.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// randomAccess returns what makes read-modify-writes of some of n numbers, at places that do not depend
// on each other, and returns the nanoseconds of one.
func randomAccess(n int, seed uint64) func(steps int) float64 {
	rng, v := rand.NewPCG(seed, 1), make([]uint64, n)
	for i := range v {
		v[i] = uint64(i) // so that the memory is there
	}
	return func(steps int) float64 {
		from := report.ProcessorTime()
		for range steps {
			v[place(rng, n)]++
		}
		took := report.ProcessorTime() - from
		runtime.KeepAlive(v)
		return float64(took.Nanoseconds()) / float64(steps)
	}
}

// chainedAccess returns the nanoseconds of a read-modify-write of one of n numbers, at a place that the
// one before names: nothing of it overlaps with the next.
func chainedAccess(n int, seed uint64) float64 {
	v, at := cycle(n, seed), uint32(0)
	const steps = 1_000_000
	from := report.ProcessorTime()
	for range steps {
		v[at].count++
		at = v[at].next
	}
	took := report.ProcessorTime() - from
	runtime.KeepAlive(v)
	return float64(took.Nanoseconds()) / steps
}

// A link is a number of 8 bytes that names the next one.
type link struct{ next, count uint32 }

// cycle returns n links that form one cycle, in an order drawn at random.
func cycle(n int, seed uint64) []link {
	v, rng := make([]link, n), rand.NewPCG(seed, 2)
	for i := range v {
		v[i].next = uint32(i)
	}
	for i := n - 1; i > 0; i-- { // Sattolo's shuffle
		j := place(rng, i)
		v[i].next, v[j].next = v[j].next, v[i].next
	}
	return v
}

// place draws a number below n.
func place(rng *rand.PCG, n int) int { return int(rng.Uint64() >> 32 * uint64(n) >> 32) }

// The measures of the machine, beside which the others stand.

func memoryPass(n int, _ uint64, _ float64) (func(int) (int, error), error) {
	v := make([]uint64, n)
	for i := range v {
		v[i] = uint64(i)
	}
	return func(int) (int, error) {
		sum := uint64(0)
		for _, x := range v {
			sum += x
		}
		runtime.KeepAlive(sum)
		return n, nil
	}, nil
}

// webAlone polls pages of a web at random: the part of a poll that is not the library's.
func webAlone(n int, seed uint64, _ float64) (func(int) (int, error), error) {
	rng, pages := rand.NewPCG(seed, 10), newWeb(n)
	return func(k int) (int, error) {
		pages.poll(place(rng, n), k)
		return 1, nil
	}, nil
}

func sorting(n int, seed uint64, _ float64) (func(int) (int, error), error) {
	rng, v := rand.NewPCG(seed, 3), make([]uint64, n)
	for i := range v {
		v[i] = rng.Uint64()
	}
	return func(int) (int, error) {
		slices.Sort(v)
		return n, nil
	}, nil
}

// A machine is what random accesses to so many numbers cost on it, in nanoseconds.
type machine struct{ random, chained float64 }

// over returns what an operation takes in random accesses.
func (f figures) over(m machine) float64 {
	if f.overRandom > 0 {
		return f.overRandom
	}
	return f.perOperation / m.random
}

// cells returns a line of the table.
func (f figures) cells(s subject, m machine) []string {
	bytes := "–"
	if !s.flat {
		bytes = strconv.FormatFloat(f.bytes, 'f', 1, 64)
	}
	return []string{s.name + ": " + s.operation, strconv.Itoa(s.n), report.Format(f.perOperation), strconv.FormatFloat(f.over(m), 'f', 1, 64),
		strconv.FormatFloat(f.perOperation/m.chained, 'f', 1, 64), strconv.FormatFloat(float64(f.longest.Nanoseconds())/1000, 'f', 0, 64), bytes}
}

// rows returns the same for machines.
func (f figures) rows(s subject, m machine) []report.Row {
	row := func(quantity, unit string, value float64) report.Row {
		return report.Row{Source: "recrawl", Item: s.name + " of " + strconv.Itoa(s.n) + ": " + s.operation, Quantity: quantity, Unit: unit, Measured: value, Runs: 1}
	}
	rows := []report.Row{
		row("time of an operation", "ns", f.perOperation),
		row("over a random read-modify-write", "1", f.over(m)),
		row("over a chained read-modify-write", "1", f.perOperation/m.chained),
		row("longest call", "µs", float64(f.longest.Nanoseconds())/1000),
	}
	if !s.flat {
		rows = append(rows, row("memory of each", "bytes", f.bytes))
	}
	return rows
}
