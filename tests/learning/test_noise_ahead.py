"""Noise that other processes draw: whole arrays of the right law, each of them used once."""

import numpy as np
import pytest
from scipy import stats

from discreet.errors import EntropyUnavailable
from discreet.learning import NoiseAhead
from discreet.noise import DiscreteGaussian

ALPHA = 1e-6
LAW = DiscreteGaussian(variance=10**12)  # zero is as good as never drawn


def test_processes_draw_all_of_an_array():
    with NoiseAhead(LAW, 3001, processes=2) as ahead:
        arrays = [ahead.take() for _ in range(4)]
    drawn = np.concatenate(arrays)
    assert (drawn != 0).all()
    assert len({array.tobytes() for array in arrays}) == 4
    assert np.unique(drawn).size > 0.9 * drawn.size
    squares = float((drawn.astype(float) ** 2).sum()) / 10**12
    assert stats.chi2.ppf(ALPHA, drawn.size) < squares < stats.chi2.isf(ALPHA, drawn.size)


def test_a_process_that_ended_ends_the_run():
    with NoiseAhead(LAW, 100, processes=2) as ahead:
        ahead.take()
        ahead._workers[1].kill()
        ahead._workers[1].wait()
        with pytest.raises(EntropyUnavailable):
            [ahead.take() for _ in range(65)]  # two blocks may have been drawn in full before
