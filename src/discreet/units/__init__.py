"""Who is protected: units, neighbor relations, and the distances that follow from them.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # each is loaded when first used, because most questions need two of them
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

_FILES: Final = {
    "NeighborGraph": "graph",
    "PrivacyUnit": "unit",
    "Relation": "relation",
    "Sensitivity": "sensitivity",
    "average_sensitivity": "sensitivity",
    "count_sensitivity": "sensitivity",
    "custom": "unit",
    "l0": "metrics",
    "l1": "metrics",
    "l2_squared": "metrics",
    "linf": "metrics",
    "person": "unit",
    "row": "unit",
    "same_unit": "unit",
    "steps": "metrics",
    "sum_sensitivity": "sensitivity",
    "table_distance": "metrics",
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
