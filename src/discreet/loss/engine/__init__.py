"""The engines for delta(eps) and eps(delta): closed forms, lists, contour, lattice, moments.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # loaded when first used: closed forms are enough for most questions
    from discreet.loss.engine import connect_the_dots, contour, enumeration, lattice_search

__all__ = ["connect_the_dots", "contour", "enumeration", "lattice_search"]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(__name__, {}, rooms=__all__)
