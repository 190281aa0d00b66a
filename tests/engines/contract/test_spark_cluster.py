"""Spark on a cluster of two workers: the same numbers, and what happens when it breaks."""

import pytest

from tests.engines.contract import scenes
from tests.engines.contract.cases import CASES, SECRET, named, random_cases
from tests.engines.contract.checks import expected
from tests.engines.contract.matrix import answered_by
from tests.engines.contract.program import Failed, Program
from tests.engines.contract.slow_rows import await_tasks, begun
from tests.servers.spark import StandaloneCluster

SOME = named("everything", "keys of all types", "rows are units, joined", "a linked table 2")


@pytest.fixture(scope="module")
def cluster():
    with StandaloneCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def driver(cluster):
    with Program("cluster", cluster.address) as program:
        yield program


def test_cases_agree(driver):
    assert driver.call(scenes.answers, SOME) == [expected(asked) for asked in SOME]


@pytest.mark.slow
def test_all_cases_agree(driver):
    cases = [*answered_by("Spark", CASES), *random_cases(60, 13)]
    assert driver.call(scenes.answers, cases) == [expected(asked) for asked in cases]


@pytest.mark.slow  # the two that follow see the same numbers through a session
def test_an_executor_that_is_killed_changes_no_number(cluster, driver, tmp_path):
    """Its task runs again: more tasks begin than there are."""
    driver.start(scenes.slow_answer, str(tmp_path), 3)
    await_tasks(driver, tmp_path, scenes.TASKS)
    killed = cluster.kill_executor()
    assert driver.result() == expected(scenes.ask("slow"))
    assert begun(tmp_path) > scenes.TASKS
    assert killed not in cluster.executors()


def test_an_executor_that_is_killed_costs_nothing_more(cluster, driver, tmp_path):
    scene = scenes.asked_once
    driver.start(scene, str(tmp_path), 3, 2)
    await_tasks(driver, tmp_path, scenes.TASKS)
    killed = cluster.kill_executor()
    found = driver.result()
    assert killed not in cluster.executors()
    assert begun(tmp_path) > scenes.TASKS
    assert found["answers"] == [scenes.counted()] * 2
    assert found["replayed"] == [False, True]
    assert found["kinds"] == ["open", "charge", "start", "release"]
    again = driver.call(scene, str(tmp_path), 0)
    assert again["answers"] == [scenes.counted()]
    assert (again["replayed"], again["kinds"]) == ([True], found["kinds"])
    assert again["left"] == found["left"]


def test_an_interrupt_leaves_the_ledger_right(driver, tmp_path):
    """What was paid for is completed at no cost, and what ran is ended."""
    driver.start(scenes.asked_once, str(tmp_path), 600)
    await_tasks(driver, tmp_path, scenes.TASKS)
    driver.interrupt()
    with pytest.raises(Failed) as caught:
        driver.result(60)
    assert caught.value.kind in {"KeyboardInterrupt", "EngineStopped"}
    found = driver.call(scenes.asked_once, str(tmp_path), 0)
    assert found["answers"] == [scenes.counted()]
    assert found["kinds"].count("charge") == 1
    assert found["kinds"][-1] == "release"


def test_nothing_that_is_written_anywhere_holds_a_value(cluster, driver):
    keys, shown = driver.call(scenes.secret_answer)
    assert keys == [SECRET]
    with pytest.raises(Failed) as caught:
        driver.call(scenes.failing_rows)
    assert caught.value.kind == "EngineFailed"
    assert caught.value.text.startswith("EngineFailed[E701]: the answer could not be computed.")
    assert caught.value.alone
    logs = cluster.logs()
    assert "CoarseGrainedExecutorBackend" in logs
    assert "authentication enabled" in logs
    assert "authentication disabled" not in logs
    assert "Lost task" in driver.log()
    for text in (*shown, caught.value.told, driver.log(), logs):
        assert SECRET not in text
