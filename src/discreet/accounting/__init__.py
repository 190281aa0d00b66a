"""Accounting: trees of releases, and what they lose together.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.account import account

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
    from discreet.accounting.book import Book, Charge
    from discreet.accounting.box import Box
    from discreet.accounting.budget import Budget
    from discreet.accounting.codec import read, written
    from discreet.accounting.contribution import Contribution
    from discreet.accounting.drawing import drawn
    from discreet.accounting.leaf import UNPROTECTED, Leaf, exact_size
    from discreet.accounting.left import Left
    from discreet.accounting.loss_map import LossMap
    from discreet.accounting.node import Choice, Node, Repeat, Sequential
    from discreet.accounting.parallel import Parallel, Part
    from discreet.accounting.sampled import Sampled
    from discreet.accounting.shuffled import Shuffled
    from discreet.accounting.slots import Slots
    from discreet.accounting.statement import Place, Statement, Witness
    from discreet.accounting.values import (
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
    from discreet.accounting.where import Where
    from discreet.accounting.workload import Comparison, Workload, compare
    from discreet.accounting.wrappers import Group, Post

__all__ = [
    "UNPROTECTED",
    "Book",
    "Box",
    "Budget",
    "Charge",
    "Choice",
    "Comparison",
    "Contribution",
    "Group",
    "Leaf",
    "Left",
    "LossMap",
    "Node",
    "Parallel",
    "Part",
    "Place",
    "Post",
    "Repeat",
    "Sampled",
    "Sequential",
    "Shuffled",
    "Slots",
    "Statement",
    "Values",
    "Where",
    "Witness",
    "Workload",
    "above",
    "account",
    "anything",
    "at_least",
    "at_most",
    "below",
    "between",
    "but_not",
    "compare",
    "drawn",
    "equals",
    "exact_size",
    "is_not_null",
    "is_null",
    "nothing",
    "one_of",
    "read",
    "written",
]

_FILES: Final = {
    "UNPROTECTED": "leaf",
    "Book": "book",
    "Box": "box",
    "Budget": "budget",
    "Charge": "book",
    "Choice": "node",
    "Comparison": "workload",
    "Contribution": "contribution",
    "Group": "wrappers",
    "Leaf": "leaf",
    "Left": "left",
    "LossMap": "loss_map",
    "Node": "node",
    "Parallel": "parallel",
    "Part": "parallel",
    "Place": "statement",
    "Post": "wrappers",
    "Repeat": "node",
    "Sampled": "sampled",
    "Sequential": "node",
    "Shuffled": "shuffled",
    "Slots": "slots",
    "Statement": "statement",
    "Values": "values",
    "Where": "where",
    "Witness": "statement",
    "Workload": "workload",
    "above": "values",
    "anything": "values",
    "at_least": "values",
    "at_most": "values",
    "below": "values",
    "between": "values",
    "but_not": "values",
    "compare": "workload",
    "drawn": "drawing",
    "equals": "values",
    "exact_size": "leaf",
    "is_not_null": "values",
    "is_null": "values",
    "nothing": "values",
    "one_of": "values",
    "read": "codec",
    "written": "codec",
}

if not TYPE_CHECKING:  # to which every name would be one of this room

    def __getattr__(name: str) -> Any:
        """Load the file of a name the first time that it is asked for."""
        if name not in _FILES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
