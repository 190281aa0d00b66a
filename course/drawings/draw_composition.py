"""Draw the pictures of the guide to composition: ``python docs/gallery/draw_composition.py``.

Those of the gallery's page on parallel composition are drawn by ``draw.py``, with all others.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

from tree import Tree

from discreet.accounting import (
    Box,
    Choice,
    Contribution,
    Group,
    Leaf,
    Parallel,
    Sampled,
    account,
    at_least,
    between,
    equals,
    exact_size,
)
from discreet.accounting.budget import Budget
from discreet.accounting.filter import PrivacyFilter
from discreet.charts import Axis, Chart
from discreet.charts.curves import CurvePlot
from discreet.loss import GaussianDP, Pure, ZeroConcentrated, plot
from discreet.loss import Laplace as ContinuousLaplace
from discreet.mechanisms import Laplace
from discreet.units import person, row, table_distance

HERE = Path(__file__).parents[2] / "docs" / "guide" / "pictures"


def count(epsilon: str, name: str = "count") -> Leaf:
    """Return a noisy count of all rows that it sees; a replaced row does not move it."""
    return Leaf(Laplace(scale=1 / Fraction(epsilon)), name=name, replaced=0)


def pure(epsilon: object, name: str, **more: object) -> Leaf:
    """Return a leaf that is known by its epsilon."""
    return Leaf(Pure(epsilon=epsilon), name=name, **more)  # type: ignore[arg-type]


def sequential() -> Tree:
    """Two questions about everybody."""
    tree = count("0.5") + pure("0.25", "median")
    return Tree(title="One after the other: add", tree=tree, how={"relation": "add_remove"})


def wards() -> Parallel:
    """Return a count for each of two wards."""
    return Parallel("ward", {"A": count("1"), "B": count("0.5")})


def parallel() -> Tree:
    """Two wards, a row added or removed."""
    title = "Disjoint parts, a row added or removed: the largest"
    return Tree(title=title, tree=wards(), how={"relation": "add_remove"})


def parallel_replace() -> Tree:
    """Two wards, a row replaced."""
    title = "The same parts, a row replaced: the two largest"
    return Tree(title=title, tree=wards(), how={"relation": "replace"})


def within_part() -> Tree:
    """Sums of numbers from -10 to 10, a row replaced inside a ward."""
    swing = Leaf(Laplace(scale=10), name="sum, −10 to 10", added=10, replaced=20)
    tree = Parallel("ward", {"A": swing, "B": count("0.5")})
    return Tree(title="Replaced inside one part", tree=tree, how={"relation": "replace"})


def laplace(epsilon: str) -> Leaf:
    """Return continuous Laplace noise."""
    return Leaf(ContinuousLaplace(scale=1 / Fraction(epsilon)), name=f"Laplace, ε = {epsilon}")


def nested_tree() -> object:
    """Return different work in two wards, and a sample with different work again."""
    gauss = Leaf(GaussianDP(mu="0.6"), name="Gauss, μ = 0.6")
    one = Leaf(GaussianDP(mu=1), name="Gauss, μ = 1")
    return (
        laplace("0.5")
        + Parallel("ward", {"A": 4 * gauss, "B": 2 * pure(1, "coin, ε = 1")})
        + Sampled(Parallel("ward", {"A": laplace("1"), "B": one}), rate="0.2")
    )


def nested() -> Tree:
    """Compose in each ward, then take the largest."""
    return Tree(
        title="Compose in each ward, then take the largest",
        tree=nested_tree(),  # type: ignore[arg-type]
        how={"relation": "add_remove"},
        delta="1e-6",
    )


def two_keys() -> Tree:
    """Two keys, and a combination that nobody has."""
    ages = Parallel("sex", {"f": pure("0.1", "count f"), "m": pure(1, "count m")})
    tree = Parallel("ward", {"birth": pure(1, "stays"), "eye": pure("0.1", "stays")}) + ages
    how = {"relation": "add_remove", "impossible": [{"ward": "birth", "sex": "m"}]}
    return Tree(title="Two keys, no men in the birth ward", tree=tree, how=how)


def persons() -> Tree:
    """A person with up to three visits, at most two a day, on at most two days."""
    days = Parallel("day", {day: pure("0.2", "visits") for day in ("Mon", "Tue", "Wed")})
    limits = Contribution(rows=3, per_part={"day": 2}, parts={"day": 2})
    how = {"unit": person("patient"), "contribution": limits}
    return Tree(title="A person has several rows", tree=days, how=how)


def mixed() -> Tree:
    """One leaf for events, one for users."""
    tree = pure("0.1", "events") + pure("0.5", "users", unit=person("user"))
    how = {"unit": person("user"), "contribution": Contribution(rows=20)}
    return Tree(title="Events and users in one account", tree=tree, how=how)


def preprocessing() -> Tree:
    """A join that makes three rows of one, and one without a bound."""
    tree = Group(pure("0.1", "count"), distance=3) + Group(pure("0.1", "count"), distance=math.inf)
    title = "What happens before: three rows of one, or any number"
    return Tree(title=title, tree=tree, how={"relation": "add_remove"})


def sizes() -> Tree:
    """Exact part sizes beside a noisy count."""
    tree = count("0.5") + Parallel("ward", {"A": exact_size("size"), "B": exact_size("size")})
    return Tree(title="Exact part sizes", tree=tree, how={"relation": "replace"})


def common_domain() -> Tree:
    """Certificates on the whole table."""
    parts = {
        ward: pure(cost, "report", relation="replace", common_domain=True)
        for ward, cost in (("A", "0.7"), ("B", "0.4"), ("C", "0.2"))
    }
    title = "Certified on the whole table: the two largest"
    return Tree(title=title, tree=Parallel("ward", parts), how={"relation": "replace"})


def sampled() -> Tree:
    """Two releases of one sample."""
    tree = Sampled(pure(1, "count") + pure(1, "median"), rate="0.01")
    return Tree(title="One secret sample, two releases", tree=tree, how={"relation": "add_remove"})


def choice() -> Tree:
    """A choice that may depend on an answer."""
    options = Choice(pure(1, "coin"), laplace("1.2"), adaptive=True)
    return Tree(
        title="The first answer decides what comes second",
        tree=pure("0.5", "first coin") + options,
        how={"relation": "add_remove"},
        delta="0.1",
    )


def loss_map() -> Chart:
    """What records of each state and age have paid after four charges."""
    book = PrivacyFilter(Budget(epsilon=2), unit=row())
    old, west = {"age": at_least(65)}, {"state": equals("CA")}
    for cost, box in (("0.5", west), ("0.3", old), ("0.2", {**old, **west}), ("0.1", {})):
        book.charge(Pure(epsilon=cost), scope=Box(box))
    states, ages = ("CA", "NY", "TX"), {"0–17": (0, 17), "18–64": (18, 64), "65–99": (65, 99)}
    chart = Chart(
        title="What a record has paid, by where it lies",
        x=Axis(label="state", low=-0.5, high=2.5, ticks=range(3), names=states),
        y=Axis(label="age", low=2.5, high=-0.5, ticks=range(3), names=tuple(ages)),
    )
    for x, state in enumerate(states):
        for y, (low, high) in enumerate(ages.values()):
            left = book.left(Box({"state": equals(state), "age": between(low, high)}))
            spent = 2 - left.loss.epsilon(delta=0)
            chart.cell(x, y, 0.9 * spent / 2, f"{spent:.1f} of 2")
    return chart


def planning() -> Chart:
    """What n questions of epsilon 0.1 cost, planned together and one by one."""
    chart = Chart(
        title="n questions of ε = 0.1 each, together at δ = 10⁻⁶",
        x=Axis(label="questions n", low=0, high=200, ticks=range(0, 201, 50)),
        y=Axis(label="ε", low=0, high=12, ticks=range(0, 13, 2)),
    )
    lines: dict[str, list[tuple[float, float]]] = {}
    for n in range(5, 201, 5):
        one = Pure(epsilon="0.1")
        rhos = ZeroConcentrated(rho=n * one.concentrated())
        found = {
            "planned": one.power(n).epsilon(delta="1e-6"),
            "basic": n / 10,
            "zcdp": rhos.epsilon(delta="1e-6"),
        }
        for name, epsilon in found.items():
            lines.setdefault(name, []).append((n, epsilon))
    names = {"basic": (1, "add epsilons"), "zcdp": (2, "add rhos"), "planned": (0, "planned")}
    for name, (color, label) in names.items():
        chart.line([p for p in lines[name] if p[1] <= 12], color=color, label=label)
    return chart


def distances() -> Chart:
    """The metric of two counts with different noise, between all tables of up to two rows."""
    tables = [t for n in range(3) for t in combinations_with_replacement("AB", n)]
    names = ["".join(table) or "none" for table in tables]
    chart = Chart(
        title="d(D, D′) of a count in A (ε = 1) and one in B (ε = 1/2)",
        x=Axis(label="D′", low=-0.5, high=5.5, ticks=range(6), names=names),
        y=Axis(label="D", low=5.5, high=-0.5, ticks=range(6), names=names),
    )
    for i, left in enumerate(tables):
        for j, right in enumerate(tables):
            far = sum(
                cost * table_distance(part(left), part(right), relation="add_remove")
                for cost, part in ((1, in_part("A")), (0.5, in_part("B")))
            )
            chart.cell(j, i, 0.7 * far / 3, f"{far:g}")
    return chart


def in_part(ward: str) -> Callable[[tuple[str, ...]], list[str]]:
    """Return the function that keeps the rows of one ward."""
    return lambda table: [each for each in table if each == ward]


def two_largest() -> Chart:
    """Three parts under both relations, against asking everybody three times."""
    chart = Chart(
        title="Counts in three wards with ε = 1, ε = 1/2 and ε = x",
        x=Axis(label="x", low=0, high=2, ticks=(0, 0.5, 1, 1.5, 2)),
        y=Axis(label="ε of all three", low=0, high=4, ticks=(0, 1, 2, 3, 4)),
    )
    grid = [Fraction(k, 20) for k in range(1, 41)]
    trees = [
        Parallel("ward", {"A": count("1"), "B": count("1/2"), "C": count(str(x))}) for x in grid
    ]
    three = [(float(x), float(x + Fraction(3, 2))) for x in grid]
    chart.line(three, color=1, label="not in parallel", dashed=True)
    for color, relation in ((2, "replace"), (0, "add_remove")):
        found = [account(tree, relation=relation).epsilon(delta=0) for tree in trees]
        label = "row replaced" if color else "row added or removed"
        chart.line([*zip(map(float, grid), found, strict=True)], color=color, label=label)
    return chart


def ten_parts() -> Chart:
    """Ten equal parts, from parallel to sequential composition."""
    chart = Chart(
        title="Ten releases, each of its own part, with the same ε",
        x=Axis(label="ε of each", low=0, high=1, ticks=(0, 0.25, 0.5, 0.75, 1)),
        y=Axis(label="ε of all ten", low=0, high=10, ticks=(0, 2, 4, 6, 8, 10)),
    )
    leaf = Leaf(Pure(epsilon=1), relation="replace", common_domain=True)
    chart.line([(0, 0), (1, 10)], color=1, label="on the whole table: 10 ε", dashed=True)
    for color, overlap in ((4, 3), (3, 2), (2, 1)):
        tree = Parallel("part", dict.fromkeys(range(10), leaf), overlap=overlap)
        all_ten = account(tree, relation="replace").epsilon(delta=0)
        label = f"row replaced, in up to {overlap} parts" if overlap > 1 else "row replaced: 2 ε"
        chart.line([(0, 0), (1, all_ten)], color=color, label=label)
    counts = Parallel("part", dict.fromkeys(range(10), Leaf(Pure(epsilon=1))))
    added = account(counts, relation="add_remove").epsilon(delta=0)
    chart.line([(0, 0), (1, added)], color=0, label="row added or removed: ε")
    return chart


def worst_part() -> Chart:
    """Which of two wards is worse depends on epsilon."""
    chart = Chart(
        title="Which ward is worst depends on ε",
        x=Axis(label="ε", low=0, high=4, ticks=(0, 1, 2, 3, 4)),
        y=Axis(label="δ", low=1e-4, high=1, ticks=(1, 0.1, 0.01, 0.001, 1e-4), log=True),
    )
    gauss, coins = GaussianDP(mu="0.6").power(4), Pure(epsilon=1).power(2)
    grid = [Fraction(k, 50) for k in range(201)]
    losses = {"A: four Gaussians": gauss, "B: two coins": coins, "both": gauss.join(coins)}
    for color, (name, loss) in enumerate(losses.items()):
        curve = [(float(e), max(loss.delta(epsilon=e), 1e-4)) for e in grid]
        chart.line(curve, color=color, label=name, dashed=name == "both")
    return chart


NOISES = {"Laplace": ContinuousLaplace(scale=1), "Gauss": GaussianDP(mu=1), "coin": Pure(epsilon=1)}


def curves() -> CurvePlot:
    """Return the profiles of three kinds of noise."""
    return plot(NOISES)


def tests() -> CurvePlot:
    """Return the trade-offs of the same."""
    return plot(NOISES, "tradeoff")


COMPOSITION = {
    "distances": distances,
    "two-largest": two_largest,
    "ten-parts": ten_parts,
    "worst-part": worst_part,
}
"""Pictures of the gallery."""

GUIDE: dict[str, Callable[[], Chart | CurvePlot | Tree]] = {
    "sequential": sequential,
    "parallel": parallel,
    "parallel-replace": parallel_replace,
    "within-part": within_part,
    "nested": nested,
    "two-keys": two_keys,
    "persons": persons,
    "mixed": mixed,
    "preprocessing": preprocessing,
    "sizes": sizes,
    "common-domain": common_domain,
    "sampled": sampled,
    "choice": choice,
    "loss-map": loss_map,
    "planning": planning,
    "curves": curves,
    "tests": tests,
}
"""Pictures of the guide."""


def draw(folder: Path) -> None:
    """Write every picture of the guide into a folder."""
    for name, make in GUIDE.items():
        (folder / f"{name}.svg").write_text(make().svg(), encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
