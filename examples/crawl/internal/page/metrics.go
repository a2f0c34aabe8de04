package page

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A collector asks for a status when Prometheus does.
type collector struct{ crawl Crawl }

var (
	descPolls    = prometheus.NewDesc("crawl_polls_total", "Polls of this process by what they came to.", []string{"result"}, nil)
	descBytes    = prometheus.NewDesc("crawl_bytes_total", "Bytes of the pages read by this process.", nil, nil)
	descPages    = prometheus.NewDesc("crawl_pages", "Pages by state.", []string{"state"}, nil)
	descUnkept   = prometheus.NewDesc("crawl_sink_failures_total", "Attempts to keep a new version of a page that failed.", nil, nil)
	descInFlight = prometheus.NewDesc("crawl_polls_in_flight", "Polls asked for and not yet learnt from.", nil, nil)
	descBudget   = prometheus.NewDesc("crawl_budget_polls_per_second", "Polls that the budget allows.", nil, nil)
	descPrice    = prometheus.NewDesc("crawl_poll_price", "What one more poll is worth.", nil, nil)
	descFresh    = prometheus.NewDesc("crawl_freshness_ratio", "Share of copies that are current, as expected or as known.", nil, nil)
	descBusy     = prometheus.NewDesc("crawl_workers_busy", "Workers that are busy, by group.", []string{"group"}, nil)
	descHost     = prometheus.NewDesc("crawl_host_trouble_total", "Failures and vetoes of the hosts with the most.", []string{"host", "kind"}, nil)
)

// scrape is the time for a status: while a crawl starts there is none.
const scrape = 5 * time.Second

// Describe implements [prometheus.Collector].
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descPolls, descBytes, descPages, descUnkept, descInFlight, descBudget, descPrice, descFresh, descBusy, descHost} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrape)
	defer cancel()
	s, err := c.crawl.Status(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(descPolls, err)
		return
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter(descPolls, float64(s.Made.Changed), "changed")
	counter(descPolls, float64(s.Made.Unchanged), "unchanged")
	counter(descPolls, float64(s.Made.First), "first")
	counter(descPolls, float64(s.Made.Failures), "failed")
	counter(descPolls, float64(s.Made.Vetoes), "vetoed")
	counter(descBytes, float64(s.Made.Bytes))
	gauge(descPages, float64(s.Waiting), "waiting")
	gauge(descPages, float64(s.Barred), "barred")
	gauge(descPages, float64(s.Gone), "gone")
	gauge(descPages, float64(s.Pages-s.Waiting-s.Barred-s.Gone), "crawled")
	counter(descUnkept, float64(s.Unkept))
	gauge(descInFlight, float64(s.InFlight))
	gauge(descBudget, s.Budget)
	gauge(descPrice, s.Price)
	gauge(descFresh, s.Freshness)
	for i, w := range s.Workers {
		gauge(descBusy, w.Busy, strconv.Itoa(i+1))
	}
	for _, h := range s.Hosts {
		counter(descHost, float64(h.Failures), h.Name, "failed")
		counter(descHost, float64(h.Vetoes), h.Name, "vetoed")
	}
}

// metrics serves the figures of the crawl and of the process, from a registry of its own.
func metrics(crawl Crawl) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{crawl}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
