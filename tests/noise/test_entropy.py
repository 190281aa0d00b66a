import copy
import gc
import hmac
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from discreet.errors import EntropyCopied, EntropyUnavailable, OutOfRange
from discreet.noise import KeyedEntropy, SystemEntropy
from discreet.noise import entropy as room
from tests.noise.laws import ALPHA

KEY = bytes(range(32))


def keyed(label="test", key=KEY):
    return KeyedEntropy(key=key, label=label)


@pytest.mark.parametrize("source", [SystemEntropy, keyed])
@pytest.mark.parametrize(
    ("width", "kind"), [(1, "uint8"), (8, "uint8"), (9, "uint16"), (17, "uint32"), (53, "uint64")]
)
def test_words_fill_their_width_and_nothing_more(source, width, kind):
    words = source().words(4000, width)
    assert words.dtype == kind
    assert int(words.max()) >> (width - 1) == 1  # misses with a chance of 2**-4000
    assert int(words.max()) >> width == 0
    assert int(words.min()) < 1 << width >> 1


@pytest.mark.parametrize("source", [SystemEntropy, keyed])
@pytest.mark.parametrize("width", [0, 1, 7, 64, 1000, 8 * 600])
def test_bits_of_any_width(source, width):
    entropy = source()
    seen = 0
    for _ in range(200):
        seen |= entropy.bits(width)
    assert seen == (1 << width) - 1  # misses with a chance below width * 2**-200


def test_wider_words_than_64_bits_are_refused():
    with pytest.raises(OutOfRange):
        SystemEntropy().words(1, 65)


@pytest.mark.parametrize("source", [SystemEntropy, keyed])
def test_large_requests_cross_every_internal_boundary(source):
    words = source().words(1 << 17, 16)  # more than one block of zeros at once
    counts = np.bincount(words >> 8, minlength=256)
    assert stats.chisquare(counts).pvalue > ALPHA


def test_small_and_large_requests_never_repeat_a_word():
    entropy = SystemEntropy()
    seen = [entropy.bits(128) for _ in range(2000)]
    for _ in range(20):
        large = entropy.words(2000, 64)
        seen += [int(a) << 64 | int(b) for a, b in large.reshape(-1, 2)]
        seen += [entropy.bits(128) for _ in range(100)]
    assert len(set(seen)) == len(seen)


def test_the_key_is_erased_by_every_request():
    entropy = SystemEntropy()
    keys = []
    for _ in range(5):
        entropy.words(5000, 64)
        keys.append(bytes(entropy._threads.generator.key))
    assert len(set(keys)) == 5
    # the key that made a request is not the one left behind, nor part of what was served
    state = entropy._threads.generator
    before = bytes(state.key)
    served = entropy.words(5000, 64).tobytes()
    stream = Cipher(algorithms.AES(before), modes.CTR(bytes(16))).encryptor()
    successor = stream.update(bytes(32))
    assert bytes(state.key) == successor
    assert stream.update(bytes(40_000)) == served
    assert successor not in served


def test_served_bytes_are_wiped_from_the_pool():
    entropy = SystemEntropy()
    entropy.bits(8)
    state = entropy._threads.generator
    ahead = bytes(state.pool[state.used : state.used + 16])
    assert entropy.bits(128) == int.from_bytes(ahead, "little")
    assert bytes(state.pool[: state.used]) == bytes(state.used)
    assert ahead not in bytes(state.pool)


class Interrupted(bytearray):
    """A pool in which something strikes right after bytes were erased."""

    def __setitem__(self, place, value):
        super().__setitem__(place, value)
        raise KeyboardInterrupt


def test_what_interrupts_a_request_serves_no_erased_bytes():
    source = SystemEntropy()
    source.bits(8)
    state = source._threads.generator
    state.pool = Interrupted(state.pool)
    with pytest.raises(KeyboardInterrupt):
        source.bits(512)
    state.pool = bytearray(state.pool)
    assert source.bits(512) != 0


@pytest.mark.parametrize("small", [True, False])
def test_a_request_amid_another_request_repeats_nothing(monkeypatch, small):
    """A signal handler that draws while a draw is under way gets words of its own."""
    entropy = SystemEntropy()
    inside = []
    true = room._advance

    def interrupted(state, out):
        if not inside:
            inside.append(None)
            inside[0] = [entropy.bits(128), *entropy.words(200, 64).tolist()]
        true(state, out)

    monkeypatch.setattr(room, "_advance", interrupted)
    outside = [entropy.bits(128)] if small else entropy.words(200, 64).tolist()
    after = [entropy.bits(128), *entropy.words(200, 64).tolist()]
    words = [*inside[0], *outside, *after]
    assert len(set(words)) == len(words)
    assert 0 not in words


def test_finalizers_that_draw_repeat_nothing():
    """Garbage collection can run a finalizer at any allocation, also inside a request."""
    entropy, words = SystemEntropy(), []

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            words.append(entropy.bits(128))
            words.append(entropy.words(70, 64).tobytes())

    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(3000):
            Cycle()
            words.append(entropy.bits(128))
            words.append(entropy.words(70, 64).tobytes())
    finally:
        gc.set_threshold(*before)
    assert len(words) > 10_000
    assert len(set(words)) == len(words)
    assert 0 not in words


def test_a_process_forked_behind_our_back_draws_words_of_its_own():
    """A fork in C runs no hook of Python's; the process number still tells."""
    script = """
import ctypes, os, sys
from discreet.noise import SYSTEM, Uniform
law = Uniform(below=2**62)
SYSTEM.bits(64), law.draw()
read, write = os.pipe()
child = ctypes.CDLL(None).fork()
drawn = f"{SYSTEM.bits(64)} {law.draw()}"
if child == 0:
    os.write(write, drawn.encode())
    os._exit(0)
os.waitpid(child, 0)
theirs = os.read(read, 1000).decode()
sys.exit(bool(set(drawn.split()) & set(theirs.split())))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_operating_system_is_asked_again_after_many_bytes(monkeypatch):
    monkeypatch.setattr(room, "_RESEED_BYTES", 100_000)
    asked = []
    true = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or true(size))
    entropy = SystemEntropy()
    for _ in range(10):
        entropy.words(5000, 64)
    assert len(asked) == 4
    for _ in range(40_000):
        entropy.bits(64)
    assert len(asked) > 4


@pytest.mark.parametrize("error", [OSError, NotImplementedError])
def test_without_random_bits_nothing_is_drawn(monkeypatch, error):
    def fail(size):
        raise error

    monkeypatch.setattr(os, "urandom", fail)
    entropy = SystemEntropy()
    for ask in (lambda: entropy.words(10, 64), lambda: entropy.bits(64)):
        with pytest.raises(EntropyUnavailable):
            ask()
    monkeypatch.undo()
    assert entropy.bits(64) != entropy.bits(64)


@pytest.mark.parametrize("source", [SystemEntropy(), keyed()])
@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_streams_are_never_copied(source, copier):
    with pytest.raises(EntropyCopied):
        copier(source)


FORKS = """
import json, multiprocessing
from discreet.noise import SystemEntropy

def draw(pipe):
    pipe.send((entropy.bits(128), entropy.words(2, 64).tolist()))
    pipe.close()

entropy = SystemEntropy()
entropy.bits(8)  # the parent has a key and a pool that children must not share
context = multiprocessing.get_context("fork")
pipes, children = [], []
for _ in range(64):
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=draw, args=(theirs,))
    child.start()
    pipes.append(ours)
    children.append(child)
drawn = [pipe.recv() for pipe in pipes]
for child in children:
    child.join()
drawn.append((entropy.bits(128), entropy.words(2, 64).tolist()))
print(json.dumps([word for bits, pair in drawn for word in (bits, *pair)]))
"""
"""A process of its own, since to fork one that is as large as the tests takes long."""


def test_64_forked_children_and_their_parent_draw_different_words():
    command = [sys.executable, "-c", FORKS]
    words = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(set(words)) == len(words) == 65 * 3


def test_threads_have_streams_of_their_own():
    entropy = SystemEntropy()
    drawn, keys = [], []

    def work():
        mine = [entropy.bits(128) for _ in range(300)]
        keys.append(bytes(entropy._threads.generator.key))
        drawn.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 8 * 300
    assert len(set(keys)) == 8


def test_a_keyed_stream_is_hmac_and_aes_as_documented():
    derived = hmac.digest(KEY, b"discreet keyed noise, version 1\x00ward A", "sha256")
    stream = Cipher(algorithms.AES(derived), modes.CTR(bytes(16))).encryptor()
    expected = stream.update(bytes(32))
    assert keyed("ward A").words(4, 64).astype("<u8").tobytes() == expected


def test_keyed_streams_repeat_and_differ_by_key_and_label():
    words = keyed().words(5, 64).tolist()
    assert keyed().words(5, 64).tolist() == words
    assert keyed(b"test").words(5, 64).tolist() == words
    assert keyed("other").words(5, 64).tolist() != words
    assert keyed(key=bytes(32)).words(5, 64).tolist() != words


def test_a_keyed_stream_does_not_depend_on_how_it_is_cut():
    whole = keyed().words(100, 64).tolist()
    cut = keyed()
    assert [*cut.words(10, 64).tolist(), cut.bits(64), *cut.words(89, 64).tolist()] == whole


def _use_in_child(entropy, pipe):
    try:
        entropy.bits(8)
    except EntropyCopied as error:
        pipe.send(str(error))
    else:
        pipe.send("served")


def test_a_keyed_stream_is_refused_in_a_forked_child():
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_use_in_child, args=(keyed(), theirs))
    child.start()
    assert "E202" in ours.recv()
    child.join()
