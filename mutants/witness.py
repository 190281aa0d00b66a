"""A plugin of pytest that says which of the named tests failed, how, and after how much work.

A test fails as it should where something that it asserts is not so, or where the package refuses
what the test does.  Code that cannot be imported or called shows that a patch is bad, not that a
test is good.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

PROFILE = "mutants"
SOURCE, REPORT = "MUTANTS_SOURCE", "MUTANTS_REPORT"

settings.register_profile(
    PROFILE,
    deadline=None,
    derandomize=True,
    max_examples=50,
    phases=(Phase.explicit, Phase.generate),  # one example will do, however long it is
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

_found: dict[str, dict[str, Any]] = {}


def seconds() -> float:
    """Return how long processors have worked for this process and for those it waited for."""
    return sum(os.times()[:4])


def pytest_sessionstart() -> None:
    """Refuse to judge another copy of the package than the one that is patched."""
    import discreet  # noqa: PLC0415  (after the folders that it may be imported from are known)

    if not Path(str(discreet.__file__)).is_relative_to(os.environ[SOURCE]):
        pytest.exit(f"the package was loaded from {discreet.__file__}", returncode=9)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Add up the work for each named test."""
    begun = seconds()
    result = yield
    found = _of(item)
    found["seconds"] += seconds() - begun
    return result


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out the other examples of a test that failed."""
    if _of(item)["failed"]:
        pytest.skip("seen already")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Note how a test failed."""
    report = yield
    found = _of(item)
    found["run"] += call.when == "call" and not report.skipped
    if report.failed and not found["failed"]:
        error = None if call.excinfo is None else call.excinfo.value
        found["failed"] = type(error).__name__
        found["asserted"] = call.when == "call" and asserts(error)
        found["text"] = str(error)[:400]
    return report


def asserts(error: BaseException | None) -> bool:
    """Say whether an error is what a test is for, and not the sign of code that cannot run."""
    if isinstance(error, BaseExceptionGroup):
        return any(asserts(each) for each in error.exceptions)
    from discreet.errors import DiscreetError  # noqa: PLC0415  (of the copy, once it is loaded)

    return isinstance(error, AssertionError | pytest.fail.Exception | DiscreetError)


def pytest_sessionfinish() -> None:
    """Write it all down."""
    Path(os.environ[REPORT]).write_text(json.dumps(_found), encoding="utf-8")


def _of(item: pytest.Item) -> dict[str, Any]:
    named = item.nodeid in item.config.args  # one example of a test
    name = item.nodeid if named else item.nodeid.partition("[")[0]
    return _found.setdefault(
        name, {"seconds": 0.0, "failed": "", "asserted": False, "run": 0, "text": ""}
    )
