"""Accounting: trees of releases, and what they lose together.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
    from discreet.accounting.accountant import account
    from discreet.accounting.box import Box, Contribution
    from discreet.accounting.budget import Budget
    from discreet.accounting.codec import decode, encode
    from discreet.accounting.filter import Charge, Left, PrivacyFilter
    from discreet.accounting.granularity import Metric, RecordRule, f_dependent
    from discreet.accounting.leaf_price import UNPROTECTED
    from discreet.accounting.loss_map import LossMap
    from discreet.accounting.nodes import (
        Choice,
        Leaf,
        Node,
        Post,
        Repeat,
        Sequential,
        drawn,
        exact_size,
    )
    from discreet.accounting.parts_and_samples import (
        Group,
        Parallel,
        Sampled,
        Shuffled,
        Where,
        dp_sgd,
        dp_sgd_sigma,
        dp_sgd_steps,
    )
    from discreet.accounting.statement import Place, Statement, Witness
    from discreet.accounting.values import (
        Values,
        above,
        anything,
        at_least,
        at_most,
        below,
        between,
        equals,
        is_not_null,
        is_null,
        nothing,
        one_of,
    )

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
