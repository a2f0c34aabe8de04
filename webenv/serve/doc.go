// Package serve serves the pages of an environment of package webenv over HTTP. So any crawler, in
// any language, can be tried on a web whose every change is known.
//
// Make a [Server] with [New] and mount it like any http.Handler. Compare what the crawler found
// with [Server.Totals], [Server.PageTruth] or the path /truth.
package serve
