"""The engines for delta(eps) and eps(delta): closed forms, lists, contour, lattice, moments.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # loaded when first used: closed forms are enough for most questions
    from discreet.loss.engine import connect_the_dots, contour, enumeration, lattice_search

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
