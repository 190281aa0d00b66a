"""Broken twins: programs that look private and are not, each caught by an audit.

Trust: public.  Nothing here may ever protect anybody.

>>> from discreet_audit.twins import caught
>>> [(twin.name, twin.fault, twin.needed) for twin in caught(quick=True, names=["Laplace"])]
[('Laplace', 'half the scale', 1000)]
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Final

from discreet_audit.twins.twin import Caught, Twin, catch

__all__ = ["Caught", "Twin", "all_twins", "catch", "caught"]

_FILES: Final = ("noises", "sparse_vector", "sessions")


def all_twins() -> list[Twin]:
    """Return all twins.

    >>> len({twin.name for twin in all_twins()}) == len(all_twins())
    True
    """
    twins: list[Twin] = []
    for file in _FILES:
        twins += importlib.import_module(f"{__name__}.{file}").TWINS
    return twins


def caught(*, quick: bool, names: Iterable[str] | None = None) -> list[Caught]:
    """Audit twins with ten times as many answers until each is caught.

    Args:
        quick: give up after 100,000 answers, not after ten million.
        names: which twins; all unless given.
    """
    wanted = None if names is None else set(names)
    twins = [twin for twin in all_twins() if wanted is None or twin.name in wanted]
    return [catch(twin, most=100_000 if quick else 10_000_000) for twin in twins]
