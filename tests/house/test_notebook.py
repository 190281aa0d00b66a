"""What a notebook shows and completes, in a real IPython."""

from fractions import Fraction

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import discreet as dp
from discreet import accounting, mechanisms
from discreet.documents import BudgetDocument
from discreet.loss import GaussianDP, Pure

POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 1
[tables.visits.columns]
patient = { type = "integer" }
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return a shell with an open session, named s."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "visits.csv").write_text("patient\n" + "".join(f"{n}\n" for n in range(40)))
    found = InteractiveShell.instance()
    with dp.open(
        {"visits": str(folder / "visits.csv")},
        policy=POLICY,
        budget=dp.Budget(epsilon=2, delta="1e-6"),
        ledger=folder / "ledger",
    ) as session:
        found.push({"s": session, "dp": dp})
        yield found
    InteractiveShell.clear_instance()


def run(shell, code):
    with capture_output() as shown:
        done = shell.run_cell(code)
    return done, shown.stdout


def test_a_mistake_shows_its_sentences_and_none_of_our_frames(shell):
    done, text = run(shell, 's.ask("SELEC COUNT(*) FROM visits", epsilon=1)')
    assert isinstance(done.error_in_exec, dp.DiscreetError)
    assert "  Why: " in text
    assert "  Do:  " in text
    assert ".py" not in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("start", "wanted"),
    [("s.", {"ask", "plan", "remaining", "policy"}), ("dp.", {"open", "Budget", "loss"})],
)
def test_names_are_completed(shell, start, wanted):
    with provisionalcompleter():
        found = {one.text for one in shell.Completer.completions(start, len(start))}
    assert wanted <= {text.removeprefix(".") for text in found}


SHOWN = {
    "s.remaining": "100 % left of epsilon 2",
    "s.policy": 'unit = "patient"',
    "s.unit": "patient",
    "s.ledger": "ledger ",
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_session_has_is_readable(shell, name):
    done, text = run(shell, name)
    assert SHOWN[name] in text
    assert "Fraction" not in text
    assert done.success


VALUES = [
    (Pure(epsilon="1/2"), "Pure(epsilon=1/2)"),
    (GaussianDP(mu=1), "GaussianDP(mu=1)"),
    (mechanisms.Laplace(scale=2), "Laplace(scale=2)"),
    (dp.Budget(epsilon=2), "epsilon 2"),
    (accounting.account(2 * accounting.Leaf(Pure(epsilon=1)), relation="add_remove"), "2 times"),
    (mechanisms.Laplace(scale=2).loss(), "epsilon 0.5 at delta 0"),
    (BudgetDocument(part=0.5, text="50 % left"), "50 % left"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda pair: type(pair[0]).__name__)
def test_values_have_a_text_and_a_page(shell, value):
    one, words = value
    data, _ = shell.display_formatter.format(one)
    assert words in data["text/plain"]
    assert words in data["text/html"]
    assert "Fraction" not in data["text/plain"]
    assert "<" not in data["text/html"].removeprefix("<pre>").removesuffix("</pre>")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (GaussianDP(mu="1.2345678901234567890123456789"), "GaussianDP(mu_squared≈1.52416)"),
        (Pure(epsilon="0.33333333333333333333333333333333"), "Pure(epsilon≈0.333333)"),
        (mechanisms.Laplace(scale="2995923/2097152"), "Laplace(scale=2995923/2097152)"),
        (Pure(epsilon=1000), "Pure(epsilon=1000)"),
    ],
)
def test_long_fractions_are_shown_as_decimals_and_kept_in_the_repr(value, shown):
    assert str(value) == shown
    assert value._repr_html_() == f"<pre>{shown}</pre>"
    names = {**vars(mechanisms), "GaussianDP": GaussianDP, "Pure": Pure, "Fraction": Fraction}
    assert eval(repr(value), names) == value  # noqa: S307  the promise of a repr
