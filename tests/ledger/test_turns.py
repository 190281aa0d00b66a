"""Turns: who writes next, and what becomes of the turn of a process that dies."""

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from discreet.ledger.stores.file_locks import FairLock


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ledger")


def locked(name):
    """Say whether somebody holds a lock on a file."""
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def until(condition, *, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_turn_is_taken_by_one_at_a_time(path):
    inside, most = [], []

    def work():
        turn = FairLock(path)
        for _ in range(30):
            with turn.held():
                inside.append(1)
                most.append(len(inside))
                time.sleep(0)
                inside.pop()
        turn.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 120
    assert max(most) == 1


def test_whoever_has_just_written_comes_after_whoever_waits(path):
    order = []
    first, second = FairLock(path), FairLock(path)

    def wait():
        with second.held():
            order.append("waiting")

    for _ in range(20):
        with first.held():
            other = threading.Thread(target=wait)
            other.start()
            until(lambda: locked(path + "-next"))
            order.append("first")
        with first.held():
            order.append("again")
        other.join()
    assert order == ["first", "waiting", "again"] * 20


def test_an_error_gives_the_turn_back(path):
    turn = FairLock(path)
    with pytest.raises(ValueError), turn.held():
        raise ValueError
    assert not locked(path + "-turn")
    assert not locked(path + "-next")


def process(code):
    program = textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def test_a_process_that_is_killed_gives_its_turn_back(path):
    held = process(f"""
        import time
        from discreet.ledger.stores.file_locks import FairLock
        turn = FairLock({path!r})
        with turn.held():
            print("taken", flush=True)
            time.sleep(60)
    """)
    assert held.stdout.readline() == "taken\n"
    assert locked(path + "-turn")
    held.kill()
    held.wait()
    held.stdout.close()
    with FairLock(path).held():
        pass


def test_a_forked_process_does_not_keep_the_turn_of_its_parent(path):
    held = process(f"""
        import os, time
        from discreet.ledger.stores.file_locks import FairLock
        turn = FairLock({path!r})
        with turn.held():
            child = os.fork()
            if child:
                print(child, flush=True)
            time.sleep(60)
    """)
    child = int(held.stdout.readline())
    try:
        assert locked(path + "-turn")
        held.kill()
        held.wait()
        os.kill(child, 0)
        with FairLock(path).held():
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        held.stdout.close()


def test_a_forked_process_takes_turns_of_its_own(path):
    turn = FairLock(path)
    with turn.held():
        child = os.fork()
        if not child:
            os._exit(0 if turn._files == () else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert locked(path + "-turn")
    turn.close()


def test_closing_twice_does_nothing_and_a_closed_turn_can_be_taken_again(path):
    turn = FairLock(path)
    turn.close()
    with turn.held():
        pass
    turn.close()
    turn.close()
    with turn.held():
        assert locked(path + "-turn")


def test_a_folder_that_is_not_there_is_the_callers_to_explain(tmp_path):
    with pytest.raises(OSError), FairLock(str(tmp_path / "no" / "ledger")).held():
        pass


def test_links_are_not_followed(path, tmp_path):
    os.symlink(tmp_path / "elsewhere", path + "-turn")  # noqa: PTH211
    turn = FairLock(path)
    with pytest.raises(OSError), turn.held():
        pass
    assert turn._files == ()
    assert not (tmp_path / "elsewhere").exists()
