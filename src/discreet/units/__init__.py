"""Who is protected: units, neighbor relations, and the distances that follow from them.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most questions need two of them
    from discreet.units.relation import Relation, l0, l1, l2_squared, linf, steps, table_distance
    from discreet.units.sensitivity import (
        NeighborGraph,
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

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "relation": ("Relation", "l0", "l1", "l2_squared", "linf", "steps", "table_distance"),
            "sensitivity": (
                "NeighborGraph",
                "Sensitivity",
                "average_sensitivity",
                "count_sensitivity",
                "sum_sensitivity",
            ),
            "unit": ("PrivacyUnit", "custom", "person", "row", "same_unit"),
        },
    )
