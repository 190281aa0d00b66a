"""Rows of broken twins: programs with a known mistake, each of which must be caught.

Trust: public.

Each is audited with ten times as many answers until it is caught, so a row says how many it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, cast

from discreet.attacks.measured import Measured
from discreet.attacks.suite.rows import Row
from discreet.attacks.twins import Twin, all_twins, catch

__all__ = ["twin_rows"]

_PART: Final = "broken twins"
_MOST: Final = 10**5


def twin_rows() -> Iterator[Row]:
    """Return a row for every broken twin."""
    for twin in all_twins():
        yield Row(
            part=_PART,
            name=f"{twin.name}: {twin.fault}",
            covers=(twin.name,),
            judge=_Judge(twin),
            quick=_MOST,
            long=10 * _MOST,
            broken=True,
        )


class _Judge:
    """Look for a violation, at the level of the twin's own audit."""

    def __init__(self, twin: Twin) -> None:
        self.twin = twin

    def __call__(self, n: int, _level: Fraction) -> Measured:
        return cast("Measured", catch(self.twin, most=n).row)  # at least one audit was made
