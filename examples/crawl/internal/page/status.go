// Package page shows a crawl while it runs: a live page, and figures for Prometheus.
package page

import (
	"context"
	"time"
)

// A Status is how a crawl goes at a moment.
type Status struct {
	Time    time.Time `json:"time"` // of the crawl
	Demo    bool      `json:"demo"`
	Uptime  float64   `json:"uptime"` // seconds
	Pages   int       `json:"pages"`
	Waiting int       `json:"waiting"` // for a first copy
	Barred  int       `json:"barred"`  // by robots.txt
	Gone    int       `json:"gone"`    // for good: 410

	Polls    uint64 `json:"polls"`
	Learnt   uint64 `json:"learnt"`
	Changes  uint64 `json:"changes"`
	First    uint64 `json:"first"`
	Failures uint64 `json:"failures"`
	Vetoes   uint64 `json:"vetoes"`
	Bytes    uint64 `json:"bytes"`
	// Made is what the polls of this process came to, for counters that never fall: those above are of the shards that
	// are here, which may go to other nodes.
	Made     Made   `json:"-"`
	InFlight int    `json:"in_flight"`
	Unkept   uint64 `json:"unkept"` // attempts to keep a new version that failed

	PollsRate   float64 `json:"polls_rate"` // a second, of late
	ChangesRate float64 `json:"changes_rate"`
	Budget      float64 `json:"budget"` // polls a second
	Spent       float64 `json:"spent"`  // of the budget of late, 1 for all
	Price       float64 `json:"price"`  // of a poll
	Unit        string  `json:"unit"`   // of the price

	// Freshness is the share of copies that are current: as the truth has it, or as is to be
	// expected of the rates learnt.
	Freshness float64 `json:"freshness"`
	Truth     bool    `json:"truth"`
	// WhatIf is what half, all and twice the budget would give: detections a day, and freshness.
	WhatIf []WhatIf `json:"what_if"`

	Hosts    []Host    `json:"hosts"` // those with the most trouble
	AllHosts int       `json:"all_hosts"`
	Workers  []Workers `json:"workers"`
	Moves    uint64    `json:"moves"` // of hosts between groups
	Points   []Point   `json:"points"`
	Rivals   []Rival   `json:"rivals,omitempty"`
}

// Made counts polls by what they came to, and the bytes that they read.
type Made struct{ Unchanged, Changed, First, Failures, Vetoes, Bytes uint64 }

// A WhatIf is what a budget would give.
type WhatIf struct {
	Budget     string  `json:"budget"`
	Polls      float64 `json:"polls"`      // a day
	Detections float64 `json:"detections"` // a day
	Freshness  float64 `json:"freshness"`
}

// A Host is how a host behaves.
type Host struct {
	Name     string  `json:"name"`
	Pages    int     `json:"pages"`
	Polls    uint64  `json:"polls"`
	Changes  uint64  `json:"changes"`
	Failures uint64  `json:"failures"`
	Vetoes   uint64  `json:"vetoes"`
	Delay    float64 `json:"delay"` // seconds between two polls
	Paused   bool    `json:"paused"`
}

// Workers are a group of workers.
type Workers struct {
	Hosts   int     `json:"hosts"`
	Workers int     `json:"workers"`
	Busy    float64 `json:"busy"`
	Queue   int     `json:"queue"`
}

// A Point is an access point.
type Point struct {
	Name  string `json:"name"`
	Hosts int    `json:"hosts"`
}

// A Rival crawls the same web by another rule.
type Rival struct {
	Name      string  `json:"name"`
	Polls     int     `json:"polls"`
	Found     int     `json:"found"` // polls that found a change
	Freshness float64 `json:"freshness"`
	Delay     float64 `json:"delay"` // hours, mean
}

// A Detail is all that is known of a page.
type Detail struct {
	URL     string    `json:"url"`
	State   string    `json:"state"`
	Host    string    `json:"host"`
	Due     time.Time `json:"due"` // zero if never
	Rate    *Rate     `json:"rate,omitempty"`
	Worth   float64   `json:"worth"` // of a poll now
	History []Visit   `json:"history"`
}

// A Rate is the estimate of a change rate, a day.
type Rate struct {
	Low    float64 `json:"low"` // 10 % quantile
	Median float64 `json:"median"`
	High   float64 `json:"high"` // 90 %
}

// A Visit is a poll.
type Visit struct {
	Time   time.Time `json:"time"`
	Result string    `json:"result"`
}

// A Crawl is what the page shows. Its methods are safe for concurrent use.
type Crawl interface {
	Status(ctx context.Context) (Status, error)
	// Search returns URLs that contain a text.
	Search(ctx context.Context, text string, most int) ([]string, error)
	// Detail returns what is known of a page; false if it is unknown.
	Detail(ctx context.Context, url string) (Detail, bool, error)
	PollNow(ctx context.Context, url string) error
	Pause(ctx context.Context, host string, on bool) error
}
