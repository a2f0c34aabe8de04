// Package live polls the real web and finds out which pages changed.
//
// Start with [Transport], which goes under any http.Client: it makes each GET conditional,
// compares the answer with the copy before and reports a [Poll] for it. What changes by itself in a
// page, as clocks and advertisements do, it learns to overlook; package fingerprint does that part
// alone. The crawler keeps its own client, queue and storage.
//
// [Begin] makes one poll of all requests for a page, redirects included, and [Tell] tells a learner
// what became of it: an answer, a failure, a veto, or the end of the page.
//
// [Pages] is an environment ([webenv.Env]) of a list of URLs, for trying a learner on real
// pages with [webenv.Run] or with a loop of one's own.
//
// Transport and Pages are safe for concurrent use. What they remember can be saved, so that the
// first poll after a restart is compared with the last one before it.
package live
