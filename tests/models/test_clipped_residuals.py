"""Residuals are shortened to what is priced, by the price alone, and probabilities undo it."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import models
from discreet.errors import OutOfRange
from discreet.models.bounded_rows import BoundedRows
from discreet.models.row_sums import RESIDUALS, gradients, residual_bound
from discreet.session import Rehearsal

CLIPS = [Fraction(1), Fraction(3, 4), Fraction(2, 3), Fraction(3, 5)]


def added(residuals, clip):
    """What each row adds to the sum: row i has a one in place i, and residuals of its own."""
    count = len(residuals)
    rows = BoundedRows(np.eye(count), np.zeros(count, np.int64), 1)
    total = gradients(rows, residuals, clip)
    assert total.squared == residual_bound(residuals.shape[1], clip)
    return total.values.reshape(residuals.shape)


@pytest.mark.theorem("integer-rows")
@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_every_residual_is_shortened_to_its_clip(clip):
    """All 2^16 of them: exactly what a rational clip leaves, or one step less."""
    longest = int(clip * RESIDUALS)
    for start in range(0, RESIDUALS + 1, 256):
        steps = np.arange(start, min(start + 256, RESIDUALS + 1))
        found = added(-steps[:, None] / RESIDUALS, clip)[:, 0]
        assert (-found <= np.minimum(steps, longest)).all()
        assert (-found >= np.minimum(steps, longest - 1)).all()
        assert (found[steps <= longest] == -steps[steps <= longest]).all()


@pytest.mark.theorem("integer-rows")
@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_no_residuals_of_several_classes_are_longer_than_is_priced(clip):
    draw = np.random.default_rng(3)
    shares = draw.dirichlet([0.2] * 4, 600)
    residuals = shares - np.eye(4)[draw.integers(0, 4, 600)]
    planted = np.array([[1.0, -1.0, 0, 0], [0.5, 0.5, -1, 0], [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]])
    residuals = np.vstack([residuals, planted])
    found = added(residuals, clip)
    squares = [sum(int(cell) ** 2 for cell in line) for line in found]
    priced = 2 * (clip * RESIDUALS) ** 2
    assert max(squares) <= priced
    assert max(squares) > Fraction(999, 1000) * priced
    assert not found[-2:].any()
    whole = np.trunc(residuals[:-2] * RESIDUALS)
    length = np.maximum(1, np.linalg.norm(whole, axis=1) / float(priced) ** 0.5)
    assert np.abs(found[:-2] - whole / length[:, None]).max() < 1.001


@pytest.mark.parametrize(
    ("price", "clip"),
    [
        ({"epsilon": "0.1", "delta": "1e-5"}, Fraction(3, 4)),
        ({"epsilon": 1, "delta": "1e-5"}, 1),
        ({"rho": "0.00999"}, Fraction(3, 4)),
        ({"rho": "0.01"}, 1),
        ({"epsilon": "0.1"}, Fraction(3, 4)),
        ({"epsilon": "0.2"}, 1),
        ({"rho": 5, "clip": "0.8"}, Fraction(4, 5)),
    ],
)
def test_the_clip_follows_from_the_price_alone(price, clip):
    model = models.LogisticRegression(**price, bounds=(0, 1), classes=(0, 1))
    plan = model.plan(3)
    assert plan.recipe.descent.clip == clip
    gradient = plan.schedule.sums[-1]
    assert gradient.squared == plan.encoding.squared * residual_bound(1, clip)


@pytest.mark.parametrize("clip", ["0.59", 0, -1, "1.01"])
def test_a_clip_that_makes_no_sense_is_refused(clip):
    model = models.SoftmaxRegression(rho=1, bounds=(0, 1), classes=(0, 1, 2), clip=clip)
    with pytest.raises(OutOfRange, match="clip"):
        model.plan(3)


@pytest.mark.parametrize("clip", [1, "0.75", "0.6"])
@pytest.mark.parametrize(
    ("kind", "chances"),
    [
        (models.LogisticRegression, [[0.5, 0.5], [0.1, 0.9], [0.97, 0.03]]),
        (models.SoftmaxRegression, [[0.3, 0.3, 0.4], [0.05, 0.15, 0.8], [0.9, 0.09, 0.01]]),
    ],
    ids=["logistic", "softmax"],
)
def test_probabilities_are_shares_of_classes(kind, chances, clip):
    """Each group of rows has weights of its own, so that a model can say what its shares are."""
    labels = [
        np.repeat(np.arange(len(line)), [round(1000 * share) for share in line]) for line in chances
    ]
    x, y = np.repeat(np.eye(3), 1000, axis=0), np.concatenate(labels)
    model = kind(
        rho=10**9, bounds=(0, 1), classes=range(len(chances[0])), steps=200, clip=clip,
        ledger=Rehearsal(),
    ).fit(x, y)  # fmt: skip
    assert np.abs(model.predict_proba(np.eye(3)) - chances).max() < 0.005
    draw = np.random.default_rng(1).uniform(0, 1, (300, 3))
    assert (model.predict_proba(draw).argmax(axis=1) == model.codes(model._features(draw))).all()
