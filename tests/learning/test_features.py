"""Scattering is what its definition says, and a row is about its picture alone."""

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.learning import Scattering2d
from discreet.learning.features import _gauss, morlet


def direct(picture, kernel):
    """The circular convolution of the definition, pixel by pixel."""
    height, width = picture.shape
    out = np.zeros(picture.shape, complex)
    for y in range(height):
        for x in range(width):
            rows, columns = (y - np.arange(height)) % height, (x - np.arange(width)) % width
            out[y, x] = (picture * kernel[np.ix_(rows, columns)]).sum()
    return out


def by_definition(picture, scales, angles):
    """Scattering without transforms, as it is written down."""
    step = 1 << scales
    padded = np.pad(picture, step, mode="reflect")
    low = _gauss(padded.shape, 0.8 * 2 ** (scales - 1), 0.0, 1.0)
    waves = [
        (j, morlet(padded.shape, 0.8 * 2**j, np.pi * t / angles, 3 * np.pi / 4 / 2**j, angles))
        for j in range(scales)
        for t in range(angles)
    ]
    firsts = [(j, abs(direct(padded, wave))) for j, wave in waves]
    seconds = [abs(direct(u, wave)) for j, u in firsts for k, wave in waves if k > j]
    layers = [padded, *[u for _, u in firsts], *seconds]
    kept = slice(step, -step, step)
    return np.array([direct(layer, low).real[kept, kept] for layer in layers]).ravel()


def test_features_are_those_of_the_definition():
    picture = np.random.default_rng(1).uniform(-1, 1, (8, 12))
    (found,) = Scattering2d(height=8, width=12, scales=2, angles=2).features(picture[None])
    assert found.size == (1 + 4 + 4) * 6
    assert np.allclose(found, by_definition(picture, 2, 2), atol=1e-10)


def test_wavelets_see_no_constant_and_the_average_sees_nothing_else():
    flat = np.full((1, 16, 16), 3.0)
    (found,) = Scattering2d(height=16, width=16, angles=4).features(flat)
    channels = found.reshape(-1, 16)
    assert np.allclose(channels[0], 3, atol=1e-6)
    assert np.abs(channels[1:]).max() < 1e-9


def test_a_shift_by_a_pixel_moves_features_less_than_pixels():
    y, x = np.mgrid[0:32, 0:32]
    picture = np.exp(-((x - 15) ** 2 + (y - 14) ** 2) / 6.0)
    moved = np.roll(picture, 1, axis=1)
    first, second = Scattering2d(height=32, width=32, scales=3).features([picture, moved])
    apart = np.linalg.norm(first - second) / np.linalg.norm(first)
    assert apart < 0.6 * np.linalg.norm(picture - moved) / np.linalg.norm(picture)


def test_rows_do_not_depend_on_company_and_have_a_bounded_norm():
    pictures = (
        np.random.default_rng(2).uniform(0, 1, (5, 8, 8)) * 10.0 ** np.arange(5)[:, None, None]
    )
    scattering = Scattering2d(height=8, width=8, angles=2, groups=3)
    rows = scattering.features(pictures)
    for place in range(5):
        assert (scattering.features(pictures[place : place + 1])[0] == rows[place]).all()
    assert (np.linalg.norm(rows, axis=1) <= rows.shape[1] ** 0.5).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Scattering2d(height=10, width=8),
        lambda: Scattering2d(height=4, width=8),
        lambda: Scattering2d(height=8, width=8, scales=0),
        lambda: Scattering2d(height=8, width=8, groups=7),
        lambda: Scattering2d(height=8, width=8).features(np.zeros((8, 8))),
        lambda: Scattering2d(height=8, width=8).features(np.zeros((1, 8, 9))),
    ],
)
def test_mistakes(wrong):
    with pytest.raises(DiscreetError):
        wrong()
