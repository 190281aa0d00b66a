"""How the command ends, for every error that there is; and for those that nobody expected."""

import pytest
import typer

from discreet import errors
from discreet.cli.exit_codes import BUDGET, FAILED, LEDGER, REFUSED, USAGE, code_of, errors_reported

EXPECTED = {
    "E0": USAGE,
    "E2": FAILED,
    "E3": BUDGET,
    "E4": LEDGER,
    "E401": USAGE,
    "E404": FAILED,
    "E5": REFUSED,
    "E6": REFUSED,
    "E701": FAILED,
    "E702": USAGE,
    "E703": FAILED,
    "E704": FAILED,
    "E705": FAILED,
    "E8": FAILED,
}


def leaves(kind=errors.DiscreetError):
    below = kind.__subclasses__()
    return [kind] if not below else [leaf for child in below for leaf in leaves(child)]


@pytest.mark.parametrize("kind", leaves(), ids=lambda kind: kind.__name__)
def test_every_error_has_its_code(kind):
    error = kind(what="a.", why="b.", do="c.")
    assert code_of(error) == EXPECTED.get(kind.code, EXPECTED.get(kind.code[:2]))


def test_errors_become_words(capsys):
    with pytest.raises(typer.Exit) as caught, errors_reported():
        raise errors.OverBudget(what="too much.", why="a promise.", do="less.")
    assert caught.value.exit_code == BUDGET
    out, err = capsys.readouterr()
    assert not out
    assert err == "OverBudget[E301]: too much.\n  Why: a promise.\n  Do:  less.\n"


def test_what_nobody_expected_is_not_quoted(capsys):
    with pytest.raises(typer.Exit) as caught, errors_reported(as_json=True):
        raise ValueError("a value of the data")
    assert caught.value.exit_code == FAILED
    assert caught.value.__suppress_context__
    out, err = capsys.readouterr()
    assert not out
    assert "ValueError" in err
    assert "a value of the data" not in err
