"""The pictures of posteriors, beside those of ``draw.py``."""

from __future__ import annotations

import numpy as np

from discreet.charts import Axis, Chart
from discreet.models import BetaBernoulli, BetaMixture
from discreet.models.public_randomness import PublicDraws, public_stream
from discreet.noise import DiscreteLaplace, KeyedEntropy

PEOPLE, EPSILON, RUNS = (20, 50, 100, 300, 1000), 0.1, 600


def beta_coverage() -> Chart:
    """How often 90 % intervals hold the share, for an analyst who is naive and one who is aware."""
    draws = PublicDraws(public_stream(b"gallery", "coverage"))
    noises = DiscreteLaplace(scale=round(1 / EPSILON))
    entropy = KeyedEntropy(key=bytes(32), label="coverage")
    aware, naive = [], []
    for people in PEOPLE:
        hits = np.zeros(2)
        for _ in range(RUNS):
            share, *others = draws.uniform((1 + people,)).tolist()
            noise = int(noises.sample(1, entropy=entropy)[0])
            seen = sum(other < share for other in others) + noise
            law = BetaBernoulli(people=people, released=seen, epsilon=EPSILON).posterior
            inside = min(max(seen, 0), people)
            plain = BetaMixture(
                np.ones(1), np.array([1.0 + inside]), np.array([1.0 + people - inside])
            )
            hits += [_holds(law, share), _holds(plain, share)]
        aware.append((float(people), hits[0] / RUNS))
        naive.append((float(people), hits[1] / RUNS))
    chart = Chart(
        title="90 % intervals of a share, counts released at ε = 0.1",
        x=Axis(label="people", low=20, high=1000, ticks=(20, 100, 300, 1000), log=True),
        y=Axis(label="covered", low=0, high=1, ticks=(0, 0.25, 0.5, 0.75, 0.9, 1)),
    )
    chart.line([(20.0, 0.9), (1000.0, 0.9)], color=2, label="promised", dashed=True)
    chart.line(aware, color=0, label="aware of the noise")
    chart.dots(aware, color=0)
    chart.line(naive, color=1, label="naive")
    chart.dots(naive, color=1)
    return chart


def _holds(law: BetaMixture, share: float) -> bool:
    return 0.05 <= law.cdf(share) <= 0.95


POSTERIORS = {"posterior-coverage": beta_coverage}
