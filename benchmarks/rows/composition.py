"""What ``benchmarks/composition.py`` races: a large tree of releases, and a long-lived loss map."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from benchmarks.measure import Contender, Race, timed
from benchmarks.peers.environment import Peers
from benchmarks.report import OURS
from discreet.accounting import (
    Box,
    Leaf,
    Node,
    Parallel,
    Sequential,
    Values,
    account,
    anything,
    at_least,
    between,
    equals,
    is_not_null,
    one_of,
)
from discreet.accounting.loss_map import LossMap
from discreet.loss.rounding import Bracket
from discreet.mechanisms import Gaussian, Laplace, RandomizedResponse

GOOGLE = "dp_accounting"
DELTA = 1e-6
REGIONS, HOSPITALS, WARDS = 100, 5, 5
CHARGES = 10**5
RELATIONS = ("add_remove", "replace")

Event = tuple[str, float, int]
"""(kind, parameter, count): sigma of a Gaussian, scale of a Laplace, epsilon of a response."""


@dataclass(frozen=True, slots=True)
class Region:
    """The noise that one region uses, and what it asks."""

    number: int

    @property
    def laplace(self) -> int:
        """Scale of the noise on counts."""
        return 100 + self.number % 10

    @property
    def gaussian(self) -> int:
        """Sigma of the noise on sums of values up to 100."""
        return 15_000 + 1_000 * (self.number % 4)

    @property
    def response(self) -> Fraction:
        """Epsilon of the randomized answers."""
        return Fraction(1, 50 + self.number % 5)

    def tree(self) -> Node:
        """Ask about the region, its hospitals and their wards."""
        count = Leaf(Laplace(scale=self.laplace), replaced=0)
        total = Leaf(Gaussian(sigma=self.gaussian), added=100, replaced=100)
        answer = Leaf(RandomizedResponse(epsilon=self.response))
        wards = {
            ward: Sequential(total if ward % 2 else answer, count, *[total] * (ward % 3))
            for ward in range(WARDS)
        }
        hospital = Sequential(count, Parallel("ward", wards), answer)
        hospitals = Parallel("hospital", dict.fromkeys(range(HOSPITALS), hospital))
        return Sequential(*[count] * 10, hospitals, *[total] * 10, answer)

    def path(self, ward: int) -> list[Event]:
        """List what one record in a ward takes part in; counts are randomized responses to it."""
        totals = 10 + (ward % 3) + (ward % 2)
        return [
            ("response", 1 / self.laplace, 12),
            ("gaussian", self.gaussian / 100, totals),
            ("response", float(self.response), 2 + (ward % 2 == 0)),
            ("response", 1 / SCALE, SHARED),
        ]


SHARED = 20
SCALE = 200


def tree() -> Node:
    """Return more than ten thousand releases in a hundred parts, nested three deep."""
    shared = [Leaf(Laplace(scale=SCALE), replaced=0)] * SHARED
    return Sequential(*shared, Parallel("region", {i: Region(i).tree() for i in range(REGIONS)}))


def paths() -> list[list[Event]]:
    """Return what each kind of record takes part in: without a parallel node, all must be asked."""
    regions = [Region(number) for number in range(REGIONS)]
    return [region.path(ward) for region in regions for ward in range(WARDS)]


def boxes(count: int, seed: int = 7) -> Iterator[Box]:
    """Yield what questions over six columns ask about, broad and narrow."""
    chosen = random.Random(seed)  # noqa: S311  (questions, not noise)

    def some(values: Values, chance: float) -> Values:
        return values if chosen.random() < chance else anything()

    for _ in range(count):
        state, age = chosen.randrange(50), 10 * chosen.randrange(10)
        conditions = {
            "state": some(equals(state), 0.7),
            "age": some(between(age, age + 9), 0.3),
            "sex": some(equals(chosen.choice("fm")), 0.2),
            "year": some(at_least(2015 + chosen.randrange(10)), 0.1),
            "ward": some(one_of(*chosen.sample("ABCDEFGH", 2)), 0.1),
            "diagnosis": some(is_not_null(), 0.1),
        }
        yield Box({name: values for name, values in conditions.items() if values != anything()})


@dataclass(slots=True)
class Field:
    """Makes races, with or without peers, and keeps what was answered."""

    peers: Peers | None
    charges: int
    answers: dict[tuple[str, str], float] = field(default_factory=dict)
    brackets: dict[str, Bracket] = field(default_factory=dict)

    def races(self) -> Iterator[Race]:
        """Yield all races."""
        whole = tree()
        for relation in RELATIONS:
            yield self.price(whole, relation)
        yield from self.map()

    def price(self, whole: Node, relation: str) -> Race:
        """Account for the tree and ask for epsilon."""
        name = f"price of the tree, {relation}"

        def ours() -> Bracket:
            self.brackets[name] = account(whole, relation=relation).interval(delta=DELTA)
            return self.brackets[name]

        contenders: dict[str, Contender] = {OURS: timed(ours, units=1)}
        if self.peers is not None and relation == "add_remove":
            contenders[GOOGLE] = self._every_path(self.peers, name)
        return Race(kind="tree", name=name, contenders=contenders, unit="ms", rounds=2)

    def _every_path(self, peers: Peers, name: str) -> Contender:
        """Let dp_accounting price each path, and keep the largest."""
        work = f"{GOOGLE} epsilon"
        asked = [{"events": path, "rate": 1.0, "delta": DELTA} for path in paths()]
        values = [float(peers.ask(work=work, **each)["value"]) for each in asked]
        self.answers[name, GOOGLE] = max(values)
        each_path = [peers.contender(work=work, **each) for each in asked]
        return lambda: sum(contender() for contender in each_path)

    def map(self) -> Iterator[Race]:
        """Charge a loss map that has seen many charges, and ask what is left."""
        paid = LossMap(width=2)
        charges = boxes(self.charges + 10**6)
        for _ in range(self.charges):
            paid.add(next(charges), [10**18, 1])
        name = f"after {self.charges:,} charges"
        one = timed(lambda: paid.add(next(charges), [10**18, 1]), units=1, calls=200)
        yield Race(kind="charge", name=f"one more charge {name}", contenders={OURS: one}, unit="ms")
        ask = timed(paid.highest, units=1, calls=20)
        yield Race(kind="left", name=f"what is left {name}", contenders={OURS: ask}, unit="ms")
