// Package binpack does bin packing: which sites go on which crawler node.
package binpack
