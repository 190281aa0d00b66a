"""Where a plan stands before the ledger that would pay for it.

Trust: public.  All of it is in the ledger, and nothing of it is in the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["Standing"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether a plan was answered before, whether it fits, and what is left after it.

    ``entry`` is the number of the entry that holds its answer; ``left`` is what would be left for
    questions about the same units, and what is left now where the plan does not fit.

    >>> print(Standing(entry=None, fits=True, left="epsilon 2.5 of 3"))
    leaves epsilon 2.5 of 3
    >>> print(Standing(entry=4, fits=True, left=""))
    was answered before, in entry 4, and costs nothing again
    >>> print(Standing(entry=None, fits=False, left="epsilon 0.1 of 3"))
    does not fit into what is left: epsilon 0.1 of 3
    """

    entry: int | None
    fits: bool
    left: str

    def __str__(self) -> str:
        """Say it in a line."""
        if self.entry is not None:
            return f"was answered before, in entry {self.entry}, and costs nothing again"
        return (
            f"leaves {self.left}" if self.fits else f"does not fit into what is left: {self.left}"
        )
