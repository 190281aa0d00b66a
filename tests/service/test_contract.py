"""One suite over a session and a connection: the same verbs, the same types, the same words."""

import pytest

import discreet as dp
from discreet import errors
from discreet.release import Release
from tests.service import served
from tests.session import clinic


@pytest.fixture(scope="module", params=["session", "connection"])
def asked(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "session":
        with clinic.opened(folder, policy=served.POLICY) as session:
            yield session
        return
    with (
        served.serving(folder) as server,
        dp.connect(server.url, token=server.token("ana")) as connection,
    ):
        yield connection


def test_an_answer_is_a_release_with_a_receipt(asked):
    release = asked.ask(clinic.BY_WARD, epsilon="0.5")
    assert isinstance(release, Release)
    assert release.names == ("ward", "n", "cost")
    assert [row["ward"] for row in release.rows()] == ["A", "B", "C"]
    assert release.receipt is not None
    assert not release.replayed
    assert release.private
    assert release.plan.price.epsilon == dp.exact.decimal("0.5", name="epsilon")


def test_asking_again_is_free_and_gives_the_same(asked):
    before = asked.remaining
    first = asked.ask(clinic.COUNT, epsilon="0.25")
    middle = asked.remaining
    again = asked.ask("select count(*) as n from visits", epsilon=0.25)
    assert again.replayed
    assert again.rows() == first.rows()
    assert again.receipt == first.receipt
    assert asked.remaining.amounts == middle.amounts
    assert before.amounts[0] - middle.amounts[0] == dp.Budget(epsilon="0.25").limit[0]


def test_a_plan_says_what_it_costs_and_spends_nothing(asked):
    left = asked.remaining.amounts
    plan = asked.plan(clinic.BY_WARD, epsilon="0.75")
    assert str(plan).startswith("SELECT ward")
    assert plan.budget_preview.fits
    assert plan.loss.epsilon(delta=0) == pytest.approx(0.75)
    assert asked.remaining.amounts == left
    assert asked.ask(plan).plan.digest == plan.digest
    with pytest.raises(errors.WrongKind):
        asked.ask(plan, epsilon=1)


def test_the_table_builder_asks_what_sql_asks(asked):
    built = asked.table("visits").where("cost > 12").group_by("ward").count(name="n")
    text = "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 12 GROUP BY ward"
    assert built.plan(epsilon="0.5").digest == asked.plan(text, epsilon="0.5").digest
    first = built.ask(epsilon="0.5")
    assert asked.ask(text, epsilon="0.5").receipt == first.receipt
    with pytest.raises(errors.UnknownName):
        asked.table("nowhere")


def test_an_error_may_be_given_for_a_price(asked):
    release = asked.ask(clinic.COUNT, error={"n": 20})
    assert release.plan.predicted[0].half_width <= 20


def test_what_is_bought_beside_an_answer_comes_along(asked):
    limits = dp.limits(max_rows=1)
    release = asked.ask(
        clinic.COUNT, epsilon="0.3", limits=limits, share_cut=dp.share_cut(epsilon="0.2")
    )
    assert 0 <= release.share.share <= 1
    bounds = dp.estimate(epsilon="0.4")
    assert asked.ask("SELECT SUM(visit) AS s FROM visits", epsilon="0.3", bounds=bounds).plan.found


def test_remeasuring_combines_draws(asked):
    first = asked.ask("SELECT COUNT(*) AS m FROM visits", epsilon="0.11")
    both = asked.remeasure(first, epsilon="0.22")
    assert len(both.plans) == 2
    wide, narrow = (each.rows()[0]["m_high"] - each.rows()[0]["m_low"] for each in (first, both))
    assert narrow < wide
    left = asked.remaining.amounts
    assert asked.remeasure(first, epsilon="0.22").rows() == both.rows()
    assert asked.remaining.amounts == left


def test_what_was_released_is_explained_and_labeled(asked):
    release = asked.ask(clinic.COUNT, epsilon="0.25")
    about = asked.explain(audience="subject")
    assert about.audience == "subject"
    assert "100" in str(about)
    assert about.to_html().startswith("<div")
    label = asked.label()
    assert label.content["releases"] >= 1
    assert "Privacy label" in str(label)
    assert label.to_json().startswith("{")
    assert release.explain(audience="auditor").figures.one.within >= 50
    one = asked.label(entry=release.receipt.seq)
    assert one.content["evidence"]["release"] == release.receipt.seq


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


def test_what_is_left_says_how_often_more_can_be_asked(asked):
    left = asked.remaining
    assert left.how_many(dp.loss.Pure(epsilon=1)) == int(left.loss.epsilon(delta=0))
    assert str(left).startswith("epsilon")
