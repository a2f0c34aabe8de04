package main

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// chosenOf returns the elements with the names given, separated by commas, or all if there
// are no names.
func chosenOf[T any](flag string, all []T, nameOf func(T) string, names string) (chosen []T, err error) {
	if names == "" {
		return all, nil
	}
	var there, seen []string
	for _, e := range all {
		there = append(there, nameOf(e))
	}
	for name := range fields(names) {
		i := slices.Index(there, name)
		switch {
		case i < 0:
			return nil, report.Usagef("-%s: there is no %q; there are %s", flag, name, strings.Join(there, ","))
		case slices.Contains(seen, name):
			return nil, report.Usagef("-%s: %q twice", flag, name)
		}
		seen = append(seen, name)
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// fields returns the parts between commas, without the blanks around them.
func fields(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for field := range strings.SplitSeq(list, ",") {
			if !yield(strings.TrimSpace(field)) {
				return
			}
		}
	}
}

// A repeated flag may be given several times.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, " ") }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// numbers are a flag of numbers above 0 with commas between them.
type numbers []float64

func (n *numbers) String() string { return strings.Trim(fmt.Sprint([]float64(*n)), "[]") }

func (n *numbers) Set(value string) error {
	*n = nil
	for field := range fields(value) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || !(v > 0) {
			return fmt.Errorf("%s: want a number of polls above 0", field)
		}
		*n = append(*n, v)
	}
	return nil
}
