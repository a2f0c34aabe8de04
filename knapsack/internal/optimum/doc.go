// Package optimum solves the nonlinear fractional knapsack problem: the frequencies at which to
// poll pages of known change rates, for each objective and spacing, and the price of the budget.
package optimum
