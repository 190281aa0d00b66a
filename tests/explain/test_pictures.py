"""Pictures of explanations: what they draw is what is computed, and they stand alone."""

import re
from xml.etree import ElementTree as ET

import pytest

import discreet as dp
from discreet.explain import Guesses
from discreet.explain.figures import Figures
from discreet.explain.pictures.catch_curve import catch_curve
from discreet.explain.pictures.icon_arrays import icon_arrays
from discreet.explain.pictures.price_of_error import price_of_error
from discreet.explain.pictures.quantile_dots import DOTS, quantile_dots
from discreet.explain.pictures.spending import spending
from discreet.explain.sources import disclosure_of
from discreet.ledger import Ledger

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
    return {
        "icons": icon_arrays(disclosure, Figures.of(disclosure).one),
        "catch": catch_curve(Guesses(dp.loss.Pure(epsilon=1))),
        "dots": quantile_dots(dp.noise.DiscreteLaplace(scale=20)),
        "price": price_of_error(people=10_000),
        "empty": empty,
        "spent": spent,
    }


@pytest.mark.parametrize("name", ["icons", "catch", "dots", "price", "empty", "spent"])
def test_every_picture_is_xml_with_a_title_and_loads_nothing(pictures, name):
    root = ET.fromstring(pictures[name])  # noqa: S314  our own text
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text
    assert root.get("role") == "img"
    assert "prefers-color-scheme:dark" in pictures[name]
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
