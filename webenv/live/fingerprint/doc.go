// Package fingerprint finds out whether a page has really changed, by learning which of its
// places change by themselves: clocks, trace ids, rotating advertisements, "updated 3 minutes
// ago".
//
// Start with [Page], which holds what is learnt of one page. Write each copy of the page to a
// [Copy] as it is read, and hand it to [Page.Observe]. package live does so for every page that
// its Transport sees.
//
// Nothing but the media type is set, no class names are looked at, and nothing outside the standard
// library is needed. Pages and copies are not safe for concurrent use.
package fingerprint
