// Package knapsack decides how often to poll each page of a crawl when there are
// fewer polls than pages that might have changed.
//
// A crawler asks and tells: Next(now) gives the page to poll, Observe(page, now,
// changed) tells what the poll found, GiveBack(page, now) that it found nothing
// out. Asking spends the budget. Any number of polls may be in flight, answers
// come in any order or never, pages are added and removed while it runs, and ids
// stay valid until they are removed; see Scheduler and Learner. Times are numbers
// in one unit of the caller's choice, and nothing here reads a clock, starts a
// goroutine, fetches or logs. Everything is deterministic for a seed, can be saved
// in the middle of a run (MarshalBinary) and continues bit for bit. Nothing is
// safe for concurrent use: a crawler with several workers puts a mutex around its
// learner.
//
// # Which one
//
//   - RateFilter learns rates that change. It is the one to start with.
//   - LAKG and HTRAA are the learning automata of Granmo, Oommen and others:
//     nothing to estimate, a few bytes a page.
//   - Planner estimates constant rates and polls at the optimal frequencies; it
//     covers LambdaCrawl and the optimum of Azar et al.
//   - Adaptive is the interval rule of a production crawler under a budget: Nutch,
//     StormCrawler, news-crawl.
//   - EstimateFirst, and Fixed with Uniform or Proportional frequencies, are the
//     policies that the LAKG paper compares with.
//   - Problem is the exact optimum for known rates, for four objectives, two ways
//     of spacing polls, weights and bounds.
//
// # The problem
//
// Page i changes with rate λ_i and is polled x_i times per unit of time; a poll
// tells only whether the page changed at least once since the last one. The
// budget is Σ x_i = c. Objective lists what can be maximised under it.
//
// # Sources
//
// Granmo, Oommen, Myrer, Olsen 2006: Determining Optimal Polling Frequency Using a
// Learning Automata-based Solution to the Fractional Knapsack Problem. In its
// section III the Zipf law α/k^β is the probability of a change, although the text
// calls q the probability of none: only so do its totals of 0.76, 2.0 and 2.3
// updates per step for 500 pages come out. Granmo, Oommen 2010: Solving stochastic
// nonlinear resource allocation problems using a hierarchy of twofold resource
// allocation automata. Cho, Garcia-Molina 2003: Estimating frequency of change;
// Effective page refresh policies for web crawlers. Azar, Horvitz, Lubetzky, Peres,
// Shahaf 2018: Tractable near-optimal policies for crawling. Kolobov, Peres, Lu,
// Horvitz 2019: Staying up to date with online content changes using reinforcement
// learning for scheduling. Avrachenkov, Patil, Thoppe 2020: Change rate estimation
// and optimal freshness in web page crawling.
package knapsack
