"""No value of a private table is in anything that is shown, raised, logged or printed."""

import logging
import traceback
import warnings

import pyarrow as pa
import pytest

import discreet.session as sessions
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError, UnreadableSource

WORD = "canary-7f3a91"
NUMBER = 73831725
POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "1e6"
delta = "1e-3"
[limits]
max_groups = 3
max_rows = 3
[tables.visits.columns.amount]
type = "float"
low = 0
high = 1000
"""
GOOD = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward",
    "SELECT AVG(amount) AS m, MEDIAN(amount) AS q, MAX(amount) AS top FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE CAST(ward AS INTEGER) / 0 > 1",
    "SELECT SUM(LENGTH(ward), contribution_bounds_per_row => (0, 9)) AS s FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE ward = 'A' AND DATE(when_) > DATE '2020-01-01'",
]
BAD = [
    "SELECT * FROM visits",
    "SELECT ward FROM visits",
    "SELECT SUM(patient) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE wrad = 'A'",
    "SELECT COUNT(*) FROM visits WHERE ward > 5",
    "SELECT amount, COUNT(*) FROM visits GROUP BY amount, wrad",
    "SELECT COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
    "DROP TABLE visits",
    "SELECT COUNT(*) FROM visits WHERE",
    "",
]


def frame():
    people = list(range(300))
    return pa.table(
        {
            "patient": [f"{WORD}-{who}" for who in people],
            "ward": [f"{WORD}-ward-{who}" if who > 9 else "A" for who in people],
            "amount": [float(NUMBER) + who for who in people],
            "when_": [f"{NUMBER}-01-01" for who in people],
        }
    )


def csv(path):
    lines = ["patient,ward,amount,when_"]
    lines += [f"{WORD}-{who},{WORD}-ward-{who},{NUMBER},{NUMBER}" for who in range(300)]
    lines += [f'"{WORD}-a ""quote"""', f"{WORD}" * 999, f"{WORD},{WORD},1e999,x,{WORD}"]
    path.write_text("\n".join(lines) + "\n")
    return path


def clean(text):
    assert WORD not in text
    assert str(NUMBER)[:6] not in text


def everything_about(error):
    """Return an error with all of its context, as a program could print it."""
    shown = "".join(traceback.format_exception(error))
    seen = [error]
    while (inner := seen[-1].__context__ or seen[-1].__cause__) is not None:
        seen.append(inner)
    return shown + "".join(f"{each!r}{each}{each.args}" for each in seen)


@pytest.fixture(params=["frame", "csv"])
def source(request, tmp_path):
    return frame() if request.param == "frame" else csv(tmp_path / "visits.csv")


def test_nothing_tells_a_value(source, tmp_path, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    with (
        warnings.catch_warnings(record=True) as warned,
        sessions.open(
            source, tables="visits", policy=POLICY, ledger=tmp_path / "l.ledger"
        ) as session,
    ):
        warnings.simplefilter("always")
        for question in GOOD:
            plan = session.plan(question, epsilon="0.5", delta="1e-9")
            release = session.ask(plan)
            for shown in (str(plan), repr(plan), plan._repr_html_(), str(release), repr(release)):
                clean(shown)
            clean(release._repr_html_())
            clean(release.written().decode())
        for question in BAD:
            with pytest.raises(DiscreetError) as caught:
                session.ask(question, epsilon="0.5", delta="1e-9")
            clean(everything_about(caught.value))
        for shown in (repr(session), session._repr_html_(), str(session.ledger)):
            clean(shown)
        clean(str(list(session.ledger.entries())))
        clean(str(session.tables) + repr(session.table("visits")))
    clean("".join(str(each.message) for each in warned))
    out, err = capfd.readouterr()
    clean(out + err + caplog.text)
    clean((tmp_path / "l.ledger").read_bytes().decode("latin-1"))


def test_an_engine_that_quotes_the_data_is_not_quoted(tmp_path, monkeypatch, capfd):
    def quoting(self, lowered, *, order):
        table = frame()
        message = f"cannot convert {table.column('patient')[0].as_py()} to {NUMBER}"
        raise ValueError(message)

    with sessions.open(
        frame(), tables="visits", policy=POLICY, ledger=tmp_path / "l.ledger"
    ) as session:
        monkeypatch.setattr(DuckDB, "run", quoting)
        with pytest.raises(DiscreetError) as caught:
            session.ask(GOOD[0], epsilon=1)
    clean(everything_about(caught.value))
    out, err = capfd.readouterr()
    clean(out + err)


def test_a_file_that_breaks_while_it_is_read_tells_nothing(tmp_path):
    path = csv(tmp_path / "visits.csv")
    with sessions.open(path, policy=POLICY, ledger=tmp_path / "l.ledger") as session:
        path.unlink()
        with pytest.raises(DiscreetError) as caught:
            session.ask(GOOD[0], epsilon=1)
    clean(everything_about(caught.value))


@pytest.mark.parametrize("poison", [f'"{WORD}-open quote,1,2,3', f'{WORD},"{WORD}"x,1,2', "\udcff"])
def test_a_file_that_is_refused_tells_nothing(tmp_path, poison):
    path = csv(tmp_path / "visits.csv")
    with path.open("ab") as file:
        file.write(f"{WORD},{poison}\n".encode(errors="surrogateescape"))
    with pytest.raises(UnreadableSource) as caught:
        sessions.open(path, policy=POLICY, ledger=tmp_path / "l.ledger")
    clean(everything_about(caught.value))
