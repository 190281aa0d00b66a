"""Who is protected: units, neighbor relations, and the distances that follow from them.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most questions need two of them
    from discreet.units.relation import Relation, l1, steps, table_distance
    from discreet.units.sensitivity import (
        NeighborGraph,
        Sensitivity,
        average_sensitivity,
        count_sensitivity,
        sum_sensitivity,
    )
    from discreet.units.unit import PrivacyUnit, custom, person, row, same_unit

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
