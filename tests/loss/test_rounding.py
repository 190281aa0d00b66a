"""The model of floating point in discreet.loss.rounding, against interval arithmetic."""

import math

import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy.special import erfcx, gammaln

from discreet.loss.rounding import SPECIAL, UNIT

RNG = np.random.default_rng(20250101)
SPREAD = np.concatenate(
    [RNG.uniform(-40, 40, 400), RNG.normal(size=300) * 10.0 ** RNG.uniform(-9, 0, 300)]
)
POSITIVE = np.abs(SPREAD) + 1e-12


@pytest.fixture(autouse=True)
def _precise():
    ctx.prec = 240


@pytest.mark.theorem("floating-model")
@pytest.mark.parametrize(
    ("name", "points", "exact"),
    [
        ("exp", SPREAD, lambda x: x.exp()),
        ("expm1", SPREAD, lambda x: x.expm1()),
        ("log", POSITIVE, lambda x: x.log()),
        ("log1p", POSITIVE, lambda x: x.log1p()),
        ("log1p", -POSITIVE[POSITIVE < 0.99], lambda x: x.log1p()),
        ("cos", 50 * SPREAD, lambda x: x.cos()),
        ("sin", 50 * SPREAD, lambda x: x.sin()),
    ],
)
def test_elementary_functions_err_by_at_most_eight_units(name, points, exact):
    for x, y in zip(points, getattr(np, name)(points), strict=True):
        truth = exact(arb(float(x)))
        assert abs(float((arb(float(y)) - truth).mid())) <= 8 * 2 * UNIT * abs(float(truth.mid()))


@pytest.mark.theorem("floating-model")
def test_complex_functions_err_accordingly():
    z = RNG.uniform(-5, 0, 300) + 1j * RNG.uniform(-300, 300, 300)
    for x, y in zip(z, np.exp(z), strict=True):
        truth = acb(x.real, x.imag).exp()
        wrong = abs(acb(y.real, y.imag) - truth)
        assert float(wrong.mid()) <= 16 * UNIT * float(abs(truth).mid())
    for x, y in zip(z, np.log(z), strict=True):
        truth = acb(x.real, x.imag).log()
        wrong = abs(acb(y.real, y.imag) - truth)
        assert float(wrong.mid()) <= 16 * UNIT * max(1.0, float(abs(truth).mid()))


@pytest.mark.theorem("floating-model")
def test_special_functions():
    points = np.concatenate([RNG.uniform(0, 50, 400), 10.0 ** RNG.uniform(-8, 5, 200)])
    for x, y in zip(points, erfcx(points), strict=True):
        exact = arb(float(x))
        truth = exact.erfc() * (exact * exact).exp() if x < 20 else _tail(exact)
        assert abs(float((arb(float(y)) / truth - 1).mid())) <= SPECIAL / 2
    whole = np.unique(RNG.integers(1, 200_000, 400)).astype(float)
    for n, y in zip(whole, gammaln(whole + 1), strict=True):
        truth = arb(n + 1).lgamma()
        assert (
            abs(float((arb(float(y)) - truth).mid())) <= SPECIAL / 2 * float(truth.mid()) + 1e-300
        )


def _tail(x):
    ctx.prec = 2000 + 4 * int(float(x) ** 2) if float(x) < 200 else 240
    if float(x) < 200:
        value = x.erfc() * (x * x).exp()
        ctx.prec = 240
        return value
    square, total, term = x * x, arb(1), arb(1)
    for k in range(1, 12):
        term = -term * (2 * k - 1) / (2 * square)
        total += term
    return total / (x * arb.pi().sqrt())


@pytest.mark.theorem("transform-error")
@pytest.mark.parametrize("length", [64, 90, 176, 385])
def test_transforms_err_by_at_most_the_modelled_amount(length):
    weights = RNG.dirichlet(np.full(length, 0.1))
    bound = 16 * UNIT * math.log2(length)
    spectrum = np.fft.rfft(weights)
    turn = [(-2 * arb.pi() * k / length) for k in range(length)]
    roots = [acb(angle.cos(), angle.sin()) for angle in turn]
    for k in range(0, len(spectrum), 5):
        truth = acb(0)
        for j in range(length):
            truth += arb(float(weights[j])) * roots[j * k % length]
        assert float(abs(acb(spectrum[k].real, spectrum[k].imag) - truth).mid()) <= bound
    back = np.fft.irfft(spectrum, length)
    assert np.abs(back - weights).max() <= 2 * bound
