"""Accounting: trees of releases, and what they lose together.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
    from discreet.accounting.budgets.budget import Budget
    from discreet.accounting.budgets.privacy_filter import Charge, PrivacyFilter
    from discreet.accounting.budgets.spending import Left
    from discreet.accounting.cells.loss_map import LossMap
    from discreet.accounting.scopes.box import Box
    from discreet.accounting.scopes.column_conditions import (
        Values,
        above,
        anything,
        at_least,
        at_most,
        below,
        between,
        but_not,
        equals,
        is_not_null,
        is_null,
        nothing,
        one_of,
    )
    from discreet.accounting.scopes.contribution import Contribution
    from discreet.accounting.storage.codec import decode, encode
    from discreet.accounting.tree.dp_sgd import dp_sgd, dp_sgd_sigma, dp_sgd_steps
    from discreet.accounting.tree.leaf import UNPROTECTED, Leaf, exact_size
    from discreet.accounting.tree.node import Choice, Node, Repeat, Sequential, drawn
    from discreet.accounting.tree.parallel import Parallel, Part, Where
    from discreet.accounting.tree.processing import Group, Post, Sampled, Shuffled
    from discreet.accounting.worst_case.accountant import account
    from discreet.accounting.worst_case.granularity import Metric, RecordRule, f_dependent
    from discreet.accounting.worst_case.statement import Place, Statement, Witness

__all__ = [
    "UNPROTECTED",
    "Box",
    "Budget",
    "Charge",
    "Choice",
    "Contribution",
    "Group",
    "Leaf",
    "Left",
    "LossMap",
    "Metric",
    "Node",
    "Parallel",
    "Part",
    "Place",
    "Post",
    "PrivacyFilter",
    "RecordRule",
    "Repeat",
    "Sampled",
    "Sequential",
    "Shuffled",
    "Statement",
    "Values",
    "Where",
    "Witness",
    "above",
    "account",
    "anything",
    "at_least",
    "at_most",
    "below",
    "between",
    "but_not",
    "decode",
    "dp_sgd",
    "dp_sgd_sigma",
    "dp_sgd_steps",
    "drawn",
    "encode",
    "equals",
    "exact_size",
    "f_dependent",
    "is_not_null",
    "is_null",
    "nothing",
    "one_of",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "budgets.budget": ("Budget",),
            "budgets.privacy_filter": ("Charge", "PrivacyFilter"),
            "budgets.spending": ("Left",),
            "cells.loss_map": ("LossMap",),
            "scopes.box": ("Box",),
            "scopes.column_conditions": (
                "Values",
                "above",
                "anything",
                "at_least",
                "at_most",
                "below",
                "between",
                "but_not",
                "equals",
                "is_not_null",
                "is_null",
                "nothing",
                "one_of",
            ),
            "scopes.contribution": ("Contribution",),
            "storage.codec": ("decode", "encode"),
            "tree.dp_sgd": ("dp_sgd", "dp_sgd_sigma", "dp_sgd_steps"),
            "tree.leaf": ("Leaf", "UNPROTECTED", "exact_size"),
            "tree.node": ("Choice", "Node", "Repeat", "Sequential", "drawn"),
            "tree.parallel": ("Parallel", "Part", "Where"),
            "tree.processing": ("Group", "Post", "Sampled", "Shuffled"),
            "worst_case.accountant": ("account",),
            "worst_case.granularity": ("Metric", "RecordRule", "f_dependent"),
            "worst_case.statement": ("Place", "Statement", "Witness"),
        },
    )
