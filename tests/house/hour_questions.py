"""What somebody says of three tables in a first hour, and the thirty questions that they ask."""

from dataclasses import dataclass

ROWS, GROUPS, BOUNDS = "rows", "groups", "bounds"


@dataclass(frozen=True)
class Question:
    """A question, how its truth is computed, and which limits its footer names."""

    sql: str
    kind: str
    named: frozenset
    column: str = ""
    where: object = lambda row: True
    key: object = None
    levels: tuple = ()


def ask(sql, kind, *named, **more):
    return Question(sql, kind, frozenset(named), **more)


def steps(column, division):
    return lambda row: (None if row[column] is None else int(row[column] / division),)


SET_UP = {
    "nafld2": ("--unit=id", "--bounds=days=-8000:8000", "--bounds=value=0:500"),
    "movielens": ("--unit=userId", "--owner", "--bounds=rating=0.5:5", "--bounds=year=1900:2020"),
    "flights": (
        *("--unit=tailnum", "--max-rows=30", "--max-groups=3", "--categories=origin=EWR,JFK,LGA"),
        *("--bounds=dep_delay=-60:300", "--bounds=arr_delay=-120:300", "--bounds=hour=0:23"),
        *("--bounds=distance=0:3000", "--type=hour=integer", "--type=time_hour=timestamp"),
    ),
}
BOUNDED = {
    "nafld2": {"days": (-8000, 8000), "value": (0, 500)},
    "movielens": {"rating": (0.5, 5), "year": (1900, 2020)},
    "flights": {"dep_delay": (-60, 300), "arr_delay": (-120, 300), "distance": (0, 3000)},
}
QUESTIONS = {
    "nafld2": (
        ask("SELECT COUNT(*) AS n FROM nafld2", "count", ROWS),
        ask("SELECT COUNT(DISTINCT id) AS n FROM nafld2", "people"),
        ask(
            "SELECT test, COUNT(*) AS n FROM nafld2 GROUP BY test",
            *("count", ROWS, GROUPS),
            key=lambda row: (row["test"],),
        ),
        ask(
            "SELECT AVG(value) AS n FROM nafld2 WHERE test = 'hdl'",
            *("mean", ROWS, BOUNDS),
            column="value",
            where=lambda row: row["test"] == "hdl",
        ),
        ask("SELECT AVG(value) AS n FROM nafld2", "mean", ROWS, BOUNDS, column="value"),
        ask(
            "SELECT MEDIAN(days) AS n FROM nafld2",
            *("quantile", ROWS, BOUNDS),
            column="days",
            levels=(0.5,),
        ),
        ask(
            "SELECT APPROX_QUANTILES(value, 4) AS n FROM nafld2 WHERE test IN ('sbp', 'chol')",
            *("quantile", ROWS, BOUNDS),
            column="value",
            where=lambda row: row["test"] in {"sbp", "chol"},
            levels=(0, 0.25, 0.5, 0.75, 1),
        ),
        ask(
            "SELECT COUNT(*) AS n FROM nafld2 WHERE days < 0",
            *("count", ROWS),
            where=lambda row: row["days"] < 0,
        ),
        ask(
            "SELECT SUM(value) AS n FROM nafld2 WHERE test = 'smoke'",
            *("sum", ROWS, BOUNDS),
            column="value",
            where=lambda row: row["test"] == "smoke",
        ),
        ask(
            "SELECT DIV(days, 1000) AS d, COUNT(*) AS n FROM nafld2 GROUP BY d",
            *("count", ROWS, GROUPS),
            key=steps("days", 1000),
        ),
    ),
    "movielens": (
        ask("SELECT COUNT(*) AS n FROM movielens", "count", ROWS),
        ask("SELECT COUNT(DISTINCT userId) AS n FROM movielens", "people"),
        ask(
            "SELECT genres, COUNT(*) AS n FROM movielens GROUP BY genres",
            *("count", ROWS, GROUPS),
            key=lambda row: (row["genres"],),
        ),
        ask(
            "SELECT title, COUNT(DISTINCT userId) AS n FROM movielens GROUP BY title",
            *("people", GROUPS),
            key=lambda row: (row["title"],),
        ),
        ask("SELECT AVG(rating) AS n FROM movielens", "mean", ROWS, BOUNDS, column="rating"),
        ask(
            "SELECT MEDIAN(year) AS n FROM movielens",
            *("quantile", ROWS, BOUNDS),
            column="year",
            levels=(0.5,),
        ),
        ask(
            "SELECT MIN(year) AS low, MAX(year) AS high FROM movielens",
            *("quantile", ROWS, BOUNDS),
            column="year",
            levels=(0, 1),
        ),
        ask(
            "SELECT COUNT(year) AS n FROM movielens",
            *("count", ROWS),
            where=lambda row: row["year"] is not None,
        ),
        ask(
            "SELECT COUNT(*) AS n FROM movielens WHERE title LIKE 'Deer Hunter, The%'",
            *("count", ROWS),
            where=lambda row: (row["title"] or "").startswith("Deer Hunter, The"),
        ),
        ask(
            "SELECT SUM(rating) AS n FROM movielens WHERE year >= 1980",
            *("sum", ROWS, BOUNDS),
            column="rating",
            where=lambda row: (row["year"] or 0) >= 1980,
        ),
    ),
    "flights": (
        ask("SELECT COUNT(*) AS n FROM flights", "count", ROWS),
        ask(
            "SELECT COUNT(*) AS n FROM flights WHERE time_hour >= TIMESTAMP '2013-07-01 00:00:00'",
            *("count", ROWS),
            where=lambda row: row["time_hour"] >= "2013-07",
        ),
        ask(
            "SELECT origin, COUNT(*) AS n FROM flights GROUP BY origin",
            *("count", ROWS),
            key=lambda row: (row["origin"],),
        ),
        ask(
            "SELECT dest, COUNT(DISTINCT tailnum) AS n FROM flights GROUP BY dest",
            *("people", GROUPS),
            key=lambda row: (row["dest"],),
        ),
        ask("SELECT AVG(dep_delay) AS n FROM flights", "mean", ROWS, BOUNDS, column="dep_delay"),
        ask(
            "SELECT origin, AVG(arr_delay) AS n FROM flights GROUP BY origin",
            *("mean", ROWS, BOUNDS),
            column="arr_delay",
            key=lambda row: (row["origin"],),
        ),
        ask(
            "SELECT MEDIAN(arr_delay) AS n FROM flights",
            *("quantile", ROWS, BOUNDS),
            column="arr_delay",
            levels=(0.5,),
        ),
        ask(
            "SELECT APPROX_QUANTILES(dep_delay, 4) AS n FROM flights WHERE origin = 'JFK'",
            *("quantile", ROWS, BOUNDS),
            column="dep_delay",
            where=lambda row: row["origin"] == "JFK",
            levels=(0, 0.25, 0.5, 0.75, 1),
        ),
        ask(
            "SELECT SUM(distance) AS n FROM flights WHERE origin = 'JFK'",
            *("sum", ROWS, BOUNDS),
            column="distance",
            where=lambda row: row["origin"] == "JFK",
        ),
        ask(
            "SELECT DIV(hour, 6) AS d, COUNT(*) AS n FROM flights GROUP BY d",
            *("count", ROWS, GROUPS),
            key=steps("hour", 6),
        ),
    ),
}
