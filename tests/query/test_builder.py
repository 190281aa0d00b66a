"""The table builder makes the same questions as SQL."""

from fractions import Fraction

import pytest

from discreet.errors import DiscreetError, NotExact, OutOfRange, QuestionError, WrongKind
from discreet.query import Asked, Rows, canonical, read, subquery, table

VISITS = table("visits")

PAIRS = {
    "a count": (VISITS.count(), "SELECT COUNT(*) FROM visits"),
    "a count of values": (VISITS.count("age", name="n"), "SELECT COUNT(age) AS n FROM visits"),
    "people": (VISITS.count_distinct("id"), "SELECT COUNT(DISTINCT id) FROM visits"),
    "a sum": (
        VISITS.sum("cost", bounds=(0, 0.5)),
        "SELECT SUM(cost, contribution_bounds_per_row => (0, 0.5)) FROM visits",
    ),
    "a mean": (VISITS.mean("cost", name="m"), "SELECT AVG(cost) AS m FROM visits"),
    "a median": (VISITS.median("cost"), "SELECT MEDIAN(cost) FROM visits"),
    "a variance": (VISITS.variance("cost"), "SELECT VARIANCE(cost) FROM visits"),
    "a deviation": (VISITS.stddev("cost"), "SELECT STDDEV(cost) FROM visits"),
    "a lowest value": (VISITS.min("cost", name="m"), "SELECT MIN(cost) AS m FROM visits"),
    "a highest value": (VISITS.max("cost", name="m"), "SELECT MAX(cost) AS m FROM visits"),
    "a percentile": (
        VISITS.percentile("cost", 0.9, name="p"),
        "SELECT PERCENTILE_CONT(cost, 0.9) AS p FROM visits",
    ),
    "quantiles": (
        VISITS.quantiles("cost", 4, name="q"),
        "SELECT APPROX_QUANTILES(cost, 4) AS q FROM visits",
    ),
    "where": (
        VISITS.where("age >= 18").where("paid AND ward = 'A'").count(),
        "SELECT COUNT(*) FROM visits WHERE age >= 18 AND paid AND ward = 'A'",
    ),
    "groups": (
        VISITS.group_by("ward", decade="DIV(age, 10)").count(name="n"),
        "SELECT ward, DIV(age, 10) AS decade, COUNT(*) AS n FROM visits GROUP BY ward, decade",
    ),
    "names in the text": (
        VISITS.group_by("LOWER(ward) AS w").count(),
        "SELECT LOWER(ward) AS w, COUNT(*) FROM visits GROUP BY w",
    ),
    "every aggregate": (
        VISITS.group_by()
        .count(where="paid", bounds_per_group=(0, 3), epsilon="0.1")
        .count_distinct("id", bounds_per_group=(0, 1))
        .sum("cost", bounds_per_group=(0, 10))
        .mean("cost", bounds=(0, 10), epsilon=0.2)
        .variance("cost", bounds=(0, 10))
        .stddev("cost", bounds=(0, 10))
        .min("cost", bounds=(0, 10))
        .max("cost", bounds=(0, 10))
        .median("cost", bounds=(0, 10))
        .percentile("cost", 0.9, bounds=(0, 10), name="p")
        .quantiles("cost", 4, bounds=(0, 10))
        .mode("ward", where="paid", epsilon="0.1"),
        """SELECT
          COUNT(*, contribution_bounds_per_group => (0, 3), epsilon => 0.1) FILTER (WHERE paid),
          COUNT(DISTINCT id, contribution_bounds_per_group => (0, 1)),
          SUM(cost, contribution_bounds_per_group => (0, 10)),
          AVG(cost, contribution_bounds_per_row => (0, 10), epsilon => 0.2),
          VARIANCE(cost, contribution_bounds_per_row => (0, 10)),
          STDDEV(cost, contribution_bounds_per_row => (0, 10)),
          MIN(cost, contribution_bounds_per_row => (0, 10)),
          MAX(cost, contribution_bounds_per_row => (0, 10)),
          MEDIAN(cost, contribution_bounds_per_row => (0, 10)),
          PERCENTILE_CONT(cost, 0.9, contribution_bounds_per_row => (0, 10)) AS p,
          APPROX_QUANTILES(cost, 4, contribution_bounds_per_row => (0, 10)),
          MODE(ward, epsilon => 0.1) FILTER (WHERE paid)
        FROM visits""",
    ),
    "what is released": (
        VISITS.group_by("ward")
        .count(name="n")
        .show("SUM(cost) / COUNT(*) AS mean", half="COUNT(*) / 2")
        .having("n > 10")
        .order_by("n DESC", "ward")
        .limit(5),
        """SELECT ward, COUNT(*) AS n, SUM(cost) / COUNT(*) AS mean, COUNT(*) / 2 AS half
        FROM visits GROUP BY ward HAVING n > 10 ORDER BY n DESC, ward LIMIT 5""",
    ),
    "the clause": (
        VISITS.count().options(
            epsilon=0.1, delta="1e-6", max_groups_contributed=2, privacy_unit_column="id"
        ),
        """SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1, delta = 1e-6,
        max_groups_contributed = 2, privacy_unit_column = id) COUNT(*) FROM visits""",
    ),
    "columns": (
        VISITS.where("paid").select("id", "ward AS w", next="age + 1").count(),
        "SELECT COUNT(*) FROM (SELECT id, ward AS w, age + 1 AS next FROM visits WHERE paid)",
    ),
    "all columns": (
        VISITS.select("*", twice="age * 2").count(),
        "SELECT COUNT(*) FROM (SELECT *, age * 2 AS twice FROM visits)",
    ),
    "windows": (
        VISITS.select("*", place="ROW_NUMBER() OVER (PARTITION BY id ORDER BY day)")
        .where("place = 1")
        .count(),
        """SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY day) AS place
        FROM visits) WHERE place = 1""",
    ),
    "distinct": (
        VISITS.select("id", "ward").distinct().group_by("ward").count(),
        """SELECT ward, COUNT(*) FROM (SELECT DISTINCT * FROM (SELECT id, ward FROM visits))
        GROUP BY ward""",
    ),
    "one row for each person": (
        VISITS.per("id", "ward", n="COUNT(*)", cost="AVG(cost)").group_by("ward").mean("n"),
        """SELECT ward, AVG(n) FROM (SELECT id, ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits
        GROUP BY id, ward) GROUP BY ward""",
    ),
    "joins": (
        VISITS.alias("v")
        .join(table("wards").alias("w"), on="v.ward = w.ward", kind="left")
        .group_by("w.region")
        .count(),
        """SELECT w.region, COUNT(*) FROM visits AS v LEFT JOIN wards AS w ON v.ward = w.ward
        GROUP BY w.region""",
    ),
    "joins on shared names": (
        VISITS.join(table("wards"), using="ward").count(),
        "SELECT COUNT(*) FROM visits JOIN wards USING (ward)",
    ),
    "joins of filtered rows": (
        VISITS.where("paid").alias("v").join(table("wards"), using=("ward", "year")).count(),
        """SELECT COUNT(*) FROM (SELECT * FROM visits WHERE paid) AS v
        JOIN wards USING (ward, year)""",
    ),
    "cross joins": (
        VISITS.join(table("wards"), kind="cross").count(),
        "SELECT COUNT(*) FROM visits, wards",
    ),
    "unions": (
        VISITS.select("id").union_all(table("a").select("id"), table("b").select("id")).count(),
        """SELECT COUNT(*) FROM (SELECT id FROM visits UNION ALL SELECT id FROM a
        UNION ALL SELECT id FROM b)""",
    ),
    "public groups": (
        VISITS.alias("v")
        .join(
            subquery("SELECT DISTINCT ward FROM wards").alias("w"),
            on="v.ward = w.ward",
            kind="right",
        )
        .group_by("w.ward")
        .count(),
        """SELECT w.ward, COUNT(*) FROM visits AS v RIGHT JOIN (SELECT DISTINCT ward FROM wards)
        AS w ON v.ward = w.ward GROUP BY w.ward""",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_question_as_in_sql(name):
    asked, sql = PAIRS[name]
    assert asked.question() == read(sql)
    assert canonical(asked.question()) == canonical(read(sql))


REFUSED = {
    "rows": lambda: VISITS.group_by().question(),
    "no table": lambda: table(""),
    "no name": lambda: table(3),
    "no sql": lambda: VISITS.where("age >"),
    "more than an expression": lambda: VISITS.where("age > 1 GROUP BY ward"),
    "an aggregate in a condition": lambda: VISITS.where("COUNT(*) > 1").count().question(),
    "a window in a condition": lambda: VISITS.where("RANK() OVER () = 1").count().question(),
    "a subquery": lambda: VISITS.where("age > (SELECT 1 FROM t)"),
    "bounds inside out": lambda: VISITS.sum("cost", bounds=(1, 0)),
    "one bound": lambda: VISITS.sum("cost", bounds=(1,)),
    "bounds that are not numbers": lambda: VISITS.sum("cost", bounds=("a", "b")),
    "endless bounds": lambda: VISITS.sum("cost", bounds=(0, float("inf"))),
    "no price": lambda: VISITS.group_by().count(epsilon=0),
    "a fraction above one": lambda: VISITS.group_by().percentile("cost", 50),
    "no quantiles": lambda: VISITS.group_by().quantiles("cost", 0),
    "a limit below zero": lambda: VISITS.count().limit(-1),
    "a half limit": lambda: VISITS.count().limit(0.5),
    "an unknown option": lambda: VISITS.count().options(kappa=3),
    "an option with more behind it": lambda: VISITS.count().options(epsilon="1, delta = 0.5"),
    "an option that is nothing": lambda: VISITS.count().options(epsilon=None),
    "two prices": lambda: VISITS.count().options(epsilon=1, rho=1),
    "a join without a condition": lambda: VISITS.join(VISITS),
    "a join with two": lambda: VISITS.join(VISITS, on="a = b", using="c"),
    "a cross join with one": lambda: VISITS.join(VISITS, on="a = b", kind="cross"),
    "an unknown join": lambda: VISITS.join(VISITS, on="a = b", kind="anti"),
    "an aggregate in a join": lambda: VISITS.join(VISITS, on="COUNT(*) = 1"),
    "a limit in a subquery": lambda: subquery("SELECT a FROM t LIMIT 3"),
    "an unknown key": lambda: VISITS.group_by("ward").show("cost").question(),
    "two columns of one name": lambda: VISITS.count(name="n").count(name="N").question(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(DiscreetError) as caught:
        REFUSED[name]()
    assert isinstance(caught.value, QuestionError | WrongKind | OutOfRange | NotExact)


def test_nothing_changes_behind_ones_back():
    before = VISITS.where("paid")
    before.where("age > 1")
    asked = before.count()
    asked.count("age")
    assert asked.question() == read("SELECT COUNT(*) FROM visits WHERE paid")
    assert isinstance(before, Rows)
    assert isinstance(asked, Asked)


def test_floats_stand_for_their_decimals():
    bounds = VISITS.sum("cost", bounds=(0.1, 0.3)).question().outputs[0][1].bounds_per_row
    assert bounds == (Fraction(1, 10), Fraction(3, 10))


@pytest.mark.parametrize("other", ["visits", 5, None, VISITS.count()])
def test_only_rows_are_put_beside_or_below_rows(other):
    with pytest.raises(WrongKind, match="holds no rows"):
        VISITS.join(other, using="patient")
    with pytest.raises(WrongKind, match="holds no rows"):
        VISITS.union_all(other)


@pytest.mark.parametrize("using", [5, None, {"patient": 1}])
def test_columns_that_a_join_uses_are_names(using):
    with pytest.raises(WrongKind, match="a join has no kind"):
        VISITS.join(VISITS, using=using)


def test_the_mode_of_all_rows():
    assert VISITS.mode("ward").question() == VISITS.group_by().mode("ward").question()
