"""How a plan shows bounds that are to be found, or were found.

Trust: public.  Bounds that were found are released, and paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from discreet.mechanisms import Gaussian
from discreet.plan.noises import Noise
from discreet.plan.search import FoundBounds, Search

__all__ = ["bounds_title", "found_lines", "scaled_noise", "search_lines"]


def bounds_title(search: Search | None) -> str:
    """Say when bounds are found, and how sure it is that they hold somebody."""
    if search is None:
        return "uses bounds that were found before"
    return "finds bounds first, among signed powers of two, from one row of each unit"


def search_lines(search: Search) -> Iterator[str]:
    """Say how the bounds of each target are looked for."""
    for target, noise in zip(search.targets, search.noises, strict=True):
        scale = noise.mechanism.scale if not isinstance(noise.mechanism, Gaussian) else Fraction(0)
        yield (
            f"{target.about}: {target.bins.count} bins; Laplace noise of scale {float(scale):.4g}"
        )


def found_lines(found: tuple[FoundBounds, ...]) -> Iterator[str]:
    """Say which bounds were found.

    >>> cost = FoundBounds(about="cost", low=Fraction(0), high=Fraction(128), seen=True)
    >>> list(found_lines((cost,)))
    ['cost from 0 to 128']
    """
    for each in found:
        ends = f"{each.about} from {_number(each.low)} to {_number(each.high)}"
        yield ends if each.seen else f"{ends}, the widest: no bin stood out from the noise"


def scaled_noise(noise: Noise, about: str, share: str) -> str:
    """Show noise whose scale follows from bounds that are not known yet."""
    what, less, _ = about.rpartition(" less ")
    words = f"{what} less the middle of the bounds" if less else about
    law = "Gaussian" if isinstance(noise.mechanism, Gaussian) else "Laplace"
    return f"{noise.measure}: {words}; {law} noise in proportion to the bounds; {share}"


def _number(value: Fraction) -> str:
    return f"{value}" if value.denominator == 1 and abs(value) < 10**9 else f"{float(value):.6g}"
