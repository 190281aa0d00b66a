"""What cannot be used is refused by the right error, in three sentences, before a bit is drawn."""

import dataclasses
import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError, NotExact, OutOfRange, TooLarge, WrongKind
from discreet.mechanisms import Exponential, Gaussian, Laplace, Mapped
from discreet.noise import DyadicGrid
from discreet_course.counting import Counting, Histogram, points
from discreet_course.permute_and_flip import PermuteAndFlip


class NoEntropy:
    """Fails the test as soon as anything is drawn."""

    def words(self, count, width):
        pytest.fail("a word was drawn for bad input")

    bits = words


NOTHING = NoEntropy()
GRID = DyadicGrid(exponent=-4)
MECHANISMS = [
    Laplace(scale=2),
    Laplace(scale=2, grid=GRID),
    Gaussian(sigma=2),
    Gaussian(sigma=2, grid=GRID),
    Exponential(candidates=3, scale=2),
    PermuteAndFlip(candidates=3, scale=2),
    Histogram(cells=3, noise=Laplace(scale=2), relation="replace"),
    Mapped(Laplace(scale=2), abs, stretch=1),
]
SCALED = [
    Laplace,
    functools.partial(Exponential, candidates=3),
    functools.partial(PermuteAndFlip, candidates=3),
]


def refused(call, error):
    with pytest.raises(DiscreetError) as caught:
        call()
    assert caught.type is error, f"{caught.type.__name__}: {caught.value}"
    for sentence in (caught.value.what, caught.value.why, caught.value.do):
        assert sentence.strip().endswith(".")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize(
    ("distance", "error"),
    [
        (-1, OutOfRange),
        (-0.5, OutOfRange),
        (math.nan, OutOfRange),
        (math.inf, OutOfRange),
        (np.float64("nan"), OutOfRange),
        ("far", WrongKind),
        (None, WrongKind),
        (True, WrongKind),
        ([1], WrongKind),
    ],
)
def test_distances(mechanism, distance, error):
    refused(lambda: mechanism.loss(distance=distance), error)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize(
    ("confidence", "error"),
    [
        (0, OutOfRange),
        (1, OutOfRange),
        (-0.1, OutOfRange),
        (95, OutOfRange),
        (math.nan, OutOfRange),
        ("95%", WrongKind),
        (None, WrongKind),
    ],
)
def test_confidences(mechanism, confidence, error):
    refused(lambda: mechanism.error(confidence=confidence), error)


@pytest.mark.parametrize("make", SCALED)
@pytest.mark.parametrize(
    ("scale", "error"),
    [
        (0, OutOfRange),
        (-2, OutOfRange),
        (math.nan, OutOfRange),
        (math.inf, OutOfRange),
        ("wide", WrongKind),
        (None, WrongKind),
        (True, WrongKind),
    ],
)
def test_scales(make, scale, error):
    refused(lambda: make(scale=scale), error)


@pytest.mark.parametrize(
    ("width", "error"),
    [
        ({"sigma": 0}, OutOfRange),
        ({"sigma": -3}, OutOfRange),
        ({"sigma": math.nan}, OutOfRange),
        ({"variance": -9}, OutOfRange),
        ({"variance": 2**115}, TooLarge),
        ({}, WrongKind),
        ({"sigma": 3, "variance": 9}, WrongKind),
        ({"sigma": 3, "grid": "fine"}, WrongKind),
    ],
)
def test_gaussian_widths(width, error):
    refused(lambda: Gaussian(**width), error)


@pytest.mark.parametrize("mechanism", [Laplace(scale=2), Gaussian(sigma=2)], ids=repr)
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (1.0, NotExact),
        (np.float64(1), NotExact),
        (Fraction(1, 2), NotExact),
        ([1, 2.0], NotExact),
        (np.array([1.0]), NotExact),
        (True, WrongKind),
        ("5", WrongKind),
        (None, WrongKind),
        ([1, None], WrongKind),
        ([[1, 2], [3]], WrongKind),
        (np.array([True]), WrongKind),
        (np.array(["a"]), WrongKind),
        (2**63, TooLarge),
        ([2**63], TooLarge),
        (np.array([2**64 - 1], np.uint64), TooLarge),
    ],
)
def test_integers(mechanism, value, error):
    refused(lambda: mechanism.run(value, entropy=NOTHING), error)
    refused(lambda: mechanism.reference_pmf(value), error)


@pytest.mark.parametrize(
    ("value", "error"),
    [(math.nan, OutOfRange), ([math.inf], OutOfRange), ("x", WrongKind)],
)
def test_reals_on_a_grid(value, error):
    refused(lambda: Laplace(scale=2, grid=GRID).run(value, entropy=NOTHING), error)


@pytest.mark.parametrize("coordinates", [0, -1])
@pytest.mark.parametrize("mechanism", [Laplace(scale=2), Gaussian(sigma=2)], ids=repr)
def test_coordinates(mechanism, coordinates):
    refused(lambda: mechanism.loss(coordinates=coordinates), OutOfRange)
    refused(lambda: mechanism.error(confidence=0.9, coordinates=coordinates), OutOfRange)


@pytest.mark.parametrize(
    "kind",
    [
        Exponential,
        PermuteAndFlip,
    ],
)
def test_scores(kind):
    choose = kind(candidates=3, scale=2)
    for scores, error in [
        ([1, 2], OutOfRange),
        ([], OutOfRange),
        ([1, 2, 3.0], NotExact),
        (np.array([1.0, 2.0, 3.0]), NotExact),
        ([1, 2, None], WrongKind),
        ([1, 2, True], WrongKind),
        ("abc", WrongKind),
        (7, WrongKind),
    ]:
        refused(lambda scores=scores: choose.run(scores, entropy=NOTHING), error)
    refused(lambda: kind(candidates=0, scale=2), OutOfRange)
    refused(lambda: kind(candidates=3, scale=2, change="up"), WrongKind)
    refused(lambda: kind(candidates=3, scale=2, change=None), WrongKind)


def test_histograms():
    counts = Histogram(cells=3, noise=Laplace(scale=2), relation="replace")
    for value in ([1, 2], 5, [[1, 2, 3]]):
        with pytest.raises(DiscreetError):
            counts.run(value, entropy=NOTHING)
    refused(lambda: counts.run([1, 2, 0.5], entropy=NOTHING), NotExact)
    refused(lambda: Histogram(cells=0, noise=Laplace(scale=2), relation="replace"), OutOfRange)
    refused(lambda: Histogram(cells=3, noise=Laplace(scale=2), relation="swap"), WrongKind)
    refused(lambda: Histogram(cells=3, noise=2, relation="replace"), WrongKind)
    on_grid = Laplace(scale=2, grid=GRID)
    refused(lambda: Histogram(cells=3, noise=on_grid, relation="replace"), WrongKind)


def test_queries():
    refused(lambda: points([]), OutOfRange)
    refused(lambda: points([1, 1]), OutOfRange)
    refused(lambda: points([1, 2]).answers([3]), OutOfRange)
    refused(lambda: points([1, 2]).averages([]), OutOfRange)
    refused(lambda: points([1, 2]).l1("swap"), WrongKind)
    refused(lambda: Counting([1, 2], [5]), WrongKind)
    refused(lambda: Counting(7, [bool]), WrongKind)


def test_maps():
    refused(lambda: Laplace(scale=2).map(5), WrongKind)
    refused(lambda: Mapped("laplace", abs), WrongKind)
    refused(lambda: Laplace(scale=2).map(abs, stretch=-1), OutOfRange)
    refused(lambda: Laplace(scale=2).map(abs).error(confidence=0.9), WrongKind)
    refused(lambda: Laplace(scale=2).map(abs).reference_pmf(0), WrongKind)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_arguments_are_named(mechanism):
    with pytest.raises(TypeError):
        mechanism.loss(1)
    with pytest.raises(TypeError):
        mechanism.error(0.9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, 3)
