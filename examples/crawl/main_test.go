package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// The demonstration spends its budget, breaks no rule, and what it reports is what there was.
func TestDemonstration(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-for", "3s", "-n", "6", "-speed", "24", "-page", ""}, &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	value := map[string]float64{}
	for _, r := range rows {
		value[r.Item+": "+r.Quantity] = r.Measured.(float64)
	}
	for _, name := range []string{"rate-filter", "uniform", "nutch"} {
		require.Positive(t, value[name+": polls learnt from"])
		require.LessOrEqual(t, value[name+": polls made, of the budget"], 110.0)
		require.Positive(t, value[name+": polls that found a change"])
		require.Zero(t, value[name+": requests against a veto or a Crawl-delay"])
		require.Zero(t, value[name+": requests for what robots.txt forbids"])
		require.Zero(t, value[name+": changes missed, of the changes served"])
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.ErrorIs(t, run([]string{"-h"}, &out, io.Discard), flag.ErrHelp)
	require.Contains(t, out.String(), "-objective")
	for _, args := range []string{"-workers 0", "-n 0", "-for -1s", "-speed 0", "-objective luck", "-x", "x",
		"-per-day 100", "-lines", "-lease 9s", "-frontier-known ok", "-urls x -user-agent a@b -speed 3", "-frontier :0 -warc x",
		"-frontier :0 -workers 2", "-urls x -user-agent a@b -most-removed 2", "-most-removed 1", "-urls x -user-agent a@b -via foo",
		"-groups 100 -workers 1001", "-groups 4294967296 -workers 4294967296", "-n 10001", "-page 999", "-page 127.0.0.1:99999",
		"-frontier 127.0.0.1:99999", "-frontier :0 -state=", "-urls x -user-agent a@b -state=", "-nats nats://a -user-agent a@b -node a.b",
		"-nats nats://a -user-agent a@b -lease 2000h", "-nats nats://a,http://b -user-agent a@b", "-nats nats://me@a -user-agent a@b"} {
		require.ErrorAs(t, run(strings.Fields(args), io.Discard, io.Discard), new(report.UsageError), args)
	}
	for _, args := range [][]string{
		{"-webhook", "nope"}, {"-webhook", "ftp://a.test/"}, {"-webhook", "http://"}, {"-id-header", "a:b"}, {"-id-header", "a b"},
		{"-via", "192.0.2.1"}, {"-via", "direct", "-via", "nope"}, {"-user-agent", "me@a.test\nX: y"},
	} {
		err := run(append([]string{"-urls", "x", "-user-agent", demoAgent}, args...), io.Discard, io.Discard)
		require.ErrorAs(t, err, new(report.UsageError), args)
		require.ErrorContains(t, err, args[0])
	}
}
