// Package live polls the real web and finds out which pages changed.
//
// Start with [Transport], which goes under any http.Client. It makes each GET conditional, compares
// the answer with the copy before and reports a [Poll] for it. It learns to overlook what changes
// by itself in a page, such as clocks and advertisements; package fingerprint does only that part.
// The crawler keeps its own client, queue and storage.
//
// [Begin] combines all requests for a page, including redirects, into one poll. [Tell] tells a
// learner the result of a poll: an answer, a failure, a veto, or the end of the page.
//
// [Pages] is an environment ([webenv.Env]) of a list of URLs, for trying a learner on real pages
// with [webenv.Run] or with your own loop.
//
// Transport and Pages are safe for concurrent use. What they remember can be saved, so that the
// first poll after a restart is compared with the last one before it. Save with MarshalBinary or
// encoding/gob; encoding/json does not save what they remember.
package live
