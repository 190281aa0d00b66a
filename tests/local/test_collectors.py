"""Collectors: a monoid, refusals that are counted, and bytes that come back."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import OutOfRange, WrongKind
from discreet.local import (
    Collector,
    Direct,
    Domain,
    Form,
    Hadamard,
    Hashing,
    Refusals,
    Subset,
    Unary,
)
from discreet.local.collector import plausible, plausible_ones

VALUES = 11
DOMAIN = Domain(range(VALUES))
FORMS = [
    Form(DOMAIN, randomizer)
    for randomizer in (
        Direct(epsilon=1, values=VALUES),
        Unary(epsilon=1, values=VALUES),
        Subset(epsilon=1, values=VALUES, size=3),
        Subset(epsilon=4, values=VALUES, size=1),
        Hadamard(epsilon=1, values=VALUES),
        Hashing(epsilon=1, values=VALUES, pool=1024),
    )
]
MANY = settings(max_examples=25)


def pieces():
    """Reports, batches, reports of other forms, and junk."""
    values = st.lists(st.integers(0, VALUES - 1), max_size=12)
    kinds = st.sampled_from(["each", "batch", "other", "junk", "wrong"])
    return st.lists(st.tuples(kinds, values, st.binary(max_size=20)), max_size=6)


def written(form, parts):
    """Return what the pieces are as bytes."""
    other = Form(DOMAIN, Direct(epsilon="0.9", values=VALUES))
    header = form.layout.encode(np.zeros((1, form.layout.payload_bytes), np.uint8))[:11]
    streams = []
    for kind, values, junk in parts:
        made = {
            "each": lambda values=values: form.client().report_each(values),
            "batch": lambda values=values: form.client().batch(values),
            "other": lambda values=values: other.client().report_each(values),
            "junk": lambda junk=junk: junk,
            "wrong": lambda: header + b"\xff" * form.layout.payload_bytes,
        }
        streams.append(made[kind]())
    return streams


def collected(form, streams):
    collector = form.collector()
    collector.add_many(streams)
    return collector


def state(collector):
    return collector.reports, collector.refused, collector.tally.tolist()


def merged(*collectors):
    total = collectors[0].form.collector()
    for collector in collectors:
        total.merge(collector)
    return total


@pytest.mark.theorem("collector-monoid")
@given(st.sampled_from(FORMS), pieces(), st.lists(st.integers(0, 2), min_size=6, max_size=6))
@MANY
def test_however_streams_are_divided_they_are_collected_alike(form, parts, places):
    streams = written(form, parts)
    whole = collected(form, streams)
    shares = [
        collected(
            form, [stream for stream, at in zip(streams, places, strict=False) if at == place]
        )
        for place in range(3)
    ]
    a, b, c = shares
    assert state(merged(a, b, c)) == state(whole)
    assert state(merged(c, a, b)) == state(whole)  # any order
    assert state(merged(merged(a, b), c)) == state(merged(a, merged(b, c)))
    assert state(merged(a, form.collector())) == state(a)  # neutral
    assert state(collected(form, streams[::-1])) == state(whole)


@pytest.mark.theorem("collector-monoid")
@given(st.sampled_from(FORMS), pieces())
@MANY
def test_a_collector_comes_back_from_its_bytes(form, parts):
    collector = collected(form, written(form, parts))
    back = Collector.deserialize(collector.serialize(), form=form)
    assert state(back) == state(collector)
    assert back.serialize() == collector.serialize()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.randomizer.name)
def test_reports_one_by_one_in_a_row_and_in_a_batch_are_the_same(form):
    values = list(range(VALUES)) * 3
    stream = form.client().report_each(values)
    size = form.layout.report_bytes
    reports = [stream[start : start + size] for start in range(0, len(stream), size)]
    single, row = form.collector(), collected(form, [stream])
    for report in reports:
        single.add(report)
    rows = np.frombuffer(stream, np.uint8).reshape(-1, size)[:, 11:]
    batch = collected(form, [form.layout.encode_batch(rows)])
    assert state(single) == state(row) == state(batch)
    assert single.reports + single.refused.implausible == len(values)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.randomizer.name)
def test_estimates_come_from_reports_alone(form):
    """At a false alarm rate below 1e-6 for each form: the interval is of level 1 - 1e-8."""
    collector = form.collector()
    collector.add_many(form.client().batch([3] * 4000 + [7] * 2000))
    table = collector.estimates().table(confidence="0.99999999", target="reported")
    rows = {row.value: row for row in table}
    assert set(rows) == set(range(VALUES))
    assert rows[3].low <= 2 / 3 <= rows[3].high
    assert rows[7].low <= 1 / 3 <= rows[7].high
    if form.randomizer.name != "hashing":  # whose small pool is in the bars
        assert rows[3].high - rows[3].low < 0.5


def test_memory_does_not_grow_with_reports():
    form = FORMS[0]
    collector, report = form.collector(), form.client().report(1)
    for _ in range(70_000):
        collector.add(report)
    assert len(collector._pending) <= 1 << 16
    assert collector.reports == 70_000
    assert len(collector.serialize()) == 3 + 8 + 8 * (5 + VALUES) + 8


def test_refusals_are_counted_by_reason_and_nothing_is_lost():
    form, other = FORMS[1], FORMS[0]
    collector = form.collector()
    good = form.layout.encode(np.array([[0b1010_0001, 0b1]], np.uint8))
    collector.add(good)
    for wrong in (b"", good[:-1], good + b"\0", b"\0" * len(good), bytes(1000)):
        collector.add(wrong)
    collector.add(other.client().report(1))  # of another length
    collector.add(form.layout.encode(np.zeros((1, 2), np.uint8)).replace(b"dl\x01", b"dl\x02"))
    collector.add(Form(DOMAIN, Unary(epsilon=2, values=VALUES)).client().report(1))
    collector.add(good[:-1] + b"\xff")
    collector.add(good)
    assert collector.reports == 2
    assert collector.refused == Refusals(unreadable=7, other_form=1, invalid=1)
    assert str(collector) == "2 reports, 9 refused (7 unreadable, 1 other form, 1 invalid)"


def test_nobody_has_reported():
    with pytest.raises(OutOfRange, match="nobody has reported"):
        FORMS[0].collector().estimates()


def test_more_hostile_reports_than_people():
    collector = collected(FORMS[0], [FORMS[0].client().batch([1, 2, 3])])
    with pytest.raises(OutOfRange):
        collector.estimates().table(hostile=4)
    for row in collector.estimates().table(hostile=3):
        assert (row.low, row.high) == (0, 1)


@pytest.mark.parametrize("wrong", ["text", 17, None, ["text"], [17], np.zeros(3)], ids=repr)
def test_only_bytes_are_collected(wrong):
    collector = FORMS[0].collector()
    for act in (collector.add, collector.add_many):
        with pytest.raises(WrongKind):
            act(wrong)


def test_views_of_bytes_are_bytes():
    form = FORMS[0]
    report = form.client().report(1)
    collector = form.collector()
    collector.add(bytearray(report))
    collector.add(memoryview(report))
    collector.add_many(memoryview(report * 3))
    assert collector.reports == 5


def test_collectors_of_other_forms_are_not_merged():
    for wrong in (FORMS[1].collector(), None, b""):
        with pytest.raises(WrongKind):
            FORMS[0].collector().merge(wrong)


def test_a_collector_merged_with_itself_counts_twice():
    collector = collected(FORMS[0], [FORMS[0].client().batch([1, 2, 3])])
    before = collector.tally
    collector.merge(collector)
    assert collector.reports == 6
    assert (collector.tally == 2 * before).all()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.randomizer.name)
def test_damaged_bytes_are_no_collector(form):
    whole = collected(form, [form.client().batch([1, 2, 3])]).serialize()
    for place in range(0, len(whole), max(5, len(whole) // 40)):
        changed = bytearray(whole)
        changed[place] ^= 1
        with pytest.raises(WrongKind):
            Collector.deserialize(bytes(changed), form=form)
    for wrong in (b"", whole[:-1], whole + b"\0", whole[:11], b"dc\x01"):
        with pytest.raises(WrongKind):
            Collector.deserialize(wrong, form=form)
    with pytest.raises(WrongKind, match="another form"):
        Collector.deserialize(whole, form=Form(DOMAIN, Direct(epsilon="0.3", values=VALUES)))


def test_a_checksum_does_not_make_counters_of_any_bytes():
    """Well-formed bytes with a wrong number of counters, or with half of one."""
    form = FORMS[0]
    empty = form.collector().serialize()[:-8]
    for body in (empty + b"\0" * 8, empty[:-8], empty + b"\0", empty[:-3]):
        with pytest.raises(WrongKind):
            Collector.deserialize(body + hashlib.sha256(body).digest()[:8], form=form)
    negative = empty[:-8] + b"\xff" * 8
    with pytest.raises(WrongKind, match="no reports can"):
        Collector.deserialize(negative + hashlib.sha256(negative).digest()[:8], form=form)


# --- hostile reports ------------------------------------------------------------------------------


@pytest.mark.theorem("plausible-ones")
@pytest.mark.parametrize("coding", ["optimized", "symmetric"])
@pytest.mark.parametrize(("values", "epsilon"), [(2, 1), (40, "0.5"), (128, 1), (4096, 3)])
def test_honest_reports_are_plausible(values, epsilon, coding):
    """The two tails, by a library's binomial law: at most 1e-9, and above it one step inward."""
    p, q = Unary(epsilon=epsilon, values=values, coding=coding).exact_chances()
    least, most = plausible_ones(values, p, q)
    others, own = stats.binom(values - 1, float(q)), float(p)

    def fewer(count):
        return own * others.cdf(count - 2) + (1 - own) * others.cdf(count - 1)

    def more(count):
        return own * others.sf(count - 1) + (1 - own) * others.sf(count)

    assert fewer(least) <= 1e-9
    assert more(most) <= 1e-9
    assert least == values or fewer(least + 1) > 0.99e-9
    assert most == 0 or more(most - 1) > 0.99e-9


def test_the_bounds_of_the_literature():
    assert plausible_ones(128, *Unary(epsilon=1, values=128).exact_chances()) == (8, 67)


def test_a_report_that_names_everything_is_refused():
    form = Form(Domain(range(128)), Unary(epsilon=1, values=128))
    rows = np.zeros((4, 16), np.uint8)
    rows[0] = 255  # all targets at once
    rows[1, :8] = 255  # 64 ones
    rows[2, 0] = 255  # 8 ones
    collector = collected(form, [form.layout.encode(rows)])
    assert (collector.reports, collector.refused) == (2, Refusals(implausible=2))
    assert plausible(form.randomizer, rows).tolist() == [False, True, True, False]
    assert plausible(FORMS[0].randomizer, rows[:, :1]).all()


def forged(form, reports, tally):
    """Return a serialized collector with any counts, and a check that fits."""
    counts = np.array([reports, 0, 0, 0, 0, *tally], "<i8")
    body = Collector.magic + form.layout.digest + counts.tobytes()
    return body + hashlib.sha256(body).digest()[:8]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: str(form.randomizer))
def test_tallies_that_no_reports_give_are_refused(form):
    collector = form.collector()
    collector.add_many(form.client().batch([3] * 100))
    tally, raised = collector.tally, form.randomizer.raised
    back = Collector.deserialize(forged(form, collector.reports, tally), form=form)
    assert back.reports == collector.reports
    assert raised is None or raised * collector.reports == tally.sum()
    wrong = [(tally, 2**62), (np.full(len(tally), 2**48 + 1), 2**48 + 1)]
    if raised is not None:
        more, fewer = tally.copy(), tally.copy()
        more[np.argmin(tally)] += 1
        fewer[np.argmax(tally)] -= 1
        wrong += [(more, collector.reports), (fewer, collector.reports)]
        wrong += [(0 * tally, 100), (0 * tally + 100, 100)]
    for counts, reports in wrong:
        with pytest.raises(WrongKind, match="no reports can have"):
            Collector.deserialize(forged(form, reports, counts), form=form)
