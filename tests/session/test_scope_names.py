"""Scopes of a ledger: what looks like other people and is not, adds up; what is apart, does not."""

import datetime as dt
import decimal
import random
from fractions import Fraction
from itertools import combinations

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.accounting import Box, Leaf
from discreet.accounting.box import ScopeColumn
from discreet.accounting.values import equals
from discreet.errors import BadPolicy, OtherLedger, OverBudget
from discreet.ledger import Ledger
from discreet.loss import Pure

TOP = 'format = 1\nunit = "patient"\n[budget]\nepsilon = 20\n[limits]\nmax_rows = 5\n'
CITY = '[tables.visits.columns]\ncity = {type = "text", constant = true}\n'


def spent(path):
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
        left = ledger.left()
        return Fraction(left.budget.limit[0] - left.amounts[0], 10**24)


def ask(source, where, ledger, *, policy, table="visits", epsilon=1):
    sources = source if isinstance(source, dict) else {table: source}
    with dp.open(sources, policy=policy, ledger=ledger) as session:
        question = f"SELECT COUNT(*) AS n FROM {table} WHERE {where}"  # noqa: S608
        return session.ask(question, epsilon=epsilon, confirm=True).plan.scope


def written(folder, table, stem="visits"):
    """Return a table as CSV and as Parquet."""
    files = [folder / f"{stem}.csv", folder / f"{stem}.parquet"]
    pa.csv.write_csv(table, files[0])
    pa.parquet.write_table(table, files[1])
    return files


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "clinic.ledger"


# --- what the same source keeps ---------------------------------------------------------------


def test_disjoint_scopes_of_one_table_cost_the_most_of_them_on_all_days(tmp_path, ledger):
    table = pa.table({"patient": [1, 2], "city": ["a", "b"]})
    file = written(tmp_path, table)[1]
    for city in "abc":
        ask(file, f"city = '{city}'", ledger, policy=TOP + CITY)
    assert spent(ledger) == 1


def test_names_do_not_change_with_other_tables_columns_and_bounds(tmp_path, ledger):
    table = pa.table({"patient": [1, 2], "city": ["a", "b"], "cost": [1.5, 2.5]})
    file = written(tmp_path, table)[1]
    scope = ask(file, "city = 'a'", ledger, policy=TOP + CITY)
    bounds = 'cost = {type = "float", low = 0, high = 9}\n'
    more = "[tables.bills.columns]\npaid = {type = 'boolean', constant = true}\n"
    bills = pa.table({"patient": [1], "paid": [True]})
    both = {"visits": file, "bills": bills}
    other = ask(both, "city = 'b'", ledger, policy=TOP + CITY + bounds + more)
    assert [name for name, _ in scope.conditions] == [name for name, _ in other.conditions]
    assert spent(ledger) == 1


def test_a_ledger_records_the_schemas_that_it_meets(tmp_path, ledger):
    table = pa.table({"patient": [1], "city": ["a"]})
    for file in (*written(tmp_path, table), *written(tmp_path, table)):
        rules = TOP + CITY.replace("\ncity", '\npatient = {type = "integer"}\ncity')
        ask(file, "city = 'a'", ledger, policy=rules)
    with Ledger.open(ledger) as found:
        csv, parquet = found.descriptions("schema")
    assert csv["table"] == parquet["table"] == "visits"
    assert csv["unit"] == parquet["unit"] == [["patient", "patient", ["integer"]]]
    assert csv["link"] is None
    kinds = [
        [(each["column"], each["source"], each["native"], each["read"]) for each in one["columns"]]
        for one in (csv, parquet)
    ]
    assert kinds == [
        [("patient", "csv", "text", "INTEGER of cells"), ("city", "csv", "text", "TEXT")],
        [("patient", "parquet", "int64", "INTEGER"), ("city", "parquet", "string", "TEXT")],
    ]


# --- what looks disjoint, and is not ----------------------------------------------------------


def test_an_empty_city_is_null_in_csv_and_a_text_in_parquet(tmp_path, ledger):
    csv, parquet = written(tmp_path, pa.table({"patient": [1, 2], "city": ["", "b"]}))
    typed = CITY.replace("\ncity", '\npatient = {type = "integer"}\ncity')
    ask(csv, "city IS NULL", ledger, policy=TOP + typed)
    ask(parquet, "city = ''", ledger, policy=TOP + typed)
    assert spent(ledger) == 2


def test_a_dose_is_another_number_as_a_narrow_float(tmp_path, ledger):
    rules = TOP + '[tables.visits.columns]\ndose = {type = "float", constant = true}\n'
    for kind in (pa.float32(), pa.float64()):
        dose = pa.array([0.1, 0.2]).cast(kind)
        file = tmp_path / f"{kind}.parquet"
        pa.parquet.write_table(pa.table({"patient": [1, 2], "dose": dose}), file)
        where = "dose = 0.1" if kind == pa.float64() else "NOT dose = 0.1"
        ask(file, where, ledger, policy=rules)
    assert spent(ledger) == 2


@pytest.mark.parametrize("kind", ["timestamp[s]", "timestamp[ms]", "timestamp[ns]"])
def test_moments_that_are_stored_more_coarsely_are_other_moments(tmp_path, ledger, kind):
    rules = TOP + '[tables.visits.columns]\nborn = {type = "timestamp", constant = true}\n'
    moment = pa.array([dt.datetime(1980, 1, 1, 12, 30, 1)], pa.timestamp("us"))  # noqa: DTZ001
    for each in (pa.timestamp("us"), pa.type_for_alias(kind)):
        file = tmp_path / f"{str(each)[10:12]}.parquet"
        pa.parquet.write_table(pa.table({"patient": [1], "born": moment.cast(each)}), file)
        before = each == pa.timestamp("us")
        sign = "<" if before else ">="
        ask(file, f"born {sign} TIMESTAMP '1980-01-01 12:30:01'", ledger, policy=rules)
    assert spent(ledger) == 2


def test_constant_columns_of_one_name_in_five_tables_are_five_columns(ledger):
    """Five tables lost 100 of a budget of 20: each was asked about another value of ``arm``."""
    tables = {f"t{at}": pa.table({"patient": [1, 2], "arm": [at, at]}) for at in range(5)}
    rules = TOP + "".join(
        f'[tables.{name}.columns]\narm = {{type = "integer", constant = true}}\n' for name in tables
    )
    ask(tables, "arm = 0", ledger, policy=rules, table="t0", epsilon=20)
    for at in range(1, 5):
        with pytest.raises(OverBudget):
            ask(tables, f"arm = {at}", ledger, policy=rules, table=f"t{at}", epsilon=20)
    assert spent(ledger) == 20


def test_a_text_column_cannot_spell_the_name_of_another(ledger):
    table = pa.table({"patient": [1], "age": [7], "age (integer)": ["8"]})
    rules = TOP + (
        '[tables.visits.columns]\nage = {type = "integer", constant = true}\n'
        '"age (integer)" = {type = "text", constant = true}\n'
    )
    ask(table, "age = 7", ledger, policy=rules)
    ask(table, "`age (integer)` = '8'", ledger, policy=rules)
    assert spent(ledger) == 2


def test_a_column_that_is_read_as_another_type_is_another_column(tmp_path, ledger):
    csv, _ = written(tmp_path, pa.table({"patient": ["1"], "born": ["07"]}))
    for kind, where in (("integer", "born = 7"), ("text", "born = '7'")):
        rules = TOP + f'[tables.visits.columns]\nborn = {{type = "{kind}", constant = true}}\n'
        ask(csv, where, ledger, policy=rules)
    assert spent(ledger) == 2


KINDS = {
    "object": pd.Series(["1", "2"], dtype=object),
    "mixed": pd.Series(["1", 2], dtype=object),
    "string": pd.Series(["1", "2"], dtype="string"),
    "category": pd.Series(["1", "2"], dtype="category"),
    "numbers in categories": pd.Series([1, 2], dtype="category"),
    "int8": pd.Series([1, 2], dtype="int8"),
    "int64": pd.Series([1, 2], dtype="int64"),
    "Int64": pd.Series([1, None], dtype="Int64"),
    "uint64": pd.Series([1, 2**63], dtype="uint64"),
    "float32": pd.Series([0.1, 2], dtype="float32"),
    "float64": pd.Series([0.1, None], dtype="float64"),
    "bool": pd.Series([True, False]),
    "boolean": pd.Series([True, None], dtype="boolean"),
    "datetime ns": pd.Series(pd.to_datetime(["1980-01-01", None]).astype("datetime64[ns]")),
    "datetime s": pd.Series(pd.to_datetime(["1980-01-01", None]).astype("datetime64[s]")),
    "decimal": pd.Series([decimal.Decimal("0.1"), None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_pandas_column_and_its_parquet_file_never_look_disjoint(tmp_path, kind):
    frame = pd.DataFrame({"patient": [1, 2], "x": KINDS[kind]})
    sources = [frame, tmp_path / "t.parquet"]
    if kind != "mixed":  # which no file can hold
        frame.to_parquet(sources[1])
    boxes = []
    for source in sources if kind != "mixed" else sources[:1]:
        with dp.open({"t": source}, unit=dp.row(), test_mode=True) as session:
            for where in ("x IS NULL", "NOT x IS NULL"):
                question = f"SELECT COUNT(*) AS n FROM t WHERE {where}"  # noqa: S608
                boxes.append(session.plan(question, epsilon=1).scope)
    assert boxes[0].disjoint(boxes[1])
    assert not any(one.disjoint(other) for one in boxes[:2] for other in boxes[2:])


def test_kinds_of_pandas_columns_have_names_of_their_own():
    names = []
    for series in KINDS.values():
        with dp.open({"t": pd.DataFrame({"x": series})}, unit=dp.row(), test_mode=True) as session:
            scope = session.plan("SELECT COUNT(*) AS n FROM t WHERE x IS NULL", epsilon=1).scope
            names.append(scope.conditions[0][0])
    alike = {
        frozenset((one, other))
        for one, other in combinations(KINDS, 2)
        if names[list(KINDS).index(one)] == names[list(KINDS).index(other)]
    }
    assert alike == {frozenset({"object", "mixed"})}  # one dtype, and read in one way


CITIES = ["", "a", "b", None]
WHERE = {
    "city = ''": lambda city: city == "",
    "city IS NULL": lambda city: city is None,
    "city = 'a'": lambda city: city == "a",
    "NOT city = 'a'": lambda city: city is not None and city != "a",
    "city IN ('', 'b')": lambda city: city in {"", "b"},
}


@pytest.mark.parametrize("seed", range(6))
def test_nobody_pays_for_less_than_was_asked_about_them(tmp_path, ledger, seed):
    """Random questions to random formats: the total covers what each person took part in."""
    draw = random.Random(seed)  # noqa: S311
    table = pa.table({"patient": [1, 2, 3, 4], "city": CITIES})
    csv, parquet = written(tmp_path, table)
    frame = table.to_pandas()
    rules = TOP + CITY.replace("\ncity", '\npatient = {type = "integer"}\ncity')
    asked = [0] * len(CITIES)
    prices = ["0.5", "0.75", "1", "1.25", "1.5", "1.75"]  # so that none is answered again
    for price in prices:
        source, where = draw.choice([csv, parquet, frame]), draw.choice(list(WHERE))
        for at, city in enumerate(CITIES):
            read = None if source is csv and not city else city
            asked[at] += Fraction(price) * WHERE[where](read)
        ask(source, where, ledger, policy=rules, epsilon=price)
    assert max(asked) <= spent(ledger) <= sum(map(Fraction, prices))


# --- what the owner promises ------------------------------------------------------------------

SAME = """
[same]
city = ["visits.city", "patients.city"]
[tables.visits.columns]
patient = {type = "integer"}
city = {type = "text", constant = true}
[tables.patients.columns]
patient = {type = "integer"}
city = {type = "text", constant = true}
"""


def test_columns_that_are_promised_to_be_the_same_are_one(tmp_path, ledger):
    table = pa.table({"patient": [1, 2], "city": ["a", "b"]})
    csv, parquet = written(tmp_path, table)
    for city, sources in (
        ("a", {"visits": csv, "patients": csv}),
        ("b", {"visits": parquet, "patients": parquet}),
        ("c", {"visits": csv, "patients": parquet}),
    ):
        ask(sources, f"city = '{city}'", ledger, policy=TOP + SAME)
        ask(sources, f"city = '{city}x'", ledger, policy=TOP + SAME, table="patients")
    assert spent(ledger) == 1


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (pa.float32(), pa.float64(), "float"),
        (pa.float64(), pa.float64(), "float"),
        (pa.decimal128(9, 2), pa.decimal128(9, 2), "float"),
        (pa.timestamp("ms"), pa.timestamp("us"), "timestamp"),
        (pa.timestamp("us"), pa.timestamp("us"), "timestamp"),
        (pa.int64(), pa.string(), "integer"),
        (pa.date32(), pa.string(), "date"),
    ],
)
def test_columns_that_are_stored_in_two_ways_or_rounded_are_never_one(one, other, kind):
    values = {"visits": pa.array([None], one), "patients": pa.array([None], other)}
    tables = {name: pa.table({"patient": [1], "city": each}) for name, each in values.items()}
    with pytest.raises(BadPolicy, match="same"):
        dp.open(tables, policy=TOP + SAME.replace('"text"', f'"{kind}"'), test_mode=True)


YEARS = """
[tables.visits.columns]
born = {type = "integer", constant = true}
entered = {type = "integer", constant = true}
[same]
year = ["visits.COLUMN"]
"""


def test_a_label_that_is_moved_to_another_column_is_another_name(ledger):
    """A budget was spent twice: born before 2000 and entered after it looked disjoint."""
    table = pa.table({"patient": [1, 2], "born": [1950, 1960], "entered": [2020, 2021]})
    for column, where in (("born", "born < 2000"), ("entered", "entered >= 2000")):
        ask(table, where, ledger, policy=TOP + YEARS.replace("COLUMN", column))
    assert spent(ledger) == 2
    ask(table, "born >= 2000", ledger, policy=TOP + YEARS.replace("COLUMN", "born"))
    assert spent(ledger) == 2


def test_a_longer_list_is_another_name(ledger):
    table = pa.table({"patient": [1, 2], "city": ["a", "b"]})
    sources = {"visits": table, "patients": table}
    ask(sources, "city = 'a'", ledger, policy=TOP + SAME)
    alone = SAME.replace(', "patients.city"', "")
    ask(sources, "city = 'b'", ledger, policy=TOP + alone)
    assert spent(ledger) == 2


def test_a_list_is_the_same_where_some_of_its_tables_are_opened(ledger):
    table = pa.table({"patient": [1, 2], "city": ["a", "b"]})
    ask({"visits": table, "patients": table}, "city = 'a'", ledger, policy=TOP + SAME)
    ask({"visits": table}, "city = 'b'", ledger, policy=TOP + SAME)
    assert spent(ledger) == 1


def test_rows_have_nothing_in_common():
    tables = dict.fromkeys(("visits", "patients"), pa.table({"patient": [1], "city": ["a"]}))
    rules = TOP.replace('"patient"', '"row"') + SAME
    with pytest.raises(BadPolicy):
        dp.open(tables, policy=rules, test_mode=True)


# --- ledgers of before ------------------------------------------------------------------------


def test_plain_names_of_old_ledgers_overlap_everything(ledger):
    """A ledger that was made with glued names opens, and its charges add up with new ones."""
    old = Ledger.open(
        ledger, unit=dp.person("patient"), budget=dp.Budget(epsilon=20), constant=["city"]
    )
    with old:
        for city in "ab":
            old.charge(
                Leaf(Pure(epsilon=1), unit=old.unit), scope=Box({"city": equals(city)}), key=city
            )
    assert spent(ledger) == 1
    table = pa.table({"patient": [1, 2], "city": ["a", "b"]})
    for city in "ab":
        ask(table, f"city = '{city}'", ledger, policy=TOP + CITY)
    assert spent(ledger) == 2


def test_a_name_that_no_description_calls_shared_makes_nothing_disjoint(ledger):
    table = pa.table({"patient": [1, 2], "city": ["a", "b"]})
    ask(table, "city = 'a'", ledger, policy=TOP + CITY)
    made_up = ScopeColumn("0" * 64, "visits", "city").name
    with Ledger.open(ledger) as found:
        for city in "ab":
            leaf = Leaf(Pure(epsilon=1), unit=found.unit)
            found.charge(leaf, scope=Box({made_up: equals(city)}), key=city)
    assert spent(ledger) == 3


def test_a_table_that_was_recorded_with_another_unit_is_refused(ledger):
    table = pa.table({"caller": [1, 2], "call": [3, 4]})
    rules = TOP + '[tables.calls]\nunit = ["{}"]\n'
    ask({"calls": table}, "1 = 1", ledger, policy=rules.format("caller"), table="calls")
    with pytest.raises(OtherLedger, match="calls"):
        dp.open({"calls": table}, policy=rules.format("call"), ledger=ledger)
    renamed = table.rename_columns(["who", "call"])
    ask({"calls": renamed}, "2 = 2", ledger, policy=rules.format("who"), table="calls")


# --- ways to the unit -------------------------------------------------------------------------

LINES = """
[tables.lines]
link = {column = "order", parent = "orders", key = "number"}
[tables.lines.columns]
x = {type = "integer", constant = true}
"""
PATIENTS = '[tables.patients]\nkey = ["patient"]\n'
ORDERS = '[tables.orders]\nkey = ["number"]\n'
LINKED = 'link = {{column = "{}", parent = "patients", key = "patient"}}\n'
BOTH = pa.table({"number": [1, 2, 3, 4], "buyer": [1, 2, 8, 9], "payer": [8, 9, 1, 2]})


def shop(orders=BOTH):
    """Return tables in which everybody buys an order with x = 1, and pays for one with x = 2."""
    return {
        "orders": orders,
        "lines": pa.table({"order": [1, 2, 3, 4], "x": [1, 1, 2, 2]}),
        "patients": pa.table({"patient": [1, 2, 8, 9]}),
    }


def linked(column):
    return TOP + PATIENTS + ORDERS + LINKED.format(column) + LINES


def owned(column):
    return TOP + PATIENTS + ORDERS + f'unit = ["{column}"]\n' + LINES


@pytest.mark.parametrize("before", [linked("buyer"), owned("buyer")])
@pytest.mark.parametrize("now", [linked("payer"), owned("payer")])
def test_a_table_on_the_way_cannot_find_its_unit_otherwise(ledger, before, now):
    """Everybody lost two by questions that were charged to different people."""
    ask(shop(), "x = 1", ledger, policy=before, table="lines")
    with pytest.raises(OtherLedger, match="orders"):
        dp.open(shop(), policy=now, ledger=ledger)
    ask(shop(), "x = 2", ledger, policy=before, table="lines")
    assert spent(ledger) == 1


@pytest.mark.parametrize("rules", [linked, owned])
@pytest.mark.parametrize("label", ["", '[same]\nx = ["lines.x"]\n'])
def test_what_the_way_to_the_unit_was_makes_other_names(ledger, rules, label):
    for column, x in (("buyer", 1), ("payer", 2)):
        sources = shop(BOTH.select(["number", column]))
        ask(sources, f"x = {x}", ledger, policy=rules(column) + label, table="lines")
    assert spent(ledger) == 2


def test_a_way_that_is_stored_otherwise_makes_other_names(tmp_path, ledger):
    whole = '[tables.orders.columns]\nnumber = {type = "integer"}\nbuyer = {type = "integer"}\n'
    bought = BOTH.select(["number", "buyer"])
    for orders, x in zip(written(tmp_path, bought, "orders"), (1, 2), strict=True):
        ask(shop(orders), f"x = {x}", ledger, policy=linked("buyer") + whole, table="lines")
    assert spent(ledger) == 2


def test_a_pointer_to_the_unit_names_it_too(ledger):
    """Whether orders link to their buyer or name it, they are the same people's."""
    for rules, x in ((linked("buyer"), 1), (owned("buyer"), 2), (linked("buyer"), 3)):
        ask(shop(), f"x = {x}", ledger, policy=rules, table="lines")
    assert spent(ledger) == 2


def test_another_parent_or_key_is_another_way(ledger):
    ask(shop(), "x = 1", ledger, policy=linked("buyer"), table="lines")
    other = linked("buyer").replace("orders", "stays")
    sources = {name.replace("orders", "stays"): table for name, table in shop().items()}
    with pytest.raises(OtherLedger, match="lines"):
        dp.open(sources, policy=other, ledger=ledger)
    orders = BOTH.append_column("id", pa.array([4, 3, 2, 1]))
    keyed = linked("buyer").replace('"number"', '"id"')
    with pytest.raises(OtherLedger, match="lines"):
        dp.open(shop(orders), policy=keyed, ledger=ledger)
    renamed = orders.select(["id", "buyer"])
    ask(shop(renamed), "x = 2", ledger, policy=keyed, table="lines")
    assert spent(ledger) == 2


@pytest.mark.parametrize(("column", "good"), [("buyer", True), ("payer", False)])
def test_links_that_were_recorded_without_the_way_are_compared(ledger, column, good):
    with Ledger.open(ledger, unit=dp.person("patient"), budget=dp.Budget(epsilon=20)) as found:
        link = ["buyer", "patients", "patient"]
        found.describe("schema", {"table": "orders", "unit": [], "link": link, "columns": []})
    if good:
        dp.open(shop(), policy=linked(column), ledger=ledger).close()
    else:
        with pytest.raises(OtherLedger, match="orders"):
            dp.open(shop(), policy=linked(column), ledger=ledger)


# --- databases --------------------------------------------------------------------------------


def test_an_enumeration_is_described_without_its_values(tmp_path, ledger):
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE visits (patient INTEGER, city ENUM ('secret', 'b'))")
        database.execute("INSERT INTO visits VALUES (1, 'b')")
    ask(path, "city = 'b'", ledger, policy=TOP + CITY)
    with Ledger.open(ledger) as found:
        assert "secret" not in str(found.descriptions("schema"))
