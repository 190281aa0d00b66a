"""Accounting: trees of releases, and what they lose together.

Trust: kernel.
"""

from discreet.accounting.account import account
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
