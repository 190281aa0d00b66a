"""How much noise others add to the same questions at the same price.

Everybody is given one row of a person in a place, amounts from 0 to 100, and the same neighbors: a
person more or less.  So errors differ by how a price is divided, by the law, and by nothing else.

GoogleSQL (what BigQuery runs; Wilson et al., "Differentially private SQL with bounded user
contribution", PoPETs 2020) divides epsilon evenly between the aggregates, and a hidden count of
people if groups are private and nobody asks for that count.  All noise is Laplace noise for all
groups of a person.  A mean takes half of its share for a count and half for a sum less the middle.
Groups appear from a noisy count of ceil(1 - (g / e) ln(2 d)), d = 1 - (1 - delta)**(1 / g).

Tumult (tmlt.core, ``create_average_measurement`` and ``GeometricPartitionSelection``) has one
aggregate in a query, and one more query to find private groups; here they share epsilon evenly.
Means are halved as above.  Groups are found by geometric noise of scale g / e, from the least t
with g exp(e) P[noise > t - 2] <= delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from benchmarks.peers.environment import Peers
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import half_width

CONFIDENCE: Final = Fraction(19, 20)
MOST: Final = 100
"""Amounts are whole numbers from 0 to this."""
SIZE: Final = 1000
"""Rows in a group, for the errors of means."""

COUNT, SUM, MEAN, PEOPLE, SHOWN = "count", "sum", "mean", "people", "shown from"

Law = Laplace | Gaussian


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question about places, and what it may cost."""

    asked: tuple[str, ...]
    groups: int
    """The places of a person that count."""
    public: bool
    """Whether the places are known beforehand."""
    epsilon: Fraction = Fraction(1)
    delta: Fraction

    @property
    def name(self) -> str:
        """Say what is asked, and how."""
        keys = "public" if self.public else "private"
        delta = f", delta {float(self.delta):g}" if self.delta else ""
        return f"{' + '.join(self.asked)}, {keys} places, {self.groups} of a person{delta}"

    @property
    def judged(self) -> tuple[str, ...]:
        """What errors are compared: those of all outputs, and how large a group has to be."""
        return self.asked if self.public else (*self.asked, SHOWN)


def width(*terms: tuple[int | Fraction, Law]) -> float:
    """Return the half width, at 95 %, of a sum of noises times factors."""
    return float(half_width(tuple((Fraction(a), law) for a, law in terms), CONFIDENCE))


def by_google(case: Case) -> dict[str, float]:
    """Return errors in GoogleSQL."""
    parts = len(case.asked) + (not case.public and PEOPLE not in case.asked)
    share = case.epsilon / parts
    found = _each(case, share)
    if not case.public:
        chance = -math.expm1(math.log1p(-float(case.delta)) / case.groups)
        found[SHOWN] = math.ceil(1 - case.groups / float(share) * math.log(2 * chance))
    return found


def by_tumult(case: Case) -> dict[str, float]:
    """Return errors in Tumult Analytics."""
    share = case.epsilon / (len(case.asked) + (not case.public))
    found = _each(case, share)
    if not case.public:
        p = math.exp(-share / case.groups)
        most = float(case.delta) / (case.groups * math.exp(share))
        least = 0
        while p ** (least - 1) / (1 + p) > most:  # the chance of noise above least - 2
            least += 1
        found[SHOWN] = least
    return found


def _each(case: Case, share: Fraction) -> dict[str, float]:
    """Return the errors of all outputs, each with an epsilon of its own."""
    one, groups = Laplace(scale=case.groups / share), case.groups
    halves = Laplace(scale=2 * groups * (MOST // 2) / share), Laplace(scale=2 * groups / share)
    errors = {
        COUNT: width((1, one)),
        PEOPLE: width((1, one)),
        SUM: width((1, Laplace(scale=MOST * groups / share))),
        MEAN: width((1, halves[0]), (MOST // 2, halves[1])) / SIZE,
    }
    return {name: errors[name] for name in case.asked}


def by_opendp(case: Case, peers: Peers, *, rho: bool) -> dict[str, float]:
    """Ask OpenDP what it would add for a price in epsilon and delta, or in rho."""
    needed = {COUNT: "n", PEOPLE: "n", SUM: "s", MEAN: "s"}
    outputs = sorted({needed[name] for name in case.asked})
    if "n" not in outputs and (MEAN in case.asked or not case.public):
        outputs.insert(0, "n")
    price = _price(case, peers) if rho else {"epsilon": float(case.epsilon)}
    if not rho and case.delta:
        price["delta"] = float(case.delta)
    keys = 100 if case.public else None
    request = {"outputs": outputs, "groups": case.groups, "keys": keys, "price": price}
    answer = peers.ask(work="noise", **request)
    if "why" in answer:
        raise RuntimeError(answer["why"])
    return _of_opendp(case, {row["column"]: row for row in answer["value"]})


def _of_opendp(case: Case, rows: dict[str, dict[str, Any]]) -> dict[str, float]:
    laws = {name: _law(row) for name, row in rows.items()}
    found: dict[str, float] = {}
    for name in case.asked:
        match name:
            case "count" | "people":
                found[name] = width((1, laws["n"]))
            case "sum":
                found[name] = width((1, laws["s"]))
            case "mean":  # a sum that is not centered, divided by a count
                found[name] = width((1, laws["s"]), (MOST, laws["n"])) / SIZE
    if not case.public:
        found[SHOWN] = int(rows["n"]["threshold"]) + 1  # it has to be exceeded
    return found


def _price(case: Case, peers: Peers) -> dict[str, float]:
    """Return the largest rho that OpenDP converts to the price; half of delta is for the keys."""
    delta = float(case.delta if case.public else case.delta / 2)
    rho = float(peers.ask(work="rho", epsilon=float(case.epsilon), delta=delta)["value"])
    return {"rho": rho} if case.public else {"rho": rho, "delta": delta}


def _law(row: dict[str, Any]) -> Law:
    scale = Fraction(row["scale"])
    return Gaussian(sigma=scale) if "Gaussian" in row["distribution"] else Laplace(scale=scale)
