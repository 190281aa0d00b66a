"""The result of an audit: a lower bound that holds, and the event that shows it.

Trust: public.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A lower bound of a privacy parameter, and what it rests on.

    Attributes:
        parameter: the bounded parameter: epsilon, rho or mu.
        lower: the parameter is at least this, except with probability ``level``.
        estimate: the same without a confidence margin; it proves nothing.
        claimed: the claimed parameter, if there was a claim; rounded up.
        delta: the delta that goes with an epsilon.
        event: which outputs distinguish the neighbors, in words.
        hits: how many outputs of each neighbor were in the event.
        n: how many outputs of each neighbor were judged; 0 if the distributions themselves were.
        level: the probability that the bound is too high; 0 if it follows from exact distributions.
        pair: which neighbors, if several were tried.
        drawn: how many outputs of each side were drawn in all, also to search and to learn, by an
            audit that stops by itself; otherwise 0.
        curve: what the same event says of epsilon at several deltas: a delta, the bound, and what
            was claimed there, or None.

    >>> found = Measured(parameter="epsilon", lower=1.54, estimate=1.61, claimed=1.0,
    ...                  event="the value is at most 3", hits=(5000, 1000), n=10000, level=1e-6)
    >>> print(found)
    epsilon >= 1.54, claimed 1: VIOLATED (5000 against 1000 of 10000: the value is at most 3)

    If the answers outside of the event say more, these are counted:

    >>> from dataclasses import replace
    >>> print(replace(found, hits=(9000, 5000), claimed=None))
    epsilon >= 1.54 (not so in 1000 against 5000 of 10000: the value is at most 3)
    """

    parameter: str
    lower: float
    estimate: float
    claimed: float | None
    event: str
    hits: tuple[int, int]
    n: int
    level: float
    delta: float = 0.0
    pair: str = ""
    drawn: int = 0
    curve: tuple[tuple[float, float, float | None], ...] = ()

    @property
    def violates(self) -> bool:
        """Whether more is lost than was claimed; False does not mean that the claim is true."""
        return self.claimed is not None and self.lower > self.claimed

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows; an infinite number is text."""
        names = ("delta", "lower", "claimed")
        fields = {**asdict(self), "hits": list(self.hits), "violates": self.violates}
        fields["curve"] = [
            dict(zip(names, map(_finite, point), strict=True)) for point in self.curve
        ]
        return {name: _finite(value) for name, value in fields.items()}

    def __str__(self) -> str:
        """Show the bound, the claim and the event on one line."""
        name = f"{self.parameter}(delta={self.delta:g})" if self.delta else self.parameter
        promise = "" if self.claimed is None else f", claimed {self.claimed:.4g}"
        verdict = ": VIOLATED" if self.violates else ""
        shown = f"{math.floor(self.lower * 1e4) / 1e4:.6g}" if self.lower < 1e9 else "infinity"
        count = f"{self._counts()} of {self.n}: " if self.n else "exact law: "
        where = f"; {self.pair}" if self.pair else ""
        return f"{name} >= {shown}{promise}{verdict} ({count}{self.event}{where})"

    def _counts(self) -> str:
        """Return the hits, or the misses if their ratio is the larger one."""
        one, other = self.hits
        if one > other and (self.n - other) * other > one * (self.n - one):
            return f"not so in {self.n - one} against {self.n - other}"
        return f"{one} against {other}"


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
