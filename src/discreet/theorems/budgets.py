"""What trees of releases, budgets, privacy filters and the ledger rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

_GENERAL = (
    "Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, Composition in Differential "
    "Privacy for General Granularity Notions, CSF"
)
_PROOF = "proof in docs/proofs/composition.md; enumeration of all small tables"

COMPOSITION: Final = (
    Theorem(
        key="general-composition",
        statement="If leaf i reads f_i(D) and is d_i-private, then the leaves together are "
        "d-private with d(D, D') the sum of d_i(f_i(D), f_i(D')), also if later leaves depend on "
        "earlier answers; a leaf whose input stays the same is free.",
        source=_GENERAL,
    ),
    Theorem(
        key="scenario-accounting",
        statement="For tables that differ by a record in a cell of the public domain (or by two, "
        "where one is replaced), the composition of the leaves that the cell touches dominates "
        "what is released; the price is the largest over cells, and attained if independent "
        "leaves attain theirs there.",
        source=_PROOF,
    ),
    Theorem(
        key="contribution",
        statement="If a unit has at most c rows, at most m of them with one value of a column and "
        "at most p values of it, the worst case hands the rows out to the values: the largest "
        "composition over all ways to do so within the limits.",
        source=_PROOF,
    ),
    Theorem(
        key="leaf-distance",
        statement="If one step of the relation moves the input of a mechanism by at most d and "
        "replacing a row by at most e, then r rows removed and i others inserted move it by at "
        "most min(r, i) e + |r - i| d and by (r + i) d under add/remove, by r d under replace "
        "where r = i, and by max(r, i) d under either; a loss is chained along the same steps, "
        "in one direction only where all rows leave or all come.",
        source=f"triangle inequality; {_GENERAL}; enumeration of all small tables",
    ),
    Theorem(
        key="parallel",
        statement="If each record lies in at most one part, by a public function of that record "
        "alone, then adding or removing a record changes one part, and releases about all parts "
        "lose what the costliest part loses.",
        source="McSherry 2009, Privacy Integrated Queries; enumeration of all small tables",
    ),
    Theorem(
        key="bounded-parallel",
        statement="Under replace two parts can change, so the loss of parts is the largest sum "
        "over two different parts; a certificate for replace on a part says nothing, because "
        "the part can change its size, unless it covers records replaced in the whole table.",
        source=_GENERAL,
    ),
    Theorem(
        key="where-stable",
        statement="A condition on single records turns tables that differ by r rows removed and "
        "i inserted into tables that differ by at most r and at most i.",
        source="each record is kept or dropped by itself; enumeration of all small tables",
    ),
    Theorem(
        key="preprocessing",
        statement="A function that turns each row into at most d rows turns tables that differ "
        "by r rows removed and i inserted into tables that differ by at most d r and at most d i.",
        source="McSherry 2009, Privacy Integrated Queries; enumeration of all small tables",
    ),
)


BUDGETS: Final = (
    Theorem(
        key="filter-basic",
        statement="If epsilons sum to at most E and deltas to at most D on every path of answers, "
        "all answers together are (E, D)-private, whatever decided what was asked.",
        source="Rogers, Roth, Ullman and Vadhan 2016, Privacy Odometers and Filters; proof in "
        "discreet.accounting.budgets.currency",
    ),
    Theorem(
        key="filter-renyi",
        statement="If divergences of one order sum to at most B on every path of answers, all "
        "answers together have a divergence of at most B at that order.",
        source="Feldman and Zrnic 2021, Individual Privacy Accounting via a Renyi Filter, "
        "theorem 3.1; proof in discreet.accounting.budgets.currency",
    ),
    Theorem(
        key="filter-concentrated",
        statement="If rhos sum to at most R on every path of answers, all answers together are "
        "R-zero-concentrated.",
        source="Whitehouse, Ramdas, Rogers and Wu 2023, Fully-Adaptive Composition in "
        "Differential Privacy; proof in discreet.accounting.budgets.currency",
    ),
    Theorem(
        key="filter-gaussian",
        statement="If squares of mus sum to at most M^2 on every path of answers, all answers "
        "together are M-Gaussian private.",
        source="Smith and Thakurta 2022, Fully Adaptive Composition for Gaussian Differential "
        "Privacy; Koskela, Tobaben and Honkela 2023; proof in discreet.accounting.budgets.currency",
    ),
    Theorem(
        key="filter-approximate",
        statement="If requests obey their numbers outside events of known chances that sum to at "
        "most D on every path, the profile is at most (1 - D) h + D, with h that of the numbers.",
        source="proof in discreet.accounting.budgets.currency; for concentrated privacy "
        "Whitehouse, "
        "Ramdas, Rogers and Wu 2023",
    ),
    Theorem(
        key="filter-either",
        statement="Let R-concentrated releases be (E, D)-private. If on every path of answers the "
        "epsilons sum to at most E or the rhos to at most R, all answers are (E, D)-private.",
        source="proof in discreet.accounting.budgets.two_routes",
    ),
    Theorem(
        key="filter-joint",
        statement="Let R-concentrated releases be (E, D')-private. If on every path of answers the "
        "epsilons sum to at most E and their deltas to at most C, or the rhos to at most R, all "
        "answers are (E, C + D')-private.",
        source="proof in discreet.accounting.budgets.two_routes; enumeration of all strategies",
    ),
    Theorem(
        key="odometer",
        statement="At any time that answers may choose, what was lost so far is at most the sum of "
        "epsilons, while their deltas sum to at most C, or the least over orders a_k fixed in "
        "advance of the sum of divergences plus log(1/w_k)/(a_k - 1); outside an event whose "
        "chance is at most the sum of the w_k, C, and the limit on events.",
        source="Whitehouse, Ramdas, Rogers and Wu 2023, for bounds that hold at all times; Rogers, "
        "Roth, Ullman and Vadhan 2016, for odometers; proof in "
        "discreet.accounting.budgets.odometer",
    ),
    Theorem(
        key="filter-admission",
        statement="A release is charged numbers that hold outside an event whose chance does not "
        "depend on the data; an (eps, delta)-private one is eps-private outside such an event.",
        source="Kairouz, Oh and Viswanath 2015, theorem 3.4, for the event; proof in "
        "discreet.accounting.budgets.loss_prices",
    ),
    Theorem(
        key="slots",
        statement="Requests that are each dominated by a slot of a list fixed in advance, taken "
        "once, lose at most the composition of the list, in any order and however adaptively.",
        source="Zhu, Dong and Wang 2022, theorem 10; proof in discreet.accounting.budgets.workload",
    ),
    Theorem(
        key="cell-filters",
        statement="If sums of prices stay within the limits in every cell of records, on every "
        "path of answers, the guarantee of the limits holds for neighbors that differ in one "
        "record.",
        source="Lecuyer, Spahn, Vodrahalli, Geambasu and Hsu 2019, Privacy Accounting and Quality "
        "Control in the Sage Differentially Private ML Platform; proof in "
        "discreet.accounting.budgets.cell_balances",
    ),
    Theorem(
        key="cell-pairs",
        statement="A record replaced by one of another cell costs at most what both cells have "
        "paid for one record, plus the smaller of what each paid beyond twice that for "
        "replacements.",
        source="Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, for the costs of one "
        "request; proof in discreet.accounting.budgets.cell_balances",
    ),
    Theorem(
        key="box-difference",
        statement="What a box B with conditions B_1, ..., B_k leaves of a box A is the disjoint "
        "union of k boxes: the records of A that satisfy B_1, ..., B_(i-1) and not B_i.",
        source="elementary; proof in discreet.accounting.scopes.box",
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
        statement="If parts are merged at the higher of their payments, and a charge that holds "
        "some records of a part is booked to the whole part, every record pays at least what it "
        "owes.",
        source="elementary; discreet.accounting.cells.coarsening",
    ),
    Theorem(
        key="two-stories",
        statement="Of two records that did not take part in the same charges, one has paid at most "
        "the highest payment and the other at most the highest payment of a record with another "
        "story than the first; parts that may hold several stories count twice.",
        source="elementary; proof in discreet.accounting.cells.partition",
    ),
)


LEDGER: Final = (
    Theorem(
        key="sqlite-durable",
        statement="What is read from a ledger file is on disk: a commit is told only after the "
        "file and the end of its journal were synced, what a dead process left half-written is "
        "taken back first, and the journal is synced before anything is returned that another "
        "connection has written.",
        source="SQLite documentation, Atomic Commit and PRAGMA synchronous; proof in "
        "discreet.ledger.stores.sqlite",
    ),
    Theorem(
        key="one-answer",
        statement="Whatever is told under one key, by however many workers and after however many "
        "crashes, is one answer, and it was paid once.",
        source="proof in discreet.ledger.question_requests",
    ),
    Theorem(
        key="one-failure",
        statement="Between two decisions of the owner to reopen a question, at most one failed "
        "attempt is observed under its key.",
        source="proof in discreet.ledger.question_requests",
    ),
    Theorem(
        key="one-place",
        statement="Whoever uses a ledger file, by whatever path, uses one budget: what was "
        "committed is in the file itself, its locks are those of the inode, its journal lies in "
        "one place, and a copy is refused.",
        source="SQLite documentation, File Locking and How To Corrupt; proof in "
        "discreet.ledger.stores.sqlite",
    ),
    Theorem(
        key="anchored",
        statement="A ledger that continues the last anchor of its witness holds every entry that "
        "it held when that was written; one from which nothing was taken continues it, whatever "
        "was interrupted.",
        source="proof in discreet.ledger.witness",
    ),
    Theorem(
        key="one-ledger",
        statement="All that one ledger object reads and writes is one chain of entries, whatever "
        "its address leads to by then.",
        source="proof in discreet.ledger.connection",
    ),
    Theorem(
        key="checkpoint-replay",
        statement="The state read from a checkpoint, followed by the entries after it, equals the "
        "state that all entries lead to, byte for byte.",
        source="proof in discreet.ledger.state",
    ),
    Theorem(
        key="postgres-durable",
        statement="On a server that syncs its log and writes full pages, with commits that wait "
        "for the log, a transaction is seen by others in full or not at all, and only once it is "
        "on disk; of sessions that lock one table in a mode that excludes itself, each sees all "
        "that those before it committed.",
        source="PostgreSQL documentation, Write-Ahead Logging and Explicit Locking; proof in "
        "discreet.ledger.stores.postgres",
    ),
    Theorem(
        key="hash-chain",
        statement="Two records with the same head at the same number are the same up to there, or "
        "show two texts with the same SHA-256.",
        source="Haber and Stornetta 1991, How to Time-Stamp a Digital Document, for linking by "
        "hashes; proof in discreet.ledger.verify.entry_format",
    ),
    Theorem(
        key="canonical-members",
        statement="If t_1, ..., t_k are canonical for v_1, ..., v_k and n_1 < ... < n_k are plain "
        'names, {"n_1":t_1,...,"n_k":t_k} is canonical for the object in which each n_i is v_i.',
        source="elementary; discreet.ledger.verify.parsing",
    ),
    Theorem(
        key="covering-charges",
        statement="If each recorded box holds the box found in its place, no amount is lower, and "
        "two records in a larger box pay no less than one was found to pay, nobody owes more than "
        "is recorded.",
        source="proof in discreet.ledger.verify.charges",
    ),
    Theorem(
        key="limits-by-segment",
        statement="If the sums of an account at each of its raises and at the end fit into the "
        "limits that held until then, they fitted at every moment.",
        source="elementary: sums only grow, and limits are fixed in between; "
        "discreet.ledger.verify.accounts",
    ),
)
