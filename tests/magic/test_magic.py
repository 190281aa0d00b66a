"""``%%discreet`` in a real IPython: answers, plans, mistakes, and what is completed."""

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import discreet as dp
from discreet.documents import DatasetDocument

POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 1
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", categories = ["A", "B"], constant = true }
[tables.wards]
public = true
"""
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("magic")
    rows = "".join(f"{n},{'AB'[n % 2]}\n" for n in range(1000))
    (folder / "visits.csv").write_text("patient,ward\n" + rows)
    (folder / "wards.csv").write_text("ward,beds\nA,3\nB,9\n")
    with dp.open(
        {name: str(folder / f"{name}.csv") for name in ("visits", "wards")},
        policy=POLICY,
        budget=dp.Budget(epsilon=9, delta="1e-6"),
        ledger=folder / "ledger",
    ) as session:
        yield session


@pytest.fixture
def shell(clinic):
    """Return a shell with the extension, loaded twice, and a session named clinic."""
    found = InteractiveShell.instance()
    found.push({"clinic": clinic, "dp": dp})
    found.run_cell("%load_ext discreet\n%reload_ext discreet")
    yield found
    InteractiveShell.clear_instance()


def run(shell, cell):
    with capture_output() as shown:
        done = shell.run_cell(cell)
    return done.result, shown.stdout + shown.stderr


def completed(shell, text, after=None):
    """Return what is completed behind some text, at its end or after a part of it."""
    place = len(text) if after is None else text.index(after) + len(after)
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, place))
    return [text[: each.start].rpartition("\n")[2] + each.text for each in found]


def test_a_cell_is_answered_and_again_it_is_free(shell, clinic):
    answer, _ = run(shell, f"%%discreet --epsilon 0.5 --to kept\n{COUNT}")
    assert answer.rows() == clinic.ask(COUNT, epsilon="0.5").rows()
    assert shell.user_ns["kept"] is answer
    again, _ = run(shell, f"%%discreet clinic --epsilon 0.5\n{COUNT};")
    assert (again.replayed, again.rows()) == (True, answer.rows())


def test_a_plan_spends_nothing_and_says_what_an_answer_costs(shell, clinic):
    before = clinic.remaining.share
    plan, _ = run(shell, f"%%discreet --plan --error n=20\n{COUNT}")
    assert plan.predicted[0].half_width <= 20
    assert clinic.remaining.share == before
    assert "<ul>" in shell.display_formatter.format(plan)[0]["text/html"]


def test_prices_and_what_goes_with_them_reach_the_session(shell):
    question = COUNT.replace("n FROM", "m FROM")
    answer, text = run(shell, f"%%discreet --rho 0.1 --delta 1e-9 --share 0.2\n{question}")
    assert answer, text
    assert [float(each) for each in (answer.plan.price.rho, answer.share.epsilon)] == [0.1, 0.2]
    small = "SELECT COUNT(*) AS n FROM visits"
    refused, text = run(shell, f"%%discreet --epsilon 11\n{small}")
    assert refused is None
    assert "confirm" in text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--epsilon 0.5 nobody", "name one of: clinic"),
        ("--epsilon x", "epsilon"),
        ("--error 5", "--error n=20"),
        ("", "none of epsilon, rho and error is given"),
        ("--price 5", "unrecognized arguments"),
        ("--epsilon 1 --plan --share 0.1", "planned"),
    ],
)
def test_a_mistake_is_said_in_words_and_costs_nothing(shell, clinic, line, said):
    before = clinic.remaining.share
    result, text = run(shell, f"%%discreet {line}\n{COUNT}")
    assert result is None
    assert said in text
    assert "Traceback" not in text
    assert clinic.remaining.share == before


def test_one_of_several_sessions_is_named(shell, clinic):
    other = clinic.charging(account=None)
    shell.push({"other": other, "same": clinic})
    _, text = run(shell, f"%%discreet --epsilon 0.5\n{COUNT}")
    assert "clinic, other, same" in text
    other.close()
    answer, _ = run(shell, f"%%discreet --epsilon 0.5\n{COUNT}")
    assert answer is not None
    shell.del_var("same")
    shell.del_var("other")


@pytest.mark.parametrize(
    ("text", "after", "wanted"),
    [
        ("%%discreet --e", None, ["%%discreet --epsilon", "%%discreet --error"]),
        ("%%discreet --plan cl", None, ["%%discreet --plan clinic"]),
        ("%%discreet\nSELECT 1 FROM ", None, ["SELECT 1 FROM visits", "SELECT 1 FROM wards"]),
        ("%%discreet\nselect 1 from wards join v", None, ["select 1 from wards join visits"]),
        ("%%discreet\nSELECT p FROM visits", "SELECT p", ["SELECT patient"]),
        ("%%discreet\nSELECT\n  AVG(b", None, ["  AVG(beds"]),
        ("%%discreet\nSELECT w. FROM wards AS w", "SELECT w.", ["SELECT w.beds", "SELECT w.ward"]),
        ("%%discreet\nSELECT 1 FROM visits v\nWHERE v.P", None, ["WHERE v.patient"]),
        ("%%discreet other\nSELECT 1 FROM ", None, ["SELECT 1 FROM wards"]),
        ("%%discreet --epsilon 1\nSELECT zz", None, []),
    ],
)
def test_tables_columns_and_options_are_completed(shell, clinic, text, after, wanted):
    class Connection:  # which has documents in place of facts
        tables = {"wards": DatasetDocument.of(clinic).tables["wards"]}  # noqa: RUF012

        def remeasure(self):
            raise NotImplementedError

    Connection.__module__ = "discreet.service.client"
    if "other" in text:
        shell.push({"other": Connection()})
    assert completed(shell, text, after) == wanted
    shell.user_ns.pop("other", None)


def test_other_cells_are_completed_as_before(shell):
    assert "clinic.ask" in completed(shell, "clinic.as")
    assert "FROM visits" not in completed(shell, "FROM ")
