// Package knapsack decides which page a crawler polls next when there are fewer polls than pages
// that might have changed. Start with [RateFilter], behind the URLs of a [Keyed].
//
// All types work in the same way. Next(now) returns the page to poll, and spends one poll of the
// budget. Observe(page, now, changed) reports what the poll found. GiveBack(page, now) reports
// that a poll gets no answer. Any number of polls may be in flight, and answers come in any
// order. Pages are added and removed at any time; see [Learner]. Times are numbers in one unit of
// the caller's choice: a crawler may pass Unix time in seconds.
//
// Nothing here reads a clock, starts a goroutine, fetches or logs. Everything is deterministic
// for a seed, can be saved in the middle of a run (MarshalBinary), and continues bit for bit: in
// the same build on the same kind of processor, as others may round the last bit in another way.
// Nothing but [Keyed] is safe for concurrent use. Save with MarshalBinary or encoding/gob;
// encoding/json writes {} and no error.
//
// # Which type
//
//   - [RateFilter] learns rates that may change. Most crawlers should use it.
//   - [Planner] estimates constant rates and polls at the optimal frequencies for them. It covers
//     LambdaCrawl and the optimum of Azar et al.
//   - [LAKG] and [HTRAA] are the learning automata of Granmo, Oommen and others, in a few bytes a
//     page. [VLAKG] is the variable-structure automaton that they name as further work: as fast as
//     a LAKG of few states and within 1 % of the accuracy of one of many.
//   - [Adaptive] is the interval rule of Nutch, StormCrawler or news-crawl under a budget.
//   - [EstimateFirst] and [Fixed] are the policies with which the LAKG paper compares.
//   - [Problem] is the exact optimum for known rates.
//   - [Keyed] puts any learner behind the caller's own keys, with a lock and time.Time.
//   - [Groups] puts the pages of a RateFilter into groups by [Folder], [Host] or another name.
//
// An [Objective] says what the frequencies maximise: freshness, which is the default, changes
// detected, age, delay, or LambdaCrawl's harmonic cost.
//
// # The problem
//
// Page i changes with rate λ_i and is polled x_i times per unit of time. A poll finds only
// whether the page changed at least once since its previous poll. The budget is Σ x_i = c.
//
// # Sources
//
//   - Granmo, Oommen, Myrer, Olsen 2006: Determining Optimal Polling Frequency Using a Learning
//     Automata-based Solution to the Fractional Knapsack Problem. In its section III the Zipf law
//     α/k^β is the probability of a change, although the text calls q the probability of none:
//     its totals of 0.76, 2.0 and 2.3 updates per step for 500 pages follow from nothing else.
//   - Granmo, Oommen 2010: Solving stochastic nonlinear resource allocation problems using a
//     hierarchy of twofold resource allocation automata.
//   - Cho, Garcia-Molina 2003: Estimating frequency of change; Effective page refresh policies for
//     web crawlers.
//   - Azar, Horvitz, Lubetzky, Peres, Shahaf 2018: Tractable near-optimal policies for crawling.
//   - Kolobov, Peres, Lu, Horvitz 2019: Staying up to date with online content changes using
//     reinforcement learning for scheduling.
//   - Avrachenkov, Patil, Thoppe 2020: Change rate estimation and optimal freshness in web page
//     crawling.
package knapsack
