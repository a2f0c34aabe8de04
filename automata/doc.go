// Package automata has the learning automata: small machines that choose one of r actions,
// hear how good it was, and come to prefer the best one. They know nothing of what answers.
//
// Start with [NewDPRI]: it finds the best of a few actions quickly, and says when it is
// sure. The others have their uses:
//
//   - [NewHDPA] finds the best of many actions, in O(log r) a step.
//   - [NewBayesian] (Thompson sampling) earns the most while it learns, and has no
//     parameter.
//   - [NewTsetlin], [NewKrinsky], [NewKrylov] and [NewLinear] with a penalty rate never
//     settle, so they follow the best action where it changes.
//   - [NewDBPA], [NewDGPA], [NewGPA] and the others complete the schemes of the literature.
//   - [SPL] and [HSSL] find a point on a line.
//   - [Walk] and [Overload] are the rules of the crawling papers' automata, one per page
//     and one per bin. Packages knapsack and binpack use them.
//
// # Responses
//
// A response is a reward in [0, 1]: 1 is the best there is and 0 a plain penalty. It is the
// complement of the β of much of the literature, where 1 is the penalty. A P-model
// environment answers 0 or 1, a Q-model a few values between, an S-model any value of
// [0, 1]. Every automaton here takes all three.
//
// # Contract
//
// Choosing and learning are apart: Select gives an action, Learn takes the action and its
// reward. Answers may come late, in any order, or never, and any number of actions may be
// out. An automaton keeps no list of what it selected, and learns from whatever it is told.
//
// Both methods take the source of randomness as an argument, as the output and the
// transition of an automaton may both be random. So a million automata share one source,
// and the same seed gives the same run. Neither allocates. Bad answers are refused with an
// error and change nothing; a nil source panics.
//
// Every automaton can be saved in the middle of a run and loaded again. The source belongs
// to the caller, who saves it next to the automaton: rand.PCG and rand.ChaCha8 marshal
// themselves.
//
// Nothing here is safe for concurrent use, except that Walk and Overload, which have no
// state of their own, may be shared.
//
// Textbook: Narendra & Thathachar, Learning Automata: An Introduction, 1989.
package automata
