"""Pictures of explanations: what they draw is what is computed, and they stand alone."""

import re
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting import Leaf, Sequential, account
from discreet.charts import Marker
from discreet.charts.shapes import dashes
from discreet.explain import Guesses
from discreet.explain.figures import Figures
from discreet.explain.pictures.account_bars import account_bars
from discreet.explain.pictures.answer_bars import answer_bars
from discreet.explain.pictures.catch_curve import catch_curve, points_above
from discreet.explain.pictures.icon_arrays import icon_arrays
from discreet.explain.pictures.price_of_error import price_of_error
from discreet.explain.pictures.price_tree import price_tree
from discreet.explain.pictures.quantile_dots import DOTS, quantile_dots
from discreet.explain.pictures.spending import spending
from discreet.explain.sources import disclosure_of
from discreet.ledger import Ledger

ALL = ("icons", "catch", "dots", "price", "empty", "spent", "accounts", "answer", "tree")
POLICY = """
format = 1
unit = "row"
[tables.t.columns]
ward = { type = "text", categories = ["A", "B<", "C"] }
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    disclosure = disclosure_of(dp.loss.Pure(epsilon=1))
    with Ledger.open(
        tmp_path_factory.mktemp("pictures") / "a.ledger",
        unit=dp.row(),
        budget=dp.Budget(epsilon=2),
    ) as ledger:
        empty = spending(ledger)
        for key in "abc":
            ledger.charge(dp.loss.Pure(epsilon="0.25"), key=key)
        spent = spending(ledger)
        root = next(iter(ledger.accounts))
        ledger.open_account(f"{root}/ana", budget=dp.Budget(epsilon=1), by="owner")
        ledger.open_account(f"{root}/ben", budget=dp.Budget(rho=1), by="owner")
        ledger.open_account(f"{root}/nobody", by="owner")
        ledger.charge(dp.loss.Pure(epsilon="0.5"), key="d", account=f"{root}/ana")
        accounts = account_bars(ledger)
    table = pa.table({"ward": ["A", "B<", "C"]})
    with dp.open({"t": table}, policy=POLICY, test_mode=True) as session:
        answer = session.ask("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=1)
    tree = account(
        Sequential(Leaf(dp.loss.Pure(epsilon="0.5"), name="a<b") * 3), relation="replace"
    )
    drawn = {
        "accounts": accounts,
        "answer": answer_bars(answer),
        "tree": price_tree(tree),
        "icons": icon_arrays(disclosure, Figures.of(disclosure).one),
        "catch": catch_curve(Guesses(dp.loss.Pure(epsilon=1))),
        "dots": quantile_dots(dp.noise.DiscreteLaplace(scale=20)),
        "price": price_of_error(people=10_000),
        "empty": empty,
        "spent": spent,
    }
    return {name: picture.svg() for name, picture in drawn.items()} | {"drawn": drawn}


@pytest.mark.parametrize("name", ALL)
def test_every_picture_is_xml_with_a_title_and_loads_nothing(pictures, name):
    root = ET.fromstring(pictures[name])  # noqa: S314  our own text
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text
    assert re.search("[0-9]", root.find(f"{SVG}desc").text)  # the numbers, for those who listen
    assert root.get("role") == "img"
    assert "@media screen and (prefers-color-scheme:dark)" in pictures[name]
    assert not re.search(r"(href|src|url\()", pictures[name])
    assert not re.search(r"nan|inf[,\s\"]", pictures[name])


def test_icons_are_filled_as_often_as_is_said(pictures):
    filled = pictures["icons"].count('class="f0"')
    assert filled == 26 + 74


def test_dots_are_quantiles_each_of_the_same_chance(pictures):
    assert pictures["dots"].count("<circle") == DOTS + 1  # and one in the legend


def test_what_was_spent_is_drawn_as_steps(pictures):
    def spent_line(picture):
        lines = re.findall(r'<polyline class="l s0" points="([^"]+)"', picture)
        return {point.split(",")[1] for point in lines[0].split()}

    assert len(spent_line(pictures["empty"])) == 1
    assert len(spent_line(pictures["spent"])) == 4  # nothing, and three charges


@pytest.mark.parametrize(
    "loss",
    [
        dp.loss.Pure(epsilon=0),
        dp.loss.Pure(epsilon=1),
        dp.loss.Pure(epsilon=8),
        dp.loss.Approximate(epsilon="0.5", delta="0.1"),
        dp.loss.GaussianDP(mu=1),
    ],
)
def test_the_curve_of_catch_rates_is_nowhere_below_the_bound(loss):
    guesses = Guesses(loss)
    knots = [(k / 20, guesses.caught(Fraction(k, 20))) for k in range(1, 20)]
    drawn = list(points_above(knots))
    assert drawn[0][0] == 0
    assert drawn[-1] == (1, 1)
    for k in range(1, 60):
        alarm = Fraction(k, 60)
        heights = [
            max(left[1], right[1])
            if left[0] == right[0]
            else left[1] + (right[1] - left[1]) * (float(alarm) - left[0]) / (right[0] - left[0])
            for left, right in pairwise(drawn)
            if left[0] <= alarm <= right[0]
        ]
        assert max(heights) >= guesses.caught(alarm) - 1e-6
        assert max(heights) <= 1


def test_accounts_show_what_they_spent_and_their_limits(pictures):
    drawn = pictures["accounts"]
    assert "data/ana" in drawn
    assert "not shown: 1" in drawn  # kept in rho
    assert drawn.count('class="l s0"') == 2  # those with an epsilon
    assert "nobody" not in drawn


def test_answers_have_a_bar_and_an_interval_for_each_group(pictures):
    assert pictures["answer"].count("<rect") == 3 + 1
    assert pictures["answer"].count('class="l s1"') == 3
    assert "B&lt;" in pictures["answer"]


def test_trees_show_the_price_of_every_node(pictures):
    for words in ("3 times", "3.0000", "1.0000", "a&lt;b"):
        assert words in pictures["tree"]


@pytest.mark.parametrize("name", ALL)
def test_every_picture_has_a_version_of_blocks(pictures, name):
    picture = pictures["drawn"][name]
    lines = str(picture).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 100
    assert str(picture) == picture._repr_mimebundle_()["text/plain"]


def test_blocks_of_icons_are_as_many_as_is_said(pictures):
    text = str(pictures["drawn"]["icons"])
    assert (text.count("●"), text.count("○")) == (26 + 74, 74 + 26)


def test_series_differ_without_color():
    styles = [(dashes(color, dashed=dashed)) for color in range(4) for dashed in (False, True)]
    assert len(set(styles)) == 8
    outlines = [Marker(at=(0, 0), color=color).svg() for color in range(4)]
    assert len({re.sub('class="f."', "", outline) for outline in outlines}) == 4


def test_intervals_are_seen_on_bars(pictures):
    """Below every interval lies a wider line in the color of the page."""
    halos = re.findall(r'<path class="l h" d="([^"]+)"', pictures["answer"])
    lines = re.findall(r'<path class="l s1" d="([^"]+)"', pictures["answer"])
    assert halos == lines
    assert len(lines) == 3
