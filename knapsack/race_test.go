//go:build race

package knapsack

import (
	"flag"
	"testing"
)

// With the race detector tests take several times as long: without -short they would not end within the ten minutes
// that go test gives a package. They measure decisions, which the detector does not change.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.short", "true"); err != nil {
		panic(err)
	}
	m.Run()
}
