// Package game has the learning automata of knapsack's LAKG and HTRAA: the amounts of pages and the
// draw of the page to poll. It knows pages by their slots.
package game
