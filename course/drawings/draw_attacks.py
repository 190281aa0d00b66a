"""The pictures of attacks, beside those of ``draw.py``."""

from __future__ import annotations

import math

import numpy as np

from discreet.attacks import claims
from discreet.attacks.proportions import at_least, at_most
from discreet.charts import HEIGHT, Axis, Chart
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.noise import KeyedEntropy
from discreet_course.reconstruction import ceiling, fourier, holding, recovered, with_noise

_PEOPLE = 2048
_NOISES = tuple(round(10 ** (k / 6), 4) for k in range(-9, 10))


def reconstruction() -> Chart:
    """The share of bits that the Fourier attack guesses, by how much noise there is."""
    chart = Chart(
        title="How many bits are guessed, by the noise of the counts",
        x=Axis(
            label="noise (standard deviation) / √n",
            low=0.03,
            high=100,
            ticks=(0.1, 1, 10, 100),
            names=("0.1", "1", "10", "100"),
            log=True,
        ),
        y=Axis(
            label="share of bits", low=0.4, high=1.02, ticks=(0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
        ),
        height=HEIGHT,
    )
    noises = [10 ** (k / 20) for k in range(-30, 41)]
    theory = [(noise, 0.5 * math.erfc(-1 / (4 * noise) / math.sqrt(2))) for noise in noises]
    chart.line(theory, color=0, label="Φ(√n / 4σ)")
    coins = KeyedEntropy(key=bytes(32), label="curve of reconstruction: Fourier")
    bits = (coins.words(_PEOPLE, 64) % 2).astype(np.uint8)
    root = math.sqrt(_PEOPLE)
    curators = {n: with_noise(bits, deviation=n * root, entropy=coins) for n in _NOISES}
    guessed = [
        (noise, recovered(bits, fourier.attack(curator, people=_PEOPLE)))
        for noise, curator in curators.items()
    ]
    chart.dots(guessed, color=0, label="Fourier")
    released = []
    coins = KeyedEntropy(key=bytes(32), label="curve of reconstruction: releases")
    bits = (coins.words(_PEOPLE, 64) % 2).astype(np.uint8)
    counts = holding(bits)(fourier.questions(_PEOPLE)).astype("int64")
    for epsilon in (1, 4, 16):
        scale = _PEOPLE // epsilon
        answers = Laplace(scale=scale).run(counts, entropy=coins).astype("float64")
        share = recovered(bits, fourier.guess(answers, people=_PEOPLE))
        noise = math.sqrt(2) * scale / root
        chart.whisker(noise, share, ceiling(Pure(epsilon=epsilon)), color=1)
        released.append((noise, share))
    chart.dots(released, color=1, label="releases")
    return chart


def auditing() -> Chart:
    """What the best event shows of Laplace noise, by the number of answers."""
    chart = Chart(
        title="What an audit proves of Laplace noise that claims ε = 1",
        x=Axis(label="answers", low=100, high=1e7, ticks=(100, 1e3, 1e4, 1e5, 1e6, 1e7), log=True),
        y=Axis(label="certified lower bound", low=0, high=1.6, ticks=(0, 0.5, 1, 1.5)),
    )
    sizes = [round(10 ** (k / 4)) for k in range(8, 29)]
    for color, (epsilon, label) in enumerate(
        (("1", "right"), ("1.1", "10 % too little noise"), ("1.5", "50 %"))
    ):
        true = float(epsilon)
        bounds = [(n, _bound(n, true)) for n in sizes]
        chart.line(bounds, color=(0, 3, 1)[color], label=label)
    chart.line([(100, 1), (1e7, 1)], color=2, label="claimed", dashed=True)
    return chart


def _bound(n: int, epsilon: float) -> float:
    high = at_least(n // 2, n, level="1e-6")
    low = at_most(round(n / 2 * math.exp(-epsilon)), n, level="1e-6")
    return claims.PureClaim().lower(high, low).lower
