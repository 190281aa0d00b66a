"""The demo: what it says, and the page that it writes."""

import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest

from discreet.demo.page import IntervalMark, error_bars
from discreet.demo.tour import POLICY, REGIONS, WARDS, visits
from discreet.plan.policy.policy import read_policy


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "discreet.demo"],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
    )
    return done, folder, time.perf_counter() - start


def test_it_runs_in_less_than_a_minute_and_complains_about_nothing(ran):
    done, _, seconds = ran
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert seconds < 60


@pytest.mark.parametrize(
    "words",
    [
        'unit = "patient"',
        "costs epsilon 0.4",
        "visits ± 1",
        "30 %",
        "OverBudget[E301]",
        "west: ",
        "the same answer, for nothing",
        "ok: everything follows from the entries",
        "out/demo.html",
    ],
)
def test_every_stop_of_the_tour_is_there(ran, words):
    assert words in ran[0].stdout


def test_disjoint_questions_cost_nothing_extra(ran):
    lines = [line for line in ran[0].stdout.splitlines() if " people, left for everybody" in line]
    assert len(lines) == 2
    assert all(line.endswith(" 30 %") for line in lines)


def test_the_page_is_well_formed_and_needs_nothing_else(ran):
    text = (ran[1] / "out" / "demo.html").read_text(encoding="utf-8")
    tree = ET.fromstring(text.removeprefix("<!DOCTYPE html>"))  # noqa: S314  our own
    assert len(list(tree.iter("section"))) == 9
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}svg"))) >= 5
    for address in ("http://", "https://", "src=", "<script", "@import", "url("):
        assert address not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_the_data_is_the_same_everywhere():
    table = visits(4)
    assert table.to_pylist()[:2] == visits(400).to_pylist()[:2]
    assert set(visits().column("ward").unique().to_pylist()) == set(WARDS)
    assert set(visits().column("region").unique().to_pylist()) == set(REGIONS)
    people = visits().group_by("patient").aggregate([("region", "count_distinct")])
    assert set(people.column("region_count_distinct").to_pylist()) == {1}


def test_the_policy_of_the_demo_can_be_followed():
    policy = read_policy(POLICY)
    assert policy.tables[0].column("region").constant
    assert policy.tables[0].column("ward").categories == WARDS


def test_pictures_escape_names_and_survive_small_numbers():
    mark = IntervalMark(name="<a & b>", value=0.0, low=0.0, high=0.0, truth=0.0)
    picture = error_bars([mark], label='"quoted"')
    ET.fromstring(picture)  # noqa: S314  our own
    assert "&lt;a &amp; b&gt;" in picture
