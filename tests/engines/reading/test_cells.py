"""Cells of CSV files: read as the oracle reads them, each by itself, whatever others hold."""

import csv
import itertools
import random

import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import HashOrder, Performance
from discreet.engines.sources.files import DeclaredCsv
from discreet.errors import BadPolicy, UnreadableSource, WrongKind
from discreet.ledger import Ledger
from discreet.query.expressions import Column, Literal
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.table_schema import CsvFormat
from tests.engines.reading.cell_oracle import integer, value
from tests.reference.engine import Reference

printed = DUCKDB.printed

ONE = Performance(threads=1)
FORMS = (
    CsvFormat(),
    CsvFormat(decimal=",", separator=";"),
    CsvFormat(decimal=",", thousands=".", dates="DD.MM.YYYY"),
    CsvFormat(thousands=",", dates="MM/DD/YYYY"),
    CsvFormat(thousands=" ", dates="YYYYMMDD"),
    CsvFormat(thousands="'", dates="DD-MM-YYYY", separator="|"),
)
SEEDS = (
    *("1991.0", "1991.00", "1.000", "12.345,60", "1,234,567.5", "1'000", "1 000,5", "1\u00a0000"),
    *("-7", "+7", ".5", "5.", "1e5", "1E+400", "-0", "inf", "nan", "NA", "0x10", "1_000", "--1"),
    *("999999999999999999", "9999999999999999999", "1.000.000,00", "\u0661", "1.0\n", "1" * 400),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
    *("9.223.372.036.854.775.807", "9,223,372,036,854,775,808", "-9 223 372 036 854 775 808"),
    *("9223372036854775807.0", "9223372036854775808,00", "9'223'372'036'854'775'807"),
    *("0" * 400 + "7", "-" + "0" * 30 + "9223372036854775808", "1234567890123456789", "0" * 19),
    *("2024-02-29", "2023-02-29", "29.02.2024", "02/29/2024", "20240229", "2024/2/9", "1-1-2024"),
    *("2024-02-29T10:11:12Z", "2024-02-29 10:11:12.123456789+02:00", "2024-02-29T10:11"),
    *("2024-02-29 10:11:12,5-0330", "0001-01-01 00:00:00+05", "9999-12-31 23:59:59-01:00"),
    *("0000-12-31 23:00:00-05:00", "2024-02-29 00:00:00", "1.1.2024 07:00", "epoch", "infinity"),
    *("true", "Yes", "N", "0", "1.0", "t", "FALSE", "", " ", "\t7 ", "x" * 3000),
)
SIGNS = "0123456789.,-+ \t:/TZeE'\u00a0\u202f\ntfyn\"\0"


def mutated(rng, cell):
    signs = list(cell)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        at = rng.randrange(len(signs) + 1)
        signs[at : at + rng.choice((0, 1))] = rng.choice((rng.choice(SIGNS), ""))
    return "".join(signs)


def write(path, cells, *, separator=",", encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("row", "cell"), *enumerate(cells)])
    return path


def read(path, form, kinds=tuple(Type)):
    """Return what an engine reads of all cells, by type."""
    found = {}
    with DuckDB({"t": DeclaredCsv(str(path), form)}, ONE) as engine:
        inner = engine._connection
        for kind in kinds:
            table = inner.fetch(
                printed(inner.scan(Scan("t", (("row", Type.INTEGER), ("cell", kind)))))
            )
            found[kind] = [row["cell"] for row in sorted(table.to_pylist(), key=row_of)]
    return found


def row_of(row):
    return row["row"]


def typed(values):
    return [(type(each), each) for each in values]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.words or "usual")
def test_random_cells_are_read_as_the_oracle_reads_them(form, tmp_path):
    rng = random.Random(7)  # noqa: S311
    cells = [*SEEDS, *(mutated(rng, rng.choice(SEEDS)) for _ in range(4000))]
    found = read(write(tmp_path / "t.csv", cells, separator=form.separator or ","), form)
    for kind, values in found.items():
        expected = [value(cell or None, kind, form) for cell in cells]
        assert typed(values) == typed(expected)
        assert len({each is None for each in expected}) == 2  # both kinds of cells are met


def test_a_cell_concerns_no_other(tmp_path):
    rng = random.Random(8)  # noqa: S311
    cells = [mutated(rng, rng.choice(SEEDS)) for _ in range(300)]
    before = read(write(tmp_path / "t.csv", cells), CsvFormat())
    for _ in range(10):
        place, other = rng.randrange(300), mutated(rng, rng.choice(SEEDS))
        after = read(
            write(tmp_path / "t.csv", [*cells[:place], other, *cells[place + 1 :]]), CsvFormat()
        )
        for kind, values in after.items():
            del values[place]
            assert typed(values) == typed(before[kind][:place] + before[kind][place + 1 :])


def test_whole_numbers_of_64_bits_are_read_exactly(tmp_path):
    rng = random.Random(11)  # noqa: S311
    edges = [sign * 2**63 + step for sign in (-1, 1) for step in range(-3, 4)]
    wide = [rng.randrange(-(2**64), 2**64) for _ in range(500)]
    numbers = [*edges, *wide, *(10**power for power in range(25))]
    cells = [text for n in numbers for text in (str(n), f"{n:025}", f"{n:+}", f" {n}.0")]
    found = read(write(tmp_path / "t.csv", cells), CsvFormat(), (Type.INTEGER,))[Type.INTEGER]
    kept = [n if -(2**63) <= n < 2**63 else None for n in numbers for _ in range(4)]
    assert found == kept
    grouped = [f"{n:,}" for n in numbers]
    form = CsvFormat(thousands=",")
    assert read(write(tmp_path / "t.csv", grouped), form, (Type.INTEGER,)) == {
        Type.INTEGER: kept[::4]
    }


@pytest.mark.theorem("whole-cells")
def test_no_text_is_two_whole_numbers():
    forms = [
        CsvFormat(decimal=decimal, thousands=thousands)
        for decimal in ".,"
        for thousands in ("", ",", ".", " ")
        if decimal != thousands
    ]
    texts = itertools.chain.from_iterable(
        map("".join, itertools.product("01.,", repeat=length)) for length in range(1, 9)
    )
    several = 0
    edges = [
        f"{n:,}".replace(",", sign) + rest
        for n in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1)
        for sign in ("", ",", ".", " ")
        for rest in ("", ".0", ",0", ".000", ",000")
    ]
    for text in (*texts, *edges, "1 000", "1 000.00", "1 000,000", "12 345 678,0"):
        numbers = {integer(text, form) for form in forms}
        several += len(numbers) > 1
        assert len(numbers - {None}) <= 1, text
    assert several > 500  # what is declared makes a difference


def test_totals_are_those_of_the_reference(tmp_path):
    """What filters and groups, and what is added up, is one reading."""
    rng = random.Random(9)  # noqa: S311
    cells = [mutated(rng, rng.choice(SEEDS)) for _ in range(800)]
    write(tmp_path / "t.csv", cells)
    for kind in (Type.INTEGER, Type.BOOLEAN, Type.DATE):
        types = {"row": Type.INTEGER, "cell": kind}
        rows = [
            {"row": row, "cell": value(cell or None, kind, CsvFormat())}
            for row, cell in enumerate(cells)
        ]
        request = EngineRequest(
            relation=Scan("t", tuple(types.items())),
            unit=(Column("row"),),
            keys=(KeyColumn("cell", Column("cell"), kind),),
            groups=1,
            measures=(Total(name="n", row=Literal(1), low=0, high=1),),
        )
        order = HashOrder(salt=3)
        expected = Reference({"t": rows}, {"t": types}).run(request, order=order)
        with DuckDB({"t": str(tmp_path / "t.csv")}, ONE) as engine:
            found = engine.run(request, order=order)
        assert counted(found) == counted(expected)
        assert len(counted(found)) > 1


def counted(raw):
    return dict(zip(raw.keys[0].to_pylist(), raw.totals["n"].tolist(), strict=True))


# --- what the first line and the policy say ----------------------------------------------------


def columns(path, form=None):
    with DuckDB({"t": str(path) if form is None else DeclaredCsv(str(path), form)}, ONE) as engine:
        return list(engine.tables()["t"])


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a,b", ["a", "b"]),
        ("a;b", ["a", "b"]),
        ("a\tb", ["a", "b"]),
        ('"a,x";b', ["a,x", "b"]),
        ("a;x,b", ["a;x", "b"]),
        ("a;x\tb", ["a;x\tb"]),
        ("a", ["a"]),
    ],
)
def test_the_first_line_alone_shows_the_separator(line, names, tmp_path):
    (tmp_path / "t.csv").write_text(f"{line}\n1,2;3\n;;,,\t\t\n")
    assert columns(tmp_path / "t.csv") == names
    (tmp_path / "t.csv").write_text(f"{line}\n")
    assert columns(tmp_path / "t.csv") == names


def test_a_declared_separator_is_used_whatever_the_ending(tmp_path):
    (tmp_path / "t.txt").write_text("a,x|b\n1|2\n")
    assert columns(tmp_path / "t.txt", CsvFormat(separator="|")) == ["a,x", "b"]
    with pytest.raises(UnreadableSource, match="unknown kind"):
        columns(tmp_path / "t.txt")


def test_files_that_show_different_separators_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1;2\n")
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UnreadableSource, match="different separators"):
        columns(tmp_path / "*.csv")


def test_letters_of_latin_1_are_read_where_they_are_declared(tmp_path):
    letters = [chr(code) for code in (*range(32, 127), *range(160, 256))]
    path = write(tmp_path / "t.csv", [letter * 3 for letter in letters], encoding="latin-1")
    latin = CsvFormat(encoding="latin-1")
    assert read(path, latin, (Type.TEXT,))[Type.TEXT] == [letter * 3 for letter in letters]
    with pytest.raises(UnreadableSource, match="not UTF-8"):
        columns(path)
    for code in (0x80, 0x9F):
        path.write_bytes(b"row,cell\n1,x" + bytes([code]) + b"\n")
        with pytest.raises(UnreadableSource, match="no letter"):
            columns(path, latin)


@pytest.mark.slow
def test_letters_of_latin_1_are_read_across_buffers(tmp_path):
    rng = random.Random(10)  # noqa: S311
    letters = [chr(code) for code in (*range(32, 127), *range(160, 256))]
    cells = ["".join(rng.choices(letters, k=rng.randrange(1, 60))) for _ in range(10**6)]
    cells[5] = "\u00e9" * (2**21 - 100)
    path = write(tmp_path / "t.csv", cells, encoding="latin-1")
    assert read(path, CsvFormat(encoding="latin-1"), (Type.TEXT,))[Type.TEXT] == cells


@pytest.mark.parametrize(
    "wrong",
    [
        {"separator": "x"},
        {"encoding": "utf-16"},
        {"decimal": ";"},
        {"thousands": "x"},
        {"dates": "DD.MM/YYYY"},
        {"dates": "DD.MM.YY"},
        {"decimal": ",", "thousands": ","},
    ],
)
def test_a_format_that_leaves_doubt_is_refused(wrong):
    with pytest.raises(WrongKind, match="format of a CSV file"):
        CsvFormat(**wrong)


# --- what a ledger charges after another reading ------------------------------------------------

TOP = 'format = 1\nunit = "patient"\n[budget]\nepsilon = 20\n[limits]\nmax_rows = 1\n'
BORN = '[tables.visits.columns]\nborn = {type = "integer", constant = true}\n'
FILE = "patient,born\na,1990\nb,1991.0\nc,1.000\n"


def spent(path):
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
        return float(ledger.left().spent[0]) / 10**24


def ask(folder, where, policy):
    with dp.open(folder / "visits.csv", policy=policy, ledger=folder / "c.ledger") as session:
        return session.ask(f"SELECT COUNT(*) AS n FROM visits WHERE {where}", epsilon=1)  # noqa: S608


def test_scopes_before_and_after_a_change_of_reading_overlap(tmp_path):
    (tmp_path / "visits.csv").write_text(FILE)
    ask(tmp_path, "born = 1991", TOP + BORN)
    ask(tmp_path, "born = 1990", TOP + BORN)
    assert spent(tmp_path / "c.ledger") == 1  # disjoint: these are different people
    ask(
        tmp_path, "born = 1000", f'{TOP}[tables.visits.csv]\ndecimal = ","\nthousands = "."\n{BORN}'
    )
    assert spent(tmp_path / "c.ledger") == 2  # perhaps the same


def test_promises_before_and_after_a_change_of_reading_overlap(tmp_path):
    (tmp_path / "visits.csv").write_text(FILE)
    same = '[same]\nborn = ["visits.born"]\n'
    ask(tmp_path, "born = 1991", TOP + same + BORN)
    ask(tmp_path, "born = 1990", TOP + same + BORN)
    assert spent(tmp_path / "c.ledger") == 1
    ask(tmp_path, "born = 1000", f'{TOP}{same}[tables.visits.csv]\nthousands = ","\n{BORN}')
    assert spent(tmp_path / "c.ledger") == 2


UNIT = 'format = 1\nunit = "patient"\n{form}[budget]\nepsilon = 20\n[limits]\nmax_rows = 1\n'
LATIN = '[tables.visits.csv]\nencoding = "latin-1"\n'


def forms_of(form):
    return UNIT.format(form=f'unit_form = "{form}"\n' if form else "")


@pytest.mark.parametrize("form", ["", "text"])
def test_people_named_in_other_letters_pay_again(form, tmp_path):
    (tmp_path / "visits.csv").write_text("patient,ward\n\u00e9,A\nb,B\n", encoding="utf-8")
    ask(tmp_path, "patient = '\u00e9'", forms_of(form))
    ask(tmp_path, "patient = 'b'", forms_of(form))
    assert spent(tmp_path / "c.ledger") == 1
    ask(tmp_path, "patient = '\u00c3\u00a9'", forms_of(form) + LATIN)  # the same bytes
    assert spent(tmp_path / "c.ledger") == 2


@pytest.mark.parametrize("form", ["", "integer"])
def test_people_named_between_other_separators_pay_again(form, tmp_path):
    (tmp_path / "visits.csv").write_text("patient;x|patient\n1;2|3\n4;5|6\n")
    kind = '[tables.visits.columns]\npatient = {type = "integer"}\n'
    policies = [
        f'{forms_of(form)}[tables.visits.csv]\nseparator = "{sign}"\n{kind}' for sign in ";|"
    ]
    ask(tmp_path, "patient = 1", policies[0])
    ask(tmp_path, "patient = 4", policies[0])
    assert spent(tmp_path / "c.ledger") == 1
    ask(tmp_path, "patient = 3", policies[1])  # in the row of patient 1
    assert spent(tmp_path / "c.ledger") == 2


@pytest.mark.parametrize("form", ["text", "integer"])
def test_files_written_differently_may_name_the_same_people(form, tmp_path):
    (tmp_path / "visits.csv").write_text("patient;ward\n1;A\n2;B\n")
    (tmp_path / "bills.csv").write_text("patient,cost\n1,7\n3,9\n")
    sources = {name: tmp_path / f"{name}.csv" for name in ("visits", "bills")}
    question = "SELECT COUNT(*) AS n FROM visits v JOIN bills b ON v.patient = b.patient"
    with dp.open(sources, policy=forms_of(form), test_mode=True) as session:
        one = "'1'" if form == "text" else "1"
        for where in ("", f" WHERE v.patient = {one}", f" WHERE b.patient = {one}"):
            assert session.ask(question + where, epsilon=10**6).rows()[0]["n"] == 1


def test_a_policy_says_how_files_are_written(tmp_path):
    (tmp_path / "visits.csv").write_bytes(
        "patient;cost;day;ward\na;1.234,5;31.12.2024;\u00e9\n".encode("latin-1")
    )
    policy = dp.plan.read_policy(
        'format = 1\nunit = "patient"\n[limits]\nmax_rows = 1\n[tables.visits.csv]\n'
        'separator = ";"\nencoding = "latin-1"\ndecimal = ","\nthousands = "."\n'
        'dates = "DD.MM.YYYY"\n[tables.visits.columns]\n'
        'cost = {type = "float", low = 0, high = 5000}\nday = {type = "date"}\n'
    )
    assert dp.plan.read_policy(policy.written()) == policy
    with dp.open(tmp_path / "visits.csv", policy=policy, test_mode=True) as session:
        question = (
            "SELECT SUM(cost) AS c FROM visits WHERE day = DATE '2024-12-31' AND ward = '\u00e9'"
        )
        assert session.ask(question, epsilon=10**6).rows()[0]["c"] == pytest.approx(1234.5, abs=1)


def test_a_name_that_cannot_be_printed_is_shown_escaped(tmp_path):
    (tmp_path / "visits.csv").write_bytes(b"patient,born\0\na,1990\n")
    with pytest.raises(BadPolicy) as refused:
        ask(tmp_path, "born = 1990", TOP + BORN)
    assert "\\x00" in str(refused.value)
    assert "\0" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('seperator = ";"', "write separator"),
        ("decimal = 5", "not a text"),
        ('dates = "DDMM"', "parts of a day"),
    ],
)
def test_a_policy_is_read_strictly(line, message):
    with pytest.raises(BadPolicy, match=message):
        dp.plan.read_policy(f'format = 1\nunit = "a"\n[tables.t.csv]\n{line}\n')


def test_a_format_of_what_is_no_file_is_refused():
    import pyarrow as pa  # noqa: PLC0415

    policy = 'format = 1\nunit = "a"\n[tables.t.csv]\ndecimal = ","\n'
    with pytest.raises(BadPolicy, match="about files"):
        dp.open({"t": pa.table({"a": [1]})}, policy=policy, test_mode=True)
