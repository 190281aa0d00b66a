"""Lines, heads and rows: one text for each entry, and a chain that nothing can be taken out of."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Budget,
    Contribution,
    Leaf,
    Parallel,
    at_least,
    between,
    equals,
    one_of,
)
from discreet.accounting.requests import RequestPricer
from discreet.errors import DamagedLedger, NewerFormat
from discreet.ledger.entries import (
    NO_HEAD,
    AccountEntry,
    EntryRow,
    OpenEntry,
    RaiseEntry,
    ReleaseEntry,
    RestoreEntry,
    StartEntry,
    canonical,
    digest,
    head_after,
    line_of,
    now,
    read_entry,
)
from discreet.ledger.requests import Pricer
from discreet.ledger.values import Account
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.units import person, row

AT = "2026-01-01T00:00:00.000000Z"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
HEADS = st.text("0123456789abcdef", min_size=64, max_size=64)
BUDGETS = st.sampled_from([Budget(epsilon=1), Budget(epsilon=2, delta=1e-9), Budget(rho="0.1")])
UNITS = st.sampled_from([row(), row(relation="replace"), person("patient")])
TREES = st.sampled_from(
    [
        Pure(epsilon="0.1"),
        Laplace(scale=3),
        Leaf(Laplace(scale=5), name='a "name" with ünusual signs'),
        Leaf(Pure(epsilon="0.1")) * 3,
        Parallel(
            "ward", {equals("A"): Leaf(Laplace(scale=2)), equals("B"): Leaf(Laplace(scale=3))}
        ),
    ]
)
SCOPES = st.sampled_from(
    [
        None,
        Box.everything(),
        Box({"ward": equals("A"), "age": at_least(65)}),
        Box({'"quoted"': one_of("é", "\n"), "delta": between(1, 2)}),
    ]
)


PATHS = st.sampled_from(["data", "data/flu", "data/flu/ana"])
PEOPLE = {"reason": TEXTS, "by": TEXTS, "approved_by": TEXTS}


def entries():
    """Any entry of any kind."""
    return st.one_of(
        st.builds(
            OpenEntry,
            ledger=st.just("1" * 32),
            unit=UNITS,
            constant=st.lists(TEXTS, max_size=2).map(tuple),
            contribution=st.sampled_from([None, Contribution(rows=3, parts={"ward": 2})]),
            account=st.just("data"),
            budget=BUDGETS,
        ),
        st.builds(AccountEntry, account=PATHS, budget=st.none() | BUDGETS, by=TEXTS),
        st.builds(RaiseEntry, account=PATHS, budget=BUDGETS, **PEOPLE),
        PATHS.flatmap(charges),
        st.builds(StartEntry, key=TEXTS, attempt=st.integers(1, 99)),
        st.builds(ReleaseEntry.of, TEXTS, st.binary()),
        st.builds(RestoreEntry, head=HEADS, **PEOPLE),
    )


@st.composite
def charges(draw, path="data/flu"):
    budgets = {"data": draw(BUDGETS), "data/flu": draw(st.none() | BUDGETS)}
    accounts = {each: Account(each, budgets.get(each)) for each in ("data", "data/flu", path)}
    pricer = Pricer(RequestPricer(unit=row()))
    priced = pricer.price(
        draw(TREES), accounts, path, scope=draw(SCOPES), delta=draw(st.sampled_from([None, "1e-9"]))
    )
    return priced.charge(draw(TEXTS), draw(TEXTS))


def stored(entry, seq=7, head=NO_HEAD, answer=None):
    line = entry.line(seq, AT)
    after = head_after(head, line)
    return EntryRow(seq, entry.kind, entry.key, entry.question, line, after, answer)


@given(entries())
def test_the_line_of_an_entry_is_its_canonical_json(entry):
    line = entry.line(7, AT)
    fields = json.loads(line)
    assert line == json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert line.isascii()
    common = {name: fields[name] for name in ("format", "seq", "kind", "at")}
    assert common == {"format": 1, "seq": 7, "kind": entry.kind, "at": AT}


@given(entries())
def test_an_entry_is_read_as_it_was_written(entry):
    assert read_entry(stored(entry)) == entry


@given(charges())
def test_the_body_of_a_charge_is_the_digest_of_what_is_asked(charge):
    fields = json.loads(charge.line(7, AT))
    asked = [fields[name] for name in ("account", "tree", "scope", "delta", "question")]
    assert charge.body == fields["body"] == digest(canonical(asked).encode())


@given(charges())
def test_amounts_are_decimal_text_one_pair_for_each_box(charge):
    fields = json.loads(charge.line(7, AT))
    assert sorted(fields["amounts"]) == [path for path, _ in charge.pieces]
    for path, pieces in charge.pieces:
        pairs = [[list(map(str, p.added)), list(map(str, p.replaced))] for p in pieces]
        assert fields["amounts"][path] == pairs
        assert fields["boxes"] == [piece.box.written() for piece in pieces]


def test_a_head_depends_on_all_that_came_before():
    lines = [line_of(n, "start", AT, {"key": str(n), "attempt": 1}) for n in range(1, 5)]
    heads = [NO_HEAD]
    for line in lines:
        heads.append(head_after(heads[-1], line))
    assert len(set(heads)) == 5
    for number in range(4):
        other = [*lines[:number], lines[number].replace("attempt", "Attempt"), *lines[number + 1 :]]
        head = NO_HEAD
        for line in other:
            head = head_after(head, line)
        assert head != heads[-1]


def test_a_head_is_the_sha_256_of_head_newline_line():
    assert head_after(NO_HEAD, "{}") == digest(f"{NO_HEAD}\n{{}}".encode())


def test_a_row_follows_by_its_number_and_its_hash():
    entry = StartEntry(key="k", attempt=1)
    found = stored(entry, seq=3, head="a" * 64)
    assert found.follows(2, "a" * 64)
    assert not found.follows(3, "a" * 64)
    assert not found.follows(2, "b" * 64)
    strange = EntryRow(3, "start", "k", None, found.line.replace("k", "é"), found.head)
    assert not strange.follows(2, "a" * 64)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "7",
        '{"seq":3}',
        '{"format":"1","kind":"start","seq":3}',
        '{"format":0,"kind":"start","key":"k","seq":3}',
        '{"format":1,"kind":"start","key":"k","seq":4}',
        '{"format":1,"kind":"charge","key":"k","seq":3}',
        '{"format":1,"kind":"start","key":"l","seq":3}',
        '{"format":1,"kind":"start","key":"k","question":"","seq":3}',
        '{"format":1,"kind":"start","key":"k","seq":3}',
        "[" * 100_000,
    ],
)
def test_a_row_that_says_something_else_than_its_line_is_damaged(line):
    with pytest.raises(DamagedLedger):
        read_entry(EntryRow(3, "start", "k", None, line, NO_HEAD))


def test_an_unknown_kind_is_damage_and_a_later_format_is_not():
    line = line_of(3, "refund", AT, {"key": "k"})
    with pytest.raises(DamagedLedger):
        read_entry(EntryRow(3, "refund", "k", None, line, NO_HEAD))
    with pytest.raises(NewerFormat):
        read_entry(
            EntryRow(3, "refund", "k", None, line.replace('"format":1', '"format":2'), NO_HEAD)
        )


@given(charges(), st.data())
def test_a_charge_with_something_missing_or_strange_is_damaged(charge, data):
    fields = json.loads(charge.line(7, AT))
    name = data.draw(st.sampled_from(["boxes", "amounts", "account", "body"]))
    if data.draw(st.booleans()):
        del fields[name]
    else:
        strange = [
            {"data": [[["-1"], ["0"]]]},
            {"data": 3},
            [7],
            [{}],
            {"data": [[["1.5"], ["1"]]]},
        ]
        fields[name] = data.draw(st.sampled_from(strange))
        if name in {"account", "body"}:
            return
    line = canonical(fields)
    with pytest.raises(DamagedLedger):
        read_entry(EntryRow(7, "charge", charge.key, charge.question, line, NO_HEAD))


def test_answers_are_never_shown():
    assert "secret" not in repr(EntryRow(1, "release", "k", None, "{}", NO_HEAD, answer=b"secret"))
    assert "secret" not in repr(ReleaseEntry.of("k", b"secret"))


def test_the_time_is_utc_to_the_microsecond():
    assert len(now()) == len(AT)
    assert now().endswith("Z")
