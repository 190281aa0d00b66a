"""The eight tables of TPC-H, tiny: right columns and domains, and rows for every query to find.

The columns, their meanings and the lists of words are those of the TPC-H specification, revision 3,
section 4.2.  Which value a row has is our own: numbers follow from a fixed recurrence, and some
are drawn from few values, so that conditions of the queries hold for some rows of a tiny table.
"""

from datetime import date, timedelta

import pyarrow as pa

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
NATIONS = [
    *(("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4)),
    *(("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2)),
    *(("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0)),
    *(("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4)),
    *(("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1)),
]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "AIR REG", "FOB", "MAIL", "RAIL", "SHIP", "TRUCK"]
INSTRUCTIONS = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
COLORS = ["almond", "forest", "green", "ivory", "lemon"]
TYPES = [
    *("ECONOMY ANODIZED STEEL", "PROMO BURNISHED COPPER", "MEDIUM POLISHED BRASS"),
    *("SMALL PLATED BRASS", "STANDARD BRUSHED TIN"),
]
CONTAINERS = ["SM CASE", "SM BOX", "MED BAG", "MED BOX", "LG CASE", "LG PACK", "JUMBO JAR"]
BRANDS = ["Brand#12", "Brand#23", "Brand#34", "Brand#45", "Brand#51"]
COUNTED = {"supplier": 10, "part": 40, "customer": 50, "orders": 300}
TODAY = date(1995, 6, 17)


class Draws:
    """Whole numbers that follow from one another, the same in every run (a Lehmer generator)."""

    def __init__(self, seed):
        self.state = seed

    def __call__(self, low, high):
        """Return the next number from low to high."""
        self.state = self.state * 48_271 % (2**31 - 1)
        return low + self.state % (high - low + 1)

    def of(self, values):
        """Return one of some values."""
        return values[self(0, len(values) - 1)]

    def money(self, low, high):
        """Return an amount with two decimals."""
        return self(100 * low, 100 * high) / 100

    def day(self):
        """Return a day on which orders come in."""
        return date(1992, 1, 1) + timedelta(days=self(0, 2405))


def tables(seed=24):
    """Return all tables by name."""
    draw = Draws(seed)
    suppliers, parts = range(1, COUNTED["supplier"] + 1), range(1, COUNTED["part"] + 1)
    rows = {
        "region": [
            {"r_regionkey": key, "r_name": name, "r_comment": "quickly"}
            for key, name in enumerate(REGIONS)
        ],
        "nation": [
            {"n_nationkey": key, "n_name": name, "n_regionkey": region, "n_comment": "furiously"}
            for key, (name, region) in enumerate(NATIONS)
        ],
        "supplier": [_supplier(draw, key) for key in suppliers],
        "part": [_part(draw, key) for key in parts],
        "partsupp": [
            {
                "ps_partkey": part,
                "ps_suppkey": (part + 3 * step) % COUNTED["supplier"] + 1,
                "ps_availqty": draw(1, 9999),
                "ps_supplycost": draw.money(1, 1000),
                "ps_comment": "carefully",
            }
            for part in parts
            for step in range(3)
        ],
        "customer": [_customer(draw, key) for key in range(1, COUNTED["customer"] + 1)],
        "orders": [],
        "lineitem": [],
    }
    costs = {row["p_partkey"]: row["p_retailprice"] for row in rows["part"]}
    supplied = [(row["ps_partkey"], row["ps_suppkey"]) for row in rows["partsupp"]]
    for number in range(1, COUNTED["orders"] + 1):
        order, lines = _order(draw, number, supplied, costs)
        rows["orders"].append(order)
        rows["lineitem"] += lines
    return {name: pa.Table.from_pylist(each) for name, each in rows.items()}


def _supplier(draw, key):
    nation = draw.of([2, 6, 7, 8, 20])
    return {
        "s_suppkey": key,
        "s_name": f"Supplier#{key:09}",
        "s_address": f"street {key}",
        "s_nationkey": nation,
        "s_phone": f"{nation + 10}-555-{key:04}",
        "s_acctbal": draw.money(-999, 9999),
        "s_comment": "sly Customer heard Complaints" if key % 7 == 0 else "bold deposits",
    }


def _part(draw, key):
    return {
        "p_partkey": key,
        "p_name": f"{draw.of(COLORS)} {draw.of(COLORS)}",
        "p_mfgr": f"Manufacturer#{draw(1, 5)}",
        "p_brand": draw.of(BRANDS),
        "p_type": draw.of(TYPES),
        "p_size": draw(1, 15),
        "p_container": draw.of(CONTAINERS),
        "p_retailprice": 900 + key % 100 + 0.01 * key,
        "p_comment": "final",
    }


def _customer(draw, key):
    nation = draw.of([2, 6, 7, 8, 12])
    return {
        "c_custkey": key,
        "c_name": f"Customer#{key:09}",
        "c_address": f"road {key}",
        "c_nationkey": nation,
        "c_phone": f"{nation + 10}-444-{key:04}",
        "c_acctbal": draw.money(-999, 9999),
        "c_mktsegment": draw.of(SEGMENTS),
        "c_comment": "ironic requests",
    }


def _order(draw, number, supplied, costs):
    """Return an order, and its lines; customers whose key is a multiple of 3 have none."""
    key = 32 * (number // 8) + number % 8
    customer = draw(1, COUNTED["customer"])
    customer += customer % 3 == 0
    ordered = draw.day()
    lines = [
        _line(draw, (key, place), ordered, supplied, costs) for place in range(1, draw(1, 7) + 1)
    ]
    states = {line["l_linestatus"] for line in lines}
    total = sum(
        line["l_extendedprice"] * (1 + line["l_tax"]) * (1 - line["l_discount"]) for line in lines
    )
    special = "blithely special packages haggle requests"
    return {
        "o_orderkey": key,
        "o_custkey": customer,
        "o_orderstatus": states.pop() if len(states) == 1 else "P",
        "o_totalprice": round(total, 2),
        "o_orderdate": ordered,
        "o_orderpriority": draw.of(PRIORITIES),
        "o_clerk": f"Clerk#{draw(1, 9):09}",
        "o_shippriority": 0,
        "o_comment": special if draw(0, 3) == 0 else "ideas",
    }, lines


def _line(draw, number, ordered, supplied, costs):
    key, place = number
    part, supplier = draw.of(supplied)
    shipped = ordered + timedelta(days=draw(1, 121))
    received = shipped + timedelta(days=draw(1, 30))
    quantity = draw.of([draw(1, 50), draw(1, 20), 50])
    return {
        "l_orderkey": key,
        "l_partkey": part,
        "l_suppkey": supplier,
        "l_linenumber": place,
        "l_quantity": float(quantity),
        "l_extendedprice": round(quantity * costs[part], 2),
        "l_discount": draw(0, 10) / 100,
        "l_tax": draw(0, 8) / 100,
        "l_returnflag": draw.of("AR") if received <= TODAY else "N",
        "l_linestatus": "O" if shipped > TODAY else "F",
        "l_shipdate": shipped,
        "l_commitdate": ordered + timedelta(days=draw(30, 90)),
        "l_receiptdate": received,
        "l_shipinstruct": draw.of(INSTRUCTIONS),
        "l_shipmode": draw.of(MODES),
        "l_comment": "pending",
    }


POLICY = """
format = 1
unit = "custkey"
[limits]
max_groups = 1000
max_rows = 1000

[tables.customer]
unit = ["c_custkey"]
key = ["c_custkey"]
[tables.customer.columns]
c_custkey = {type = "integer", nullable = false}
c_acctbal = {type = "float", low = -1000, high = 10000, nullable = false}
c_mktsegment = {type = "text", categories = [
  "AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]}

[tables.orders]
unit = ["o_custkey"]
key = ["o_orderkey"]
[tables.orders.columns]
o_orderkey = {type = "integer", nullable = false}
o_custkey = {type = "integer", nullable = false}
o_totalprice = {type = "float", low = 0, high = 600000, nullable = false}
o_orderpriority = {type = "text", nullable = false, categories = [
  "1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]}

[tables.lineitem]
link = {column = "l_orderkey", parent = "orders", key = "o_orderkey"}
[tables.lineitem.columns]
l_orderkey = {type = "integer", nullable = false}
l_quantity = {type = "float", low = 0, high = 50, nullable = false}
l_extendedprice = {type = "float", low = 0, high = 110000, nullable = false}
l_discount = {type = "float", low = 0, high = "0.1", nullable = false}
l_tax = {type = "float", low = 0, high = "0.08", nullable = false}
l_returnflag = {type = "text", nullable = false, categories = ["A", "N", "R"]}
l_linestatus = {type = "text", nullable = false, categories = ["F", "O"]}

[tables.nation]
public = true
key = ["n_nationkey"]
[tables.region]
public = true
key = ["r_regionkey"]
[tables.part]
public = true
key = ["p_partkey"]
[tables.supplier]
public = true
key = ["s_suppkey"]
[tables.partsupp]
public = true
key = ["ps_partkey", "ps_suppkey"]
[tables.partsupp.columns]
ps_supplycost = {type = "float", low = 1, high = 1000, nullable = false}
"""
