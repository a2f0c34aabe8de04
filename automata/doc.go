// Package automata has the learning automata: small machines that choose one of r actions, hear how
// good it was, and come to prefer the best one. They know nothing about the environment that
// answers.
//
// Start with [NewDPRI]: it finds the best of a few actions quickly and reports when it is sure. The
// others have their uses:
//
//   - [NewHDPA] finds the best of many actions, in O(log r) time a step.
//   - [NewBayesian] (Thompson sampling) earns the most while it learns and has no parameter.
//   - [NewTsetlin], [NewKrinsky], [NewKrylov] and [NewLinear] with a penalty rate never settle, so
//     they follow the best action when it changes.
//   - [NewDBPA], [NewDGPA], [NewGPA] and the others complete the schemes of the literature.
//   - [SPL] and [HSSL] find a point on a line.
//   - [Walk] and [Overload] are the rules of the crawling papers' automata, one per page
//     and one per bin. Packages knapsack and binpack use them.
//
// # Responses
//
// A response is a reward in [0, 1]: 1 is the best reward and 0 is a plain penalty. Much of the
// literature uses β = 1 − reward instead, where 1 is the penalty. A P-model environment answers 0
// or 1, a Q-model a few values between, an S-model any value of [0, 1]. Every automaton here takes
// all three.
//
// # Contract
//
// Choosing and learning are separate: Select returns an action, Learn takes the action and its
// reward. Answers may come late, in any order, or never, and any number of actions may be
// unanswered at a time. An automaton keeps no list of what it selected, and learns from whatever it
// is told.
//
// Both methods take the source of randomness as an argument, because both the choice and the
// learning of an automaton may be random. So a million automata can share one source, and the same
// seed gives the same run. Neither method allocates. A bad answer is refused with an error and
// changes nothing; a nil source panics.
//
// Every automaton can be saved in the middle of a run and loaded again, with MarshalBinary or
// encoding/gob; encoding/json writes {} and no error. The source belongs to the caller, who saves it
// next to the automaton: rand.PCG and rand.ChaCha8 marshal themselves.
//
// Nothing here is safe for concurrent use, except Walk and Overload: they have no state of their
// own and may be shared.
//
// Textbook: Narendra & Thathachar, Learning Automata: An Introduction, 1989.
package automata
