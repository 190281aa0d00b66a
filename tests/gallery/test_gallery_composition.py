"""The guides to composition and the gallery's page on it: pictures, printed numbers, and claims."""

import re
import subprocess
import sys
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from discreet.accounting import Box, Contribution, Leaf, Parallel, account, equals
from discreet.accounting.budget import Budget
from discreet.accounting.filter import PrivacyFilter
from discreet.loss import GaussianDP, Pure, ZeroConcentrated
from discreet.mechanisms.finite import FiniteMechanism
from discreet.units import NeighborGraph, person, row, table_distance
from tests.house.pages import COMPOSITION_GUIDES, ROOT, blocks

FOLDER = COMPOSITION_GUIDES[0].parent / "pictures"
PICTURES = sorted(path.name for path in FOLDER.glob("*.svg"))  # screenshots have their own guide

_SHOWN = re.compile(r"^!\[([^\]]+)\]\(pictures/([^)]+)\)$", re.MULTILINE)
_CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("guide", COMPOSITION_GUIDES, ids=lambda path: path.stem)
def test_every_block_of_a_guide_runs_by_itself_and_prints_what_it_says(guide, capsys):
    text = guide.read_text(encoding="utf-8")
    found = list(_CODE.finditer(text))
    assert len(found) == len(list(blocks(guide))) >= 3  # no block is left out
    for block in found:
        padding = "\n" * text.count("\n", 0, block.start(1))  # tracebacks name the right line
        exec(compile(padding + block[1], str(guide), "exec"), {"__name__": "guide"})  # noqa: S102
        assert capsys.readouterr().out == (block[2] or "")


def test_the_guides_show_each_of_their_pictures_once():
    texts = [guide.read_text(encoding="utf-8") for guide in COMPOSITION_GUIDES]
    shown = [picture for text in texts for _, picture in _SHOWN.findall(text)]
    assert sorted(shown) == PICTURES


def test_the_pictures_are_drawn_again_byte_for_byte(tmp_path):
    script = ROOT / "course" / "drawings" / "draw_composition.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == PICTURES
    for name in PICTURES:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_runs_nothing_and_loads_nothing(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert not re.search(r"<script|<image|<use|href|url\(|@import|@font-face", text)
    assert "<title>" in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sequential", "worst: remove a row: ε = 0.75 at δ = 0"),
        ("parallel", "ward 'A': ε = 1 at δ = 0"),
        ("parallel-replace", "out: ward 'A'; in: ward 'B': ε = 1.5 at δ = 0"),
        ("within-part", "out: ward 'A'; in: ward 'A': ε = 2 at δ = 0"),
        ("nested", "out: ward 'A': ε = 6.459 at δ = 1e-6"),
        ("two-keys", "sex 'f', ward 'birth': ε = 1.1 at δ = 0"),
        ("persons", "2 rows with day 'Mon', day 'Tue': ε = 0.6 at δ = 0"),
        ("mixed", "remove a person: ε = 2.5 at δ = 0"),
        ("preprocessing", "ε = ∞ at δ = 0"),
        ("sizes", "ε = ∞ at δ = 0"),
        ("common-domain", "out: ward 'A'; in: ward 'B': ε = 1.1 at δ = 0"),
        ("sampled", "ε = 0.062 at δ = 0"),
    ],
)
def test_a_picture_says_what_the_guide_says(name, words):
    text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert words in text.replace("&#x27;", "'")


# Claims that the pages make in words


def law(rows, odds, most=3):
    a = Fraction(1, odds)
    inside = [(1 - a) / (1 + a) * a ** abs(answer - rows) for answer in range(most + 1)]
    inside[0], inside[most] = a**rows / (1 + a), a ** (most - rows) / (1 + a)
    return inside


@pytest.mark.theorem("parallel")
@pytest.mark.theorem("bounded-parallel")
@pytest.mark.parametrize("odds", [(2, 3, 5), (2, 2, 2), (7, 2, 1)])
def test_the_largest_and_the_two_largest_are_attained(odds):
    tables = [t for n in range(4) for t in combinations_with_replacement("ABC", n)]
    laws = [
        [
            p * q * r
            for p, q, r in product(*(law(t.count(w), o) for w, o in zip("ABC", odds, strict=True)))
        ]
        for t in tables
    ]
    first, second, _ = sorted(odds, reverse=True)
    for relation, expected in (("add_remove", first), ("replace", first * second)):
        graph = NeighborGraph.of_tables(tables, relation=relation)
        assert FiniteMechanism(matrix=laws, graph=graph).odds_ratio() == expected


@pytest.mark.theorem("general-composition")
def test_the_course_says_zero_infinity_and_sum():
    def minors(table):
        return [age for age in table if age <= 18]

    same, other = ([12, 40], [12, 60]), ([12, 40], [40, 60])
    assert table_distance(*map(minors, same), relation="replace") == 0
    assert table_distance(*map(minors, other), relation="replace") == float("inf")
    assert table_distance(*map(minors, other), relation="add_remove") == 1
    certified = Parallel(
        "minor", {True: Leaf(Pure(epsilon=1), relation="replace", common_domain=True)}
    )
    assert account(certified, relation="replace").epsilon(delta=0) == 1


@pytest.mark.theorem("bounded-parallel")
def test_a_replaced_row_inside_a_leaf_costs_four_rhos():
    assert Leaf(ZeroConcentrated(rho="0.1")).price(1, 1) == ZeroConcentrated(rho="0.4")


def test_the_exercise_has_an_answer():
    costs = dict(zip("abcd", ("1", "0.8", "0.5", "0.3"), strict=True))
    leaves = {
        tag: Leaf(Pure(epsilon=cost), replaced=Pure(epsilon=cost)) for tag, cost in costs.items()
    }
    tags = Parallel("tag", leaves, overlap=2)
    assert account(tags, relation="add_remove").epsilon(delta=0) == pytest.approx(1.8)
    assert account(tags, relation="replace").epsilon(delta=0) == pytest.approx(2.6)


@pytest.mark.parametrize(("epsilon", "coins_are_worse"), [("1.8", True), ("1.9", False)])
def test_which_ward_is_worst_depends_on_epsilon(epsilon, coins_are_worse):
    gauss, coins = GaussianDP(mu="0.6").power(4), Pure(epsilon=1).power(2)
    assert (coins.delta(epsilon=epsilon) > gauss.delta(epsilon=epsilon)) is coins_are_worse


@pytest.mark.theorem("cell-filters")
def test_nobody_pays_for_more_than_their_own_state():
    book = PrivacyFilter(Budget(epsilon=20), unit=row())
    for state in range(50):
        for _ in range(20):
            book.charge(Pure(epsilon=1), scope=Box({"state": equals(state)}))
    assert book.left().loss.epsilon(delta=0) == 0
    assert book.left(Box({"state": equals(50)})).loss.epsilon(delta=0) == 20


@pytest.mark.theorem("contribution")
def test_three_rows_on_one_day_cost_nine_times_the_rho():
    days = Parallel("day", {day: Leaf(ZeroConcentrated(rho="0.02")) for day in range(5)})
    price = account(days, unit=person("patient"), contribution=Contribution(rows=3))
    nine = ZeroConcentrated(rho="0.18").epsilon(delta="1e-6")
    assert price.epsilon(delta="1e-6") == pytest.approx(nine, rel=1e-9)
