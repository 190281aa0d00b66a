"""What scopes, loss maps, budgets and their filters rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
    Theorem(
        key="filter-basic",
        statement="If epsilons sum to at most E and deltas to at most D on every path of answers, "
        "all answers together are (E, D)-private, whatever decided what was asked.",
        source="Rogers, Roth, Ullman and Vadhan 2016, Privacy Odometers and Filters; proof in "
        "discreet.accounting.currency",
    ),
    Theorem(
        key="filter-renyi",
        statement="If divergences of one order sum to at most B on every path of answers, all "
        "answers together have a divergence of at most B at that order.",
        source="Feldman and Zrnic 2021, Individual Privacy Accounting via a Renyi Filter, "
        "theorem 3.1; proof in discreet.accounting.currency",
    ),
    Theorem(
        key="filter-concentrated",
        statement="If rhos sum to at most R on every path of answers, all answers together are "
        "R-zero-concentrated.",
        source="Whitehouse, Ramdas, Rogers and Wu 2023, Fully-Adaptive Composition in "
        "Differential Privacy; proof in discreet.accounting.currency",
    ),
    Theorem(
        key="filter-gaussian",
        statement="If squares of mus sum to at most M^2 on every path of answers, all answers "
        "together are M-Gaussian private.",
        source="Smith and Thakurta 2022, Fully Adaptive Composition for Gaussian Differential "
        "Privacy; Koskela, Tobaben and Honkela 2023; proof in discreet.accounting.currency",
    ),
    Theorem(
        key="filter-approximate",
        statement="If requests obey their numbers outside events of known chances that sum to at "
        "most D on every path, the profile is at most (1 - D) h + D, with h that of the numbers.",
        source="proof in discreet.accounting.currency; for concentrated privacy Whitehouse, "
        "Ramdas, Rogers and Wu 2023",
    ),
    Theorem(
        key="filter-either",
        statement="Let R-concentrated releases be (E, D)-private. If on every path of answers the "
        "epsilons sum to at most E or the rhos to at most R, all answers are (E, D)-private.",
        source="proof in discreet.accounting.either",
    ),
    Theorem(
        key="filter-admission",
        statement="A release is charged numbers that hold outside an event whose chance does not "
        "depend on the data; an (eps, delta)-private one is eps-private outside such an event.",
        source="Kairouz, Oh and Viswanath 2015, theorem 3.4, for the event; proof in "
        "discreet.accounting.admission",
    ),
    Theorem(
        key="slots",
        statement="Requests that are each dominated by a slot of a list fixed in advance, taken "
        "once, lose at most the composition of the list, in any order and however adaptively.",
        source="Zhu, Dong and Wang 2022, theorem 10; proof in discreet.accounting.slots",
    ),
    Theorem(
        key="cell-filters",
        statement="If sums of prices stay within the limits in every cell of records, on every "
        "path of answers, the guarantee of the limits holds for neighbors that differ in one "
        "record.",
        source="Lecuyer, Spahn, Vodrahalli, Geambasu and Hsu 2019, Privacy Accounting and Quality "
        "Control in the Sage Differentially Private ML Platform; proof in discreet.accounting.owed",
    ),
    Theorem(
        key="cell-pairs",
        statement="A record replaced by one of another cell costs at most what both cells have "
        "paid for one record, plus the smaller of what each paid beyond twice that for "
        "replacements.",
        source="Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, for the costs of one "
        "request; proof in discreet.accounting.owed",
    ),
    Theorem(
        key="box-difference",
        statement="What a box B with conditions B_1, ..., B_k leaves of a box A is the disjoint "
        "union of k boxes: the records of A that satisfy B_1, ..., B_(i-1) and not B_i.",
        source="elementary; proof in discreet.accounting.box",
    ),
    Theorem(
        key="loss-map",
        statement="If charges on one column are kept by atoms of that column and all others by "
        "cells that are products of atoms, the highest payment in a cell is everyone's, plus the "
        "cell's, plus in each column the highest of an atom that the cell holds.",
        source="elementary: the maximum of a sum over a product; proof in "
        "discreet.accounting.cells.partition",
    ),
    Theorem(
        key="merging-upward",
        statement="Parts that become one at the higher of their payments, and charges booked to "
        "whole parts of which they hold some records, leave every record with at least what it "
        "owes.",
        source="elementary; discreet.accounting.cells.coarsen",
    ),
    Theorem(
        key="two-stories",
        statement="Of two records that did not take part in the same charges, one has paid at most "
        "the highest payment and the other at most the highest payment of a record with another "
        "story than the first; parts that may hold several stories count twice.",
        source="elementary; proof in discreet.accounting.cells.runner_up",
    ),
)
