"""Which floats come out, and which bits they end in.

Mironov 2012, On Significance of the Least Significant Bits; Haney and others 2022,
Precision-based Attacks and Interval Refining.

Noise that is drawn as a float and added to a float leaves holes: about 0 and about 1 different
floats can come out.  Mironov's event is that an answer lies within 1/4 of 0 and is no multiple of
2**-53.  It is counted on data sets 0 and 1, and every other event of values and bits is tried too.
"""

import numpy as np
import pytest

from discreet.attacks.claims import claim_of
from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.measured import Measured
from discreet.attacks.proportions import at_least, at_most
from discreet.attacks.questions import AuditedQuestion
from discreet.attacks.subjects import Batches, subject_of
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import DyadicGrid, KeyedEntropy
from tests.audit.clinic import POLICY, SHARE, row_of, visits
from tests.audit.twins import float_laplace


@pytest.mark.parametrize("grid", [-10, -40])
@pytest.mark.parametrize("noise", [Laplace, Gaussian])
def test_bits_of_floats_tell_no_more_than_the_loss(found, quick, noise, grid):
    """Mironov's event on floats: the bits of an answer."""
    size = {"scale": 1} if noise is Laplace else {"sigma": 1}
    mechanism = noise(**size, grid=DyadicGrid(exponent=grid))
    claim, n = mechanism.loss(distance=1), 10_000 if quick else 1_000_000
    name = f"{noise.__name__} on a grid of 2**{grid}"
    found.promise(
        "mechanisms", f"{name}, bits", mironov(mechanism, (0.0, 1.0), n, claim=claim, name=name)
    )
    found.promise(
        "mechanisms", name, estimate_epsilon(mechanism, (0.0, 1.0), n, claim=claim, level=SHARE)
    )


def test_floating_point_noise_is_caught():
    source = KeyedEntropy(key=bytes(32), label="holes")
    broken = Batches(lambda value, n: float_laplace(value, n, source))
    assert mironov(broken, (0.0, 1.0), 3000, claim=1).lower > 3


def test_totals_of_floats_are_integers():
    assert _types_of_totals() == {"int64"}


def mironov(mechanism, pair, n, *, claim, name=""):
    """Count answers within 1/4 of 0 that are no multiple of 2**-53; the event is fixed before."""
    subject = subject_of(mechanism)
    counts = [int(_off_grid(np.asarray(subject.draw(data, n))).sum()) for data in pair]
    rows = [_row((here, there), n, claim, name) for here, there in (counts, counts[::-1])]
    return max(rows, key=lambda row: row.lower)


def _row(hits, n, claim, name):
    """Bound what is lost from how often the event came; a quarter of the level for each chance."""
    promise = claim_of(claim)
    p, q = at_least(hits[0], n, level=SHARE / 4), at_most(hits[1], n, level=SHARE / 4)
    level = promise.lower(p, q)
    return Measured(
        parameter=promise.parameter,
        lower=level.lower,
        estimate=promise.point(np.array(hits[0] / n), np.array(hits[1] / n), level.delta),
        claimed=level.claimed,
        delta=level.delta,
        event=f"{name}: within 1/4 of 0, and no multiple of 2**-53".lstrip(": "),
        hits=hits,
        n=n,
        level=float(SHARE),
    )


def _off_grid(answers):
    values = answers.astype(np.float64)
    near = np.abs(values) < 0.25
    scaled = np.ldexp(np.where(near, values, 0.0), 53)
    return near & (scaled != np.floor(scaled))


def _types_of_totals():
    """Return the types in which totals of float columns carry their noise."""
    question = AuditedQuestion(
        sql="SELECT SUM(cost) AS s, AVG(cost) AS m, STDDEV(cost) AS d FROM visits",
        price={"epsilon": 1},
        options={"policy": POLICY},
    )
    answers = question.draw({"visits": visits(5, row_of(5, cost=0.1))}, 4)
    return {str(np.ma.getdata(column).dtype) for column in answers.values()}
