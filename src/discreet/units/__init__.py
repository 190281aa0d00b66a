"""Who is protected: units, neighbor relations, and the distances that follow from them.

Trust: kernel.
"""

from discreet.units.graph import NeighborGraph
from discreet.units.metrics import l0, l1, l2_squared, linf, steps, table_distance
from discreet.units.relation import Relation
from discreet.units.sensitivity import (
    Sensitivity,
    average_sensitivity,
    count_sensitivity,
    sum_sensitivity,
)
from discreet.units.unit import PrivacyUnit, custom, person, row, same_unit

__all__ = [
    "NeighborGraph",
    "PrivacyUnit",
    "Relation",
    "Sensitivity",
    "average_sensitivity",
    "count_sensitivity",
    "custom",
    "l0",
    "l1",
    "l2_squared",
    "linf",
    "person",
    "row",
    "same_unit",
    "steps",
    "sum_sensitivity",
    "table_distance",
]
