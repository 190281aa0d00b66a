"""Noise that other processes draw ahead: all of it is fresh, and a lost process ends the run."""

import os
import signal

import numpy as np
import pytest

from discreet.attacks import ReplayEntropy
from discreet.errors import EntropyUnavailable
from discreet.noise import DiscreteGaussian
from discreet.torch import noise_ahead
from discreet.torch.noise_ahead import NoiseAhead, processes_for

LAW = DiscreteGaussian(variance=10**12)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(noise_ahead, "_BLOCK", 1200)


@pytest.mark.parametrize("processes", [0, 1, 3])
def test_every_array_is_drawn_in_full_and_handed_out_once(small_blocks, processes):
    with NoiseAhead(LAW, 400, processes=processes) as ahead:
        drawn = np.concatenate([ahead.take() for _ in range(14)])  # more than four blocks of three
    assert len(np.unique(drawn)) > 0.99 * drawn.size
    assert 0.8e12 < np.var(drawn.astype(float)) < 1.2e12


def test_a_process_that_ended_ends_the_run(small_blocks):
    with NoiseAhead(LAW, 400, processes=2) as ahead:
        ahead.take()
        os.kill(ahead._workers[1].pid, signal.SIGKILL)
        ahead._workers[1].wait()
        with pytest.raises(EntropyUnavailable, match="has ended"):
            [ahead.take() for _ in range(20)]


def test_bits_that_were_passed_in_are_drawn_here():
    words = ReplayEntropy([0] * 64)
    with NoiseAhead(DiscreteGaussian(variance=1), 1, processes=3, entropy=words) as ahead:
        assert ahead.memory is None


def test_small_models_need_no_process_and_processes_end_with_their_owner():
    assert processes_for(1000) == 0
    with NoiseAhead(LAW, 400, processes=1) as ahead:
        ahead.take()
        (worker,) = ahead._workers
    assert worker.poll() is not None


def test_processes_that_were_asked_for_and_cannot_be_started_are_an_error(monkeypatch):
    def refuse(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(noise_ahead.subprocess, "Popen", refuse)
    with pytest.raises(EntropyUnavailable, match="Too many open files"):
        NoiseAhead(LAW, 400, processes=1)
    monkeypatch.setattr(noise_ahead, "processes_for", lambda _: 2)
    with NoiseAhead(LAW, 400) as ahead:  # by default it is drawn here then
        assert ahead.take().shape == (400,)
