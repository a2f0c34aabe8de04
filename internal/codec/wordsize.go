//go:build 386 || arm || mips || mipsle

package codec

// An id holds a slot of 32 bits and how often it was given out, saved counts pass 2³¹, and the
// exact solvers count in ints: the library needs ints of 64 bits. Every package that could go
// wrong imports this one, so that a build for a smaller machine ends here, with these words.
var _ = recrawl_needs_a_platform_whose_int_has_64_bits
