"""Census-style reconstruction: every table of people that agrees with published statistics.

Garfinkel, Abowd and Martindale 2019, Understanding Database Reconstruction Attacks
on Public Data: counts, medians and means of seven people, small cells suppressed, name all seven.

People are unknowns, in the order of their ages: an age, and a bit for each trait.  A statistic
binds those who belong to its group: their number, the sum of their ages, and the age of the one in
the middle, who is found by counting members from the youngest on.  A SAT solver lists all tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final, final

from discreet.errors import WrongKind
from discreet.exact import decimal, whole

__all__ = ["OLDEST", "SEVEN_PEOPLE", "SEVEN_TRAITS", "Person", "Statistic", "reconstruct"]

Person = tuple[int | str, ...]
"""An age, and a value of every trait."""

OLDEST: Final = 115


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A published statistic about people with some traits and ages in a range.

    ``most`` instead of a count says that it was too small to be shown.  ``mean`` is rounded to its
    written number of decimals.

    >>> Statistic(where={"sex": "female"}, count=4, median=30, mean="33.5").count
    4
    """

    where: Mapping[str, str] = field(default_factory=dict)
    ages: tuple[int, int] = (0, OLDEST)
    count: int | None = None
    most: int | None = None
    median: int | None = None
    mean: str | None = None


SEVEN_TRAITS: Final = {
    "sex": ("female", "male"),
    "race": ("black", "white"),
    "marital": ("married", "single"),
}
SEVEN_PEOPLE: Final = (
    Statistic(count=7, median=30, mean="38.0"),
    Statistic(where={"sex": "female"}, count=4, median=30, mean="33.5"),
    Statistic(where={"sex": "male"}, count=3, median=30, mean="44.0"),
    Statistic(where={"race": "black"}, count=4, median=51, mean="48.5"),
    Statistic(where={"race": "white"}, count=3, median=24, mean="24.0"),
    Statistic(where={"marital": "married"}, ages=(18, OLDEST), count=4, median=51, mean="54.0"),
    Statistic(where={"sex": "female", "race": "black"}, count=3, median=36, mean="36.7"),
    Statistic(where={"marital": "single"}, ages=(18, OLDEST), most=2),
    Statistic(where={"sex": "male", "race": "black"}, most=2),
    Statistic(where={"sex": "male", "race": "white"}, most=2),
    Statistic(where={"sex": "female", "race": "white"}, most=2),
    Statistic(ages=(0, 4), most=2),
    Statistic(ages=(0, 17), most=2),
    Statistic(ages=(64, OLDEST), most=2),
    Statistic(where={"marital": "married"}, ages=(0, 17), most=0),
)
"""The published block of Garfinkel, Abowd and Martindale 2019; the last line is common sense."""


def reconstruct(
    statistics: Sequence[Statistic], traits: Mapping[str, tuple[str, str]], *, most: int = 1000
) -> list[tuple[Person, ...]]:
    """Return all tables that agree with the statistics; the search ends after ``most``.

    The first statistic is about all people.

    >>> everyone = Statistic(count=1, median=41, mean="41.0")
    >>> reconstruct([everyone], {"sex": ("female", "male")})
    [((41, 'female'),), ((41, 'male'),)]
    """
    people = whole(statistics[0].count, name="count", low=1)
    block = _Block(people, traits)
    for statistic in statistics:
        block.publish(statistic)
    return block.tables(whole(most, name="most", low=1))


class _Block:
    """The unknown people, and the published statistics about them."""

    __slots__ = ("_ages", "_bits", "_model", "_solver", "_traits")

    def __init__(self, people: int, traits: Mapping[str, tuple[str, str]]) -> None:
        try:
            from ortools.sat.python import cp_model  # noqa: PLC0415 (an extra)
        except ImportError:
            raise WrongKind(
                what="ortools is not installed.",
                why="it solves the equations of published tables, and no other page needs it.",
                do="pip install 'discreet[attacks]'",
            ) from None
        self._solver = cp_model
        self._traits = dict(traits)
        self._model = cp_model.CpModel()
        self._ages = [self._number() for _ in range(people)]
        self._bits = {trait: [self._bit() for _ in range(people)] for trait in traits}
        for younger, older in zip(self._ages, self._ages[1:], strict=False):
            self._model.add(younger <= older)

    def publish(self, statistic: Statistic) -> None:
        """Bind the people to a statistic."""
        model = self._model
        inside = [self._belongs(statistic, person) for person in range(len(self._ages))]
        if statistic.count is None:
            model.add(sum(inside) <= whole(statistic.most, name="most", low=0))
            return
        model.add(sum(inside) == statistic.count)
        if statistic.mean is not None:
            low, high = _sums(statistic.mean, statistic.count)
            total = sum(self._if(one, age) for one, age in zip(inside, self._ages, strict=True))
            model.add_linear_constraint(total, low, high)
        if statistic.median is not None:
            half, odd = divmod(statistic.count, 2)
            middle = self._ranked(inside, half + 1)
            other = middle if odd else self._ranked(inside, half)
            model.add(middle + other == 2 * statistic.median)

    def tables(self, most: int) -> list[tuple[Person, ...]]:
        """List the tables; people of one age may come in several orders, which count once."""
        tables: set[tuple[Person, ...]] = set()

        def keep(value: Callable[[Any], int]) -> bool:
            people: list[Person] = []
            for person, age in enumerate(self._ages):
                values = [
                    names[1 - value(self._bits[trait][person])]
                    for trait, names in self._traits.items()
                ]
                people.append((value(age), *values))
            tables.add(tuple(sorted(people)))
            return len(tables) >= most

        solver = self._solver.CpSolver()
        solver.parameters.enumerate_all_solutions = True
        solver.parameters.num_workers = 1
        solver.solve(self._model, _listener(self._solver, keep))
        return sorted(tables)

    def _belongs(self, statistic: Statistic, person: int) -> Any:
        """Return a bit that says whether a person is in the group."""
        bits = [
            self._bits[trait][person]
            if self._traits[trait].index(value) == 0
            else ~self._bits[trait][person]
            for trait, value in statistic.where.items()
        ]
        low, high = statistic.ages
        bits += [self._at_least(person, low), ~self._at_least(person, high + 1)]
        return self._all(bits)

    def _at_least(self, person: int, age: int) -> Any:
        bit = self._bit()
        self._model.add(self._ages[person] >= age).only_enforce_if(bit)
        self._model.add(self._ages[person] < age).only_enforce_if(~bit)
        return bit

    def _all(self, bits: Sequence[Any]) -> Any:
        both = self._bit()
        self._model.add_bool_and(bits).only_enforce_if(both)
        self._model.add_bool_or([~bit for bit in bits]).only_enforce_if(~both)
        return both

    def _if(self, bit: Any, age: Any) -> Any:
        """Return the age of a member, and 0 for others."""
        part = self._number()
        self._model.add(part == age).only_enforce_if(bit)
        self._model.add(part == 0).only_enforce_if(~bit)
        return part

    def _ranked(self, inside: Sequence[Any], rank: int) -> Any:
        """Return the age of the member of a rank, from the youngest on."""
        age = self._number()
        for person, member in enumerate(inside):
            so_far = sum(inside[: person + 1])
            enough, too_many = self._bit(), self._bit()
            for bit, least in ((enough, rank), (too_many, rank + 1)):
                self._model.add(so_far >= least).only_enforce_if(bit)
                self._model.add(so_far < least).only_enforce_if(~bit)
            here = self._all([member, enough, ~too_many])
            self._model.add(age == self._ages[person]).only_enforce_if(here)
        return age

    def _number(self) -> Any:
        return self._model.new_int_var(0, OLDEST, "")

    def _bit(self) -> Any:
        return self._model.new_bool_var("")


def _listener(solver: Any, keep: Callable[[Callable[[Any], int]], bool]) -> Any:
    """Make what the solver calls for every table: it stops when ``keep`` has enough."""

    class Listener(solver.CpSolverSolutionCallback):  # type: ignore[misc]  # known at run time only
        def on_solution_callback(self) -> None:
            if keep(self.value):
                self.stop_search()

    return Listener()


def _sums(mean: str, count: int) -> tuple[int, int]:
    """Return which sums of whole ages have a mean that is written like this.

    >>> _sums("36.7", 3), _sums("38", 7)
    ((110, 110), (263, 269))
    """
    _, _, decimals = mean.partition(".")
    half = Fraction(1, 2 * 10 ** len(decimals))
    middle = decimal(mean, name="mean")
    return ceil((middle - half) * count), floor((middle + half) * count)
