"""All theorems, by key.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from discreet.theorems import (
    accounting,
    attacks,
    budgets,
    composition,
    continual,
    keys,
    ledger,
    mechanisms,
    noise,
    notions,
    questions,
    release,
    sparse,
    units_and_matrices,
)
from discreet.theorems.theorem import Theorem

__all__ = ["THEOREMS"]

_ROOMS: Final = (
    accounting,
    attacks,
    budgets,
    composition,
    continual,
    keys,
    ledger,
    mechanisms,
    noise,
    notions,
    questions,
    release,
    sparse,
    units_and_matrices,
)

THEOREMS: Mapping[str, Theorem] = MappingProxyType(
    {theorem.key: theorem for room in _ROOMS for theorem in room.ENTRIES}
)
