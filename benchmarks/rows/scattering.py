"""Public features of pictures: scattering by fixed wavelets.

A feature of a picture depends on that picture and on fixed numbers alone, so it
costs nothing; what is learned from features is bounded and paid for as what is learned from pixels.

Definition (Bruna and Mallat 2013; Oyallon and Mallat 2015).  Let psi_(j, t) be Morlet wavelets of
scale 2**j, for j below J, at L angles t, and let phi be a Gaussian of scale 2**J.  Of a picture x,
with |.| the modulus and * the convolution, scattering takes
    x * phi,    |x * psi_(j, t)| * phi,    ||x * psi_(j, t)| * psi_(j', t')| * phi  with j < j',
at every 2**J-th pixel: 1 + L J + L**2 J (J - 1) / 2 channels.  Pictures are padded by reflection.
They hardly change where a picture is shifted or bent a little, and keep what tells shapes apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray
from scipy import fft  # type: ignore[import-untyped]  # it has no types of its own

from discreet.errors import BadArrays
from discreet.exact import whole

Floats = NDArray[np.float64]

_SLANT: Final = 0.5  # how much wider a wavelet is along its waves than across, times 4 / L
_WIDTH: Final = 0.8  # of a wavelet of scale 1, in pixels
_TURN: Final = 3 * np.pi / 4  # the frequency of that wavelet


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scattering2d:
    """Scattering of pictures of one size, as rows of bounded length.

    ``scales`` is J and ``angles`` is L.  With ``groups``, the channels of a picture are normalized
    in so many groups, each to mean 0 and variance 1 over its channels and pixels, as GroupNorm
    does; rows then have a norm of at most the root of their length.

    >>> scattering = Scattering2d(height=28, width=28)
    >>> scattering.features(np.zeros((2, 28, 28))).shape, scattering.channels
    ((2, 3969), 81)
    """

    height: int
    width: int
    scales: int = 2
    angles: int = 8
    groups: int | None = None
    _smoothers: tuple[Floats, Floats] = field(init=False, repr=False, compare=False)
    _waves: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the filters."""
        scales = whole(self.scales, name="scales", low=1, high=6)
        angles = whole(self.angles, name="angles", low=1, high=32)
        step = 1 << scales
        for name, size in (("height", self.height), ("width", self.width)):
            if whole(size, name=name, low=1) % step or size < 2 * step:
                raise BadArrays(
                    what=f"the {name} of pictures is no multiple of {step}, or less than two.",
                    why="every so many pixels there is one value of each channel.",
                    do=f"pad pictures to a multiple of {step}.",
                )
        if self.groups is not None and self.channels % whole(self.groups, name="groups", low=1):
            raise BadArrays(
                what=f"{self.channels} channels do not fall into {self.groups} equal groups.",
                why="a group is normalized as a whole.",
                do="give a divisor of the number of channels.",
            )
        shape = self.height + 2 * step, self.width + 2 * step
        smooth = tuple(_smoother(size, step, _WIDTH * 2 ** (scales - 1)) for size in shape)
        waves = [
            morlet(shape, _WIDTH * 2**scale, np.pi * angle / angles, _TURN / 2**scale, angles)
            for scale in range(scales)
            for angle in range(angles)
        ]
        object.__setattr__(self, "_smoothers", smooth)
        object.__setattr__(self, "_waves", np.array([np.fft.fft2(wave).real for wave in waves]))

    @property
    def channels(self) -> int:
        """How many numbers there are for each pixel that is kept."""
        first = self.angles * self.scales
        return 1 + first + self.angles**2 * self.scales * (self.scales - 1) // 2

    def features(self, pictures: Any) -> Floats:
        """Return one row a picture, given pictures as an array of three dimensions."""
        given = np.asarray(pictures, np.float64)
        if given.ndim != 3 or given.shape[1:] != (self.height, self.width):
            raise BadArrays(
                what="pictures have another shape than was declared.",
                why="filters are made for one height and width.",
                do="give an array of shape (pictures, height, width), one value a pixel.",
            )
        rows = np.empty((len(given), self.channels * self._kept))
        for place, picture in enumerate(given):  # one by one: a row is about its picture alone
            rows[place] = self._normalized(self._scattered(picture)).ravel()
        return rows

    @property
    def _kept(self) -> int:
        step = 1 << self.scales
        return (self.height // step) * (self.width // step)

    def _scattered(self, picture: Floats) -> Floats:
        padded = np.pad(picture, 1 << self.scales, mode="reflect")
        firsts = np.abs(fft.ifft2(fft.fft2(padded) * self._waves))
        found = [self._averaged(padded[None]), self._averaged(firsts)]
        inner = self.angles * (self.scales - 1)
        for place, modulus in enumerate(fft.fft2(firsts[:inner]) if inner else ()):
            larger = self._waves[self.angles * (place // self.angles + 1) :]
            found.append(self._averaged(np.abs(fft.ifft2(modulus * larger))))
        return np.concatenate(found)

    def _averaged(self, layers: Floats) -> Floats:
        above, beside = self._smoothers
        kept: Floats = above @ layers @ beside.T
        return kept

    def _normalized(self, found: Floats) -> Floats:
        if self.groups is None:
            return found
        parts = found.reshape(self.groups, -1)
        away = parts - parts.mean(axis=1, keepdims=True)
        spread = np.sqrt((away**2).mean(axis=1, keepdims=True) + 1e-5)
        normal: Floats = (away / spread).reshape(found.shape)
        return normal


def _smoother(size: int, step: int, width: float) -> Floats:
    """Return the matrix that smooths a line of pixels and keeps every so many of the inner ones.

    A Gaussian of two dimensions is one along the rows times one along the columns.
    """
    bell = _gauss((size, size), width, 0.0, 1.0).real.sum(axis=0)
    kept = np.arange(step, size - step, step)
    taken: Floats = bell[(kept[:, None] - np.arange(size)) % size]
    return taken


def morlet(
    shape: tuple[int, int], width: float, angle: float, turn: float, angles: int
) -> NDArray[np.complex128]:
    """Return a Morlet wavelet around the first pixel: a wave under a Gaussian, with sum zero.

    >>> bool(abs(morlet((32, 32), 1.6, 0.3, 1.2, 8).sum()) < 1e-12)
    True
    """
    slant = _SLANT * 8 / max(angles, 1)
    bell = _gauss(shape, width, angle, slant)
    wave = _gauss(shape, width, angle, slant, turn)
    balanced: NDArray[np.complex128] = wave - bell * (wave.sum() / bell.sum())
    return balanced


def _gauss(
    shape: tuple[int, int], width: float, angle: float, slant: float, turn: float = 0.0
) -> NDArray[np.complex128]:
    """Return a wave under a Gaussian bell of weight one, wrapped around the edges."""
    height, length = shape
    total = np.zeros(shape, np.complex128)
    cos, sin = np.cos(angle), np.sin(angle)
    for up in range(-2, 3):
        for across in range(-2, 3):
            y, x = np.mgrid[
                up * height : (up + 1) * height, across * length : (across + 1) * length
            ]
            along, aside = x * cos + y * sin, (y * cos - x * sin) * slant
            total += np.exp(-(along**2 + aside**2) / (2 * width**2) + 1j * turn * along)
    scaled: NDArray[np.complex128] = total * slant / (2 * np.pi * width**2)
    return scaled
