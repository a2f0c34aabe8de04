// Command crawl is a crawler that learns how often its pages change, and polls them accordingly.
// Without arguments it gives a demonstration on a simulated web. With -urls and the like it crawls
// your pages, for as long as you like, on one machine or, with -nats, on many.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

func main() { report.Main("crawl", run) }

const intro = `A crawler that learns how often pages change, and spends its budget of polls on those that are
most worth it. Without pages of yours it crawls a simulated web over HTTP, in which time runs fast and
hosts behave badly in a dozen ways. For comparison it spends the same budget equally on all pages, and
by the rule of Nutch.

  go run ./examples/crawl
  go run ./examples/crawl -urls FILE -per-day 20000 -user-agent 'my-crawler (+https://example.org/bot)'
  go run ./examples/crawl -frontier 127.0.0.1:7071

On several machines, with a cluster of NATS servers. Each machine runs the same command:

  go run ./examples/crawl -urls FILE -per-day 20000 -user-agent '…' -nats nats://one:4222,nats://two:4222 -replicas 3`

// A list is a flag that may be given several times.
type list []string

// String implements [flag.Value].
func (l *list) String() string { return strings.Join(*l, " ") }

// Set implements [flag.Value].
func (l *list) Set(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	*l = append(*l, value)
	return nil
}

// An objective is a flag that lists what it may be.
type objective knapsack.Objective

// objectives are the names.
const objectives = "freshness, detections, age, harmonic or delay"

// String implements [flag.Value].
func (o *objective) String() string { return knapsack.Objective(*o).String() }

// Set implements [flag.Value].
func (o *objective) Set(value string) error {
	if (*knapsack.Objective)(o).UnmarshalText([]byte(value)) != nil {
		return errors.New("want " + objectives)
	}
	return nil
}

// settings are the command line.
type settings struct {
	*report.Program
	length    time.Duration
	objective knapsack.Objective
	page      string
	groups    int
	workers   int

	// Of real pages.
	urls            list
	opml, rules     string
	sitemaps, feeds list
	perDay          float64
	userAgent       string
	engine          engine.Config
	access          list
	relay           string
	delay, timeout  time.Duration
	every, exchange time.Duration
	mostRemoved     float64
	exact, dryRun   bool
	idHeader        string
	lines           bool
	folder          string
	warc, webhook   string

	frontier frontierServer

	// Of the demonstration.
	hostPages int
	speed     float64
}

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := &settings{Program: report.NewProgram("crawl", intro, "the demonstration in ten seconds", stdout, stderr)}
	f := s.Flags
	f.Lookup("seed").Usage = "`seed` of all random numbers; figures also depend on when answers come"
	f.DurationVar(&s.length, "for", 0, "`time` to crawl; 0 means a minute for the demonstration, and otherwise until interrupted")
	f.Var((*objective)(&s.objective), "objective", "`name` of what the budget buys: "+objectives+"; by default freshness, and detections for the demonstration and -frontier; a crawl keeps the one that it began with")
	f.StringVar(&s.page, "page", "127.0.0.1:8765", "`address` of the live page; the default is reachable from this machine only; empty for none")
	f.IntVar(&s.groups, "groups", 4, "`number` of groups of workers")
	f.IntVar(&s.workers, "workers", 16, "`number` of workers in a group, each of which makes one poll at a time")
	f.IntVar(&s.hostPages, "n", 48, "demonstration: `pages` of each of the 32 hosts, at most 10,000; 16 with -quick. Their first copies are fetched before -for begins")
	f.Float64Var(&s.speed, "speed", 24, "demonstration: `hours` of the web in a second")
	f.Var(&s.urls, "urls", "`file` of pages to crawl: a URL in a line, and after it its settings, such as weight=2 min=10m max=24h; may be given several times")
	f.Var(&s.sitemaps, "sitemap", "`URL` of a sitemap, whose pages are crawled; may be given several times")
	f.Var(&s.feeds, "feed", "`URL` of an RSS or Atom feed, whose entries are crawled; may be given several times")
	f.StringVar(&s.opml, "opml", "", "`file` with a list of feeds; the feeds themselves are crawled")
	f.StringVar(&s.rules, "rules", "", "`file` with settings for all pages whose URLs begin alike: a beginning in a line, then weight=, min= and max=. The longest beginning counts, and only for pages of which the list says none of the three")
	f.Float64Var(&s.perDay, "per-day", 20_000, "`polls` in a day, including those for the first copies of pages, which get half of it while other pages are known, and otherwise all")
	f.StringVar(&s.userAgent, "user-agent", "", "`name` of the crawler, with a URL or an address where its owner can be reached; robots.txt knows it by its beginning, or by what is behind \"compatible;\" where that is Mozilla")
	f.StringVar(&s.engine.Dir, "state", "crawl-state", "`folder` of the state; a crawl continues from there")
	f.IntVar(&s.engine.Shards, "shards", 0, "`parts` of the crawl, each with a learner; 0 means as many as there are; a new crawl has 1, or 16 with -nats")
	f.StringVar(&s.engine.URL, "nats", "", "`addresses` of NATS servers with JetStream, separated by commas, which keep the state instead of a folder: the crawl is shared with all nodes that name the same servers")
	f.StringVar(&s.engine.Name, "node", "", "`name` of this node in the cluster; if empty, it is made of the machine and the process")
	f.DurationVar(&s.engine.Lease, "lease", engine.DefaultLease, "`time` after which the shards of a silent node are given to others; the same on all nodes")
	f.IntVar(&s.engine.Replicas, "replicas", 1, "number of `servers`, 1 or 3, that each keep all state; a cluster keeps the number that it began with")
	f.StringVar(&s.engine.Creds, "nats-creds", os.Getenv("NATS_CREDS"), "`file` with credentials for NATS; $NATS_CREDS. A key alone is in $NATS_NKEY, a user and password are in $NATS_USER and $NATS_PASSWORD")
	f.StringVar(&s.engine.CA, "nats-ca", os.Getenv("NATS_CA"), "`file` with the authorities that sign the certificates of the servers; $NATS_CA")
	f.StringVar(&s.engine.Cert, "nats-cert", os.Getenv("NATS_CERT"), "`file` with this client's certificate; $NATS_CERT")
	f.StringVar(&s.engine.Key, "nats-key", os.Getenv("NATS_KEY"), "`file` with its key; $NATS_KEY")
	f.DurationVar(&s.exchange, "exchange", time.Minute, "`time` from one division of the budget between the shards to the next")
	f.BoolVar(&s.engine.SyncAlways, "sync-always", false, "write each record through to the disk: the state then survives a loss of power; this costs time")
	f.BoolVar(&s.engine.KeepLog, "keep-log", false, "keep the log of all polls, even where snapshots make it unnecessary")
	f.Var(&s.access, "via", "access `point`: direct, the URL of a proxy, or an IP address of this machine; may be given several times")
	f.StringVar(&s.relay, "relay", "", "`address` (host and port) at which the other nodes reach this one. It then fetches pages for them, by its first -via; each node fetches those of the hosts that it reaches fastest; with -nats")
	f.DurationVar(&s.delay, "delay", time.Second, "least `time` between two requests to a host; a longer Crawl-delay takes precedence")
	f.DurationVar(&s.timeout, "timeout", 30*time.Second, "`time` for a request")
	f.DurationVar(&s.every, "refresh", time.Hour, "`time` after which lists, sitemaps and feeds are read again")
	f.Float64Var(&s.mostRemoved, "most-removed", 0.25, "greatest `share` of the pages that is removed because the sources no longer name them; one page may always be. If more are missing, of all or of those of a node, or if a line is wrong, all stay. This is checked at a start (not in a cluster) and when the sources are read again. With 1 the share has no limit, but if the sources name no page, all stay")
	f.BoolVar(&s.exact, "exact", false, "compare pages byte by byte, instead of learning what is noise")
	f.BoolVar(&s.dryRun, "dry-run", false, "print what would be polled in the next hour and why, and poll nothing; refused while a crawl works in the same folder")
	f.StringVar(&s.idHeader, "id-header", "", "`header` in which to send the number of the poll, such as X-Poll-Id, for comparing a server's log with the crawler's")
	f.BoolVar(&s.lines, "lines", false, "print a line of JSON for each new version of a page")
	f.StringVar(&s.folder, "folder", "", "`folder` for the new versions of pages")
	f.StringVar(&s.warc, "warc", "", "`file` for the new versions of pages, a web archive; its name must end in .warc.gz")
	f.StringVar(&s.webhook, "webhook", "", "`URL` to which JSON is posted for each new version of a page")
	s.frontier.flags(f)
	if err := s.Parse(args); err != nil {
		return nil, err
	}
	s.engine.NKey, s.engine.User, s.engine.Password = os.Getenv("NATS_NKEY"), os.Getenv("NATS_USER"), os.Getenv("NATS_PASSWORD")
	if len(s.access) == 0 {
		s.access = list{"direct"}
	}
	// Under Detections pages that change at each poll get most of the budget, see DESIGN.md. The pages of the
	// demonstration are known, and a frontier's table in RESULTS.md counts detections.
	if !s.Given("objective") && !s.real() {
		s.objective = knapsack.Detections
	}
	s.engine.Kind = "crawl"
	if s.frontier.on() {
		s.engine.Kind = "frontier"
	}
	s.engine.Objective = s.objective.String()
	if s.Quick && !s.Given("n") {
		s.hostPages = 16
	}
	if s.Quick && !s.Given("speed") {
		s.speed = 72
	}
	if err := cmp.Or(s.checkEmpty(), s.checkMode(), s.check(), s.checkReal()); err != nil {
		return nil, err
	}
	if err := s.checkEngine(); err != nil {
		return nil, err
	}
	return s, s.frontier.check(s)
}

// checkEmpty reports an empty value that would be taken for no flag at all: that of a variable that is
// not set, say.
func (s *settings) checkEmpty() error {
	for _, name := range []string{"opml", "rules", "nats", "relay", "id-header", "folder", "warc", "webhook",
		"frontier", "frontier-cert", "frontier-key", "frontier-clients"} {
		if s.Given(name) && s.Flags.Lookup(name).Value.String() == "" {
			return report.Usagef("-%s is empty", name)
		}
	}
	return nil
}

// checkMode reports a flag that nothing reads in this run.
func (s *settings) checkMode() error {
	frontier, real := s.frontier.on(), s.real()
	return cmp.Or(
		s.OnlyIf(!real && !frontier, "with the demonstration only", "n", "speed", "quick", "json", "out"),
		s.OnlyIf(real || frontier, "with pages to crawl, as -urls, or with -frontier",
			"per-day", "delay", "shards", "sync-always", "keep-log"),
		s.OnlyIf(real, "with pages to crawl, as -urls", "rules", "user-agent", "via", "relay",
			"timeout", "refresh", "most-removed", "exchange", "exact", "dry-run", "id-header", "lines", "folder", "warc", "webhook"),
		s.OnlyIf(s.engine.URL != "", "with -nats", "node", "lease", "replicas", "nats-creds", "nats-ca", "nats-cert", "nats-key"),
		s.OnlyIf(s.engine.URL != "" || s.engine.Shards > 1 || s.engine.Shards == 0 && engine.HasState(s.engine.Dir),
			"with -nats or several -shards, between which the budget is divided", "exchange"),
		s.OnlyIf(s.engine.URL == "" || frontier, "without -nats, where the servers keep it", "state"),
		s.OnlyIf(!frontier, "without -frontier", "groups", "workers", "page"),
		s.OnlyIf(frontier, "with -frontier", "frontier-dates", "frontier-known", "frontier-metadata",
			"frontier-cert", "frontier-key", "frontier-clients"),
	)
}

const (
	// mostWorkers is more than any machine has connections for.
	mostWorkers = 100_000
	// mostHostPages take 2 GB.
	mostHostPages = 10_000
	// mostPerDay is more than any network carries, and keeps the times between polls above 0.
	mostPerDay = 1e12
)

// check reports a setting that makes no sense.
func (s *settings) check() error {
	switch {
	case s.length < 0:
		return report.Usagef("-for %v: want no less than 0", s.length)
	case s.groups < 1 || s.workers < 1 || s.groups > mostWorkers/s.workers:
		return report.Usagef("-groups %d, -workers %d: want 1 at least, and %d workers in all at most", s.groups, s.workers, mostWorkers)
	case !(s.perDay > 0 && s.perDay <= mostPerDay):
		return report.Usagef("-per-day %v: want more than 0 and at most %v", s.perDay, mostPerDay)
	case s.delay < 0:
		return report.Usagef("-delay %v: want no less than 0", s.delay)
	case s.timeout <= 0:
		return report.Usagef("-timeout %v: want more than 0", s.timeout)
	case s.every <= 0:
		return report.Usagef("-refresh %v: want more than 0", s.every)
	case s.exchange <= 0:
		return report.Usagef("-exchange %v: want more than 0", s.exchange)
	case !(s.mostRemoved >= 0 && s.mostRemoved <= 1):
		return report.Usagef("-most-removed %v: want 0 to 1", s.mostRemoved)
	case s.real() && !strings.ContainsAny(s.userAgent, "@") && !strings.Contains(s.userAgent, "http"):
		return report.Usagef("-user-agent %q: give a name, and a URL or an address where you can be reached, as in 'my-crawler (+https://example.org/bot)'", s.userAgent)
	case s.hostPages < 1 || s.hostPages > mostHostPages:
		return report.Usagef("-n %d: want 1 to %d", s.hostPages, mostHostPages)
	case s.page != "" && !isAddress(s.page):
		return report.Usagef("-page %s: want a host and a port, such as 127.0.0.1:8765", s.page)
	case !(s.speed > 0 && s.speed <= 1000):
		return report.Usagef("-speed %v: want more than 0 and at most 1000", s.speed)
	}
	return nil
}

// checkEngine likewise, of where the state is kept.
func (s *settings) checkEngine() error {
	switch {
	case s.engine.Shards < 0 || s.engine.Shards > 1<<12:
		return report.Usagef("-shards %d: want 1 to 4096", s.engine.Shards)
	case s.engine.Replicas != 1 && s.engine.Replicas != 3:
		return report.Usagef("-replicas %d: want 1 or 3", s.engine.Replicas)
	case s.engine.Dir == "" && s.engine.URL == "":
		return report.Usagef("-state is empty: want a folder")
	case s.engine.Lease < time.Second || s.engine.Lease > time.Hour:
		return report.Usagef("-lease %v: want a second to an hour", s.engine.Lease)
	case !engine.IsName(s.engine.Name):
		return report.Usagef("-node %q: want letters, digits, - and _", s.engine.Name)
	case s.engine.URL != "" && s.engine.SyncAlways:
		return report.Usagef("-sync-always with -nats: it is a setting of the servers there, sync_interval: always in their jetstream block")
	case s.engine.URL != "" && s.engine.Access.Check() != nil:
		return report.Usagef("-nats: %v", s.engine.Access.Check())
	case s.relay != "" && s.engine.URL == "":
		return report.Usagef("-relay %s: it is for the other nodes of a cluster, -nats", s.relay)
	case s.relay != "" && !reachable(s.relay):
		return report.Usagef("-relay %s: want a host and a port by which the other nodes reach this one", s.relay)
	}
	return nil
}

// isAddress reports whether a text can be an address to listen at.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// real reports whether pages of the user's are to be crawled.
func (s *settings) real() bool {
	return (s.hasSource() || s.Given("nats") || s.Given("state")) && !s.frontier.on()
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	if s.frontier.on() {
		return s.serveFrontier()
	}
	if s.real() {
		return s.crawl()
	}
	if err := s.demonstrate(); err != nil {
		return fmt.Errorf("demonstration: %w", err)
	}
	return nil
}
