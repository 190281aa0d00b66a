"""What the values of a form are, as options of ``discreet local form`` say it.

Trust: public.  A form is checked and shown before anybody reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet import local
from discreet.errors import WrongKind

if TYPE_CHECKING:  # which the door loads when a command first needs them
    from discreet.local import Domain, NumberRange


def domain_of(
    names: list[str] | None, *, other: str | None, bins: str | None, number: str | None
) -> Domain | NumberRange:
    """Return the categories, bins or range of numbers, of which exactly one is given.

    >>> domain_of(None, other=None, bins=None, number="0:120")
    NumberRange(low=Fraction(0, 1), high=Fraction(120, 1))
    """
    if sum(given is not None for given in (names, bins, number)) != 1:
        raise WrongKind(
            what="not exactly one of --categories, --categories-from, --bins and --number is "
            "given.",
            why="they all say which values there are.",
            do="give one of them, such as --categories flu,cold,none.",
        )
    if names is not None:
        return local.Domain(names, other=other)
    return _bins(bins, other) if bins is not None else _range(number or "", other)


def _bins(bins: str, other: str | None) -> Domain:
    parts = bins.split(":")
    if len(parts) != 3 or not parts[2].isascii() or not parts[2].isdigit() or other is not None:
        raise WrongKind(
            what="--bins is not LOW:HIGH:COUNT, or comes with --other.",
            why="bins cut an interval into parts of equal width, and nothing lies outside.",
            do="write it like --bins 0:100:10, and clamp numbers to the interval.",
        )
    return local.Domain.bins(low=parts[0], high=parts[1], count=int(parts[2]))


def _range(number: str, other: str | None) -> NumberRange:
    parts = number.split(":")
    if len(parts) != 2 or other is not None:
        raise WrongKind(
            what="--number is not LOW:HIGH, or comes with --other.",
            why="numbers lie in a public range, and nothing lies outside.",
            do="write it like --number 0:120, and clamp numbers to the range.",
        )
    return local.NumberRange(low=parts[0], high=parts[1])
