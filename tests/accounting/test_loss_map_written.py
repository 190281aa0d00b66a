"""Loss maps that are written, read, copied and replayed."""

import json
import os
import subprocess
import sys

import pytest

from discreet.accounting.loss_map import LossMap
from discreet.errors import InputError
from tests.accounting.map_model import charged, some_charges


@pytest.mark.parametrize("cap", [4096, 30, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_map_that_was_written_goes_on_as_if_it_had_not_been(seed, cap):
    asked = some_charges(seed, 40)
    straight, paused = LossMap(2, cap=cap), LossMap(2, cap=cap)
    for at, (box, amounts) in enumerate(asked):
        straight.add(box, amounts)
        if at % 7 == 0:
            paused = LossMap.read(json.loads(json.dumps(paused.written())))
        paused.add(box, amounts)
        assert paused.written() == straight.written()
    assert charged(asked, cap).written() == straight.written()


PROGRAM = """
import hashlib, json
from discreet.accounting.box import Box
from discreet.accounting.loss_map import LossMap
from discreet.accounting.values import at_least, equals, one_of
paid = LossMap(1, cap=40)
for at in range(200):
    conditions = {"state": equals(f"state {at % 7}"), "age": at_least(at % 11)}
    if at % 3:
        conditions["sex"] = one_of("F", "M" if at % 2 else "X")
    paid.add(Box(conditions), [at])
print(hashlib.sha256(json.dumps(paid.written()).encode()).hexdigest())
"""


def test_a_replay_does_not_depend_on_hash_seeds():
    seen = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1


def test_a_copy_is_charged_apart():
    paid = charged(some_charges(1), 10)
    before = paid.written()
    twin = paid.copy()
    assert twin.written() == before
    for box, amounts in some_charges(2):
        twin.add(box, amounts)
    assert paid.written() == before
    for box, amounts in some_charges(2):
        paid.add(box, amounts)
    assert paid.written() == twin.written()


def test_a_map_is_not_read_from_something_else():
    for data in (None, [], {}, {"version": 1}):
        with pytest.raises(InputError):
            LossMap.read(data)
