"""The audit of ourselves: every attack is a test, and each says what it found.

    ./run audit           all attacks at full strength; writes docs/audit.md
    pytest tests/audit    the short form, which is part of the default tests

A test hands its result to the fixture ``found``, which fails the test if anything is wrong and
keeps one line for the report.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from platform import platform, python_version

import pytest

import discreet
from discreet.attacks.measured import Measured

KEY = "audit"
HEAD = """# The audit of ourselves

`./run audit` attacks this library: its mechanisms, questions, releases and implementation. It also
checks that broken twins, programs with a known fault, are caught. The command wrote this page; the
default tests run the same attacks in a shorter form.

A *measured* value is a certified lower bound on the loss. Two neighboring tables are asked about
many times, and an event that tells them apart is learned from some answers and judged by others.
*Exact law* means that the chance of each outcome was computed and no answer was drawn. A bound
below a claim refutes nothing, and proves nothing either. The chance that any bound on a promise is
too high is at most 1 in 1,000,000.
"""
TABLES = {
    "mechanisms": ("Mechanisms", ("what", "claimed", "measured", "answers")),
    "questions": (
        "Questions, from the table to the answer",
        ("what", "claimed", "measured", "answers"),
    ),
    "reconstruction": (
        "Reconstruction: what guesses of people's bits prove",
        ("what", "claimed", "measured", "answers"),
    ),
    "twins": (
        "Broken twins that were caught",
        ("twin and fault", "claims", "lost at least", "answers"),
    ),
    "attacks": ("Attacks on the implementation", ("attack", "found", "not covered")),
}


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="millions of answers, not thousands")
    parser.addoption("--write", metavar="FILE", help="write the report of the audit")


@pytest.fixture(scope="session")
def quick(pytestconfig):
    """Whether seconds have to do."""
    return not pytestconfig.getoption("long", default=False)


@dataclass
class Found:
    """Where a test says what it found; ``title`` is the first line of its docstring."""

    record: object
    title: str

    def attack(self, measured, wrong=(), *, not_covered):
        """Report an attack on the implementation; it fails if it found anything wrong."""
        wrong = list(wrong)
        words = f"{measured}: {len(wrong)} violations"
        self.record(KEY, ["attacks", self.title, words, not_covered])
        assert wrong == [], wrong[:5]

    def promise(self, part, name, measured: Measured):
        """Report a bound on what is lost; it fails if the bound is above the claim."""
        self.record(KEY, [part, name, *_numbers(measured)])
        assert not measured.violates, measured

    def twin(self, name, measured: Measured):
        """Report the bound on a broken twin; it fails if the bound does not refute the claim."""
        self.record(KEY, ["twins", name, *_numbers(measured)])
        assert measured.violates, measured


def _numbers(measured):
    delta = f" at δ {measured.delta:g}" if measured.delta else ""
    claimed = f"{measured.parameter.replace('epsilon', 'ε')} {measured.claimed:.4g}{delta}"
    answers = f"{measured.n:,}" if measured.n else "exact law"
    return claimed, f"≥ {measured.lower:.4g}".replace("inf", "∞"), answers


@pytest.fixture
def found(record_property, request):
    """Keep lines for the report."""
    return Found(record_property, (request.function.__doc__ or "").partition("\n")[0].rstrip("."))


SAMPLED = ("mechanisms", "questions", "reconstruction")
LINES = []


def pytest_runtest_logreport(report):
    if report.when == "call":
        LINES.extend(value for key, value in report.user_properties if key == KEY)


def pytest_terminal_summary(terminalreporter, config, exitstatus):
    path = config.getoption("write", default=None)
    if path and "PYTEST_XDIST_WORKER" not in os.environ:
        text = page(LINES, failed=bool(exitstatus), long=config.getoption("long"))
        Path(path).write_text(text, encoding="utf-8")
        terminalreporter.write_line(f"{len(LINES)} lines written to {path}")


def _faint(claimed, measured):
    return float(measured[2:].replace("∞", "inf")) < float(claimed.split()[1]) / 2


def page(lines, *, failed, long):
    """Return the report as a page of the documentation."""
    made = f"discreet {discreet.__version__}, Python {python_version()}, {platform(terse=True)}"
    verdict = "Some of it failed." if failed else "All promises held, and all twins were caught."
    form = "Full" if long else "Short"
    faint = [line[1] for line in lines if line[0] in SAMPLED and _faint(*line[2:4])]
    parts = [
        HEAD,
        f"{verdict} {form} form, {len(lines)} lines; {made}, {datetime.now(UTC):%Y-%m-%d}.\n",
    ]
    if faint:
        parts.append(
            f"{len(faint)} bounds stay below half of their claim, so a mistake by a factor of two "
            f"might go unnoticed there: {', '.join(sorted(faint))}.\n"
        )
    for part, (title, columns) in TABLES.items():
        rows = sorted({tuple(line[1:]) for line in lines if line[0] == part})
        table = [columns, ["---"] * len(columns), *rows]
        parts += [f"## {title}\n", *("| " + " | ".join(row) + " |" for row in table), ""]
    return "\n".join(parts).rstrip() + "\n"
