"""Plots of losses: their points are bounds, and both kinds of picture are drawn."""

import subprocess
import sys
from fractions import Fraction
from functools import cache
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure

from discreet.accounting import Leaf, account
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import (
    Approximate,
    GaussianDP,
    Laplace,
    Pure,
    RenyiDP,
    ZeroConcentrated,
    plot,
)
from tests.loss.oracles import gaussian, laplace

CURVES = {
    "pure": Pure(epsilon=1),
    "nothing": Pure(epsilon=0),
    "approximate": Approximate(epsilon=1, delta="1e-3"),
    "everything": Approximate(epsilon=0, delta=1),
    "laplace": Laplace(scale=1),
    "gauss": GaussianDP(mu=1),
    "wide": GaussianDP(mu=20),
    "zcdp": ZeroConcentrated(rho="0.1"),
    "renyi": RenyiDP(orders=(2, 8), values=("0.1", "0.4")),
    "profile": Pure(epsilon=1).compose(GaussianDP(mu=1)),
    "sample": Pure(epsilon=1).sampled(rate="0.1"),
    "price": account(Leaf(Pure(epsilon=1)) + Leaf(GaussianDP(mu=1)), relation="add_remove"),
}
every = pytest.mark.parametrize("name", CURVES)


@cache
def drawn(name, kind):
    return CURVES[name].plot(kind)


@pytest.mark.parametrize(
    ("curve", "truth"),
    [(GaussianDP(mu=1), lambda e: gaussian(1, e)), (Laplace(scale=1), lambda e: laplace(1, e))],
    ids=["gauss", "laplace"],
)
def test_the_points_of_a_profile_are_upper_bounds_and_close(curve, truth):
    points = curve.plot().lines[""]
    assert len(points) > 40
    for epsilon, delta in points:
        exact = float(truth(epsilon))
        assert exact * (1 - 1e-12) - 1e-18 <= delta <= exact * (1 + 1e-6) + 1e-9


@every
def test_every_curve_is_drawn_as_svg(name):
    for kind in ("delta", "tradeoff"):
        picture = drawn(name, kind)
        (points,) = picture.lines.values()
        assert [x for x, _ in points] == sorted(x for x, _ in points)
        assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
        assert all(0 <= y <= 1 for _, y in points)
        root = ET.fromstring(picture.svg())  # noqa: S314  our own text
        assert root.tag.endswith("svg")
        assert picture._repr_svg_() == picture.svg()
        for line in root.iter("{http://www.w3.org/2000/svg}polyline"):
            for place in line.get("points").split():
                x, y = map(float, place.split(","))
                assert 79 <= x <= 621
                assert 69 <= y <= 321


@every
def test_the_points_of_a_tradeoff_are_lower_bounds_and_close(name):
    points = dict(drawn(name, "tradeoff").lines[""])
    assert points[1.0] == 0
    for alarm in (0.0, 0.002, 0.1, 0.5):
        best = CURVES[name].tradeoff(Fraction(str(alarm)))
        assert best - 0.01 <= points[alarm] <= best


def test_a_vector_of_tradeoffs_is_a_vector_of_bounds():
    alarms = ["0", Fraction(1, 3), 1]
    for curve in (CURVES["profile"], CURVES["price"], CURVES["sample"]):
        bounds = curve.tradeoffs(alarms)
        assert all(0 <= b <= curve.tradeoff(a) for a, b in zip(alarms, bounds, strict=True))
    assert GaussianDP(mu=1).tradeoffs(alarms).tolist() == [
        GaussianDP(mu=1).tradeoff(a) for a in alarms
    ]
    for bad in ("0.1", 0.1):
        with pytest.raises(WrongKind):
            CURVES["profile"].tradeoffs(bad)
    with pytest.raises(OutOfRange):
        CURVES["profile"].tradeoffs([2])


def test_several_curves_share_a_picture_with_their_names():
    text = plot({"<Laplace>": CURVES["laplace"], "a rather long name": CURVES["gauss"]}).svg()
    assert "&lt;Laplace&gt;" in text
    assert "a rather long n…" in text
    assert text.count("<polyline") == 2
    assert (
        plot({"a": CURVES["pure"], "b": CURVES["price"]}, "tradeoff").svg().count("<polyline") == 3
    )


def test_a_curve_that_never_falls_to_zero_is_shown_where_it_stays():
    points = CURVES["approximate"].plot().lines[""]
    assert points[-1][0] > 1.2
    assert points[-1][1] == pytest.approx(1e-3)


def test_matplotlib_draws_the_same_points():
    axes = Figure().subplots()
    picture = plot({"Laplace": CURVES["laplace"], "Gauss": CURVES["gauss"]})
    assert picture.draw(axes) is axes
    assert [tuple(map(tuple, line.get_xydata().tolist())) for line in axes.lines] == [
        tuple(points) for points in picture.lines.values()
    ]
    assert axes.get_yscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon", "delta")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Laplace", "Gauss"]
    tests = Figure().subplots()
    CURVES["pure"].plot("tradeoff").draw(tests)
    assert (tests.get_yscale(), len(tests.lines)) == ("linear", 2)


def test_nothing_of_this_is_loaded_before_it_is_asked_for():
    program = (
        "import sys; from discreet.loss import Pure; Pure(epsilon=1).epsilon(0); "
        "assert 'discreet.charts' not in sys.modules; Pure(epsilon=1).plot().svg(); "
        "assert 'discreet.charts' in sys.modules and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("curves", "kind", "error"),
    [
        ({}, "delta", WrongKind),
        (dict.fromkeys("abcd", Pure(epsilon=1)), "delta", WrongKind),
        (Pure(epsilon=1), "delta", WrongKind),
        ({"a": Pure(epsilon=1)}, "epsilon", OutOfRange),
        ({"a": 1}, "delta", WrongKind),
    ],
)
def test_what_cannot_be_plotted_is_refused(curves, kind, error):
    with pytest.raises(error):
        plot(curves, kind)
    with pytest.raises(WrongKind):
        Pure(epsilon=1).plot().draw(None)
