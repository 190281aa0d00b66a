"""Things that readers of the gallery stumbled over, and that stay corrected."""

import re
import runpy
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import Pure, gaussian_sigma
from discreet.mechanisms import Gaussian, Laplace, RandomizedResponse, discrete_gaussian_sigma
from discreet.noise import DyadicGrid, KeyedEntropy
from tests.house.pages import GALLERY, GALLERY_PAGES, ROOT

HALVES = DyadicGrid(exponent=-1)


def page(name):
    return (GALLERY / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "cell"), [(3, 6), (-3, -6), (Fraction(1, 3), 0), (Fraction(-1, 3), -1), (0.75, 1)]
)
def test_a_grid_takes_integers_and_fractions_and_rounds_them_down(value, cell):
    assert HALVES.to_grid(value).tolist() == cell
    assert HALVES.to_grid([value, Fraction(1, 2)]).tolist() == [cell, 1]


def test_noise_on_a_grid_is_the_same_for_every_way_to_write_a_number():
    noise = Laplace(scale=2, grid=HALVES)

    def released(value):
        return noise.run(value, entropy=KeyedEntropy(key=bytes(32), label="a grid"))

    assert released(3) == released(Fraction(3)) == released(3.0)
    assert released([3, 1]).tolist() == released(np.array([3, 1])).tolist()
    assert released([3, 1]).tolist() == released([Fraction(3), 1.0]).tolist()


def test_chances_of_many_digits_are_shown_as_decimals():
    shown = repr(RandomizedResponse(epsilon=1).keep())
    assert re.fullmatch(r"Interval\(low=0\.731\d+\.\.\., high=0\.731\d+\.\.\.\)", shown)
    assert max(map(len, re.findall(r"\d+", shown))) < 20


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(1, "1e-6", 1), (4, "1e-5", 3)])
def test_the_discrete_twin_of_gaussian_sigma_keeps_its_promise_on_integers(epsilon, delta, count):
    sigma = discrete_gaussian_sigma(epsilon=epsilon, delta=delta, count=count)
    loss = Gaussian(sigma=sigma).loss().power(count)
    assert loss.delta(epsilon=epsilon) <= Fraction(delta)
    smaller = Gaussian(sigma=sigma * Fraction(999, 1000)).loss().power(count)
    assert smaller.delta(epsilon=epsilon) > Fraction(delta)


def test_the_two_sigmas_differ_and_one_says_that_it_is_for_continuous_noise():
    continuous = gaussian_sigma(epsilon=1, delta="1e-6")
    assert Gaussian(sigma=continuous).loss().delta(epsilon=1) > Fraction("1e-6")
    assert "continuous noise" in gaussian_sigma.__doc__


def test_tradeoff_returns_misses_and_the_page_says_so():
    assert Pure(epsilon=8).tradeoff(false_alarm="0.01") < 0.001
    assert "must\n*miss*" in page("definitions")


def test_a_delta_of_zero_is_not_drawn_at_the_floor_of_its_axis():
    text = (GALLERY / "pictures" / "delta-curves.svg").read_text(encoding="utf-8")
    curves = re.findall(r'<polyline[^>]*points="([^"]+)"', text)
    ends = [float(line.split()[-1].split(",")[0]) for line in curves if len(line.split()) > 9]
    assert len(ends) == 3
    assert min(ends) < 310  # a pure loss ends at epsilon 1, a third of the way


def test_chains_attributes_and_single_bits_are_told():
    assert "chain of neighbors" in page("definitions")
    assert "however far apart they are" not in page("definitions")
    assert "such an attribute" in page("definitions")
    assert page("reconstruction").count("differ in one bit") >= 2


def test_a_typical_error_is_defined_wherever_the_word_is_used():
    for path in GALLERY_PAGES:
        text = path.read_text(encoding="utf-8")
        assert "typical error" not in text.lower(), path.stem
    assert "typical one, which is the root of the mean of all variances" in page(
        "continual-release"
    )


def test_drawn_accuracies_are_those_of_the_benchmark():
    digits = runpy.run_path(str(ROOT / "course" / "drawings" / "draw_course.py"))["DIGITS"]
    text = (GALLERY.parent / "benchmarks" / "learning.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) % \|", text, re.MULTILINE)
    assert digits == {int(epsilon): float(share) for epsilon, share in rows}


def test_every_deployed_value_names_its_source():
    text = page("deployed-values")
    rows = re.findall(r"^\|.*\| (\d) \|$", text, re.MULTILINE)
    _, _, sources = text.partition("**Sources.**")
    assert len(rows) == 9
    assert all(f"{number}: " in sources for number in rows)
