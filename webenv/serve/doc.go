// Package serve is a web of known truth over HTTP: it serves the pages of an environment of
// package webenv, so that any crawler, in any language, can be tried against a web whose every
// change is known.
//
// Make a [Server] with [New] and mount it like any http.Handler. Compare what the crawler found
// with [Server.Totals], [Server.PageTruth] or the path /truth.
package serve
