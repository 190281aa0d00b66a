"""Privacy labels: filled from the ledger, verified against it, refused when tampered with."""

import json
import sqlite3
from contextlib import closing
from html.parser import HTMLParser

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.accounting import Leaf
from discreet.cli.app import app
from discreet.errors import DiscreetError, LedgerError, Tampered
from discreet.explain import Label, label_of, verify_label
from discreet.explain.label.accuracy import LISTED
from discreet.explain.label.recorded_errors import recorded_errors
from discreet.ledger import Ledger
from discreet.plan.policy.policy import About, read_about

ABOUT = About(
    title="Visits <b>&",
    period="2026",
    curator="the clinic",
    raw_access=("the research team",),
    purpose="to plan wards",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    place = tmp_path_factory.mktemp("label") / "clinic.ledger"
    with Ledger.open(place, unit=dp.person("patient"), budget=dp.Budget(epsilon=2)) as ledger:
        for number, scale in enumerate((4, 8)):
            key = f"question {number}"
            leaf = Leaf(dp.mechanisms.Laplace(scale=scale), unit=dp.person("patient"))
            ledger.charge(leaf, key=key)
            ledger.start(key)
            ledger.release(key, b"12")
    return place


@pytest.fixture
def ledger(path):
    with Ledger.open(path) as opened:
        yield opened


def test_numbers_are_those_of_the_recorded_mechanisms(ledger):
    content = label_of(ledger, about=ABOUT).content
    composed = dp.loss.Pure(epsilon="0.25").compose(dp.loss.Pure(epsilon="0.125"))
    assert content["odds"]["odds"]["best_guess"] == pytest.approx(
        (1 + composed.delta(epsilon=0)) / 2, abs=1e-6
    )
    assert content["releases"] == 2
    assert content["evidence"]["head"] == ledger.receipt.head
    assert content["strength"]["spent"] == "epsilon 0.375"
    assert content["promise"]["best_guess"] == pytest.approx(0.8808, abs=1e-4)
    curve = content["strength"]["curve"]
    assert curve == sorted(curve, key=lambda point: -point[1])


def test_a_label_is_stable_and_verifies_after_the_ledger_has_grown(path, tmp_path):
    grown = tmp_path / "grown.ledger"
    with Ledger.open(grown, unit=dp.row(), budget=dp.Budget(epsilon=1)) as ledger:
        ledger.charge(dp.loss.Pure(epsilon="0.25"), key="a")
        first = label_of(ledger).to_json()
        assert first == label_of(ledger).to_json()
        ledger.charge(dp.loss.Pure(epsilon="0.25"), key="b")
        assert verify_label(first, ledger).seq == 2
        assert label_of(ledger).to_json() != first
    with Ledger.open(path) as other, pytest.raises(Tampered):
        verify_label(first, other)


TAMPERED = (
    ("releases", 1),
    ("odds.odds.best_guess", 0.5),
    ("strength.spent", "epsilon 0.1"),
    ("strength.curve", []),
    ("unit.relation", "replace"),
    ("evidence.head", "0" * 64),
    ("evidence.entries", 2),
    ("promise", None),
    ("not_hidden", []),
    ("not_hidden", 7),
    ("evidence.software", "discreet, certified"),
)


@pytest.mark.parametrize(("place", "value"), TAMPERED)
def test_every_number_that_is_changed_is_noticed(ledger, place, value):
    content = json.loads(label_of(ledger, about=ABOUT).to_json())
    inner = content
    *above, name = place.split(".")
    for part in above:
        inner = inner[part]
    inner[name] = value
    with pytest.raises(Tampered):
        verify_label(json.dumps(content), ledger)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "privacy-label/1"}', '{"format": "privacy-label/2"}']
)
def test_what_is_no_label_is_refused(ledger, text):
    with pytest.raises(DiscreetError, match="not a privacy label"):
        verify_label(text, ledger)


def test_names_that_stand_twice_and_blocks_that_nobody_computes_are_refused(ledger):
    text = label_of(ledger, about=ABOUT).to_json()
    content = json.loads(text)
    twice = text.replace(
        '"strength": {', '"strength": {"spent": "epsilon 0.01"},\n  "strength": {', 1
    )
    more = json.dumps({**content, "odds_for_you": 0.5})
    endless = json.dumps(content).replace('"releases": 2', '"releases": Infinity')
    with pytest.raises(Tampered, match="odds_for_you"):
        verify_label(more, ledger)
    for label in (twice, endless, "[" * 100_000):
        with pytest.raises(DiscreetError, match="not a privacy label"):
            verify_label(label, ledger)


def test_a_page_never_takes_the_place_of_a_file(path):
    before = path.read_bytes()
    arguments = ["explain", "--ledger", str(path), "--html", str(path)]
    assert CliRunner().invoke(app, arguments).exit_code == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize("title", ["a\nSpent  epsilon 0.001", "\x1b[2J", "a\0b", " ", "x" * 3000])
def test_titles_that_could_forge_a_line_are_refused(title):
    with pytest.raises(DiscreetError, match="printable"):
        read_about({"title": title})


class Balanced(HTMLParser):
    """Collects tags that are opened and not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.names = [], set()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_pages_are_whole_escape_what_people_say_and_load_nothing(ledger):
    page = label_of(ledger, about=ABOUT).to_html()
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert not parser.names & {"script", "link", "img", "iframe", "b"}
    assert "Visits &lt;b&gt;&amp;" in page
    assert "https://" not in page


def test_commands_print_labels_and_explanations_and_verify(path, tmp_path):
    runner = CliRunner()
    for form in ("text", "html", "json"):
        result = runner.invoke(app, ["label", "--ledger", str(path), "--format", form])
        assert result.exit_code == 0, result.output
        (tmp_path / form).write_text(result.output)
    checked = ["label", "--ledger", str(path), "--verify", str(tmp_path / "json")]
    assert runner.invoke(app, checked).exit_code == 0
    page = str(tmp_path / "page.html")
    for more in (["R-0004"], ["--audience", "subject", "--html", page], ["--json"]):
        result = runner.invoke(app, ["explain", "--ledger", str(path), *more])
        assert result.exit_code == 0, result.output
    result = runner.invoke(app, ["explain", "--budget", "epsilon=2, delta=1e-9"])
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["explain", "R-0002"], 2),
        (["explain", "yesterday"], 2),
        (["explain", "--audience", "press"], 2),
        (["explain", "R-4", "--budget", "epsilon=1"], 2),
        (["label", "--format", "pdf"], 2),
        (["label", "--verify", "nothing.json"], 2),
    ],
)
def test_bad_input_ends_with_a_message(path, arguments, code):
    result = CliRunner().invoke(app, [*arguments, "--ledger", str(path)])
    assert result.exit_code == code, result.output
    assert "Do:" in result.stderr


def test_a_ledger_that_fails_verification_is_not_explained(path, tmp_path):
    broken = tmp_path / "clinic.jsonl"
    with Ledger.open(path) as opened:
        opened.backup(broken)
    text = broken.read_text()
    broken.write_text(text.replace('"scale":"4"', '"scale":"9"', 1))
    result = CliRunner().invoke(app, ["explain", "--ledger", str(broken)])
    assert result.exit_code != 0


def changed_ledger(place, statement):
    """Write a ledger of two answers, and change it behind its back."""
    with Ledger.open(place, unit=dp.row(), budget=dp.Budget(epsilon=2)) as ledger:
        for key in ("a", "b"):
            ledger.charge(dp.mechanisms.Laplace(scale=4), key=key)
            ledger.start(key)
            ledger.release(key, b"12")
    ledger = Ledger.open(place)
    with closing(sqlite3.connect(place)) as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            file.execute(f"DROP TRIGGER {name}")
        file.execute(statement)
        file.commit()
    return ledger


@pytest.mark.parametrize(
    "more", [{}, {"audience": "steward"}, {"audience": "auditor"}, {"entry": 4}], ids=str
)
def test_entries_that_were_changed_are_not_explained(tmp_path, more):
    """Whatever is read again is checked again, in Python too, where nobody calls verify."""
    statement = """UPDATE entry SET line = replace(line, '"scale":"4"', '"scale":"9"')"""
    with (
        changed_ledger(tmp_path / "a.ledger", statement) as ledger,
        pytest.raises(LedgerError, match="torn, or does not follow"),
    ):
        ledger.explain(**more)


@pytest.mark.parametrize("entry", [None, 4])
def test_an_answer_that_was_changed_has_no_accuracy(tmp_path, entry):
    statement = "UPDATE entry SET answer = x'3133' WHERE seq = 4"
    with (
        changed_ledger(tmp_path / "a.ledger", statement) as ledger,
        pytest.raises(LedgerError, match="torn, or does not follow"),
    ):
        ledger.label(entry=entry)


def test_one_answer_has_a_label_that_verifies(path, ledger):
    label = label_of(ledger, about=ABOUT, entry=4)
    assert "the answer R-0004" in str(label)
    one = label.content["odds"]["odds"]["best_guess"]
    assert one < label_of(ledger).content["odds"]["odds"]["best_guess"]
    assert verify_label(label.to_json(), ledger) == ledger.receipt
    for name, value in (("release", 7), ("release", None), ("release", "x")):
        content = json.loads(label.to_json())
        content["evidence"][name] = value
        with pytest.raises(DiscreetError):
            verify_label(json.dumps(content), ledger)
    with pytest.raises(DiscreetError, match="records no answer"):
        label_of(ledger, entry=2)
    printed = CliRunner().invoke(app, ["label", "R-0004", "--ledger", str(path)])
    assert "R-0004" in printed.output


def test_a_label_without_a_unit_is_not_shown(ledger):
    content = dict(label_of(ledger).content)
    for unit in (None, {}, {"name": ""}):
        for show in (str, Label.to_html, Label._repr_html_):
            with pytest.raises(DiscreetError, match="who is protected"):
                show(Label({**content, "unit": unit}))
    with pytest.raises(DiscreetError, match="has no label"):
        label_of(dp.Budget(epsilon=1))


# --- answers of a session -----------------------------------------------------------------------

POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 1
max_rows = 2
[about]
title = "Visits"
[tables.t.columns]
patient = { type = "integer", low = 0, high = 1000 }
ward = { type = "text", categories = ["A", "B"] }
"""
QUESTION = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


@pytest.fixture
def session(tmp_path):
    table = pa.table({"patient": range(200), "ward": ["A"] * 190 + ["B"] * 10})
    place = tmp_path / "answers.ledger"
    budget = dp.Budget(epsilon=2)
    with dp.open({"t": table}, policy=POLICY, ledger=place, budget=budget) as opened:
        yield opened


def test_accuracy_is_that_of_the_intervals_that_were_released(session):
    answer = session.ask(QUESTION, epsilon="0.5")
    label = session.label()
    (found,) = label.content["accuracy"]["statistics"]
    rows = answer.rows()
    errors = [max(row["n_high"] - row["n"], row["n"] - row["n_low"]) for row in rows]
    assert found["half_width"] in errors
    assert found["widest"] == max(errors)
    assert found["confidence"] == 0.95
    assert found["groups_with_error_over_25_percent"] == sum(
        error > abs(row["n"]) / 4 for error, row in zip(errors, rows, strict=True)
    )
    predicted = answer.plan.predicted[0].half_width
    assert found["widest"] <= float(predicted) + 1
    assert "(95 %)" in str(label)
    verify_label(label.to_json(), session.ledger)


def test_a_confidence_that_was_asked_for_is_told(session):
    session.ask(QUESTION, epsilon="0.5", confidence="0.8")
    assert session.label().content["accuracy"]["statistics"][0]["confidence"] == 0.8


def test_a_page_lists_the_latest_answers_alone(session):
    for number in range(1, LISTED + 3):
        session.ask(QUESTION, epsilon=f"0.0{number}")
    block = session.label().content["accuracy"]
    assert len(block["statistics"]) == LISTED
    assert block["answers_before"] == 2
    assert "2 earlier answers are not listed" in str(session.label())


def test_a_release_has_a_label_of_its_own(session, ledger):
    first = session.ask(QUESTION, epsilon="0.5")
    session.ask(QUESTION, epsilon="0.25")
    label = first.label(session)
    assert label.content["evidence"]["release"] == first.receipt.seq
    assert label.content["said"]["title"] == "Visits"
    assert label.content["total"]["releases"] == 2
    assert (
        label.content["total"]["odds"]["best_guess"] > label.content["odds"]["odds"]["best_guess"]
    )
    assert [item["answer"] for item in label.content["accuracy"]["statistics"]] == [
        first.receipt.seq
    ]
    verify_label(label.to_json(), session.ledger)
    assert first.label(session.ledger).content["odds"] == label.content["odds"]
    for other, words in ((ledger, "not one of this ledger"), (None, "no ledger"), (3, "no label")):
        with pytest.raises(DiscreetError, match=words):
            first.label(other)


def test_an_answer_of_test_mode_has_no_label(session):
    table = pa.table({"patient": [1], "ward": ["A"]})
    with dp.open({"t": table}, policy=POLICY, test_mode=True) as rehearsal:
        answer = rehearsal.ask(QUESTION, epsilon="0.5")
    with pytest.raises(DiscreetError, match="not on record"):
        answer.label(session)


@pytest.mark.parametrize("name", ["total", "accuracy"])
def test_every_block_is_verified(session, name):
    answer = session.ask(QUESTION, epsilon="0.5")
    content = json.loads(answer.label(session).to_json())
    with pytest.raises(Tampered, match=name):
        verify_label(json.dumps({**content, name: {"statistics": []}}), session.ledger)
    del content[name]
    with pytest.raises(Tampered, match=name):
        verify_label(json.dumps(content), session.ledger)


def test_answers_that_no_session_wrote_have_no_errors_on_record(ledger):
    assert label_of(ledger).content["accuracy"] == {"statistics": [], "answers_before": 0}
    for stored in (b"", b"12", b"[]", b"{}", b'{"noisy": null}', b'{"answer": {"noisy": 1}}'):
        assert recorded_errors(stored) == ()
