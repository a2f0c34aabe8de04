package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const source = `package p

const limit = 8; var far, near = math.Inf(1), math.Inf(-1)

func f(x, y int, err error) (bool, error) {
	s := make([]int, 0, 4)
	if x < y && x != 1 {
		s = append(s, x)
	}
	for i := 0; i < 9; i++ {
		y += i * x
	}
	if len(s) > limit {
		return x == 2.5, fmt.Errorf("at %d", x+1)
	}
	return true, nil
}

func g() (int, error) { return 7, fmt.Errorf("no") }

func h(x float64) bool { return x == 2.5 }
`

// what returns the changes as words, without the lines around them.
func what(found []mutant) (texts []string) {
	for _, m := range found {
		m.where = ""
		texts = append(texts, m.String())
	}
	return texts
}

func TestMutants(t *testing.T) {
	t.Parallel()
	found, err := mutants("p.go", []byte(source))
	require.NoError(t, err)
	got := what(found)
	for _, want := range []string{
		"p.go:3:57: 1 → 0  | ",                         // −∞
		"p.go:3:15: 8 → 9  | ",                         // a constant
		"p.go:7:7: < → <=  | ", "p.go:7:7: < → >=  | ", // boundary, direction
		"p.go:7:11: && → ||  | ", "p.go:7:16: != → ==  | ", //
		"p.go:7:19: 1 → 0  | ", "p.go:8:3: s = → _ =   | ", // the assignment taken away
		"p.go:10:11: 0 → 1  | ", "p.go:10:22: ++ → --  | ", //
		"p.go:11:5: += → -=  | ", "p.go:11:10: * → /  | ", //
		"p.go:21:33: x == 2.5 → !(x == 2.5)  | ", //
		"p.go:21:38: 2.5 → (2*2.5)  | ",          //
		`p.go:19:35: fmt.Errorf("no") → nil  | `,
		`p.go:14:20: fmt.Errorf("at %d", x+1) → nil  | `, // no error
		"p.go:16:9: true → !(true)  | ", "p.go:10:18: 9 → 10  | ",
	} {
		require.Contains(t, got, want)
	}
	for _, m := range found {
		require.False(t, m.line == 6 && m.col > 20, "the room of a slice: %v", m)
		require.False(t, m.line == 3 && m.col > 15 && m.col < 50, "the sign of infinity: %v", m)
		require.False(t, m.line == 14 && m.col > 20, "the wording of an error: %v", m)
		require.False(t, m.line == 19 && m.col < 35, "a number beside an error: %v", m)
		require.Equal(t, m.old, source[m.start:m.end])
		require.NotEqual(t, source, string(m.apply([]byte(source))))
	}
	require.True(t, slices.IsSortedFunc(found, func(a, b mutant) int { return a.start - b.start }))
	_, err = mutants("p.go", []byte("package"))
	require.Error(t, err)
}

func TestApply(t *testing.T) {
	t.Parallel()
	m := mutant{start: 2, end: 4, text: "XYZ"}
	require.Equal(t, "abXYZef", string(m.apply([]byte("abcdef"))))
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "profile")
	require.NoError(t, os.WriteFile(profile, []byte("mode: set\nx/p.go:5.10,7.3 2 1\nx/p.go:8.1,9.20 1 0\n"), 0o666))
	c := coverage{}
	require.NoError(t, c.read(profile))
	for _, p := range []struct {
		line, col int
		want      bool
	}{{5, 9, true}, {5, 10, true}, {7, 2, true}, {7, 3, true}, {8, 1, false}, {9, 19, false}, {9, 20, true}} {
		require.Equal(t, p.want, c.runs(mutant{file: "p.go", line: p.line, col: p.col}), p)
	}
	require.NoError(t, os.WriteFile(profile, []byte("x/p.go:8.1,9.20 1 1\n"), 0o666))
	require.NoError(t, c.read(profile))
	require.True(t, c.runs(mutant{file: "p.go", line: 8, col: 1}), "run by the second package's tests")
	require.Error(t, c.read(profile+".none"))
}

// Every mutant is in one stratum, whatever the numbers.
func TestStrata(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, k int }{{10, 3}, {10, 10}, {7, 1}, {100, 60}, {0, 0}} {
		for _, u := range []float64{0, .3, .999} {
			seen := make([]int, c.n)
			runs := strata(c.n, c.k, u)
			require.Len(t, runs, c.k)
			for _, run := range runs {
				require.InDelta(t, float64(c.n)/float64(c.k), len(run), 1)
				for _, i := range run {
					seen[i]++
				}
			}
			require.NotContains(t, seen, 0)
			require.NotContains(t, seen, 2)
		}
	}
}

// The interval of Wilson (1927), at figures that are in textbooks.
func TestWilson(t *testing.T) {
	t.Parallel()
	lo, hi := wilson(9, 10)
	require.InDelta(t, .596, lo, .001)
	require.InDelta(t, .982, hi, .001)
	lo, hi = wilson(0, 10)
	require.Zero(t, lo)
	require.InDelta(t, .278, hi, .001)
}

// The verdicts on a module with a test, a golden test and a hole in both.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("builds five small programs")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module p\n\ngo 1.26\n",
		"p.go": `package p

func Tested(x int) int { return x + 2 }
func Pinned(x int) int { return x + 3 }
func Hole(x int) int   { return x + 4 }
func Hang(x int) int {
	for x > 0 {
		x--
	}
	return x
}
func NotRun(x int) int { return x + 5 }
`,
		"p_test.go": `package p

import "testing"

func Test(t *testing.T) {
	if Tested(1) != 3 || Hang(3) != 0 {
		t.Fatal()
	}
	Hole(1)
}

func TestGolden(t *testing.T) {
	if Pinned(1) != 4 {
		t.Fatal()
	}
}
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	j := judge{golden: "Golden", factor: 1, grace: time.Second, memory: 4, tmp: t.TempDir()}
	all, err := j.prepare(".", []string{"."})
	require.NoError(t, err)
	want := map[string]verdict{"p.go:3:35: + → -  | ": killed, "p.go:4:35: + → -  | ": golden,
		"p.go:5:35: + → -  | ": survived, "p.go:8:4: -- → ++  | ": killed} // the last one hangs
	for _, m := range all {
		require.Less(t, m.line, 12, "no test runs it")
		m.where = ""
		if v, ok := want[m.String()]; ok {
			got, err := j.try(m)
			require.NoError(t, err)
			require.Equal(t, v, got, m)
			delete(want, m.String())
		}
	}
	require.Empty(t, want, "not among the mutants")

	// With other tests alone nothing runs what is changed, but what the golden ones run.
	j = judge{only: "None", golden: "Golden", factor: 1, grace: time.Second, memory: 4, tmp: t.TempDir()}
	all, err = j.prepare(".", []string{"."})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, m := range all {
		require.Equal(t, 4, m.line, m)
	}

	// A package without tests can notice nothing: it must not pass for one that fails.
	require.NoError(t, os.Mkdir("q", 0o777))
	require.NoError(t, os.WriteFile(filepath.Join("q", "q.go"), []byte("package q\n"), 0o666))
	_, err = j.prepare(".", []string{"./q"})
	require.ErrorContains(t, err, "./q has no tests")
}

// A mutant is given to the tests that run its line: the fast ones first, one process for as many
// as take a quarter of a second, then several times as long, and the golden ones last.
func TestBatches(t *testing.T) {
	t.Parallel()
	here := coverage{"p.go": {{line: 1, col: 1, endLine: 9, endCol: 1, count: 1}}}
	elsewhere := coverage{"p.go": {{line: 1, col: 1, endLine: 9, endCol: 1}}}
	j := judge{pkgs: []string{"p", "q"}, tests: []test{
		{name: "A", cover: here, took: 50 * time.Millisecond},
		{name: "Golden", cover: here, took: 50 * time.Millisecond, golden: true},
		{name: "B", cover: elsewhere, took: 60 * time.Millisecond},
		{name: "C", cover: here, took: 70 * time.Millisecond, pkg: 1},
		{name: "D", cover: here, took: 80 * time.Millisecond},
		{name: "E", cover: here, took: 600 * time.Millisecond},
		{name: "F", cover: here, took: 700 * time.Millisecond},
		{name: "G", cover: here, took: 9 * time.Second},
	}}
	var got []string
	for _, batch := range j.batches(mutant{file: "p.go", line: 5, col: 1}) {
		got = append(got, j.pkgs[batch[0].pkg]+pattern(batch))
	}
	require.Equal(t, []string{"p^(A|D)$", "q^(C)$", "p^(E|F)$", "p^(G)$", "p^(Golden)$"}, got)
}

// Without mutants there is no share to tell.
func TestSummary(t *testing.T) {
	t.Parallel()
	require.Equal(t, "p: no mutants", summary("p", [verdicts]int{invalid: 3}))
	require.Equal(t, "p: 4 mutants, 3 killed, 0 by golden files only, 1 survived: 75.0 % (95 %: 30.1 to 95.4)",
		summary("p", [verdicts]int{killed: 3, survived: 1}))
}
