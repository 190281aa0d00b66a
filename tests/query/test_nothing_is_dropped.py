"""Every word of a text counts: without it, or with one more, the text says something else."""

import pytest

from discreet.errors import QuestionError
from discreet.query import canonical, read
from discreet.query.sql.tokens import RESERVED, TokenKind, tokens
from tests.query.dialect import ACCEPTED

# Words that may be left out, or added, without changing what is asked.
NOISE = {"AS", "ALL", "INNER", "OUTER", "ASC", ";", "+"}
EXTRA = sorted((RESERVED | set("()[],.=<>*/%'`@") | {"||", "=>", "::", "1", "'a'"}) - NOISE)


def asked(sql):
    try:
        return canonical(read(sql))
    except QuestionError:
        return None


def words_of(sql):
    return [token.span.words for token in tokens(sql) if token.kind is not TokenKind.END]


@pytest.mark.parametrize("entry", ACCEPTED, ids=lambda entry: entry.rule)
def test_no_word_can_be_left_out(entry):
    words = words_of(entry.sql)
    whole = asked(entry.sql)
    dropped = [
        word
        for at, word in enumerate(words)
        if word.upper() not in NOISE
        and not is_alias(words, at)
        and asked(" ".join(words[:at] + words[at + 1 :])) == whole
    ]
    assert dropped == []


def is_alias(words, at):
    """Whether a word is the name of a table, which may mean nothing."""
    before = words[at - 1].upper() if at else ""
    return before == ")" or (before.isidentifier() and before not in RESERVED)


@pytest.mark.parametrize("number", range(len(ACCEPTED)), ids=lambda at: ACCEPTED[at].rule)
def test_no_word_can_be_added(number):
    words = words_of(ACCEPTED[number].sql)
    whole = asked(ACCEPTED[number].sql)
    added = [
        (at, word)
        for at in range(1, len(words) + 1)
        for word in EXTRA[(at + number) % 25 :: 25]
        if [word, *words[at : at + 1]] != [",", "FROM"]  # a comma may end the select list
        and asked(" ".join([*words[:at], word, *words[at:]])) == whole
    ]
    assert added == []


@pytest.mark.parametrize("entry", ACCEPTED, ids=lambda entry: entry.rule)
def test_space_comments_and_case_do_not_matter(entry):
    spaced = " /* x */\n\t".join(words_of(entry.sql))
    assert asked(spaced) == asked(entry.sql)
    assert asked(f"-- first\n{entry.sql} -- last") == asked(entry.sql)
    swapped = "".join(
        token.text.swapcase() + " " if token.kind is TokenKind.NAME else token.span.words + " "
        for token in tokens(entry.sql)
        if token.kind is not TokenKind.END
    )
    assert asked(swapped) == asked(entry.sql)
