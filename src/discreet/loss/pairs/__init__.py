"""Dominating pairs: families, products, and the tables of pairs that are known by bounds.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # loaded when first used: its tables and engines are for few questions
    from discreet.loss.pairs import profile_operations

__all__ = ["profile_operations"]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(__name__, {}, rooms=__all__)
