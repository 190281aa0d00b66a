"""What a ledger refuses: other and torn files, full disks, other terms, what is no argument."""

import contextlib
import shutil
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.stores import copies_pass
from discreet.accounting import Budget, Contribution
from discreet.errors import (
    DamagedLedger,
    InputError,
    LedgerError,
    LedgerUnavailable,
    NewerFormat,
    NotALedger,
    NotCharged,
    OtherLedger,
    OutOfRange,
    OverBudget,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.ledger.entries import canonical, head_after
from discreet.loss import GaussianDP, Pure
from discreet.mechanisms import Laplace
from discreet.units import person, row
from tests.conftest import steady
from tests.ledger.programs import direct, run

ONE = Pure(epsilon="0.1")
TERMS = {"unit": row(), "budget": Budget(epsilon=1)}
SIZES = (1, 16, 99, 100, 511, 512, 513, 1023, 4095, 4096, 4097)
PEOPLE = {"reason": "a longer study", "by": "ana", "approved_by": "ben"}


@pytest.fixture(scope="module", autouse=True)
def _copies():
    with copies_pass():
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path):
    with Ledger.open(path, **TERMS) as ledger:
        yield ledger


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The file of a closed ledger with a few hundred entries."""
    path = tmp_path_factory.mktemp("written") / "ledger"
    with Ledger.open(path, **TERMS) as ledger:
        for number in range(100):
            key = f"k{number}"
            ledger.charge(Pure(epsilon="0.01"), key=key, question=f"q{number}")
            ledger.start(key)
            ledger.release(key, f"the answer is {number}".encode())
    return path


# --- what lies at the address -------------------------------------------------------------------


@pytest.mark.parametrize("given", [TERMS, {}])
@pytest.mark.parametrize(
    "content",
    [b"a plain text\n" * 100, b"\0" * 4096, b"SQLite format 3\0", *(b"x" * n for n in SIZES)],
    ids=len,
)
def test_another_file_is_left_alone(path, content, given):
    path.write_bytes(content)
    with pytest.raises(NotALedger):
        Ledger.open(path, **given)
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("given", [{}, {"unit": row()}, {"budget": Budget(epsilon=1)}])
def test_a_new_ledger_needs_a_unit_and_a_budget(path, given):
    with pytest.raises(NotALedger) as error:
        Ledger.open(path, **given)
    assert "unit=" in error.value.do
    assert "budget=" in error.value.do
    assert list(path.parent.iterdir()) == []
    path.touch()
    with pytest.raises(NotALedger):
        Ledger.open(path, **given)


@pytest.mark.parametrize("address", [None, 7, b"bytes", "", "a\0b", ["path"]])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(WrongKind):
        Ledger.open(address, **TERMS)


def test_an_entry_of_a_later_format_is_not_passed_over(ledger, path):
    ledger.close()
    line = canonical({"format": 2, "seq": 2, "kind": "gift", "at": ""})
    last = direct(path, "SELECT head FROM entry")[0][0]
    connection = sqlite3.connect(path)
    row_ = (2, "gift", None, None, line, head_after(last, line), None)
    connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", row_)
    connection.commit()
    connection.close()
    with pytest.raises(NewerFormat):
        Ledger.open(path)


# --- torn files ---------------------------------------------------------------------------------


def use(path):
    """Open a ledger and do a little of everything; return the answers that it hands out."""
    with Ledger.open(path, timeout=5) as ledger:
        found = {}
        for number in range(0, 100, 20):
            release = ledger.find(f"q{number}")
            found[number] = None if release is None else release.answer
        with contextlib.suppress(OverBudget):
            ledger.charge(Pure(epsilon="0.0001"), key="new")
        return found, ledger.receipt.seq


@given(st.integers(0, 10**9), st.binary(min_size=1, max_size=64))
@settings(max_examples=60)
def test_a_file_with_other_bytes_is_refused_or_says_what_it_said(
    written, tmp_path_factory, at, new
):
    path = tmp_path_factory.mktemp("torn") / "torn"
    content = bytearray(written.read_bytes())
    at %= len(content) - len(new)
    content[at : at + len(new)] = new
    path.write_bytes(content)
    refused = (DamagedLedger, NotALedger, NewerFormat, LedgerUnavailable)
    try:
        found, entries = use(path)
    except LedgerError as error:
        shown = str(error)
        assert isinstance(error, refused)  # noqa: PT017
        assert "answer is" not in shown
    else:
        right = [None, *(f"the answer is {number}".encode() for number in range(100))]
        assert all(answer in {None, right[number + 1]} for number, answer in found.items())
        assert entries == 301
    finally:
        shutil.rmtree(path.parent)


def test_a_changed_line_is_found_on_replay(written, tmp_path):
    path = tmp_path / "changed"
    shutil.copy(written, path)
    change = "UPDATE entry SET line = replace(line, '10000000000000000000000', '1') WHERE seq = 50"
    direct(path, "DROP TRIGGER never_changed", change)
    with pytest.raises(DamagedLedger) as error:
        Ledger.open(path)
    assert "entry 50" in error.value.what


# --- disks and permissions ----------------------------------------------------------------------


def test_a_disk_that_is_full_takes_nothing_and_forgets_nothing(path):
    out = run(
        """
        import resource
        ledger = Ledger.open(path, unit=row(), budget=Budget(epsilon=1))
        ledger.charge(Pure(epsilon="0.1"), key="before")
        size = os.path.getsize(path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 6000, resource.RLIM_INFINITY))
        told = failed = 0
        for number in range(5):
            try:
                ledger.charge(Pure(epsilon="0.1"), key=f"k{number}")
                told += 1
            except LedgerUnavailable as error:
                failed += 1
                assert "SQLITE_" in error.what, error
        say(failed > 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        new = sum(ledger.charge(Pure(epsilon="0.1"), key=f"k{n}").new for n in range(5))
        say(new + told <= 5)
        say(ledger.left().amounts[0] == 4 * 10**23)
        say(len(ledger.verify().problems))
        """,
        path=str(path),
    )
    assert out == ["True", "True", "True", "0"]


# --- other terms --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"unit": person("patient")}, "unit"),
        ({"unit": row(relation="replace")}, "unit"),
        ({"budget": Budget(epsilon=2)}, "budget"),
        ({"budget": Budget(rho=1)}, "budget"),
        ({"account": "clinic"}, "account"),
        ({"constant": ["sex"]}, "constant"),
        ({"contribution": Contribution(rows=2)}, "contribution"),
        ({"unit": person("patient"), "budget": Budget(rho=1)}, "unit and budget"),
    ],
)
def test_a_ledger_for_something_else_is_refused(ledger, path, given, word):
    with pytest.raises(OtherLedger) as error:
        Ledger.open(path, **given)
    assert word in error.value.what
    assert Ledger.open(path, **TERMS).receipt.seq == 1


@pytest.mark.parametrize(
    "given",
    [
        {"unit": "row"},
        {"unit": row},
        {"budget": 1},
        {"budget": "epsilon 1"},
        {"constant": "sex"},
        {"constant": 7},
        {"constant": [7]},
        {"constant": [""]},
        {"contribution": 3},
        {"account": 7},
        {"account": ""},
        {"account": "a b"},
        {"account": "data/flu"},
        {"account": "a" * 65},
        {"budget": Budget(epsilon=0)},
        {"budget": Budget(rho=0)},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": float("inf")},
        {"timeout": float("nan")},
        {"timeout": "60"},
        {"timeout": True},
        {"timeout": None},
    ],
    ids=steady,
)
def test_what_is_no_term_is_refused_before_anything_is_made(path, given):
    with pytest.raises(InputError):
        Ledger.open(path, **TERMS | given)
    assert list(path.parent.iterdir()) == []


# --- arguments ----------------------------------------------------------------------------------

KEYS = [None, 7, b"k", "", " ", "x" * 201, "a\nb", "a\0b", "\ud800"]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_what_is_no_key_is_refused(ledger, key):
    verbs = [lambda: ledger.start(key), lambda: ledger.release(key, b""), lambda: ledger.find(key)]
    if key is not None:
        verbs.append(lambda: ledger.charge(ONE, key=key))
    if key not in {None, ""}:
        verbs.append(lambda: ledger.charge(ONE, key="k", question=key))
    for verb in verbs:
        with pytest.raises(InputError):
            verb()
    assert ledger.receipt.seq == 1


@pytest.mark.parametrize(
    ("what", "given"),
    [
        (None, {}),
        (0.1, {}),
        ("Pure(0.1)", {}),
        (Laplace, {}),
        (GaussianDP(mu=1), {}),
        (ONE, {"scope": "ward A"}),
        (ONE, {"scope": {"ward": "A"}}),
        (ONE, {"delta": -1}),
        (ONE, {"delta": "much"}),
        (ONE, {"delta": True}),
        (ONE, {"account": "data/flu"}),
        (ONE, {"account": "other"}),
        (ONE, {"account": ""}),
        (ONE, {"account": 7}),
    ],
    ids=str,
)
def test_what_has_no_price_here_is_refused_and_not_recorded(ledger, what, given):
    with pytest.raises(InputError):
        ledger.charge(what, key="k", **given)
    assert ledger.receipt.seq == 1
    with pytest.raises(NotCharged):
        ledger.start("k")


@pytest.mark.parametrize(
    ("account", "given", "kind"),
    [
        ("data/cold/ana", {}, OutOfRange),
        ("other", {}, OutOfRange),
        ("data/", {}, OutOfRange),
        ("data/" + "/".join("abcdefgh"), {}, OutOfRange),
        (None, {}, WrongKind),
        ("data", {}, OtherLedger),
        ("data/flu", {"budget": Budget(epsilon=2)}, OtherLedger),
        ("data/new", {"budget": 1}, WrongKind),
        ("data/new", {"budget": Budget(epsilon=0)}, OutOfRange),
        ("data/new", {"by": ""}, OutOfRange),
        ("data/new", {"by": None}, WrongKind),
        ("data/new", {"by": "x" * 1001}, OutOfRange),
    ],
)
def test_what_is_no_new_account_is_refused(ledger, account, given, kind):
    ledger.open_account("data/flu", budget=Budget(epsilon=1), by="ana")
    with pytest.raises(kind):
        ledger.open_account(account, **{"by": "ana"} | given)
    assert ledger.receipt.seq == 2


@pytest.mark.parametrize(
    ("account", "given", "kind"),
    [
        ("data", {"budget": Budget(epsilon=1)}, OutOfRange),
        ("data", {"budget": Budget(epsilon="0.5")}, OutOfRange),
        ("data", {"budget": Budget(rho=9)}, WrongKind),
        ("data", {"budget": None}, WrongKind),
        ("data/flu", {}, OutOfRange),
        ("data/cold", {}, OutOfRange),
        ("data", {"approved_by": "ana"}, OutOfRange),
        ("data", {"approved_by": " ANA "}, OutOfRange),
        ("data", {"approved_by": ""}, OutOfRange),
        ("data", {"reason": " "}, OutOfRange),
        ("data", {"by": 7}, WrongKind),
    ],
)
def test_what_is_no_raise_is_refused(ledger, account, given, kind):
    ledger.open_account("data/flu", by="ana")
    with pytest.raises(kind):
        ledger.raise_limit(account, **{"budget": Budget(epsilon=2), **PEOPLE} | given)
    assert ledger.receipt.seq == 2
    assert ledger.left().amounts[0] == 10**24


def test_a_restore_takes_two_people(ledger, tmp_path):
    ledger.backup(tmp_path / "export")
    with pytest.raises(OutOfRange):
        Ledger.restore(
            tmp_path / "new", tmp_path / "export", reason="x", by="Ana", approved_by="ana"
        )
    assert not (tmp_path / "new").exists()
