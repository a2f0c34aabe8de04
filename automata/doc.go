// Package automata has the learning automata: small machines that choose one of
// r actions, hear how good it was, and come to prefer the best one, without
// knowing anything of the environment that answers.
//
//   - Fixed structure, a few integers of state: [Tsetlin], [Krinsky], [Krylov];
//     the discretised [Walk] and the [Overload] automaton of the crawling papers.
//   - Variable structure, a vector of probabilities: [Linear] (L_R-P, L_R-I,
//     L_R-εP) and [DiscreteLinear].
//   - Pursuit and estimator schemes, which also estimate the rewards:
//     [Pursuit] (CP_RP, CP_RI), [DiscretePursuit] (DP_RP, DP_RI), [GPA], [DGPA],
//     [Bayesian] (Thompson sampling), [DBPA], and [HDPA] for many actions.
//   - Point location on a line: [SPL], [HSSL].
//
// # Responses
//
// A response is a reward in [0, 1]: 1 is the best there is and 0 a plain penalty.
// It is the complement of the β of much of the literature, where 1 is the
// penalty. A P-model environment answers 0 or 1, a Q-model a few values between,
// an S-model any value of [0, 1]; every automaton here takes all three.
//
// # Contract
//
// Choosing and learning are apart. Select gives an action; Learn is told the
// action and its reward, as late and in whatever order answers arrive, with any
// number of actions out, and answers may get lost; an automaton keeps no list of what
// it asked, and learns from whatever it is told. Both take the source of
// randomness as an argument (the output and the transition of an automaton may
// both be stochastic), so that a million automata share one source and the same
// seed gives the same run. They never allocate. Bad answers are refused with an
// error and change nothing; a nil source panics.
//
// Every automaton can be saved in the middle of a run (AppendBinary,
// MarshalBinary, UnmarshalBinary). The source belongs to the caller, who saves
// it next to the automaton (rand.PCG and rand.ChaCha8 marshal themselves).
//
// Nothing here is safe for concurrent use, except that [Walk] and [Overload],
// which have no state of their own, may be shared.
//
// Textbook: Narendra & Thathachar, Learning Automata: An Introduction, 1989.
package automata
