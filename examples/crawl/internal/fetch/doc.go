// Package fetch makes polls, politely: it obeys robots.txt and Crawl-delay, has one request to a
// host under way at a time, and names itself. It finds out whether pages changed, from a copy's
// state that the caller keeps, and chooses the access point.
package fetch
