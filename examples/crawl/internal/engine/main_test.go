package engine_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain runs more tests at a time than there are processors, unless the caller has a number: most
// of them wait for leases to end.
func TestMain(m *testing.M) {
	flag.Parse()
	if at := flag.Lookup("test.parallel"); at.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = at.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}
