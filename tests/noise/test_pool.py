"""Single draws: from blocks that belong to one thread and one process, each value served once."""

import copy
import multiprocessing
import os
import pickle
import threading
import time

import numpy as np
import pytest
from scipy import stats

from discreet.errors import EntropyUnavailable
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Uniform, entropy
from discreet.noise import distribution as pool
from tests.noise.laws import ALPHA, chi_square


@pytest.fixture(autouse=True)
def _empty_pools():
    pool._pools.blocks = {}


def block(law):
    return pool._pools.blocks[id(law)][1]


def test_each_value_of_a_block_is_served_once_and_then_gone():
    law = DiscreteLaplace(scale=10**12)
    first = law.draw()
    waiting = list(block(law))
    assert len(waiting) == pool.BLOCK - 1
    assert first not in waiting
    assert [law.draw() for _ in waiting] == waiting[::-1]
    assert block(law) == []
    assert law.draw() not in waiting


def test_single_draws_follow_the_law():
    law = DiscreteLaplace(scale=7)
    sample = np.array([law.draw() for _ in range(10**5)])
    assert chi_square(sample, law) > ALPHA
    assert chi_square(sample, DiscreteLaplace(scale=8)) < ALPHA
    assert chi_square(sample, DiscreteLaplace(scale=6)) < ALPHA


def test_equal_laws_and_copies_of_a_law_do_not_share_values():
    law = DiscreteLaplace(scale=10**12)
    law.draw()
    pickled = pickle.loads(pickle.dumps(law))  # noqa: S301  our own bytes
    for other in (DiscreteLaplace(scale=10**12), copy.deepcopy(law), pickled):
        assert other == law
        other.draw()
        assert not set(block(other)) & set(block(law))


def test_old_blocks_make_room_for_new_ones():
    laws = [Uniform(below=100 + n) for n in range(pool.MOST_LAWS + 10)]
    for law in laws:
        law.draw()
    assert len(pool._pools.blocks) == pool.MOST_LAWS
    assert id(laws[-1]) in pool._pools.blocks
    assert id(laws[0]) not in pool._pools.blocks
    assert 0 <= laws[0].draw() < 100


def test_threads_do_not_share_blocks():
    law = Uniform(below=2**62)
    drawn = []

    def work():
        drawn.extend([law.draw() for _ in range(300)])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 6 * 300


def _draw_in_child(law, pipe):
    pipe.send([law.draw() for _ in range(3)])
    pipe.close()


def test_forked_children_do_not_serve_what_the_parent_has_in_store():
    law = Uniform(below=2**62)
    law.draw()
    waiting = set(block(law))
    context = multiprocessing.get_context("fork")
    drawn = []
    for _ in range(16):
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=_draw_in_child, args=(law, theirs))
        child.start()
        drawn += ours.recv()
        child.join()
    assert len(set(drawn)) == 16 * 3
    assert not waiting & set(drawn)


def test_a_handler_that_takes_the_last_value_leaves_none_out():
    """Between the look at a block and the taking of its last value, a handler takes that value."""
    law = Uniform(below=2**62)

    class Interrupted(list):
        def pop(self):
            self.clear()  # what the handler does
            return super().pop()

    law.draw()
    pool._pools.blocks[id(law)] = (law, Interrupted([7]))
    assert 0 <= law.draw() < 2**62
    assert len(block(law)) == pool.BLOCK - 1


def test_without_random_bits_no_value_is_served(monkeypatch):
    def fail(size):
        raise OSError

    law = Uniform(below=2**62)
    entropy.SYSTEM._threads.generator.used = entropy._POOL_BYTES  # nothing is left from before
    monkeypatch.setattr(os, "urandom", fail)
    monkeypatch.setattr(entropy, "_RESEED_BYTES", 0)
    with pytest.raises(EntropyUnavailable):
        law.draw()
    monkeypatch.undo()
    assert 0 <= law.draw() < 2**62


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(scale=1),
        DiscreteLaplace(scale=100),
        DiscreteGaussian(variance=100),
        DiscreteGaussian(variance=10**6),
    ],
    ids=str,
)
def test_time_and_magnitude_are_uncorrelated(law):
    """Spearman below 0.02, AUC within 0.01 of a half, over 200,000 draws on a quiet machine."""
    clock = time.perf_counter_ns
    values, times = [], []
    for _ in range(200_000):
        start = clock()
        value = law.draw()
        times.append(clock() - start)
        values.append(abs(value))
    values, times = np.array(values), np.array(times)
    assert abs(stats.spearmanr(values, times).statistic) < 0.02
    large = values > np.median(values)
    ranks = stats.rankdata(times)
    ones, zeros = int(large.sum()), int((~large).sum())
    auc = (ranks[large].sum() - ones * (ones + 1) / 2) / (ones * zeros)
    assert abs(auc - 0.5) < 0.01
