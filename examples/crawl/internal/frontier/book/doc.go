// Package book keeps what a frontier knows: crawls of queues of URLs, which of them are leased, and
// what is learnt of how often they change.
//
// Make a [State], change it with Apply, and have it choose URLs with an [Ask]. Nothing here reads a
// clock, writes a file or locks: whoever has the state logs its events before it answers, and
// applies them again after a crash.
//
// # Guarantees
//
// The state is a function of its events. A URL that was given is not given again until its lease is
// over or it is put back, a queue gives nothing while it is blocked or its delay has not passed,
// and no queue that has URLs due waits for more than a turn of each other one.
//
// # Cost
//
// Time: O(log n) for each URL that is put or given, with n the URLs of its queue, its crawl's
// queues or its crawl's pages, and O(queues) for what is asked of all queues of a crawl. Memory:
// about 550 bytes a URL that is learnt of, besides its text, in queues of 10.
//
// # How it works
//
// Of each URL there are two times: from when on it may be given, and when it is due. Until the
// first has come it waits, and then it is ready. A queue gives those that are ready, the one due
// first in front. A discovered URL is due at once, one that nothing was learnt of at the date that
// the client gave it, and any other when a [knapsack.RateFilter] expects to poll it. The filter
// does not choose by itself, as a client asks for certain queues: all its pages are deferred but
// the one that a queue gives, so that its Next has no choice and still measures the budget, from
// which follow the price of a poll and the time at which a page is due. As the price moves, for
// each URL that is given one other is looked at again.
//
// Queues whose first URL is due stand in line, and are served in turn. Others that have a URL ready
// come after them, the one whose URL is due first in front: a client that asks for more than what
// is due gets it, and so sets the budget, as one that asks for less does.
package book
