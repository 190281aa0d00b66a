"""Noise that other processes draw: whole arrays of the right law, each of them used once."""

import copy
import errno
import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet.errors import EntropyCopied, EntropyUnavailable
from discreet.learning import NoiseAhead
from discreet.learning.noise_processes import noise_ahead
from discreet.learning.noise_processes.noise_worker import serve
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


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("processes", [0, 1])
def test_nobody_hands_out_copies_of_noise(how, processes):
    with NoiseAhead(LAW, 7, processes=processes) as ahead:
        ahead.take()
        with pytest.raises(EntropyCopied):
            how(ahead)


def test_threads_are_handed_different_noise(monkeypatch):
    """A thread that waits for a block while another one does would count its arrays once more."""
    wait = noise_ahead._wait

    def slowly(*request):
        time.sleep(0.02)
        wait(*request)

    monkeypatch.setattr(noise_ahead, "_wait", slowly)
    with NoiseAhead(LAW, 5, processes=1) as ahead:
        taken = []
        threads = [
            threading.Thread(target=lambda: taken.extend(ahead.take().tobytes() for _ in range(40)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(taken) == len(set(taken)) == 160


def test_a_process_that_ended_ends_the_run():
    with NoiseAhead(LAW, 100, processes=2) as ahead:
        ahead.take()
        ahead._workers[1].kill()
        ahead._workers[1].wait()
        with pytest.raises(EntropyUnavailable):
            [ahead.take() for _ in range(65)]  # two blocks may have been drawn in full before


def test_a_process_that_stands_still_ends_the_run(monkeypatch):
    monkeypatch.setattr(noise_ahead, "_PATIENCE", 2)
    with NoiseAhead(LAW, 200_000, processes=2) as ahead:
        ahead.take()
        os.kill(ahead._workers[1].pid, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(EntropyUnavailable, match="stands still"):
            [ahead.take() for _ in range(7)]  # two blocks may have been drawn in full before
        assert time.monotonic() - began < 60
        with pytest.raises(EntropyUnavailable, match="is closed"):
            ahead.take()


def test_a_wait_for_noise_ends_when_another_thread_closes_it():
    with NoiseAhead(LAW, 200_000, processes=1) as ahead:
        ahead.take()
        os.kill(ahead._workers[0].pid, signal.SIGSTOP)
        told = []

        def take():
            try:
                while True:
                    ahead.take()
            except EntropyUnavailable as error:
                told.append(error.code)

        waiting = threading.Thread(target=take)
        waiting.start()
        time.sleep(0.5)
        ahead.close()
        waiting.join(30)
    assert told == ["E201"]


ORPHANED = """
import os, signal, sys
from discreet.learning import NoiseAhead
from discreet.noise import DiscreteGaussian
ahead = NoiseAhead(DiscreteGaussian(variance=100), 5000, processes=1)
ahead.take()
if not os.fork():
    sys.stdin.read()  # it outlives its parent
    os._exit(0)
print(ahead._workers[0].pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_ends_with_its_reader_whatever_that_has_forked():
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as reader:
        worker = int(reader.stdout.readline())
        assert reader.wait() == -signal.SIGKILL
        end = time.monotonic() + 30
        while is_running(worker) and time.monotonic() < end:
            time.sleep(0.05)
        assert not is_running(worker)
        reader.stdin.close()


def is_running(number):
    """Whether there is a process of this number that has not ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def fail_the_second(monkeypatch):
    """Let one process start, and no other; return both."""
    started, real = [], noise_ahead.NoiseProcess

    def second_fails(*program, **options):
        if len(started) == 1:
            started.append(None)
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        started.append(real(*program, **options))
        return started[-1]

    monkeypatch.setattr(noise_ahead, "NoiseProcess", second_fails)
    return started


def test_where_no_process_can_be_started_in_a_long_run_noise_is_drawn_here(monkeypatch):
    """A process that was started before would fill its part alone, and the rest would be zero."""
    started = fail_the_second(monkeypatch)
    monkeypatch.setattr(noise_ahead, "_MANY", 1)
    monkeypatch.setattr(noise_ahead.os, "cpu_count", lambda: 4)
    with NoiseAhead(LAW, 20_000) as ahead:
        taken = [ahead.take() for _ in range(4)]
        assert ahead.memory is None
    assert all((array != 0).sum() > 19_990 for array in taken)
    assert len({array.tobytes() for array in taken}) == 4
    assert len(started) == 2  # it is tried once
    assert started[0].poll() is not None


def test_processes_that_were_asked_for_and_cannot_be_started_are_told_of(monkeypatch):
    started = fail_the_second(monkeypatch)
    with pytest.raises(EntropyUnavailable, match="Resource temporarily unavailable"):
        NoiseAhead(LAW, 20_000, processes=2)
    assert started[0].poll() is not None


@pytest.mark.parametrize("reason", [errno.EROFS, errno.ENOSPC, errno.ENOENT])
def test_where_memory_has_no_room_arrays_lie_among_temporary_files(monkeypatch, reason):
    real, folders = tempfile.TemporaryFile, []

    def elsewhere(dir):  # noqa: A002  its name there
        folders.append(dir)
        if dir is not None:
            raise OSError(reason, "no room")
        return real(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", elsewhere)
    with NoiseAhead(LAW, 300, processes=1) as ahead:
        assert (ahead.take() != 0).sum() > 290
    assert len(folders) == 2


def test_memory_that_is_missing_is_found_before_it_is_used(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(noise_ahead.os, "posix_fallocate", full)
    with pytest.raises(EntropyUnavailable, match="No space left"):
        NoiseAhead(LAW, 300, processes=1)


class _Interrupt:
    """Ctrl-C before a line of the file runs: the first with a text, or the one of a number."""

    def __init__(self, *, text="", number=0, passes=0):
        lines = list(enumerate(Path(noise_ahead.__file__).read_text("utf-8").split("\n"), start=1))
        self._at = {place for place, line in lines if text and text in line}
        # no signal is handled between a body and the lock's own exit, which is written in C
        self._never = {place for place, line in lines if "with self._lock" in line}
        self._left, self._passes, self.came = number, passes, False

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename != noise_ahead.__file__:
            return None
        if frame.f_lineno in self._never:
            return self
        self._left -= event == "line"
        here = frame.f_lineno in self._at if self._at else self._left == 0
        if event == "line" and here and self._passes:
            self._passes -= 1
        elif event == "line" and here and not self.came:
            self.came = True
            raise KeyboardInterrupt
        return self

    def during(self, step):
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return step()
        finally:
            sys.settrace(before)


AFTER_THE_START = ["with shared_file", "self._cells, self._asked", "self._workers = workers"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the file, which has no name
@pytest.mark.parametrize("text", [*AFTER_THE_START, "never named"])
def test_an_interrupt_leaves_no_process_behind(monkeypatch, text):
    """Also where it comes before anybody has a name for the process."""
    numbers, real = [], noise_ahead.NoiseProcess

    def kept(*program, **options):
        made = real(*program, **options)
        numbers.append(made.pid)
        if text == "never named":
            raise KeyboardInterrupt
        return made

    monkeypatch.setattr(noise_ahead, "NoiseProcess", kept)
    interrupt = _Interrupt(text=text, passes=1 if text == "with shared_file" else 0)
    with pytest.raises(KeyboardInterrupt) as told:
        interrupt.during(lambda: NoiseAhead(LAW, 300, processes=1))
    del told
    gc.collect()
    assert len(numbers) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(numbers[0], 0)


def test_a_process_ends_in_silence_when_its_reader_is_killed():
    """It has drawn, and nobody is there to tell."""
    program = [sys.executable, "-m", "discreet.learning.noise_processes.noise_worker"]
    with tempfile.TemporaryFile() as file:
        file.truncate(8 * 2 * 5)
        words = [str(file.fileno()), "2", "1", "5", "0", "5", "1000000000000"]
        worker = subprocess.Popen(
            [*program, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[file.fileno()],
        )
        worker.stdout.close()
        worker.stdin.write(b"0 1\n1 2\n")
        worker.stdin.close()
        assert worker.stderr.read() == b""
        assert worker.wait() == 0
        worker.stderr.close()


@pytest.mark.parametrize("text", ["self._asked[block] =", "self._block = (self._block + 1)"])
def test_an_interrupt_closes_it_for_good(monkeypatch, text):
    """Between two lines that belong together: a block asked for twice, or one passed over."""
    monkeypatch.setattr(noise_ahead, "_ARRAYS", 1)
    with NoiseAhead(LAW, 50_000, processes=1) as ahead:
        ahead.take()
        with pytest.raises(KeyboardInterrupt):
            _Interrupt(text=text).during(ahead.take)
        for _ in range(3):
            with pytest.raises(EntropyUnavailable, match="is closed"):
                ahead.take()


def test_no_interrupt_makes_noise_repeat_or_vanish(monkeypatch):
    """Wherever Ctrl-C comes, later arrays are drawn in full and new, or refused."""
    monkeypatch.setattr(noise_ahead, "_ARRAYS", 1)
    number, came = 3, True
    while came:
        interrupt, taken = _Interrupt(number=number), []
        with NoiseAhead(LAW, 3000, processes=1) as ahead:
            taken.append(ahead.take())
            try:
                taken.append(interrupt.during(ahead.take))
                assert not interrupt.came
            except KeyboardInterrupt:
                pass
            for _ in range(3):
                try:
                    taken.append(ahead.take())
                except EntropyUnavailable:
                    assert interrupt.came
        assert all((array != 0).sum() > 2990 for array in taken)
        assert len({array.tobytes() for array in taken}) == len(taken)
        number, came = number + 3, interrupt.came
    assert number > 20


def test_what_was_closed_hands_out_nothing():
    ahead = NoiseAhead(LAW, 10, processes=0)
    ahead.take()
    ahead.close()
    with pytest.raises(EntropyUnavailable, match="is closed"):
        ahead.take()


def test_an_answer_to_another_request_is_none():
    with NoiseAhead(LAW, 10, processes=1) as ahead:
        ahead._asked[0] = 2
        with pytest.raises(EntropyUnavailable, match="another request"):
            ahead.take()


def test_a_process_draws_nothing_for_a_request_out_of_turn():
    """The block of a number that was served may be in use."""
    told = io.BytesIO()
    with tempfile.TemporaryFile() as file:
        file.truncate(8 * 2 * 5)
        words = [str(file.fileno()), "2", "1", "5", "0", "5", "1000000000000"]
        serve(words, io.BytesIO(b"0 1\n"), told)
        file.seek(0)
        once = file.read()
        assert np.frombuffer(once, np.int64).reshape(2, 5)[0].all()
        serve(words, io.BytesIO(b"0 2\n1 1\n"), told)
        file.seek(0)
        assert file.read() == once
    assert told.getvalue() == b"drawn 0 1\n"
