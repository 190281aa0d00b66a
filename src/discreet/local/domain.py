"""The public domain of a question in the local model: an ordered list of values, and their codes.

Trust: kernel.  The code of a value is what a randomizer hides; a value without one must not leave
the device in another way, such as an error that names it.

Definition.  A domain lists k >= 2 different values, or cuts an interval into k bins of equal width.
The code of a value is its place in the list, or the number of its bin; the last bin includes its
upper end.  A value outside is refused, or has the code of a declared ``other``, which comes last.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, freeze, whole

Category = str | int

_MOST: Final = 1 << 24
_FARTHEST: Final = 10**300


@final
@dataclass(frozen=True, slots=True, init=False)
class Domain:
    """Ordered public values: texts or integers, or bins of a bounded number.

    >>> illness = Domain(["flu", "cold", "none"], other="something else")
    >>> illness.code("cold"), illness.code("measles"), illness.values
    (1, 3, 4)
    >>> Domain.bins(low=0, high=100, count=4).code(25)
    1
    """

    categories: tuple[Category, ...]
    other: Category | None
    edges: tuple[Fraction, ...]
    _places: Mapping[Category, int] = field(repr=False, compare=False)

    def __init__(self, categories: Iterable[Category], *, other: Category | None = None) -> None:
        """Take the values in order, and the name of all others if they are to be counted."""
        names = [_category(name) for name in listed(categories, name="categories")]
        if other is not None:
            names.append(_category(other))
        self._set(tuple(names), other, ())

    @classmethod
    def bins(cls, *, low: object, high: object, count: int) -> Domain:
        """Cut the interval from low to high into bins of equal width.

        >>> Domain.bins(low=0, high=1, count=2).categories
        ('0 to 1/2', '1/2 to 1')
        """
        start, stop = decimal(low, name="low"), decimal(high, name="high")
        size = whole(count, name="count", low=2, high=_MOST)
        if not -_FARTHEST <= start < stop <= _FARTHEST:
            raise OutOfRange(
                "low is not below high, or one of them is beyond 1e300; give the smaller end as "
                "low, and both within 1e300."
            )
        edges = tuple(start + (stop - start) * step / size for step in range(size + 1))
        names = tuple(f"{edges[at]} to {edges[at + 1]}" for at in range(size))
        domain = object.__new__(cls)
        domain._set(names, None, edges)
        return domain

    def _set(
        self, names: tuple[Category, ...], other: Category | None, edges: tuple[Fraction, ...]
    ) -> None:
        if not 2 <= len(set(names)) == len(names) <= _MOST:
            raise WrongKind(
                "the values of a domain are not at least two different ones; give two or more "
                "different texts or integers."
            )
        freeze(
            self,
            categories=names,
            other=other,
            edges=edges,
            _places={name: at for at, name in enumerate(names)},
        )

    @property
    def values(self) -> int:
        """Return how many codes there are."""
        return len(self.categories)

    def code(self, value: object) -> int:
        """Return the code of one value."""
        return int(self.codes([value])[0])

    def codes(self, values: object) -> NDArray[np.int64]:
        """Return the code of each value.

        >>> Domain(["a", "b"]).codes(["b", "a", "b"]).tolist()
        [1, 0, 1]
        """
        if self.edges:
            return self._bin_codes(values)
        places, rest = self._places, -1 if self.other is None else self.values - 1
        found = [_place(places, value, rest) for value in listed(values, name="values")]
        codes = np.array(found, np.int64)
        if codes.size and codes.min() < 0:
            raise _outside()
        return codes

    def _bin_codes(self, values: object) -> NDArray[np.int64]:
        """Find the bin of each number; a float is read as its shortest decimal text."""
        low, high = self.edges[0], self.edges[-1]
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == np.float64:
            starts = np.array([_least_float(edge) for edge in self.edges])
            inside = (values >= starts[0]) & (values <= starts[-1])
            if not inside.all() or decimal(starts[-1], name="high") > high:
                return self._bin_codes(values.tolist())
            return np.searchsorted(starts[1:-1], values, side="right").astype(np.int64)
        width = (high - low) / self.values
        numbers = [_number(value) for value in listed(values, name="values")]
        exact = [number for number in numbers if number is not None and low <= number <= high]
        if len(exact) < len(numbers):
            raise _outside()
        bins = [min(int((number - low) // width), self.values - 1) for number in exact]
        return np.array(bins, np.int64)

    def describe(self) -> dict[str, Any]:
        """Return the domain, ready for JSON."""
        if self.edges:
            ends = {"low": str(self.edges[0]), "high": str(self.edges[-1])}
            return {"bins": self.values, **ends}
        listed_values = self.categories if self.other is None else self.categories[:-1]
        return {"categories": list(listed_values), "other": self.other}

    @staticmethod
    def of_description(description: object) -> Domain:
        """Make the domain that describes itself so.

        >>> domain = Domain.bins(low="0.5", high=2, count=3)
        >>> Domain.of_description(domain.describe()) == domain
        True
        """
        match description:
            case {"bins": int() as count, "low": str() as low, "high": str() as high, **rest} if (
                not rest
            ):
                return Domain.bins(low=low, high=high, count=count)
            case {"categories": list() as names, "other": other, **rest} if not rest:
                return Domain(names, other=other)
        raise WrongKind("a domain cannot be read; use a description as describe() writes it.")

    def digest(self) -> bytes:
        """Return the SHA-256 of the description: equal for equal domains alone.

        >>> len(Domain(["a", "b"]).digest())
        32
        """
        text = json.dumps(self.describe(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()


def _category(name: object) -> Category:
    if isinstance(name, str | int) and not isinstance(name, bool):
        return name
    raise WrongKind(
        f"a value of the domain is a {type(name).__name__}, neither text nor an integer; give "
        "texts or integers."
    )


def _place(places: Mapping[Category, int], value: object, rest: int) -> int:
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, str | int) and not isinstance(value, bool):
        return places.get(value, rest)
    return rest


def _number(value: object) -> Fraction | None:
    try:
        return decimal(value, name="a value")
    except (WrongKind, OutOfRange):
        return None


def _least_float(edge: Fraction) -> float:
    """Return the least float whose shortest decimal text is not below an edge.

    >>> _least_float(Fraction(3, 10))
    0.3
    """
    candidate = math.nextafter(float(edge), -math.inf)
    while decimal(candidate, name="an edge") < edge:
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def _outside() -> OutOfRange:
    return OutOfRange(
        "a value is outside the domain; declare a category for all others, Domain(..., "
        "other='other'), or clamp numbers first."
    )
