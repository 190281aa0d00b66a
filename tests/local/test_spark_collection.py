"""Reports in a data frame of Spark are counted by its tasks, as a collector counts them here."""

import pyarrow as pa
import pytest

from discreet.errors import WrongKind
from discreet.local import Domain, Form, Hadamard, Unary, collect_frame
from discreet.local.reports.spark_collection import add_cells
from tests.servers.spark import local_session

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
FORM = Form(Domain(range(20)), Hadamard(epsilon=1, values=20))


def cells_of(form):
    """Reports, a batch, a stream, and what is none of them."""
    client = form.client()
    singles = [client.report(value % 20) for value in range(300)]
    other = Form(form.domain, Unary(epsilon=1, values=20)).client().report(3)
    return [
        *singles,
        client.batch([1] * 50),
        client.report_each([2] * 7),
        other,
        b"junk",
        b"",
        None,
    ]


def test_tasks_count_what_a_collector_counts():
    cells = cells_of(FORM)
    session = local_session()
    schema = "at int, report binary"
    rows = [(place, None if cell is None else bytearray(cell)) for place, cell in enumerate(cells)]
    frame = session.createDataFrame(rows, schema).repartition(3)
    collector = collect_frame(FORM, frame)
    here = FORM.collector()
    here.add_many(cell or b"\0" for cell in cells)
    assert collector.reports == here.reports == 357
    assert collector.refused == here.refused
    assert collector.refused.total == 4
    assert (collector.tally == here.tally).all()
    nobody = collect_frame(FORM, frame.filter("at < 0"))
    assert (nobody.reports, nobody.refused.total) == (0, 0)
    for wrong in ({"column": "at"}, {"column": "nothing"}):
        with pytest.raises(WrongKind):
            collect_frame(FORM, frame, **wrong)


def test_only_forms_and_frames_of_spark():
    for wrong in ((FORM, [b"x"]), (None, None), (FORM, pa.table({"report": [b"x"]}))):
        with pytest.raises(WrongKind):
            collect_frame(*wrong)


def test_cells_are_counted_by_themselves():
    """A cell that is cut short does not swallow the next one."""
    report = FORM.client().report(1)
    collector = FORM.collector()
    add_cells(collector, pa.array([report[:-1], report, report + b"\0", report], pa.binary()))
    assert collector.reports == 3
    assert collector.refused.unreadable == 2
