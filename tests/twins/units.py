"""Broken twins of distances and sensitivities: plausible slips, each of which must be caught."""

import math
from collections import Counter
from fractions import Fraction

from discreet.units import Relation, table_distance
from discreet_course.sensitivity import Sensitivity, count_sensitivity, sum_sensitivity


def sizes_may_change(left, right, *, relation):
    """Replace-one that is finite between tables of different sizes."""
    if relation is Relation.REPLACE:
        gone, come = Counter(left) - Counter(right), Counter(right) - Counter(left)
        return math.ceil((gone.total() + come.total()) / 2)
    return table_distance(left, right, relation=relation)


def sets_not_multisets(left, right, *, relation):
    """Rows that occur twice count once."""
    if relation is Relation.ADD_REMOVE:
        return len(set(left) ^ set(right))
    return table_distance(left, right, relation=relation)


def either_adds_up(left, right, *, relation):
    """Add/remove steps where a replacement would be shorter."""
    changed = Relation.ADD_REMOVE if relation is Relation.EITHER else relation
    return table_distance(left, right, relation=changed)


METRICS = [sizes_may_change, sets_not_multisets, either_adds_up]


def histogram_costs_one_when_bounded(relation, *, conditions=1, overlap=1, rows=1):
    """Forget that a replaced row leaves one cell and enters another."""
    return count_sensitivity("add_remove", conditions=conditions, overlap=overlap, rows=rows)


def squares_add_like_rows(relation, *, conditions=1, overlap=1, rows=1):
    """Count c rows in one cell as c in the square, not c squared."""
    right = count_sensitivity(relation, conditions=conditions, overlap=overlap, rows=rows)
    return Sensitivity(l0=right.l0, l1=right.l1, l2_squared=right.l1, linf=right.linf)


COUNTS = [histogram_costs_one_when_bounded, squares_add_like_rows]


def range_for_every_relation(relation, *, low, high, rows=1):
    """Use high - low when a row appears or disappears."""
    return sum_sensitivity("replace", low=low, high=high, rows=rows)


def largest_for_every_relation(relation, *, low, high, rows=1):
    """Use the largest absolute value when a row is replaced."""
    return rows * Fraction(max(abs(low), abs(high)))


SUMS = [range_for_every_relation, largest_for_every_relation]
