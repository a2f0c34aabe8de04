package webenv

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A History is a record of when pages changed: page i is called Names[i] and changed at
// Times[i], in ascending order. A page may have no changes. Names may be empty where nobody asks for
// them, as in a [Replay].
type History struct {
	Names []string
	Times [][]float64
}

// maxLine is the length in bytes of the longest line that is read. It holds 200,000 changes, far
// more than a page has in any record. The limit keeps a file without line breaks from filling the
// memory.
const maxLine = 1 << 22

const byteOrderMark = "\ufeff"

// ReadHistory reads a history with one page per line: "name,time,time,…". The times are strictly
// ascending, usually in seconds since 1970. The name is everything before the first comma; nothing
// is quoted or trimmed. A name must not be blank, must not begin with a byte order mark, and must
// belong to only one page. A line may end in "\n" or "\r\n". Empty lines are skipped, and so is a
// byte order mark before the first line. file is the name of the input in error messages.
//
// The error for a bad line begins with "file:line: " and wraps [ErrTime], [ErrName],
// [bufio.ErrTooLong] (a line above 4 MiB) or the error of r. An input without pages gives
// [ErrNoPages].
func ReadHistory(r io.Reader, file string) (*History, error) {
	h := new(History)
	seen := make(map[string]bool)
	lines := bufio.NewScanner(r)
	// The scanner's buffer must hold the end of the line too.
	lines.Buffer(nil, maxLine+2)
	number := 0
	bad := func(err error) (*History, error) { return nil, fmt.Errorf("%s:%d: %w", file, number, err) }
	for lines.Scan() {
		number++
		if len(lines.Bytes()) > maxLine {
			return bad(bufio.ErrTooLong)
		}
		line := lines.Text()
		if number == 1 {
			line = strings.TrimPrefix(line, byteOrderMark)
		}
		if line == "" {
			continue
		}
		name, times, err := parseLine(line)
		if err == nil && seen[name] {
			err = fmt.Errorf("%w: %q is another page", ErrName, name)
		}
		if err != nil {
			// After a read error the last line is incomplete. The read error explains what is wrong
			// with it.
			if !lines.Scan() && lines.Err() != nil {
				err = lines.Err()
			}
			return bad(err)
		}
		name = strings.Clone(name) // so that the line can be freed
		seen[name] = true
		h.Names = append(h.Names, name)
		h.Times = append(h.Times, times)
	}
	if err := lines.Err(); err != nil {
		number++
		return bad(err)
	}
	if len(h.Names) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoPages, file)
	}
	return h, nil
}

func parseLine(line string) (name string, times []float64, err error) {
	name, rest, more := strings.Cut(line, ",")
	if err := checkName(name); err != nil {
		return "", nil, err
	}
	for more {
		var field string
		field, rest, more = strings.Cut(rest, ",")
		t, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return "", nil, fmt.Errorf("%w: %q", ErrTime, field)
		}
		if err := checkChange(times, t); err != nil {
			return "", nil, err
		}
		times = append(times, t)
	}
	return name, times, nil
}

func checkName(name string) error {
	if strings.TrimSpace(name) == "" || strings.ContainsAny(name, ",\r\n") || strings.HasPrefix(name, byteOrderMark) {
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}

// checkChange checks the time of the change after those before.
func checkChange(before []float64, t float64) error {
	if math.IsNaN(t) || math.IsInf(t, 0) {
		return fmt.Errorf("%w: %v", ErrTime, t)
	}
	if n := len(before); n > 0 && t <= before[n-1] {
		return fmt.Errorf("%w: %.17g after %.17g", ErrTime, t, before[n-1])
	}
	return nil
}

// Len returns the number of pages.
func (h *History) Len() int { return len(h.Times) }

// Span returns the times of the first and of the last change of all pages; ok is false if there
// is no change.
func (h *History) Span() (first, last float64, ok bool) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, times := range h.Times {
		if len(times) > 0 {
			first, last = min(first, times[0]), max(last, times[len(times)-1])
		}
	}
	if first > last {
		return 0, 0, false
	}
	return first, last, true
}

// rates returns the rate of each page over the time from the first to the last change of all pages.
// The first change itself does not count. The rates are 0 if all changes are at the same time or
// there are none.
func (h *History) rates() []float64 {
	rates := make([]float64, len(h.Times))
	first, last, _ := h.Span()
	if first == last {
		return rates
	}
	for i, times := range h.Times {
		n := len(times)
		if n > 0 && times[0] == first {
			n--
		}
		rates[i] = float64(n) / (last - first)
	}
	return rates
}

// WriteTo writes the history in the format of [ReadHistory], which reads back the same history. It
// returns the number of bytes written. A page that ReadHistory would reject stops it with an error
// that wraps the same reason; the pages before it are written.
func (h *History) WriteTo(w io.Writer) (int64, error) {
	if len(h.Names) != len(h.Times) {
		return 0, fmt.Errorf("%w: %d names for %d pages", ErrName, len(h.Names), len(h.Times))
	}
	seen := make(map[string]bool)
	var written int64
	var line []byte
	for i, name := range h.Names {
		err := checkName(name)
		if err == nil && seen[name] {
			err = fmt.Errorf("%w: %q is another page", ErrName, name)
		}
		seen[name] = true
		line = append(line[:0], name...)
		for k, t := range h.Times[i] {
			if err == nil {
				err = checkChange(h.Times[i][:k], t)
			}
			line = strconv.AppendFloat(append(line, ','), t, 'f', -1, 64)
		}
		if err == nil && len(line) > maxLine {
			err = bufio.ErrTooLong
		}
		if err != nil {
			return written, fmt.Errorf("%w (page %d)", err, i)
		}
		n, err := w.Write(append(line, '\n'))
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
