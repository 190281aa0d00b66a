"""A synthetic release: its table, its answers, its report, and what all of them cost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import (
    DiscreetError,
    OutOfRange,
    OverBudget,
    SourceChanged,
    UnknownName,
    WrongKind,
)
from discreet.mechanisms import Laplace
from discreet.synthetic.evidence import read, written
from discreet.synthetic.inference.dense import DenseModel
from discreet.synthetic.inference.inference import CodedDomain
from discreet.synthetic.joint import JointHistogram
from discreet.synthetic.release import SyntheticRelease
from discreet.synthetic.report.check import CheckDraw, _on_grid
from discreet.theorems import theorems
from tests.synthetic import clinic
from tests.synthetic.tables import SCHEMA, opened, visits

COLUMNS = ["ward", "age", "smoker", "cost", "seen"]
QUESTION = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE age >= 18 GROUP BY ward"


def made(session: Any, **more: Any) -> SyntheticRelease:
    """Make a table by MST, all columns, four bins."""
    asked = {"method": dp.synthetic.MST(), "epsilon": 4, "delta": "1e-9", "bins": 4} | more
    return dp.synthesize(session, dp.plan_synthesis(session, "visits", **asked))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> SyntheticRelease:
    """Return one release, for all that follows for free."""
    with opened(visits(), tmp_path_factory.mktemp("release")) as session:
        return made(session)


def test_the_table_has_the_schema_of_the_source(release: SyntheticRelease) -> None:
    """Names, types, order, bounds and NULLs are those of the source; patients are new numbers."""
    table = release.table(500)
    assert table.schema.equals(SCHEMA)
    assert table.num_rows == 500
    assert table.column("patient").to_pylist() == list(range(1, 501))
    assert set(table.column("ward").to_pylist()) <= {"A", "B", "C"}
    assert all(0 <= age <= 99 for age in table.column("age").to_pylist())
    assert all(0 <= cost <= 100 for cost in table.column("cost").to_pylist())
    assert all(day.year == 2024 for day in table.column("seen").to_pylist())
    assert 0 < table.column("smoker").null_count < 500


def test_the_default_number_of_rows_is_the_noisy_total(release: SyntheticRelease) -> None:
    """It comes from the evidence: the same for everybody who reads that, whatever the data was."""
    assert release.table().num_rows == release.total == round(release.model.total)
    assert abs(release.total - 3000) < 300
    assert release.to_arrow().num_rows == release.total


def test_the_same_release_gives_the_same_rows(release: SyntheticRelease) -> None:
    """Bit by bit, and refitted from the stored bytes as well."""
    again = SyntheticRelease.of(
        release.plan,
        read(written(release.evidence)),
        receipt=None,
        replayed=True,
        private=True,
    )
    assert again.table(400).equals(release.table(400))
    assert not release.table(400).equals(release.table(401).slice(0, 400))


def test_frames_hold_the_same(release: SyntheticRelease) -> None:
    """Arrow, Polars, pandas and the Arrow stream agree."""
    table = release.table(50)
    assert (
        release.to_polars(rows=50).to_arrow().column("age").to_pylist() == table["age"].to_pylist()
    )
    assert release.to_pandas(rows=50)["ward"].tolist() == table["ward"].to_pylist()
    assert pa.table(release).num_rows == release.total


def test_a_synthetic_table_opens_under_the_same_policy(
    release: SyntheticRelease, tmp_path: Path
) -> None:
    """It answers the same SQL, and makes a synthetic table of its own."""
    with opened(release.table(), tmp_path) as session:
        answer = session.ask(QUESTION, epsilon=40, confirm=True)
        assert answer["ward"].to_pylist() == ["A", "B", "C"]
        truth = {"A": 0, "B": 0, "C": 0}
        for row in visits().to_pylist():
            truth[row["ward"]] += row["age"] >= 18
        for ward, count in zip("ABC", answer["n"].to_pylist(), strict=True):
            assert abs(count - truth[ward]) < 300
        again = dp.synthesize(
            session,
            dp.plan_synthesis(
                session,
                "visits",
                method=dp.synthetic.Independent(),
                epsilon=1,
                delta="1e-9",
                bins=4,
            ),
        )
        assert again.table(10).schema.equals(SCHEMA)


def test_answers_come_from_the_model_with_half_widths(release: SyntheticRelease) -> None:
    """A measured column has an interval that holds the true counts here; names are checked."""
    found = release.answer("ward", confidence="0.999999").to_arrow()
    truth = [visits()["ward"].to_pylist().count(ward) for ward in "ABC"]
    assert found["ward"].to_pylist() == ["A", "B", "C"]
    for true, low, high in zip(
        truth, found["rows_low"].to_pylist(), found["rows_high"].to_pylist(), strict=True
    ):
        assert low <= true <= high
    assert float(np.sum(found["rows"].to_numpy())) == pytest.approx(release.model.total)
    assert "±" in str(release.answer("ward"))
    wide = release.answer(("ward", "age", "smoker"))
    assert len(wide) == 3 * 4 * 3
    with pytest.raises(UnknownName, match="height"):
        release.answer("height")


def test_a_narrower_confidence_gives_wider_intervals(release: SyntheticRelease) -> None:
    """More confidence needs more room."""
    half = release.answer("ward", confidence="0.5").half_widths
    most = release.answer("ward", confidence="0.9999").half_widths
    assert half is not None
    assert most is not None
    assert (half < most).all()
    with pytest.raises(WrongKind, match="confidence"):
        release.report(confidence=1)


def test_a_report_bounds_what_was_measured(release: SyntheticRelease) -> None:
    """The tree's pairs are measured or selected against; every bound holds here."""
    report = release.report()
    table = visits()
    domain = release.evidence.domain
    codes = {
        column.name: [column.code(value) for value in table[column.name].to_pylist()]
        for column in domain.columns
    }
    assert len(report.bounds) == 10
    assert {bound.source for bound in report.bounds} == {"measured", "selected"}
    for bound in report.bounds:
        names = domain.names(bound.marginal)
        counts = np.zeros(domain.coded.shape(bound.marginal))
        np.add.at(counts, tuple(np.array(codes[name]) for name in names), 1)
        apart = float(np.abs(counts - release.model.marginal(bound.marginal)).sum())
        assert bound.rows is not None
        assert apart <= bound.rows
    assert "measured" in str(report)
    assert report.to_arrow().num_rows == 10
    assert report.of("AGE", "ward") in report.bounds
    assert report.of("age", "height") is None


def test_without_selections_nothing_is_said_of_the_rest(release: SyntheticRelease) -> None:
    """Pairs off the tree are unknown, and the text says so."""
    report = release.report(selections=False)
    unknown = [bound for bound in report.bounds if bound.rows is None]
    assert len(unknown) == 6
    assert "Of 6 marginals nothing was measured" in str(report)
    assert report.sorted[:6] == tuple(unknown)


def test_reports_and_rows_cost_nothing(tmp_path: Path) -> None:
    """The budget is the same before and after; a second synthesis is free and the same."""
    with opened(visits(), tmp_path) as session:
        first = made(session)
        left = session.remaining
        first.report()
        first.table(10)
        first.answer("ward")
        second = made(session)
        assert session.remaining == left
        assert second.replayed
        assert not first.replayed
        assert second.table(100).equals(first.table(100))
        assert "nothing was charged" in str(second)


def test_a_check_is_charged_and_near_the_truth(tmp_path: Path) -> None:
    """It costs its epsilon once, and measures the largest distance of the workload."""
    table = visits()
    with opened(table, tmp_path) as session:
        release = made(session)
        before = session.remaining
        report = release.report(session=session, epsilon="2")
        assert report.checked is not None
        assert session.remaining != before
        after = session.remaining
        again = release.report(session=session, epsilon="2").checked
        assert again is not None
        assert again.rows == report.checked.rows
        assert again.replayed
        assert session.remaining == after
        domain = release.evidence.domain
        codes = np.array(
            [
                [column.code(value) for value in table[column.name].to_pylist()]
                for column in domain.columns
            ]
        )
        worst = 0.0
        for marginal in release.plan.workload.marginals:
            counts = np.zeros(domain.coded.shape(marginal))
            np.add.at(counts, tuple(codes[column] for column in marginal), 1)
            worst = max(worst, float(np.abs(counts - release.model.marginal(marginal)).sum()))
        assert abs(report.checked.rows - worst) <= 20  # noise of scale 1/2, and rounding
        assert str(report.checked) in str(report)


def test_a_check_of_other_data_is_refused(tmp_path: Path) -> None:
    """It would compare a table with data that it was not made from."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with opened(visits(200), tmp_path / "one") as session:
        release = made(session)
    with opened(visits(300), tmp_path / "two") as other:
        before = other.remaining
        with pytest.raises(SourceChanged):
            release.report(session=other, epsilon=1)
        assert other.remaining == before


def test_a_check_that_is_too_dear_is_refused(tmp_path: Path) -> None:
    """Before anything is read."""
    with opened(visits(200), tmp_path) as session:
        release = made(session)
        before = session.remaining
        with pytest.raises(OverBudget):
            release.report(session=session, epsilon=49, confirm=True)
        for bad in (0, -1):
            with pytest.raises(OutOfRange):
                release.report(session=session, epsilon=bad)
        with pytest.raises(WrongKind, match="both a session and an epsilon"):
            release.report(epsilon=1)
        assert session.remaining == before


@pytest.mark.theorem("workload-check")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_one_person_moves_a_check_by_no_more_than_is_claimed(relation: str) -> None:
    """By brute force: the exact largest distance of all neighbors of a small table."""
    domain = CodedDomain(("a", "b"), (2, 2))
    model = DenseModel(domain, np.array([1.25, 0.5, 2.0, 0.3]))
    marginals = ((0,), (1,), (0, 1))
    expected = tuple((r, _on_grid(model.marginal(r))) for r in marginals)

    def largest(rows: tuple[tuple[int, int], ...]) -> int:
        codes = tuple(np.array([row[place] for row in rows], np.uint8) for place in (0, 1))
        joint = JointHistogram((2, 2), codes, np.ones(len(rows), np.int64))
        draw = CheckDraw(evidence="", sizes=(2, 2), expected=expected, noise=Laplace(scale=1))
        return draw.largest(joint)

    people = [(a, b) for a in (0, 1) for b in (0, 1)]
    tables = [(), *((one,) for one in people), *((one, two) for one in people for two in people)]
    most = 0
    for rows in tables:
        for person in people:
            more = (*rows, person)
            if relation == "add_remove":
                most = max(most, abs(largest(more) - largest(rows)))
            else:
                for other in people:
                    most = max(most, abs(largest(more) - largest((*rows, other))))
    assert most == (1 if relation == "add_remove" else 2)


def test_a_release_is_written_into_a_new_folder(release: SyntheticRelease, tmp_path: Path) -> None:
    """Table, evidence and words; nothing is overwritten."""
    folder = release.write(tmp_path / "out", rows=20)
    assert pq.read_table(folder / "table.parquet").equals(release.table(20))
    assert read((folder / "evidence.json").read_bytes()).digest == release.evidence.digest
    assert "Price: epsilon" in (folder / "about.txt").read_text(encoding="utf-8")
    with pytest.raises(WrongKind, match="cannot be made"):
        release.write(tmp_path / "out")


def test_stored_evidence_is_read_and_written_as_it_was():
    stored = (Path(__file__).parent / "formats" / "evidence.json").read_bytes()
    evidence = read(stored)
    assert written(evidence) == stored
    assert evidence.method == {"name": "mst"}
    assert len(evidence.measured) == 5
    with pytest.raises(DiscreetError):
        read(stored.replace(b'"format":1', b'"format":2'))


def test_a_release_says_what_it_is(release: SyntheticRelease) -> None:
    """On one line, as text, in a notebook; with its price, its odds and its theorems."""
    assert repr(release) == "SyntheticRelease(mst of visits: ward, age, smoker, cost, seen)"
    assert "people who do not exist" in str(release)
    assert "<table>" in release._repr_html_()
    assert release._repr_mimebundle_().keys() == {"text/plain", "text/html"}
    assert 0.5 < release.odds.guess < 1
    assert release.loss.epsilon(delta=Fraction(1, 10**9)) <= 4.001
    assert set(release.theorems) <= set(theorems())
    assert {"joint-histogram", "noise-norm"} <= set(release.theorems)


def test_a_release_explains_what_it_gives_away(tmp_path: Path) -> None:
    """In words for those in the table; here of a loss whose figures are soon computed."""
    with opened(visits(), tmp_path) as session:
        found = made(session, method=dp.synthetic.Independent(), delta=None)
    assert "What this means for you" in str(found.explain(audience="subject"))


def test_pictures_show_what_was_released(release: SyntheticRelease) -> None:
    """Synthetic beside measured, and a map of all pairs; no script, no other file."""
    ward = release.plot("ward")
    assert ward.count("<polygon") == 4  # squares: three cells and one in the legend
    assert "measured, with noise" in ward
    pairs = release.report().error_map()
    assert pairs.count("<rect") == 1 + 2 * 10
    for picture in (ward, pairs):
        assert "<script" not in picture
        assert "href" not in picture


def test_errors_fall_with_the_price_and_their_picture_reads_nothing() -> None:
    size, methods = 900, (dp.synthetic.AIM(), dp.synthetic.MST(), dp.synthetic.MWEM())
    with clinic.opened() as session:
        for method in methods:
            plans = [
                clinic.planned(session, method=method, rho=rho, size=size) for rho in ("1", "4")
            ]
            dear, cheap = (dict(plan.one_way or ()) for plan in reversed(plans))
            assert all(dear[name] == pytest.approx(cheap[name] / 2, rel=1e-3) for name in cheap)
            picture = plans[0].error_curve()
            assert "Forecast errors" in picture
            assert "900 rows" in picture
        pure = clinic.planned(session, method=methods[2], rho=None, epsilon=2, size=size)
        assert ">ε<" in pure.error_curve()
        for change in ({"size": None}, {"size": size, "method": dp.synthetic.DualQuery()}):
            with pytest.raises(WrongKind, match="forecasts no errors"):
                clinic.planned(session, rho="1", **change).error_curve()


def test_rows_that_are_no_number_are_refused(release: SyntheticRelease) -> None:
    """Counts are whole and not negative."""
    for bad in (-1, 10**10):
        with pytest.raises(OutOfRange):
            release.table(bad)
    with pytest.raises(WrongKind):
        release.table(1.5)  # type: ignore[arg-type]
    assert release.table(0).num_rows == 0


def test_a_plan_says_which_limits_keep_more_rows_at_the_same_price():
    with clinic.opened() as session:
        assert "max_rows=1, max_groups=6 keeps more" in str(clinic.planned(session))
    one_row = clinic.POLICY.replace("max_rows = 3", "max_rows = 1")
    with clinic.opened(policy=one_row) as session:
        assert "keeps more" not in str(clinic.planned(session))


def test_a_plan_by_aim_says_how_much_memory_it_takes():
    with clinic.opened() as session:
        lines = str(clinic.planned(session, method=dp.synthetic.AIM())).splitlines()
        assert [line for line in lines if "MiB of memory" in line]
        assert "MiB" not in str(clinic.planned(session))
