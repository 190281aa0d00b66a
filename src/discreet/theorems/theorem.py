"""One theorem: a key, a statement, and where it comes from.

Trust: public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A statement and where it comes from.

    >>> from discreet.theorems import THEOREMS
    >>> THEOREMS["permute-and-flip"].source
    'McKenna and Sheldon 2020, Permute-and-Flip; proof in docs/proofs/noise.md'
    """

    key: str
    statement: str
    source: str
