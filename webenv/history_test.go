package webenv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReadHistory(t *testing.T) {
	t.Parallel()
	const text = "\ufeffone/Terms of Service,10,20.5,1e3\r\n\nnever\n \"quoted\" ,-7"
	h, err := ReadHistory(strings.NewReader(text), "x.csv")
	require.NoError(t, err)
	require.Equal(t, &History{
		Names: []string{"one/Terms of Service", "never", ` "quoted" `},
		Times: [][]float64{{10, 20.5, 1000}, nil, {-7}},
	}, h)
	require.Equal(t, 3, h.Len())
	first, last, ok := h.Span()
	require.True(t, ok)
	require.Equal(t, []float64{-7, 1000}, []float64{first, last})
	require.Equal(t, []float64{3. / 1007, 0, 0}, h.rates(), "the first change of all starts the span")

	_, _, ok = (&History{Names: []string{"a"}, Times: [][]float64{nil}}).Span()
	require.False(t, ok)
	require.Equal(t, []float64{0}, (&History{Names: []string{"a"}, Times: [][]float64{{5}}}).rates())
}

func TestReadHistoryErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, message string
		err           error
	}{
		{"a,1\nb,2,x\n", `t.csv:2: webenv: bad time: "x"`, ErrTime},
		{"a,1,\n", `t.csv:1: webenv: bad time: ""`, ErrTime},
		{"a, 1\n", `t.csv:1: webenv: bad time: " 1"`, ErrTime},
		{"a,1\n\nb,NaN\n", `t.csv:3: webenv: bad time: NaN`, ErrTime},
		{"a,-Inf\n", `t.csv:1: webenv: bad time: -Inf`, ErrTime},
		{"a,1e999\n", `t.csv:1: webenv: bad time: "1e999"`, ErrTime},
		{"a,1,3,2\n", `t.csv:1: webenv: bad time: 2 after 3`, ErrTime},
		{"a,1772454611,1772454611\n", `t.csv:1: webenv: bad time: 1772454611 after 1772454611`, ErrTime},
		{",1\n", `t.csv:1: webenv: bad page name: ""`, ErrName},
		{"  \n", `t.csv:1: webenv: bad page name: "  "`, ErrName},
		{"a\rb,1\n", `t.csv:1: webenv: bad page name: "a\rb"`, ErrName},
		{"a,1\nb\na\n", `t.csv:3: webenv: bad page name: "a" is another page`, ErrName},
		{"a\n" + strings.Repeat("b", maxLine+1) + "\n", `t.csv:2: bufio.Scanner: token too long`, bufio.ErrTooLong},
		{"a\n" + strings.Repeat("b", 2*maxLine), `t.csv:2: bufio.Scanner: token too long`, bufio.ErrTooLong},
	} {
		h, err := ReadHistory(strings.NewReader(c.text), "t.csv")
		require.Nil(t, h)
		require.EqualError(t, err, c.message)
		require.ErrorIs(t, err, c.err)
	}

	for _, text := range []string{"", "\n\r\n\n"} {
		_, err := ReadHistory(strings.NewReader(text), "t.csv")
		require.ErrorIs(t, err, ErrNoPages)
		require.EqualError(t, err, "webenv: no pages: t.csv")
	}

	broken := errors.New("broken pipe")
	for _, piece := range []string{"a,1\nb,2", "a,1\nb,2,", "a,1\nb,2,1", "a,1\na"} {
		_, err := ReadHistory(io.MultiReader(strings.NewReader(piece), iotest.ErrReader(broken)), "t.csv")
		require.ErrorIs(t, err, broken, piece)
		require.ErrorContains(t, err, "t.csv:")
	}

	for _, end := range []string{"\n", "\r\n", ""} {
		h, err := ReadHistory(strings.NewReader(strings.Repeat("b", maxLine)+end), "t.csv")
		require.NoError(t, err, "the longest line")
		require.Len(t, h.Names[0], maxLine)
	}
}

func TestWriteHistoryErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		h   History
		err error
	}{
		{History{Names: []string{"a"}}, ErrName},
		{History{Names: []string{"a", "b,c"}, Times: [][]float64{nil, nil}}, ErrName},
		{History{Names: []string{"a", "a"}, Times: [][]float64{nil, nil}}, ErrName},
		{History{Names: []string{"a"}, Times: [][]float64{{1, 1}}}, ErrTime},
		{History{Names: []string{"a"}, Times: [][]float64{{math.NaN()}}}, ErrTime},
		{History{Names: []string{strings.Repeat("a", maxLine)}, Times: [][]float64{{1}}}, bufio.ErrTooLong},
	} {
		_, err := c.h.WriteTo(io.Discard)
		require.ErrorIs(t, err, c.err)
	}
	h := History{Names: []string{"a"}, Times: [][]float64{nil}}
	_, err := h.WriteTo(iotest.TruncateWriter(io.Discard, 0))
	require.NoError(t, err)
	_, err = h.WriteTo(failingWriter{})
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// drawHistory draws a history with ascending times, often at the same ones.
func drawHistory(t *rapid.T) *History {
	h := new(History)
	for i := range rapid.IntRange(1, 5).Draw(t, "pages") {
		times := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(-20, 200), func(k int) float64 {
			return float64(k) / 4
		}), 0, 15, rapid.ID[float64]).Draw(t, "times")
		slices.Sort(times)
		h.Names = append(h.Names, fmt.Sprintf("page %d", i))
		h.Times = append(h.Times, times)
	}
	return h
}

// What the reader accepts, the writer writes, and the reader then reads the
// same; what it rejects has a line of the input, and nothing panics.
func FuzzReadHistory(f *testing.F) {
	for _, seed := range []string{"a,1,2\nb\n", "a\r\n\r\nb,1e3,0x1p11", "a,NaN", ",", "a,1,1", "é,-0.1,3_0\n", "a\n\na", "\ufeff\ufeffa"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHistory(bytes.NewReader(data), "f")
		if err != nil {
			require.Nil(t, h)
			if !errors.Is(err, ErrNoPages) {
				var line int
				_, scan := fmt.Sscanf(err.Error(), "f:%d: ", &line)
				require.NoError(t, scan, err)
				require.LessOrEqual(t, 1, line)
				require.LessOrEqual(t, line, bytes.Count(data, []byte("\n"))+1)
			}
			return
		}
		require.Equal(t, len(h.Names), len(h.Times))
		var out bytes.Buffer
		n, err := h.WriteTo(&out)
		require.NoError(t, err)
		require.Equal(t, int64(out.Len()), n)
		again, err := ReadHistory(&out, "again")
		require.NoError(t, err)
		require.Equal(t, h, again)
	})
}

// A replayed page tells what a scan over its changes tells.
func propReplay(t *rapid.T) {
	h := drawHistory(t)
	start := float64(rapid.IntRange(-30, 60).Draw(t, "start")) / 2
	env, err := NewReplay(h, start)
	require.NoError(t, err)
	require.Equal(t, h.Len(), env.Len())
	last := make([]float64, h.Len())
	for i := range last {
		last[i] = start
	}
	for range rapid.IntRange(0, 40).Draw(t, "polls") {
		page := rapid.IntRange(0, h.Len()-1).Draw(t, "page")
		now := last[page] + float64(rapid.IntRange(0, 60).Draw(t, "gap"))/8
		want, found := 0.0, false
		for _, at := range h.Times[page] {
			if at > last[page] && at <= now && !found {
				want, found = at, true
			}
		}
		since, changed := env.Poll(page, now)
		require.Equal(t, found, changed)
		require.Equal(t, want, since)
		last[page] = now
		require.Equal(t, h.rates()[page], env.Rate(page, now))
		want, found = 0, false
		for _, at := range h.Times[page] {
			if at <= now {
				want, found = at, true
			}
		}
		modified, ok := env.LastChange(page, now)
		require.Equal(t, found, ok)
		require.Equal(t, want, modified)
	}
}

func TestReplay(t *testing.T) { t.Parallel(); rapid.Check(t, propReplay) }

func FuzzReplay(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propReplay)) }

func TestReplayErrors(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "webenv: nil history", func() { _, _ = NewReplay(nil, 0) })
	_, err := NewReplay(&History{}, 0)
	require.ErrorIs(t, err, ErrNoPages)
	_, err = NewReplay(&History{Names: []string{"a"}, Times: [][]float64{{3, 2}}}, 0)
	require.ErrorIs(t, err, ErrTime)
	require.ErrorContains(t, err, "page 0, change 1")
	for _, names := range [][]string{{"a"}, {"a", "b", "c"}} {
		_, err = NewReplay(&History{Names: names, Times: [][]float64{{1}, {2}}}, 0)
		require.ErrorIs(t, err, ErrName)
	}
	require.Equal(t, 2, must(NewReplay(&History{Times: [][]float64{{1}, {2}}}, 0)).Len(), "nobody asks for their names")
	for _, start := range []float64{math.NaN(), math.Inf(-1)} {
		_, err = NewReplay(&History{Names: []string{"a"}, Times: [][]float64{nil}}, start)
		require.ErrorIs(t, err, ErrConfig)
	}
}
