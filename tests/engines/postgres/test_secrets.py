"""No value of a private table and no password is in anything that is shown, raised or logged."""

import logging
import traceback
import warnings

import pytest

import discreet.session as sessions
from discreet.errors import DiscreetError
from tests.engines.postgres.rows import fill
from tests.session.test_secrets import BAD, GOOD, NUMBER, POLICY, WORD, everything_about, frame

NATIVE = "patient text, ward varchar, amount numeric, when_ text"


@pytest.fixture
def clean(postgres):
    def check(text):
        assert WORD not in text
        assert str(NUMBER)[:6] not in text
        assert postgres.password not in text

    return check


@pytest.fixture
def address(postgres, owner, place):
    owner("DROP TABLE IF EXISTS visits CASCADE", f"CREATE TABLE visits ({NATIVE})")
    rows = frame().to_pylist()
    fill(postgres, {"visits": rows}, {"visits": dict.fromkeys(rows[0])})
    odd = f"('{WORD}', '{WORD}', 1e400, NULL), (NULL, NULL, 'NaN', '')"
    owner(f"INSERT INTO visits VALUES {odd}")  # noqa: S608
    return place("visits")


def test_nothing_tells_a_value(address, tmp_path, capfd, caplog, clean):
    caplog.set_level(logging.DEBUG)
    with (
        warnings.catch_warnings(record=True) as warned,
        sessions.open(address, policy=POLICY, ledger=tmp_path / "l.ledger") as session,
    ):
        warnings.simplefilter("always")
        for question in GOOD:
            plan = session.plan(question, epsilon="0.5", delta="1e-9")
            release = session.ask(plan)
            for shown in (str(plan), repr(plan), plan._repr_html_(), str(release), repr(release)):
                clean(shown)
            clean(release._repr_html_() + release.written().decode())
        for question in BAD:
            with pytest.raises(DiscreetError) as caught:
                session.ask(question, epsilon="0.5", delta="1e-9")
            clean(everything_about(caught.value))
        for shown in (repr(session), session._repr_html_(), str(session.ledger)):
            clean(shown)
        clean(str(list(session.ledger.entries())))
        clean(repr(session._engine) + str(session.tables) + repr(session.table("visits")))
    clean("".join(str(each.message) for each in warned))
    out, err = capfd.readouterr()
    clean(out + err + caplog.text)
    clean((tmp_path / "l.ledger").read_bytes().decode("latin-1"))


@pytest.mark.parametrize(
    "change",
    [
        f'ALTER TABLE visits RENAME ward TO "{WORD}"',
        f"DROP TABLE visits; CREATE VIEW visits AS SELECT '{WORD}' AS patient, 1 / 0 AS ward",
        "ALTER TABLE visits ALTER amount TYPE text",
        "DROP TABLE visits",
    ],
)
def test_failures_tell_nothing(address, owner, capfd, clean, change):
    with sessions.open(address, policy=POLICY, test_mode=True) as session:
        owner(*change.split("; "))
        with pytest.raises(DiscreetError) as caught:
            session.ask(
                "SELECT ward, AVG(amount) AS a FROM visits GROUP BY ward", epsilon=1, delta="1e-9"
            )
    owner("DROP VIEW IF EXISTS visits" if "VIEW" in change else "DROP TABLE IF EXISTS visits")
    clean(everything_about(caught.value))
    out, err = capfd.readouterr()
    clean(out + err)


def test_refusals_tell_no_password(postgres, owner, clean, capfd):
    owner("DROP TABLE IF EXISTS visits CASCADE")
    base = postgres.address()
    for source in (
        f"{base}/visits",
        f"{base}/a/b/c",
        f"{base}",
        f"{base}/visits?nonsense={postgres.password}",
        base.replace("@", "@@") + "/visits",
        base.replace(str(postgres.port), "1") + "/visits",
        base.replace("/postgres", "/absent") + "/visits",
        base.replace("owner", "nobody") + "/visits",
    ):
        with pytest.raises(DiscreetError) as caught:
            sessions.open(source, policy=POLICY, test_mode=True)
        clean(everything_about(caught.value))
        clean("".join(traceback.format_exception(caught.value)))
    out, err = capfd.readouterr()
    clean(out + err)
