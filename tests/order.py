"""In which order tests run, and how the time that they took is told.

Each worker begins with one end of a list and takes what is left of the others' in the end.  So the
tests of Spark come first, and share one Java; the long ones come where the second of two workers
begins; and the short ones fill the gaps at the end.
"""

from collections import Counter

LONG = (
    "tests/engines/contract/test_spark_cluster.py",
    "tests/engines/contract/test_spark_connect.py",
    "tests/house/test_pages.py::test_every_code_block_runs",
    "tests/gallery/",
    "tests/accounting/",
    "tests/attacks/",
    "tests/loss/",
    "tests/release/test_reached.py",
)
"""What takes longest, by the beginnings of names; what Spark runs in this process comes before."""


def in_order(names):
    """Return the places of tests in the order in which to run them.

    >>> in_order(["a::x", "tests/loss/a::y", "b::on_spark", "c::z", "d::made[Spark]"])
    [2, 4, 1, 0, 3]
    """
    spark = [
        at
        for at, name in enumerate(names)
        if "spark" in name.casefold() and not name.startswith(LONG)
    ]
    long = [at for begin in LONG for at, name in enumerate(names) if name.startswith(begin)]
    begun = {*spark, *long}
    rest = [at for at in range(len(names)) if at not in begun]
    first = max(0, len(names) // 2 - len(spark))
    return [*spark, *rest[:first], *long, *rest[first:]]


def by_room(reports):
    """Return the lines of a table: the seconds of each room's tests, the longest first.

    >>> by_room([])
    []
    """
    seconds = Counter()
    for report in reports:
        seconds["/".join(report.nodeid.partition("::")[0].split("/")[:-1][:3])] += report.duration
    return [f"{spent:8.1f} s  {room}" for room, spent in seconds.most_common()]
