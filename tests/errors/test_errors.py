"""The exception tree: three sentences, one code for each leaf, safe travel between processes."""

import copy
import inspect
import pickle
import re

import pytest

from discreet import errors
from discreet.errors import (
    BudgetError,
    DiscreetError,
    EngineError,
    EntropyError,
    InputError,
    LearningError,
    LedgerError,
    PolicyError,
    QuestionError,
)

SENTENCES = {"what": "scale is -1.", "why": "Noise needs a width.", "do": "Use scale > 0."}


def leaves(kind=DiscreetError):
    below = kind.__subclasses__()
    return [leaf for child in below for leaf in leaves(child)] if below else [kind]


@pytest.fixture(params=leaves(), ids=lambda kind: kind.__name__)
def leaf(request):
    return request.param


def test_an_error_shows_its_name_its_code_and_its_sentences_in_order(leaf):
    assert str(leaf(**SENTENCES)) == (
        f"{leaf.__name__}[{leaf.code}]: scale is -1.\n"
        "  Why: Noise needs a width.\n"
        "  Do:  Use scale > 0."
    )


def test_the_sentences_can_be_read_one_by_one(leaf):
    error = leaf(**SENTENCES)
    assert {"what": error.what, "why": error.why, "do": error.do} == SENTENCES


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_the_way_to_another_process(leaf, protocol):
    error = pickle.loads(pickle.dumps(leaf(**SENTENCES), protocol))  # noqa: S301  our own bytes
    assert type(error) is leaf
    assert str(error) == str(leaf(**SENTENCES))
    assert (error.what, error.why, error.do) == tuple(SENTENCES.values())


def test_what_cannot_be_printed_is_escaped(leaf):
    error = leaf(what="p\0 and \x1b[2J\ud800,", why="a\u202eb\r", do="on\ntwo lines, \u00e9.")
    shown = "p\\x00 and \\x1b[2J\\ud800,", "a\\u202eb\\r", "on\ntwo lines, \u00e9."
    assert (error.what, error.why, error.do) == shown
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301
    assert all(letter.isprintable() or letter == "\n" for letter in str(error))


def test_an_error_can_be_copied(leaf):
    error = leaf(**SENTENCES)
    for twin in (copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is leaf
        assert str(twin) == str(error)


@pytest.mark.parametrize("missing", SENTENCES)
def test_no_sentence_may_be_missing(leaf, missing):
    with pytest.raises(TypeError):
        leaf(**{name: text for name, text in SENTENCES.items() if name != missing})


def test_sentences_are_named_never_positional(leaf):
    with pytest.raises(TypeError):
        leaf(*SENTENCES.values())


def test_every_leaf_has_a_code_of_its_own():
    codes = [kind.code for kind in leaves()]
    assert all(re.fullmatch(r"E\d{3}", code) for code in codes)
    assert len(codes) == len(set(codes))


BRANCHES = {
    "0": InputError,
    "2": EntropyError,
    "3": BudgetError,
    "4": LedgerError,
    "5": QuestionError,
    "6": PolicyError,
    "7": EngineError,
    "8": LearningError,
}


def test_the_first_digit_of_a_code_names_the_branch(leaf):
    assert issubclass(leaf, BRANCHES[leaf.code[1]])


def test_the_drawn_tree_is_the_tree():
    drawn = dict(re.findall(r"[├└]── (\w+)\s+E(\d)xx", errors.__doc__))
    assert drawn == {kind.__name__: digit for digit, kind in BRANCHES.items()}
    assert set(BRANCHES.values()) == set(DiscreetError.__subclasses__())


def test_everything_public_is_an_error_of_the_tree():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), DiscreetError)
    defined = {
        name for name, kind in vars(errors).items() if inspect.isclass(kind) and name[0] != "_"
    }
    assert defined == set(errors.__all__)


EXPECTED_BY_ESTIMATORS = {errors.BadArrays, errors.NotFitted}
"""What scikit-learn's checks of estimators demand: that these two are a ``ValueError``."""


def test_no_error_of_the_tree_is_taken_for_an_error_of_python(leaf):
    assert leaf.__mro__[-3:] == (Exception, BaseException, object)
    assert issubclass(leaf, ValueError) == (leaf in EXPECTED_BY_ESTIMATORS)
    assert not issubclass(leaf, (TypeError, ArithmeticError, OSError))
