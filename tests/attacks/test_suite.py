"""The suite: all that is public is in it, rows pass, twins are caught, and reports are whole."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product

import pytest

from discreet import continual, mechanisms
from discreet.attacks.guessed_bits import guessed
from discreet.attacks.measured import Measured
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import float_up
from discreet.noise import KeyedEntropy
from discreet.query.signatures import AGGREGATES
from discreet_audit.findings import Finding
from discreet_audit.implementation import ATTACKS
from discreet_audit.report import (
    Provenance,
    claimed_and_measured,
    document,
    page,
    reconstruction_curve,
    tables,
)
from discreet_audit.report.document import HEADS
from discreet_audit.report.reading import WEAKNESSES
from discreet_audit.suite import LEVEL, Line, Report, all_rows, run_rows, running
from discreet_audit.suite.figures import Figure, curve, figures
from discreet_audit.suite.question_rows import _all_the_way
from discreet_audit.suite.running import run_in_processes
from discreet_audit.suite.unfinished import UnfinishedAudit
from discreet_audit.twins import all_twins
from tests.attacks.catches import catch_once
from tests.house.pages import ROOT

ROWS = all_rows()
EXACT = [row for row in ROWS if not row.quick]
DRAWN = [row for row in ROWS if row.quick and row.part in {"mechanisms", "questions"}]
EACH = LEVEL / len(ROWS)
NOT_MECHANISMS = {
    # mechanisms
    "Counting",
    "Mechanism",
    "Optimum",
    "ScoreChange",
    "ShownKeys",
    "Winner",
    "attributes",
    "counts",
    "discrete_gaussian_sigma",
    "points",
    "thresholds",
    # continual
    "Counter",
    "CounterRun",
    "ErrorRow",
    "Errors",
    "error_table",
    "measured_errors",
    "monotone",
    "planned",
    "predicted_errors",
}


def name(row):
    return f"{row.part}: {row.name}"


@cache
def points():
    """Draw the curve, when it is first asked for."""
    return tuple(curve())


# --- everything is in it ------------------------------------------------------------------------


@pytest.mark.parametrize("room", [mechanisms, continual])
def test_every_public_mechanism_is_audited(room):
    """A new name is either a row of the suite, or listed above as something else."""
    covered = {each for row in ROWS if row.part == "mechanisms" for each in row.covers}
    assert set(room.__all__) - NOT_MECHANISMS - covered == set()


@pytest.mark.parametrize("function", [*AGGREGATES, "COUNTIF", "MEDIAN"])
def test_every_aggregate_is_audited(function):
    asked = [sql for row in ROWS if row.part == "questions" for sql in row.covers]
    assert any(re.search(rf"\b{function}\(", sql) for sql in asked)


@pytest.mark.parametrize(
    "words",
    [
        r"COUNT\(DISTINCT patient\)",
        r"COUNT\(DISTINCT city\)",
        "JOIN wards",
        r"OVER \(PARTITION BY patient",
        "UNION ALL",
        "LIMIT",
        "FILTER",
        "DIFFERENTIAL_PRIVACY",
        "contribution_bounds_per_row",
        "GROUP BY city",
    ],
)
def test_what_else_sql_can_do_is_audited(words):
    asked = [sql for row in ROWS if row.part == "questions" for sql in row.covers]
    assert any(re.search(words, sql) for sql in asked)


def test_every_twin_is_a_row_and_every_row_has_one_name():
    assert {row.covers[0] for row in ROWS if row.broken} == {twin.name for twin in all_twins()}
    assert len({name(row) for row in ROWS}) == len(ROWS)


def test_a_long_suite_draws_ten_million_answers_where_it_matters():
    many = {row.name for row in ROWS if row.long >= 10**7}
    assert {"Laplace", "Gaussian", "RandomizedResponse", "COUNT(*)", "SUM(cost)"} <= many
    assert all(row.long >= row.quick for row in ROWS)


# --- and passes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", EXACT, ids=name)
def test_laws_keep_their_promises(row):
    found = row.run(long=False, level=EACH)
    assert found.passed, found.measured
    assert found.measured.n == 0
    assert found.measured.lower > 0.4


@pytest.mark.parametrize("row", DRAWN, ids=name)
def test_draws_keep_their_promises(row):
    """A slice of the quick suite; all of them together raise a false alarm once in a million."""
    few = row.quick if row.judge is _all_the_way else 400 if row.part == "questions" else 100
    found = row.judge(min(row.quick, few), EACH)
    assert not found.violates, found
    assert_power(row, found)


def assert_power(row, found):
    """Perfect separation would violate the claim, in the quick suite and in the long one."""
    for n, long in ((row.quick, False), (row.long, True)):
        level = float_up(running._level_of_each(ROWS, long=long, level=LEVEL))
        line = Line(part=row.part, name=row.name, measured=replace(found, n=n, level=level))
        assert line.shows is not None, (row.name, n)


TWINS = [row for row in ROWS if row.broken]


@pytest.mark.parametrize("row", TWINS, ids=name)
def test_twins_are_caught(row, monkeypatch):
    monkeypatch.setattr(running, "catch", catch_once)
    found = row.run(long=False, level=EACH)
    assert found.verdict == "caught", found.measured


def test_releases_are_not_reconstructed():
    rows = [row for row in ROWS if row.part == "reconstruction"]
    for row in rows:
        found = row.judge(2000 if "Fourier" in row.name else 20, EACH)
        assert not found.violates, row.name
        assert_power(row, found)


def test_every_part_of_the_suite_is_asked_for_its_power():
    """Rows are laws, draws or guesses, and each kind states its power."""
    parts = {row.part for row in ROWS if row.quick and not row.broken}
    assert parts == {"mechanisms", "questions", "reconstruction"}


def test_attacks_work_where_nothing_protects():
    found = list(figures(long=False))
    assert len(found) == 9
    assert [each.name for each in found if not each.passed] == []


def test_the_curve_falls_from_all_to_a_half():
    found = [point for point in points() if point.attack == "Fourier"]
    assert found[0].share > 0.99
    assert abs(found[-1].share - 0.5) < 0.06
    assert all(point.share <= point.ceiling for point in points())
    assert tuple(curve()) == points()


# --- guessed bits -------------------------------------------------------------------------------


@pytest.mark.theorem("guessed-bits")
@pytest.mark.parametrize("flip", [Fraction(1, 4), Fraction(2, 5)])
def test_right_guesses_are_at_most_those_of_coins(flip):
    """All bits, all answers of randomized response, all ways to guess three bits from them."""
    n, chance = 3, 1 - flip
    law = {
        (bits, told): math.prod(chance if b == t else flip for b, t in zip(bits, told, strict=True))
        / 2**n
        for bits in product((0, 1), repeat=n)
        for told in product((0, 1), repeat=n)
    }
    coins = [
        sum(math.comb(n, j) * chance**j * flip ** (n - j) for j in range(k, n + 1))
        for k in range(n + 1)
    ]

    def reached(strategy, k):
        return sum(
            mass
            for (bits, told), mass in law.items()
            if sum(b == g for b, g in zip(bits, strategy(told), strict=True)) >= k
        )

    ways = [
        lambda told: told,
        lambda told: tuple(1 - t for t in told),
        lambda told: (told[0],) * n,
        lambda told: (0,) * n,
        lambda told: told if sum(told) > 1 else (1, *told[1:]),
    ]
    for strategy, k in product(ways, range(n + 1)):
        assert reached(strategy, k) <= coins[k]
    assert reached(ways[0], n) == coins[n]


@pytest.mark.theorem("guessed-bits")
def test_guesses_refute_what_is_too_good_to_be_true():
    coins = KeyedEntropy(key=bytes(32), label="guesses")
    bits = coins.words(4000, 64) % 2
    wrong = coins.words(4000, 64) % 4 == 0  # guessed with chance 3/4: epsilon is ln 3
    found = guessed(bits, bits ^ wrong, claim="0.9")
    assert found.violates
    assert found.lower < math.log(3)
    assert not guessed(bits, bits ^ wrong, claim="1.0987").violates
    with pytest.raises(WrongKind):
        guessed([0, 1], [0])


# --- reports ------------------------------------------------------------------------------------


def measured(**changes):
    return Measured(
        **{
            "parameter": "epsilon",
            "lower": 0.9,
            "estimate": 0.95,
            "claimed": 1.0,
            "event": "the answer is <b>|4|</b>",
            "hits": (5000, 1839),
            "n": 10_000,
            "level": 1e-8,
            **changes,
        }
    )


def finding(**changes):
    return Finding(
        **{
            "code": "A1",
            "title": "floats",
            "claimed": "holds",
            "measured": "it did",
            "passed": True,
            "not_covered": "the rest",
            **changes,
        }
    )


def report(**changes):
    lines = (
        Line(part="mechanisms", name="Laplace", measured=measured()),
        Line(part="mechanisms", name="its law", measured=measured(n=0, level=0.0)),
        Line(part="broken twins", name="half", broken=True, measured=measured(lower=math.inf)),
    )
    parts = {
        "long": False,
        "level": LEVEL,
        "lines": lines,
        "findings": (finding(),),
        "figures": (Figure(name="Fourier", share=1.0, least=0.95),),
        "points": points(),
    }
    return Report(**(parts | changes))


MADE = Provenance(
    version="1.0",
    commit="c0ffee",
    date="2026-01-02T03:04:05+00:00",
    platform="Linux x86_64",
    python="3.13.1",
    reproduce="discreet audit --quick --out audit",
)


def test_a_report_without_a_violation():
    assert report().violations == ()
    assert report().to_json()["passed"] is True


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": (Line(part="mechanisms", name="wrong", measured=measured(lower=1.5)),)},
        {"lines": (Line(part="broken twins", name="wrong", broken=True, measured=measured()),)},
        {"findings": (finding(title="wrong", passed=False),)},
        {"figures": (Figure(name="wrong", share=0.9, least=0.95),)},
        {"figures": (Figure(name="wrong", share=0.9, most=0.8),)},
    ],
)
def test_whatever_is_wrong_is_a_violation(changes):
    found = report(**changes)
    assert len(found.violations) == 1
    assert "wrong" in found.violations[0]
    assert found.to_json()["passed"] is False
    assert "wrong" in page(found, MADE, "")


def test_the_json_is_json():
    stored = json.loads(json.dumps(report().to_json(), allow_nan=False))
    assert [line["verdict"] for line in stored["lines"]] == ["kept", "kept", "caught"]
    assert stored["lines"][2]["lower"] == "inf"
    assert stored["findings"][0]["code"] == "A1"


def test_the_page_escapes_everything_and_opens_nothing():
    text = page(report(), MADE, "")
    assert "<b>|4|" not in text
    assert "&lt;b&gt;" in text
    assert text.count("<svg") == 3
    outside = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|<script|<img|<link|<iframe|@import|url\(|src=|href=", outside)


def test_pictures_show_every_row():
    lines = report().lines
    for broken, rows, kinds in ((False, 2, 1), (True, 1, 1)):
        picture = claimed_and_measured(lines, broken=broken).svg()
        assert picture.count("<polyline") == rows + 1  # and the line of what is claimed
        assert picture.count('<path class="l s') == kinds + 1  # in the legend
        assert "<circle" not in picture  # an estimate above 1 would look like a violation
        assert "nan" not in picture
        assert "inf" not in picture
    curve = reconstruction_curve(report().points).svg()
    assert curve.count("<circle") + curve.count("<polygon") > 40


def test_the_tables_of_a_terminal():
    assert [table.row_count for table in tables(report())] == [3, 1, 1]
    assert list(tables(Report(long=False, level=LEVEL))) == []


def test_the_document_has_all_rows_and_all_gaps():
    text = document(report(), MADE, "")
    for words in ("| Laplace |", "| its law |", "exact law", "≥ ∞", "the rest", *WEAKNESSES):
        assert words in text


def test_levels_add_up_to_that_of_the_suite():
    seen = []

    class Watched:
        def __call__(self, n, level):
            seen.append(level)
            return measured()

    rows = [
        type(ROWS[0])(part="p", name=str(at), judge=Watched(), quick=10, long=10) for at in range(4)
    ]
    law = type(ROWS[0])(part="p", name="law", judge=Watched())
    run_rows([*rows, law], long=False)
    assert sum(seen[:4]) == LEVEL


def made(at):
    return at * at


@pytest.mark.parametrize("jobs", [1, 2])
def test_work_is_shared_in_its_order(jobs):
    assert list(run_in_processes([partial(made, at) for at in range(5)], jobs=jobs)) == [
        0,
        1,
        4,
        9,
        16,
    ]


def test_no_process_does_no_work():
    with pytest.raises(OutOfRange):
        list(run_in_processes([], jobs=0))


def test_a_row_is_the_same_in_another_process():
    """A law has no chance in it."""
    at = next(at for at, row in enumerate(ROWS) if row.name == "Staircase, its law")
    [found] = run_in_processes([partial(running._line, at, long=False, level=EACH)], jobs=2)
    assert found == ROWS[at].run(long=False, level=EACH)


@pytest.fixture
def small_suite(monkeypatch):
    """Two laws and two attacks, the shortest; the one that runs alone comes before another."""
    laws = tuple(row for row in EXACT if row.name in {"Staircase, its law", "Quantile, its law"})
    kept = tuple(attack for attack in ATTACKS if attack.code in {"A7", "A21", "A24"})
    for name, value in {
        "all_rows": lambda: laws,
        "_rows": lambda: laws,
        "ATTACKS": kept,
        "_ALONE": ("A21",),
        "figures": lambda *, long: (Figure(name="f", share=1.0, least=float(long)),),
        "curve": lambda: points()[:1],
    }.items():
        monkeypatch.setattr(running, name, value)
    return laws


def test_a_suite_makes_every_row_and_every_attack(small_suite):
    heard = []
    found = running.run_suite(long=False, told=lambda *words: heard.append(words))
    assert [line.name for line in found.lines] == [row.name for row in small_suite]
    assert [each.code for each in found.findings] == ["A7", "A21", "A24"]
    assert found.violations == ()
    assert found.seconds > 0
    assert [at for _, at, _ in heard] == [0, 1, 2, 3, 3, 4]
    assert {of for *_, of in heard} == {5}


def test_a_suite_that_was_killed_is_taken_up_where_it_was(small_suite, tmp_path, monkeypatch):
    """At some rows: what was found is not looked for again, and the report is the same."""
    path = tmp_path / "unfinished.jsonl"

    def run():
        with UnfinishedAudit(path, long=False) as unfinished:
            return running.run_suite(long=False, unfinished=unfinished)

    whole = run()
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) == 1 + 4
    seen = []
    timed = running._timed
    monkeypatch.setattr(running, "_timed", lambda piece: seen.append(piece) or timed(piece))
    for count in (1, 3, 5):
        torn = "".join(lines[:count]) + lines[-1][:20]
        path.write_text(torn, encoding="utf-8")
        seen.clear()
        again = run()
        assert len(seen) == 5 - count
        assert again.lines == whole.lines
        assert [each.passed for each in again.findings] == [each.passed for each in whole.findings]
    assert again.findings == whole.findings
    path.write_text("".join(['{"audit": "long", "code": "other"}\n', *lines[1:]]), encoding="utf-8")
    seen.clear()
    run()
    assert len(seen) == 4


@pytest.mark.parametrize(
    "result",
    [
        Line(
            part="p",
            name="n",
            broken=True,
            measured=Measured(
                parameter="epsilon",
                lower=math.inf,
                estimate=math.inf,
                claimed=None,
                event="é",
                hits=(3, 0),
                n=3,
                level=1e-9,
                pair="pair 1 of 2",
                drawn=9,
                curve=((0.0, math.inf, 1.0), (0.1, 0.5, None)),
            ),
        ),
        Finding(
            code="A1",
            title="t",
            claimed="c",
            measured="m",
            passed=False,
            numbers={"a": 1, "b": "x", "c": 0.5},
            not_covered="n",
        ),
    ],
)
def test_what_is_kept_is_what_was_found(result, tmp_path):
    path = tmp_path / "unfinished.jsonl"
    with UnfinishedAudit(path, long=True) as audit:
        audit.add("n", result, 1.5)
    with UnfinishedAudit(path, long=True) as audit:
        assert audit.found == {"n": (result, 1.5)}


# --- the page in the documentation --------------------------------------------------------------


def test_the_published_audit_has_the_rows_of_the_suite():
    """What was measured is not repeated here; that everything is there, and passed, is."""
    text = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    for row in ROWS:
        assert f"| {row.name} |" in text, row.name
    for attack in ATTACKS:
        assert f"| {attack.code} | {attack.title} |" in text
    for weakness in WEAKNESSES:
        assert weakness in text
    assert f"| {' | '.join(HEADS)} |" in text
    assert not re.search("VIOLATED|MISSED|NO \\|", text)
