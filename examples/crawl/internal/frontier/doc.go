// Package frontier serves the URLFrontier interface: crawlers ask it for URLs, and put back what
// they fetched and found. It learns from that how often each URL changes, and gives the ones that
// are most worth a fetch.
//
// Make a [Server] with [New], and Serve it on a listener.
//
// # Guarantees
//
// What was acknowledged is there after a kill of the process: URLs, leases, blocks, delays, limits
// and what was learnt. A URL is given to one client at a time, and a queue within its delay to
// none. With the engine's default sync, a loss of power can take up to two minutes of it.
//
// # Cost
//
// All changes go through one lock, and one log in which those of many clients share a record: 9 to
// 36 µs of a processor for a URL, client included. No call keeps others waiting for longer than it
// takes to give, list or count 1,024 URLs, except those that delete, and those that go through the
// queues of a crawl: ListQueues, SetDelay of all, the start of a list or count, and GetURLs at its
// start, if the delays of many queues are over, and at its end, if many gave. Each time the log has
// grown by half of the state, a snapshot is made from the one before and the log, while calls go
// on: it takes the memory of a second state, and for each event the time that the state itself
// takes. See TestScale.
//
// # How it works
//
// Package book has the state, journal.go keeps it and its log together, and each of the other files
// has a few of the interface's calls.
package frontier
