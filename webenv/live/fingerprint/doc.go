// Package fingerprint finds out whether a page has really changed, by learning which of its
// places change by themselves: clocks, trace ids, rotating advertisements, "updated 3 minutes
// ago".
//
// Start with [Page], which holds what is learnt about one page. Write each copy of the page to a
// [Copy] as it is read, and pass it to [Page.Observe]. Package live does so for every page that its
// Transport sees.
//
// The media type and [Page].Numbers are the only settings. The package looks at no class names and
// needs nothing outside the standard library. Pages and copies are not safe for concurrent use.
package fingerprint
