"""An interrupt from the keyboard ends a question, and leaves the ledger right."""

import time

import pytest

from tests.engines.contract import heavy
from tests.engines.contract.program import Failed, Program
from tests.engines.postgres.rows import fill, make


@pytest.fixture
def program():
    with Program("here", "") as program:
        program.call(heavy.ready)
        yield program


def check_interrupt(program, few, many, folder):
    """What is asked of many rows takes minutes; of few, no time."""
    program.start(heavy.asked, many, folder)
    time.sleep(3)
    assert not program.ready(0)
    for _ in range(5):  # one may come while a library listens, and be lost there
        program.interrupt()
        if program.ready(15):
            break
    with pytest.raises(Failed) as caught:
        program.result(1)
    assert caught.value.kind in {"KeyboardInterrupt", "EngineStopped"}
    found = program.call(heavy.asked, few, folder)
    assert found["n"] == [heavy.pairs(heavy.FEW)]
    assert found["kinds"].count("charge") == 1
    assert found["kinds"][-1] == "release"


def test_duckdb_is_interrupted(program, tmp_path):
    few, many = heavy.rows(heavy.FEW), heavy.rows(heavy.MANY)
    check_interrupt(program, few, many, str(tmp_path))


def test_a_server_is_interrupted(program, postgres, tmp_path):
    places = []
    for name, count in (("few_rows", heavy.FEW), ("many_rows", heavy.MANY)):
        make(postgres, name, heavy.TYPES)
        fill(postgres, {name: heavy.rows(count).to_pylist()}, {name: heavy.TYPES})
        places.append(f"{postgres.address()}/{name}")
    check_interrupt(program, *places, str(tmp_path))
