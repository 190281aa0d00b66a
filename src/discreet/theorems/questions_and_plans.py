"""What questions, their plans and their bounds rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

QUESTIONS_AND_PLANS: Final = (
    Theorem(
        key="unit-local",
        statement="Every private relation that a question is bound to is the union over units of "
        "what is computed from the rows of that unit and from public tables alone.",
        source="proof in discreet.plan.binding.binder, joins, semi_joins and unions",
    ),
    Theorem(
        key="fan-out",
        statement="A unit with n rows in the private tables has at most f n rows in every relation "
        "that a question is bound to, where f is the fan-out of the plan, at most the owner's "
        "limit, whatever the tables hold.",
        source="proof in discreet.plan.binding.fan_out",
    ),
    Theorem(
        key="bounded-units",
        statement="Below every window the rows of a unit are at most 2^24, with at most 2^27 bytes "
        "of text; a unit with more is left out as a whole, and the rows of all others stay.",
        source="proof in discreet.plan.binding.bounded_units",
    ),
    Theorem(
        key="linked-joins",
        statement="If a join compares columns of two private relations that lead to the same key, "
        "in which each value belongs to one unit, its pairs agree in the unit; where units are "
        "compared as well, pairs agree even if a value belongs to several.",
        source="proof in discreet.plan.binding.join_keys",
    ),
    Theorem(
        key="fact-rules",
        statement="If arguments lie within their facts, what a function returns lies within the "
        "facts derived for it; bounds of floats are widened by what rounding can move them.",
        source="interval arithmetic; proof in discreet.plan.binding.value_facts",
    ),
    Theorem(
        key="truth-sets",
        statement="The truth sets of a condition enclose the rows for which it is true, those for "
        "which it is false, and those for which it is NULL.",
        source="three-valued logic; proof in discreet.plan.binding.truth_sets and comparisons",
    ),
    Theorem(
        key="membership",
        statement="The condition that is printed from a set of values is true for the values of "
        "the set, and false or NULL for every other value that a column can have.",
        source="proof in discreet.plan.binding.value_sets",
    ),
    Theorem(
        key="question-scope",
        statement="The answer to a question does not depend on units outside the box that is "
        "charged, however the box was inferred: every output row descends from a row that has "
        "passed a filter printed from the box.",
        source="proof in discreet.plan.binding.scope",
    ),
    Theorem(
        key="scope-names",
        statement="A unit has one value under each name of a column in scopes, and a condition on "
        "one name says nothing about another: charges under two names add up.",
        source="proof in discreet.accounting.scopes.scope_column",
    ),
    Theorem(
        key="whole-cells",
        statement="Under any two declared formats of CSV files a text is read as the same whole "
        "number, or as NULL under one of them: by these, files written differently name people "
        "alike.",
        source="proof in discreet.engines.sql.cells",
    ),
    Theorem(
        key="public-listing",
        statement="Where an outer join keeps SELECT DISTINCT of a public table and compares "
        "exactly the keys, the answer is that of the inner join with an empty group for every "
        "listed one that nobody matches.",
        source="proof in discreet.plan.binding.bound_question",
    ),
    Theorem(
        key="fixed-point",
        statement="Whatever the data holds, every value of a fixed-point expression is NULL or an "
        "integer between its bounds.",
        source="proof in discreet.plan.statistics.fixed_point",
    ),
    Theorem(
        key="plan-distances",
        statement="A unit that adds a number from low to high to at most g of N groups moves "
        "totals by at most g D in L1 and g D^2 in squared L2 if it is added or removed; if it is "
        "replaced, by the largest of three corners of 2a + s <= 2g, a + s <= N, at s D + a W and "
        "s D^2 + a W^2, with D = max(|low|, |high|) and W = high - low.",
        source="proof in discreet.plan.pricing.group_sensitivity",
    ),
    Theorem(
        key="always-there",
        statement="If every unit adds a number from low to high to each of g groups, and there are "
        "no others, replacing one moves totals by at most g W in L1 and g W^2 in squared L2, "
        "W = high - low; the number of all rows does not move.",
        source="proof in discreet.plan.pricing.group_sensitivity",
    ),
    Theorem(
        key="count-cells",
        statement="If cells are tried in the order of falling numbers of conditions, the first "
        "that fits a row holds just the conditions that the row makes true.",
        source="proof in discreet.plan.workload.cells",
    ),
    Theorem(
        key="nested-counts",
        statement="Of counts of rows each of which is a part of the next, the first and what each "
        "further one has beyond the one before it are a histogram in which a unit counts with at "
        "most as many rows as in the last.",
        source="proof in discreet.plan.pricing.cell_strategy",
    ),
    Theorem(
        key="cell-sums",
        statement="A unit with at most k rows in each of at most g groups, each row in one cell, "
        "moves sums of cells by at most g k w in L1 and g k^2 w in squared L2 if it is added or "
        "removed, w the most sums that hold one cell; if it is replaced, as in plan-distances with "
        "k w and k f, f the most sums that tell two cells apart.",
        source="the sensitivity of the matrix mechanism (Li, Miklau, Hay, McGregor and Rastogi "
        "2015); proof in discreet.plan.pricing.cell_strategy",
    ),
    Theorem(
        key="joint-sums",
        statement="A unit whose rows in a group, each in one cell, have weights that add up to at "
        "most k moves sums of several values over cells by at most k times the largest sum over "
        "values of D |b| in L1, and k^2 times that of D^2 |b|^2 in squared L2, D the bound on a "
        "row and b a column; two units differ by the largest difference of two corners. Disjoint "
        "sums cost the largest of their bounds.",
        source="proof in discreet.plan.pricing.joint_norms and discreet.requests.cell_sums",
    ),
    Theorem(
        key="group-sums",
        statement="A unit that adds a number from low to high to each of at most g groups, "
        "D = max(|low|, |high|), moves sums of public groups by at most g D w in L1 and "
        "g^2 D^2 w in squared L2 if it is added or removed, w the most sums that hold one group; "
        "if it is replaced, by g D f and g^2 D^2 f where low >= 0, f the most sums that tell two "
        "groups apart, and else by twice and four times the former.",
        source="the sensitivity of the matrix mechanism (Li, Miklau, Hay, McGregor and Rastogi "
        "2015); proof in discreet.plan.pricing.group_strategy",
    ),
    Theorem(
        key="leaf-scores",
        statement="One row more or less moves the rank score of every leaf by at most "
        "max(level, 1 - level), and one that is replaced by at most 1.",
        source="Smith 2011, in its discrete form; proof in discreet.plan.pricing.group_sensitivity",
    ),
    Theorem(
        key="quantile-tree",
        statement="A unit with at most r rows in each of at most g groups moves the counts of all "
        "blocks of a tree with h levels by at most g r h in L1 and g r^2 h in squared L2 if it is "
        "added or removed; if it is replaced, as in plan-distances with r h and 2 r h. What is "
        "read from noisy counts of the blocks, each drawn once, costs nothing more.",
        source="hierarchical histograms (Hay, Rastogi, Miklau and Suciu 2010); proof in "
        "discreet.plan.pricing.quantile_tree",
    ),
    Theorem(
        key="tree-reach",
        statement="With h levels of b parts, a value that is read from noisy counts misses its "
        "level by at most M ranks but for a chance of m, if one estimate errs by at most M, either "
        "way, but for m / (2 h b).",
        source="a union over the boundaries beside two paths; proof in "
        "discreet.plan.pricing.quantile_tree",
    ),
    Theorem(
        key="tree-error",
        statement="A sum of independent discrete Laplace noises of scale s with factors of at most "
        "1, whose squares add up to V, exceeds s (ln(1/m) - V ln(1 - u^2)) / u with a chance of at "
        "most m, 0 < u < 1; one of discrete Gaussian noises of variance v, sqrt(2 v V ln(1/m)).",
        source="Chernoff's bound; subgaussian tails by Canonne, Kamath and Steinke 2020; proof in "
        "discreet.plan.forecast.noise_quantiles",
    ),
    Theorem(
        key="mode-scores",
        statement="With n rows, of which c(i) have the candidate value i, one row more or less "
        "moves every score c(i) - n / 2 by 1/2, and one that is replaced by at most 1.",
        source="McSherry and Talwar 2007, for counts; proof in discreet.plan.aggregates.modes",
    ),
    Theorem(
        key="part-prices",
        statement="The scale of each mechanism of a plan keeps the share of epsilon or rho that it "
        "was given, for all groups of a unit together, also where units are replaced.",
        source="proof in discreet.plan.pricing.release_parts",
    ),
    Theorem(
        key="split-shares",
        statement="Of all shares with a given sum, those proportional to the roots of the weights "
        "have the smallest weighted sum of inverse shares.",
        source="Cauchy and Schwarz; proof in discreet.plan.pricing.unpriced_release",
    ),
    Theorem(
        key="rows-are-units",
        statement="Where each unit of a group has exactly one row that counts, the count of all "
        "rows is the number of units of the group.",
        source="proof in discreet.plan.statistics.partition_selection",
    ),
    Theorem(
        key="laplace-sum",
        statement="A sum of independent continuous Laplace noises of different scales a_i exceeds "
        "x in size with the chance sum of w_i exp(-x / a_i), where w_i is the product of "
        "a_i^2 / (a_i^2 - a_j^2) over all other j.",
        source="partial fractions of the characteristic function; proof in "
        "discreet.plan.pricing.choose_noise",
    ),
    Theorem(
        key="lattice-spread",
        statement="A sum of k terms exceeds the sum of their values, each rounded to the nearest "
        "multiple of u, by at most k u / 2.",
        source="proof in discreet.plan.forecast.noise_quantiles",
    ),
    Theorem(
        key="mean-error",
        statement="With noises X and Y on a centered sum and a count of n rows, |S/n| <= h, the "
        "noisy mean is off by at most (R + u) / (n - r) with chance 1 - b, if X + h Y stays within "
        "R but for 9b/10 and Y above -r but for b/10, u a step of X.",
        source="proof in discreet.plan.aggregates.means",
    ),
    Theorem(
        key="variance-error",
        statement="If the means of centered values and of their squares are off by at most e and "
        "f, and |S/n| <= h, the variance is off by at most f + e (2h + e).",
        source="proof in discreet.plan.aggregates.variances",
    ),
    Theorem(
        key="released-groups",
        statement="A question about the groups that another one has released is that question with "
        "the released values written down; both together lose what their two charges say.",
        source="adaptive composition; proof in discreet.query.released_groups",
    ),
    Theorem(
        key="distinct-sum",
        statement="If one unit is added, a sum of different values moves by at most the least or "
        "the largest sum of as many different whole numbers between the bounds as a unit may show.",
        source="proof in discreet.requests.distinct_sum",
    ),
    Theorem(
        key="bounded-contribution",
        statement="If every unit keeps at most g groups, chosen from its own rows, and adds to "
        "each a number within [low, high] or nothing, adding or removing one unit changes at most "
        "g groups: the units in each by at most 1, a total by at most max(|low|, |high|), a count "
        "of distinct values by as many as a unit shows, a histogram by as many rows in L1.",
        source="the contribution bounding of Wilson et al. 2020, Differentially Private SQL with "
        "Bounded User Contribution; proof in requests/engine_request.py",
    ),
    Theorem(
        key="bounds-search",
        statement="Where one row of every unit counts, in one bin of a histogram, a unit that is "
        "added or removed moves the histogram by at most 1 in L1, and one that is replaced by at "
        "most 2.",
        source="the search for bounds of Wilson et al. 2020, Differentially Private SQL with "
        "Bounded User Contribution, with one row of each unit; proof in "
        "discreet.plan.bounds_search.bounds_search",
    ),
    Theorem(
        key="bounds-composition",
        statement="If an answer is planned from released bounds, and keeps a price that does not "
        "depend on them, bounds and answer together lose at most the loss of the search composed "
        "with the worst release of that price.",
        source="adaptive composition; proof in discreet.plan.pricing.price_promise",
    ),
    Theorem(
        key="whole-floats",
        statement="A sum of n whole numbers of size at most m, held in floats of 53 bits, is exact "
        "in every order if n m <= 2^53.",
        source="proof in discreet.engines.sql.expressions",
    ),
    Theorem(
        key="culling",
        statement="A unit with at least g cells below a limit keeps the same g cells with the "
        "lowest places, whether the others are known or not; only the cells of the one zone of "
        "places in which its last kept cell may lie need to be sorted.",
        source="proofs in discreet.engines.threshold_bounding and discreet.engines.hash_order",
    ),
    Theorem(
        key="single-rows",
        statement="If no two of the rows that count are of one unit, the cells that are kept are "
        "these rows, in every order of hashes, and each unit adds the total of one row.",
        source="proof in discreet.engines.single_rows",
    ),
    Theorem(
        key="division-by-unit",
        statement="If all rows of a unit are in one part, and rows of linked tables wherever a row "
        "is that they point to, the totals of a question are the sums of those of the parts, and "
        "its different values their union.",
        source="proofs in discreet.engines.spark.partitioning and "
        "discreet.engines.spark.aggregation",
    ),
    Theorem(
        key="limbs",
        statement="Whole numbers below 2^126 in size are three limbs of 42 bits and a sign, and "
        "sums of up to 2^20 of these fit in 64 bits and stand for the sum of the numbers.",
        source="proof in discreet.engines.spark.statements",
    ),
)
