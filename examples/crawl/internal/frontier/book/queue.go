package book

import (
	"math"

	"github.com/recrawl/recrawl/internal/heap"
)

// A URL is one of a queue.
type URL struct {
	text    string
	meta    string  // the client's metadata, as it came
	date    uint64  // from which on the client wants it, in Unix seconds; 0 for never
	from    float64 // time from which on it may be given: the end of its lease, if it is leased
	due     float64 // time at which it should be
	mark    uint64  // fingerprint of its latest copy; 0 for none
	page    int     // of the learner; none before there was a copy
	created uint32  // Unix seconds
	flags   flags
}

const none = -1 // page of a URL that the learner does not have

type flags uint8

const (
	completed flags = 1 << iota // never to be given again
	fetched                     // put back by a client at least once
	leased
	asked // the learner waits for an answer
	allFlags
)

func (u *URL) is(f flags) bool { return u.flags&f != 0 }

func (u *URL) set(f flags, on bool) {
	if u.flags &^= f; on {
		u.flags |= f
	}
}

// A Queue has URLs that are given one after the other, such as those of a host.
type Queue struct {
	crawl *Crawl
	slot  uint32
	key   string
	urls  []URL // in the order in which they came
	index map[string]uint32

	place []uint32   // of each URL in one of the heaps
	wait  heap.Slots // URLs that may not be given yet, by when they may
	ready heap.Slots // URLs that may be given, by when they are due

	completed, leased int

	delay   float64 // between two times that it gives URLs; negative for that of all
	blocked float64 // until then it gives none
	limit   uint32  // of completed URLs; 0 for none
	last    float64 // time at which it last gave some
	group   int     // of the learner; none before it has a page

	busy, gone bool   // in the hands of an Ask; deleted
	next, prev *Queue // in line
	inLine     bool
}

// readyTag marks the places of the heap of ready URLs.
const readyTag = 1 << 31

func newQueue(c *Crawl, key string) *Queue {
	return &Queue{
		crawl: c, key: key, index: map[string]uint32{}, ready: heap.Slots{Tag: readyTag},
		delay: -1, last: math.Inf(-1), group: none,
	}
}

// Key returns the name of the queue.
func (q *Queue) Key() string { return q.key }

// Len returns the number of its URLs.
func (q *Queue) Len() int { return len(q.urls) }

// Gone reports whether the queue, or its crawl, was deleted.
func (q *Queue) Gone() bool { return q.gone }

// Active returns the number of URLs that are not completed.
func (q *Queue) Active() int { return len(q.urls) - q.completed }

// Completed returns the number of URLs that are not to be given again.
func (q *Queue) Completed() int { return q.completed }

// Leased returns the number of URLs that are in process.
func (q *Queue) Leased(now float64) int {
	q.advance(now)
	return q.leased
}

// Blocked reports whether the queue is blocked.
func (q *Queue) Blocked(now float64) bool { return q.blocked > now }

// find returns the position of a URL.
func (q *Queue) find(url string) (pos uint32, ok bool) {
	pos, ok = q.index[url]
	return pos, ok
}

// add adds a URL, in neither heap.
func (q *Queue) add(u URL) (pos uint32) {
	pos = uint32(len(q.urls))
	q.urls = append(q.urls, u)
	q.place = append(q.place, heap.None)
	q.index[u.text] = pos
	return pos
}

// withdraw takes a URL out of its heap, and ends its lease.
func (q *Queue) withdraw(pos uint32) {
	switch at := q.place[pos]; {
	case at == heap.None:
	case at&readyTag != 0:
		q.ready.Remove(q.place, int(at&^readyTag))
	default:
		q.wait.Remove(q.place, int(at))
	}
	q.release(pos)
}

func (q *Queue) release(pos uint32) {
	if u := &q.urls[pos]; u.is(leased) {
		u.set(leased, false)
		q.leased--
	}
}

// enter puts a URL that is in neither heap into the one that its times say. If it may be given, its
// lease is over.
func (q *Queue) enter(pos uint32, now float64) {
	if u := &q.urls[pos]; u.from > now {
		q.wait.Push(q.place, pos, u.from)
	} else {
		q.release(pos)
		q.ready.Push(q.place, pos, u.due)
	}
}

// advance moves the URLs that may be given from now on. Their leases are over.
func (q *Queue) advance(now float64) {
	for q.wait.Len() > 0 && q.wait.Key[0] <= now {
		pos := q.wait.Slot[0]
		q.withdraw(pos)
		q.ready.Push(q.place, pos, q.urls[pos].due)
	}
}

// lease marks a URL as given.
func (q *Queue) lease(pos uint32, now, until float64) {
	q.withdraw(pos)
	u := &q.urls[pos]
	u.set(leased, true)
	q.leased++
	u.from = until
	q.last = now
	q.enter(pos, now)
}

// gate returns the time from which on the queue may give URLs.
func (q *Queue) gate() float64 {
	if q.limit > 0 && q.completed >= int(q.limit) {
		return math.Inf(1)
	}
	delay := q.delay
	if delay < 0 {
		delay = q.crawl.state.Delay
	}
	return max(q.blocked, q.last+delay)
}

// drop forgets the URLs for which gone is true, and closes ranks. It takes O(n).
func (q *Queue) drop(gone func(u *URL) bool, now float64) (dropped int, err error) {
	kept := q.urls[:0]
	fresh := newQueue(q.crawl, q.key)
	for i := range q.urls {
		u := q.urls[i]
		if !gone(&u) {
			kept = append(kept, u)
			continue
		}
		dropped++
		if err = q.crawl.judge.leave(&u); err != nil {
			return dropped, err
		}
	}
	if dropped == 0 {
		return 0, nil
	}
	clear(q.urls[len(kept):])
	q.index, q.place, q.wait, q.ready = fresh.index, nil, fresh.wait, fresh.ready
	q.urls = kept
	q.rebuild(now)
	return dropped, nil
}

// rebuild makes the index, the heaps and the counts of the URLs.
func (q *Queue) rebuild(now float64) {
	q.completed, q.leased = 0, 0
	q.place = make([]uint32, len(q.urls))
	for pos := range q.urls {
		u := &q.urls[pos]
		q.index[u.text] = uint32(pos)
		q.place[pos] = heap.None
		if u.page != none {
			q.crawl.judge.note(u.page, spot{q.slot, uint32(pos)})
		}
		if u.is(leased) {
			q.leased++
		}
		if u.is(completed) {
			q.completed++
			continue
		}
		q.enter(uint32(pos), now)
	}
	q.advance(now)
}
