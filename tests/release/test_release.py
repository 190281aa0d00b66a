"""Answers as tables, texts, pictures and bytes."""

import json
import math
import re
import sys
from datetime import date, datetime
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser

import duckdb
import ibis
import matplotlib as mpl
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from discreet.aggregates.quantile import quantile_edges
from discreet.errors import UnknownName, WrongKind
from discreet.ledger.values import Receipt
from discreet.plan.statistics.fixed_point import grid_of
from discreet.query.expressions import Column
from discreet.query.types import Type
from discreet.release.frames import ReleasedColumn
from discreet.release.release import Release
from discreet.release.serialization import decode_release, encode_release
from discreet.requests.raw_totals import ARROW_TYPES
from tests.plan.test_neighbors import QUESTIONS
from tests.release.clinic import asked, plan_of

COUNTS = "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward"
PRICE = {"epsilon": 1, "delta": "1e-9"}
RECEIPT = Receipt(ledger="1" * 32, seq=41, head="a" * 64)


@pytest.fixture
def release():
    return asked(COUNTS, **PRICE)


# --- tables -------------------------------------------------------------------------------------


def test_a_release_is_a_table(release):
    table = release.to_arrow()
    assert table.column_names == ["ward", "n", "n_low", "n_high", "m", "m_low", "m_high"]
    assert len(release) == table.num_rows == 4
    assert release.names == ("ward", "n", "m")
    assert release["n"].to_pylist() == table.column("n").to_pylist()
    assert [row["n"] for row in release] == release["n"].to_pylist()
    assert pa.table(release).equals(table)
    with pytest.raises(UnknownName):
        release["nothing"]


def test_a_release_is_a_frame_of_polars_and_pandas(release):
    assert release.to_polars().columns == release.to_arrow().column_names
    assert release.to_polars()["n"].to_list() == release["n"].to_pylist()
    frame = release.to_pandas()
    assert frame["n"].tolist() == release["n"].to_pylist()
    assert str(frame["n"].dtype) == "int64"
    assert pl.from_arrow(release.to_arrow()).equals(release.to_polars())
    assert isinstance(frame, pd.DataFrame)
    halves = ReleasedColumn(name="x", type=Type.INTEGER, values=pa.array([1, None, 2**60 + 1]))
    whole = Release(plans=release.plans, columns=(halves,)).to_pandas()
    assert whole["x"][2] == 2**60 + 1


@pytest.mark.parametrize(
    ("call", "library", "extra"),
    [
        (Release.to_polars, "polars", "polars"),
        (Release.to_pandas, "pandas", "pandas"),
        (Release.plot, "matplotlib", "plots"),
    ],
)
def test_a_missing_library_is_named(release, monkeypatch, call, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(WrongKind, match=re.escape(f"discreet[{extra}]")):
        call(release)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (lambda table: table, pa.Table),
        (lambda table: table.to_batches()[0], pa.Table),
        (pl.from_arrow, pl.DataFrame),
        (lambda table: pl.from_arrow(table).lazy(), pl.LazyFrame),
        (pa.Table.to_pandas, pd.DataFrame),
        (ibis.memtable, ibis.Table),
        (nw.from_native, nw.DataFrame),
        (lambda table: nw.from_native(pl.from_arrow(table).lazy()), nw.LazyFrame),
        (lambda table: duckdb.connect().from_arrow(table), duckdb.DuckDBPyRelation),
    ],
    ids=range(9),
)
def test_an_answer_goes_back_as_a_frame_of_the_same_library(release, made, kind):
    native = release.to_native(made(pa.table({"a": [1]})))
    assert isinstance(native, kind)
    native = native.collect() if hasattr(native, "collect") else native
    assert pa.table(native).to_pylist() == release.to_arrow().to_pylist()


def test_a_relation_is_joined_with_its_answer(release):
    """Which only a relation of its own connection can be."""
    beds = duckdb.connect().sql("SELECT 'A' AS ward, 12 AS beds")
    assert [row[1] for row in beds.join(release.to_native(beds), "ward").fetchall()] == [12]


def test_a_library_that_reads_arrow_gets_the_answer_and_no_other_value_does(release):
    class Frame:
        @classmethod
        def from_arrow(cls, table):
            return [cls, table.num_rows]

    assert release.to_native(Frame()) == [Frame, len(release)]
    with pytest.raises(WrongKind, match="to_arrow"):
        release.to_native(7)


def test_names_that_are_taken_get_an_underscore(release):
    column = ReleasedColumn(
        name="n", type=Type.INTEGER, values=pa.array([1]), low=pa.array([0]), high=pa.array([2])
    )
    taken = ReleasedColumn(name="n_low", type=Type.INTEGER, values=pa.array([7]))
    both = Release(plans=release.plans, columns=(column, taken, column))
    names = both.to_arrow().column_names
    assert len(set(names)) == len(names) == 7
    assert both.to_arrow().column("n_low").to_pylist() == [7]


# --- post-processing ----------------------------------------------------------------------------


def test_map_keeps_the_price_and_drops_intervals(release):
    doubled = release.map(
        lambda table: {"ward": table["ward"], "twice": [2 * n.as_py() for n in table["n"]]}
    )
    assert doubled.names == ("ward", "twice")
    assert doubled.loss == release.loss
    assert doubled.columns[1].low is None
    assert doubled.parts == ()
    assert Release.read(doubled.written(), release.plan).rows() == doubled.rows()


@pytest.mark.parametrize("library", ["polars", "pandas", "arrow"])
def test_map_takes_tables_of_any_library(release, library):
    change = {
        "arrow": lambda table: table.drop_columns(["ward"]),
        "polars": lambda table: pl.from_arrow(table).drop("ward"),
        "pandas": lambda table: table.to_pandas().drop(columns="ward"),
    }[library]
    found = release.map(change)
    assert found.names == ("n", "m")
    assert found["m_low"].to_pylist() == release["m_low"].to_pylist()


@pytest.mark.parametrize(
    "made", [None, 7, [1, 2], {"x": [object()]}, {"x": [1], "y": [1, 2]}, {"x": [b"bytes"]}]
)
def test_map_refuses_what_is_no_table(release, made):
    with pytest.raises(WrongKind):
        release.map(lambda _: made)


def test_a_receipt_comes_later(release):
    assert release.receipt is None
    assert not release.replayed
    again = release.recorded(RECEIPT, replayed=True)
    assert again.receipt == RECEIPT
    assert "Replayed entry 41" in str(again)
    assert again.rows() == release.rows()


def test_a_rehearsal_says_so_everywhere(release):
    rehearsed = release.recorded(None, private=False)
    for shown in (str(rehearsed), rehearsed._repr_html_()):
        assert "Not private: test mode" in shown
        assert "Cost:" not in shown
    assert "Not private" not in str(release)


def test_private_groups_say_from_what_size_on_they_are_shown():
    """At a high price both cities are shown; at a low one none is, and the answer says so."""
    sql = "SELECT city, COUNT(DISTINCT patient) AS n FROM visits GROUP BY city"
    release = asked(sql, epsilon=20, delta=1e-6)
    assert f"Groups of fewer than {release.plan.selection.threshold} units" in str(release)
    assert "No group is left" not in str(release)
    hidden = asked(sql, epsilon="0.001", delta=1e-9)
    assert "No group is left to show. Groups of fewer than" in hidden._repr_html_()


# --- words and pictures ---------------------------------------------------------------------------


def test_text_shows_numbers_errors_marks_and_price(release, monkeypatch):
    """Odds take their time, and are shown to whoever asks for them."""
    monkeypatch.setattr("discreet.release.release.odds_of_plans", None)
    text = str(release)
    assert re.search(r"^A +\d+ ± \d+", text, re.MULTILINE)
    assert "~ marks errors" in text
    assert "Cost: epsilon 1" in text
    assert "a coin is right" not in text
    assert "95 %" in text
    assert repr(release) == "Release(4 rows of ward, n, m; limits may have cut it)"


def test_an_answer_without_aggregates_has_a_text():
    release = asked("SELECT ward FROM visits GROUP BY ward", **PRICE)
    assert "ward" in str(release)
    assert (release.odds.guess, release.odds.caught) == (0.5, 0.01)


def test_long_answers_are_cut_short(release):
    many = ReleasedColumn(name="x", type=Type.INTEGER, values=pa.array(range(1000)))
    text = str(Release(plans=release.plans, columns=(many,)))
    assert "and 980 more rows" in text
    assert text.count("\n") < 30


HOSTILE = '<script>alert("x")</script>\x1b[2J'


def hostile(release):
    column = ReleasedColumn(name=HOSTILE, type=Type.TEXT, values=pa.array([HOSTILE, "a&b"]))
    return Release(plans=release.plans, columns=(column,))


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(name for name, _ in attrs)))


def test_html_is_escaped_and_loads_nothing(release):
    parser = Tags()
    page = hostile(release)._repr_html_() + release._repr_html_()
    parser.feed(page)
    assert {tag for tag, _ in parser.found} == {
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
        "details",
        "summary",
    }
    assert {name for _, names in parser.found for name in names} <= {"style", "title"}
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "http" not in page


def test_text_moves_no_cursor(release):
    assert "\x1b" not in str(hostile(release))


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (1234.5678, 1230.1, 1239.0, "1234.6 ± 4.5"),
        (0.5, 0.1, 0.6, "0.50 [0.10, 0.60]"),
        (2.0, 2.0, 2.0, "2 ± <1"),
        (1e20, 1e20 - 1e17, 1e20 + 1e17, "1e+20 ± 1e+17"),
        (None, None, None, "NULL"),
        (3.25, None, None, "3.25 [?]"),
        (-0.001, -0.003, 0.001, "-0.0010 ± 0.0020"),
    ],
)
def test_numbers_have_the_digits_that_their_error_leaves(release, value, low, high, shown):
    ends = {"low": pa.array([low], pa.float64()), "high": pa.array([high], pa.float64())}
    column = ReleasedColumn(
        name="x", type=Type.FLOAT, values=pa.array([value], pa.float64()), **ends
    )
    text = str(Release(plans=release.plans, columns=(column,))).splitlines()[2]
    assert text.removesuffix(" ~").strip() == shown


def test_plots_have_a_bar_for_every_group(release):
    mpl.use("Agg")
    axes = release.plot("m")
    assert [bar.get_height() for bar in axes.patches] == release["m"].to_pylist()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["NULL", "A", "B", "C"]
    assert axes.get_ylabel() == "m"
    assert len(asked("SELECT COUNT(*) AS n FROM visits", **PRICE).plot("n").patches) == 1
    keyless = asked("SELECT COUNT(*) AS n FROM visits GROUP BY ward", **PRICE).plot("n")
    assert [label.get_text() for label in keyless.get_xticklabels()] == ["1", "2", "3", "4"]
    with pytest.raises(UnknownName):
        release.plot("ward")
    plt.close("all")


# --- bytes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sql", QUESTIONS[1:10])
def test_an_answer_comes_back_bit_for_bit(sql):
    release = asked(sql, **PRICE)
    data = release.written()
    again = Release.read(data, release.plan)
    assert again.written() == data
    assert again.to_arrow().equals(release.to_arrow())
    assert Release.of(release.plan, again.parts).written() == data  # intervals too follow from them
    assert json.dumps(json.loads(data), sort_keys=True, separators=(",", ":")).encode() == data


VALUES = {
    Type.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Type.FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    Type.TEXT: st.text(st.characters(exclude_categories=["Cs"])),
    Type.BOOLEAN: st.booleans(),
    Type.DATE: st.dates(),
    Type.TIMESTAMP: st.datetimes().map(lambda moment: moment.replace(fold=0)),
}


@st.composite
def columns(draw):
    kind, listed = draw(st.sampled_from(list(Type))), draw(st.booleans())
    each = st.none() | VALUES[kind]
    each = st.none() | st.lists(each, max_size=3) if listed else each
    arrow = pa.list_(ARROW_TYPES[kind]) if listed else ARROW_TYPES[kind]
    arrays = [pa.array(draw(st.lists(each, min_size=3, max_size=3)), arrow) for _ in range(3)]
    ends = draw(st.booleans())
    return ReleasedColumn(
        name=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
        type=kind,
        values=arrays[0],
        low=arrays[1] if ends else None,
        high=arrays[2] if ends else None,
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(columns(), max_size=4))
def test_every_value_of_every_type_comes_back(found):
    plans = (plan_of(COUNTS, **PRICE),)
    data = encode_release(plans, found, ())
    again, parts, _ = decode_release(data, plans)
    assert parts == ()
    assert encode_release(plans, again, ()) == data
    for one, other in zip(found, again, strict=True):
        assert (one.name, one.type, one.listed) == (other.name, other.type, other.listed)
        for here, there in (
            (one.values, other.values),  # noqa: PD011  columns of ours, no frames
            (one.low, other.low),
            (one.high, other.high),
        ):
            assert (here is None) == (there is None)
            assert here is None or shown(here) == shown(there)


def shown(array):
    return repr([value + 0.0 if isinstance(value, float) else value for value in array.to_pylist()])


def test_an_answer_is_read_with_its_own_plan_only(release):
    other = plan_of(COUNTS, epsilon=2, delta="1e-9")
    with pytest.raises(WrongKind, match="another plan"):
        Release.read(release.written(), other)
    with pytest.raises(WrongKind, match="another plan"):
        Release.read(release.written(), release.plan, release.plan)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda _: b"",
        lambda _: b"[]",
        lambda _: b"{}",
        lambda _: b"\xff",
        lambda data: data.replace(b'"values":[', b'"values":[{},', 1),
        lambda data: data.replace(b'"type":"INTEGER"', b'"type":"MONEY"', 1),
        lambda data: data.replace(b'"totals":{', b'"totals":{"other":[1],', 1),
        lambda data: data.replace(b'"size":', b'"length":', 1),
        lambda data: re.sub(rb'"parts":\[', b'"parts":[1.5,', data),
    ],
)
def test_bytes_that_were_changed_are_refused(release, change):
    with pytest.raises(WrongKind):
        Release.read(change(release.written()), release.plan)


def test_a_newer_form_is_refused(release):
    data = release.written().replace(b'"format":1', b'"format":2')
    with pytest.raises(WrongKind, match="does not know"):
        Release.read(data, release.plan)


def test_days_and_moments_are_written_as_iso_text(release):
    found = [
        ReleasedColumn(name="d", type=Type.DATE, values=pa.array([date(2024, 2, 29)])),
        ReleasedColumn(
            name="t",
            type=Type.TIMESTAMP,
            values=pa.array([datetime(2024, 2, 29, 12, 0, 0, 5)], pa.timestamp("us")),  # noqa: DTZ001
        ),
    ]
    text = encode_release(release.plans, found, ()).decode()
    assert '"2024-02-29"' in text
    assert '"2024-02-29T12:00:00.000005"' in text


def read_back(data, release):
    """Return the values of the only column."""
    (found,), _, _ = decode_release(data, release.plans)
    return found.values.to_pylist()  # noqa: PD011 (no pandas)


FLOATS = [0.1, -0.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.1, -2.0], '"3fb999999999999ac000000000000000"'),
        ([0.1, None], '["0x1.999999999999ap-4",null]'),
        ([], '""'),
        (FLOATS, None),
    ],
)
def test_floats_are_written_to_the_last_bit(release, values, text):
    column = ReleasedColumn(name="f", type=Type.FLOAT, values=pa.array(values, pa.float64()))
    data = encode_release(release.plans, [column], ())
    assert text is None or f'"values":{text}' in data.decode()
    assert list(map(str, read_back(data, release))) == list(map(str, values))


def test_floats_that_were_written_one_by_one_are_read_all_the_same(release):
    column = ReleasedColumn(name="f", type=Type.FLOAT, values=pa.array([*FLOATS, None]))
    data = encode_release(release.plans, [column], ()).replace(b",null]", b"]")
    assert list(map(str, read_back(data, release))) == list(map(str, FLOATS))


def test_floats_that_are_cut_short_are_refused(release):
    column = ReleasedColumn(name="f", type=Type.FLOAT, values=pa.array([0.1]))
    data = encode_release(release.plans, [column], ()).replace(b"9a", b"")
    with pytest.raises(WrongKind):
        decode_release(data, release.plans)


def test_the_loss_is_that_of_the_plan(release):
    assert release.loss == release.plan.loss
    assert release.confidence == Fraction(19, 20)
    assert np.isfinite(release.odds.guess)


def test_numbers_are_shown_inside_of_their_own_intervals():
    """Counts of few people, with much noise: below zero, where no interval is."""
    sql = (
        "SELECT ward, COUNT(*) AS n, SUM(age) AS s, 2 * COUNT(*) + 1 AS f FROM visits GROUP BY ward"
    )
    moved = 0
    for label in "abcdef":
        released = asked(sql, label=label, epsilon="0.01")
        for row in released.to_arrow(unclipped=True).to_pylist():
            for name, least in (("n", 0), ("s", 0), ("f", 1)):
                low, value, high = (row[name + end] for end in ("_low", "", "_high"))
                assert least <= low <= value <= high
                as_drawn = row[f"{name}_unclipped"]
                assert value == min(max(as_drawn, low), high)
                moved += value != as_drawn
            assert row["f_unclipped"] == 2 * row["n_unclipped"] + 1  # not of what is shown
    assert moved > 5


def test_an_answer_repeats_the_warnings_of_its_plan():
    """Whoever asks without looking at a plan reads them beside what was paid for."""
    unmet = asked("SELECT COUNT(*) AS n FROM visits WHERE ward = 'a'", epsilon=1)
    for shown in (str(unmet), unescape(unmet._repr_html_())):
        assert "WARNING: no declared value of ward meets the conditions" in shown
    met = asked("SELECT COUNT(*) AS n FROM visits WHERE ward = 'A'", epsilon=1)
    assert "WARNING" not in str(met)


def test_numbers_as_noise_left_them_are_kept():
    released = asked("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon="0.001")
    (column,) = (column for column in released.columns if column.name == "n")
    assert column.unclipped is not None
    again = Release.read(released.written(), released.plan)
    assert again.to_arrow(unclipped=True).equals(released.to_arrow(unclipped=True))
    assert "n_unclipped" not in again.to_arrow().column_names
    frame = released.to_pandas(unclipped=True)
    assert frame["n_unclipped"].tolist() == column.unclipped.to_pylist()
    exact = asked("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=4000)
    assert all(column.unclipped is None for column in exact.columns)
    assert b"unclipped" not in exact.written()
    assert exact.to_arrow(unclipped=True)["n_unclipped"].equals(exact.to_arrow()["n"])


@pytest.mark.parametrize("epsilon", ["0.02", "1", "4000"])
def test_intervals_of_quantiles_cover_the_rounding_to_the_grid(epsilon):
    """A value anywhere in a leaf is inside of the interval, and so is what the leaf stands for."""
    low, width = 0.1, 7.3
    values = low + width * np.array([0.0, 0.123456, 1 / 3, 0.5000001, 0.87654321, 1.0])
    bounds = Fraction(str(low)), Fraction(str(low)) + Fraction(str(width))
    _, grid = grid_of(Column("x"), Type.FLOAT, bounds)
    for value in values:
        leaf = min(math.floor((value - float(grid.low)) / float(grid.width)), grid.leaves - 1)
        ends = quantile_edges(grid, np.array([leaf]), np.array([leaf]))
        assert ends[0][0] <= value <= ends[1][0]
        assert ends[0][0] <= float(grid.value(leaf)) <= ends[1][0]
        assert ends[1][0] - ends[0][0] < 1.01 * float(grid.width)
    row = asked(
        "SELECT MEDIAN(cost) AS m, APPROX_QUANTILES(cost, 20) AS q FROM visits", epsilon=epsilon
    ).rows()[0]
    assert row["m_low"] <= row["m"] <= row["m_high"]
    for low, value, high in zip(row["q_low"], row["q"], row["q_high"], strict=True):
        assert low <= value <= high
