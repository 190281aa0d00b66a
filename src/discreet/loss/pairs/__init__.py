"""Dominating pairs: families, products, and the tables of pairs that are known by bounds.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # loaded when first used: its tables and engines are for few questions
    from discreet.loss.pairs import profile_operations

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
