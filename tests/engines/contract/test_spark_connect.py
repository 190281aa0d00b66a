"""Spark Connect: the session is on a server, and this side has no Java."""

import pytest

from tests.engines.contract import scenes
from tests.engines.contract.cases import CASES, SECRET, named, random_cases
from tests.engines.contract.checks import SENTENCE, expected
from tests.engines.contract.matrix import answered_by
from tests.engines.contract.program import Failed, Program
from tests.engines.contract.slow_rows import await_tasks
from tests.servers.spark import ConnectServer

SOME = named(
    "everything",
    "poisoned",
    "a public table from elsewhere",
    "two private tables 1",
)


@pytest.fixture(scope="module")
def server():
    with ConnectServer() as server:
        yield server


@pytest.fixture(scope="module")
def driver(server):
    with Program("connect", server.address) as program:
        yield program


def test_cases_agree(driver):
    assert driver.call(scenes.answers, SOME) == [expected(asked) for asked in SOME]


@pytest.mark.slow
def test_all_cases_agree(driver):
    cases = [*answered_by("Spark", CASES), *random_cases(60, 17)]
    assert driver.call(scenes.answers, cases) == [expected(asked) for asked in cases]


def test_one_charge_however_often_it_is_asked(driver, tmp_path):
    found = driver.call(scenes.asked_once, str(tmp_path), 0, 2)
    assert found["answers"] == [scenes.counted()] * 2
    assert found["kinds"] == ["open", "charge", "start", "release"]


def test_an_interrupt_leaves_the_ledger_right(driver, tmp_path):
    driver.start(scenes.asked_once, str(tmp_path), 600)
    await_tasks(driver, tmp_path, scenes.TASKS)
    driver.interrupt()
    with pytest.raises(Failed) as caught:
        driver.result(60)
    assert caught.value.kind in {"KeyboardInterrupt", "EngineStopped"}
    found = driver.call(scenes.asked_once, str(tmp_path), 0)
    assert found["answers"] == [scenes.counted()]
    assert found["kinds"].count("charge") == 1


def test_failures_are_one_sentence(server, driver):
    with pytest.raises(Failed) as caught:
        driver.call(scenes.close_engine_early)
    assert caught.value.text == SENTENCE
    assert caught.value.alone
    assert SECRET not in caught.value.told


def test_what_pyspark_prints_of_failures_is_not_printed(server, driver):
    with pytest.raises(Failed) as caught:
        driver.call(scenes.failing_rows)
    assert caught.value.kind == "EngineFailed"
    assert scenes.QUOTED not in caught.value.told
    assert scenes.QUOTED not in driver.log()
    assert scenes.QUOTED in server.logs()  # which only the owner reads


def test_nothing_that_is_written_anywhere_holds_a_value(server, driver):
    keys, shown = driver.call(scenes.secret_answer)
    assert keys == [SECRET]
    for text in (*shown, driver.log(), server.logs()):
        assert SECRET not in text
