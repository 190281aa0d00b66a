"""The walk through the house follows the calls of a real question, and pages name files."""

import re
import sys
import threading

import pytest

from discreet.session import inquiry
from tests.house.pages import ROOT, SOURCE, blocks, rooms

WALK = (ROOT / "docs" / "development" / "walk.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "guide" / "glossary.md").read_text(encoding="utf-8")
STOPS = re.findall(r"`([\w/]+\.py)`\)?\s+`(\w+)`", WALK)
MAIN_BLOCKS = 3  # of the README: the table, the policy, the question


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Answer the README's question; return every call as a file and a function, in order."""
    seen = []
    inside = f"{SOURCE}/"

    def look(frame, event, _argument):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(inside):
            seen.append((file.removeprefix(inside), frame.f_code.co_name))

    namespace = {"__name__": "readme"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("walk"))
        threading.setprofile(look)
        inquiry._read.cache_clear()  # other tests may have asked the same
        sys.setprofile(look)
        try:
            for code, file in list(blocks(ROOT / "README.md"))[:MAIN_BLOCKS]:
                shortened = re.sub(r"^print\(clinic\.plan.*$", "", code, flags=re.MULTILINE)
                shortened = shortened.replace(
                    "epsilon=0.5", "epsilon=0.4371"
                )  # priced by nobody yet
                exec(compile(shortened, file, "exec"), namespace)  # noqa: S102
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return seen


def test_the_walk_has_stops_in_every_room_that_answers():
    visited = {file.partition("/")[0] for file, _ in STOPS}
    answering = {"accounting", "engines", "ledger", "mechanisms", "noise", "plan", "query"}
    assert answering | {"release", "requests", "session"} <= visited


def test_the_stops_are_called_in_this_order(calls):
    place = 0
    for stop in STOPS:
        assert stop in calls[place:], f"{stop} is not called after the stop before it"
        place = calls.index(stop, place)


def test_the_walk_fits_on_two_pages():
    assert len(WALK.splitlines()) <= 95


@pytest.mark.parametrize("page", [WALK, GLOSSARY], ids=["walk", "glossary"])
def test_files_that_are_named_are_there(page):
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", page))
    assert len(named) > 20
    places = (SOURCE, ROOT)
    assert [name for name in sorted(named) if not any((at / name).exists() for at in places)] == []


def test_the_floor_plan_lists_every_room():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    plan = re.search(r"```text\n(entrances.*?)```", page, re.DOTALL)[1]
    assert rooms() <= set(re.findall(r"\w+", plan))
