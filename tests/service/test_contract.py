"""One suite over a session and a connection: the same verbs, the same documents, the same words."""

from decimal import Decimal
from fractions import Fraction

import pytest

import discreet as dp
from discreet import errors
from discreet.documents import (
    BudgetDocument,
    ExplanationDocument,
    PlanDocument,
    ReleaseDocument,
)
from tests.service import served
from tests.session import clinic


class Local:
    """A session as its documents show it."""

    def __init__(self, session):
        self.session, self.table, self.known = session, session.table, {}

    def plan(self, question, **price):
        plan = self.session.plan(question, **price)
        self.known[plan.digest] = plan
        return PlanDocument.of(plan)

    def ask(self, question, **price):
        asked = self.known[question.digest] if isinstance(question, PlanDocument) else question
        return self.told(self.session.ask(asked, **price))

    def remeasure(self, answered, **price):
        return self.told(self.session.remeasure(self.known[answered.receipt], **price))

    def told(self, release):
        self.known[str(release.receipt)] = release
        return ReleaseDocument.of(release, self.session.remaining)

    @property
    def remaining(self):
        return BudgetDocument.of(self.session.remaining)

    def explain(self, **which):
        told = self.session.explain(**which)
        document = {"text": str(told), "html": told.to_html(), "content": told.to_json()}
        return ExplanationDocument(kind="explanation", **document)

    def label(self, **which):
        told = self.session.label(**which)
        document = {"text": str(told), "html": told.to_html(), "content": told.content}
        return ExplanationDocument(kind="label", **document)


@pytest.fixture(scope="module", params=["session", "connection"])
def asked(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "session":
        with clinic.opened(folder, policy=served.POLICY) as session:
            yield Local(session)
        return
    with (
        served.serving(folder) as server,
        dp.connect(server.url, token=server.token("ana")) as connection,
    ):
        yield connection


def test_an_answer_is_a_table_with_a_receipt(asked):
    release = asked.ask(clinic.BY_WARD, epsilon="0.5")
    assert isinstance(release, ReleaseDocument)
    assert release.names == ("ward", "n", "cost")
    assert [row["ward"] for row in release.rows] == ["A", "B", "C"]
    assert release.receipt is not None
    assert not release.replayed
    assert release.private
    assert release.price.epsilon == "1/2"
    table = release.to_arrow()
    assert table.column_names[:2] == ["ward", "n"]
    assert {"n_low", "n_high"} <= set(table.column_names)
    assert str(table.schema.field("n").type) == "int64"
    assert release.to_pandas()["n"].tolist() == [row["n"] for row in release.rows]
    assert "ward" in str(release)


def test_asking_again_is_free_and_gives_the_same(asked):
    before = asked.remaining
    first = asked.ask(clinic.COUNT, epsilon="0.25")
    middle = asked.remaining
    again = asked.ask("select count(*) as n from visits", epsilon=0.25)
    assert again.replayed
    assert again.rows == first.rows
    assert again.receipt == first.receipt
    assert asked.remaining.amounts == middle.amounts
    spent = Fraction(before.amounts[0].left) - Fraction(middle.amounts[0].left)
    assert spent == Fraction("0.25")


def test_a_plan_says_what_it_costs_and_spends_nothing(asked):
    left = asked.remaining.amounts
    plan = asked.plan(clinic.BY_WARD, epsilon="0.75")
    assert str(plan).startswith("SELECT ward")
    assert plan.standing.fits
    assert plan.price.epsilon == "3/4"
    assert asked.remaining.amounts == left
    assert asked.ask(plan).plan == plan.digest
    with pytest.raises(errors.WrongKind):
        asked.ask(plan, epsilon=1)


def test_the_table_builder_asks_what_sql_asks(asked):
    built = asked.table("visits").where("cost > 12").group_by("ward").count(name="n")
    text = "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 12 GROUP BY ward"
    assert built.plan(epsilon="0.5").digest == asked.plan(text, epsilon="0.5").digest
    first = built.ask(epsilon="0.5")
    assert asked.ask(text, epsilon="0.5").receipt == str(first.receipt)
    with pytest.raises(errors.UnknownName):
        asked.table("nowhere")


def test_values_and_the_dialect_travel_apart_from_the_text(asked):
    """The question is the one that has the values written out, and a further draw is of it."""
    written = "SELECT COUNT(*) AS n FROM visits WHERE ward = 'A' AND cost > 12.5"
    plan = asked.plan(written, epsilon="0.5")
    named = "SELECT COUNT(*) AS n FROM `visits` WHERE ward = @w AND cost > @c"
    given = {"params": {"w": "A", "c": 12.5}, "dialect": "bigquery"}
    assert asked.plan(named, epsilon="0.5", **given).digest == plan.digest
    placed = "SELECT COUNT(*) AS n FROM visits WHERE ward = ? AND cost > ?"
    exact = ["A", Decimal("12.5")]
    assert asked.plan(placed, epsilon="0.5", params=exact).digest == plan.digest
    first = asked.ask(named, epsilon="0.25", **given)
    assert asked.remeasure(first, epsilon="0.25").receipt != first.receipt
    with pytest.raises(errors.WrongKind):
        asked.plan(placed, epsilon="0.5", params=["A", 12.5, {}])


def test_an_error_may_be_given_for_a_price(asked):
    release = asked.ask(clinic.COUNT, error={"n": 20})
    assert (release.rows[0]["n_high"] - release.rows[0]["n_low"]) / 2 <= 20


def test_what_is_bought_beside_an_answer_comes_along(asked):
    limits = dp.limits(max_rows=1)
    release = asked.ask(
        clinic.COUNT, epsilon="0.3", limits=limits, share_cut=dp.share_cut(epsilon="0.2")
    )
    assert 0 <= release.share_cut.share <= 1
    bounds = dp.estimate(epsilon="0.4")
    assert asked.ask("SELECT SUM(visit) AS s FROM visits", epsilon="0.3", bounds=bounds).bounds


def test_sampling_and_other_groups_are_answered_as_in_python(asked):
    plain = asked.ask(clinic.COUNT, epsilon="0.31")
    wide = asked.ask(clinic.COUNT, epsilon="0.31", intervals="population")
    assert (plain.intervals, wide.intervals) == ("noise alone", "noise and sampling")
    assert plain.rows[0].items() != wide.rows[0].items()
    with pytest.raises(errors.UnsupportedSQL, match="all groups of this question are shown"):
        asked.ask(clinic.BY_WARD, epsilon="0.3", other=True)


def test_remeasuring_combines_draws(asked):
    first = asked.ask("SELECT COUNT(*) AS m FROM visits", epsilon="0.11")
    both = asked.remeasure(first, epsilon="0.22")
    wide, narrow = (each.rows[0]["m_high"] - each.rows[0]["m_low"] for each in (first, both))
    assert narrow < wide
    left = asked.remaining.amounts
    assert asked.remeasure(first, epsilon="0.22").rows == both.rows
    assert asked.remaining.amounts == left


def test_what_was_released_is_explained_and_labeled(asked):
    release = asked.ask(clinic.COUNT, epsilon="0.25")
    about = asked.explain(audience="subject")
    assert "100" in str(about)
    assert about.html.startswith("<div")
    label = asked.label()
    assert label.content["releases"] >= 1
    assert "Privacy label" in str(label)
    one = asked.label(entry=release.entry)
    assert one.content["evidence"]["release"] == release.entry


@pytest.mark.parametrize(
    ("question", "price", "kind"),
    [
        ("SELECT nothing FROM", {"epsilon": 1}, errors.UnreadableSQL),
        ("SELECT COUNT(*) AS n FROM nowhere", {"epsilon": 1}, errors.UnknownName),
        ("SELECT SUM(visit) AS s FROM visits", {"epsilon": 1}, errors.MissingBounds),
        ("SELECT patient FROM visits", {"epsilon": 1}, errors.UnsupportedSQL),
        (clinic.COUNT, {"epsilon": "1.5"}, errors.NotAllowed),
        (clinic.COUNT, {"epsilon": "-1"}, errors.OutOfRange),
        (clinic.COUNT, {}, errors.QuestionError),
    ],
)
def test_refusals_are_the_same_and_free(asked, question, price, kind):
    left = asked.remaining.amounts
    kind = errors.DiscreetError if kind is errors.QuestionError else kind
    with pytest.raises(kind) as caught:
        asked.ask(question, **price)
    assert caught.value.what
    assert caught.value.do
    assert asked.remaining.amounts == left


def test_what_is_left_is_told_in_one_number_and_exactly(asked):
    asked.ask(clinic.COUNT, epsilon=1)
    left = asked.remaining
    assert 0 < left.part < 1
    assert Fraction(left.amounts[0].limit) == 2000
    assert str(left).startswith(("99 % of the budget left, about ", "epsilon 199"))
