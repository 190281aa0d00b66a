"""Lines mean one thing or nothing, and garbage is told from entries."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Box, Budget, equals
from discreet.errors import Tampered
from discreet.ledger.verify import (
    MOST,
    UnreadableEntry,
    canonical,
    parse_entry,
    read_canonical,
    verify,
)
from discreet.loss import Pure
from tests.ledger.chains import (
    HONEST,
    LAST,
    NAME,
    Chain,
    honest,
)

# --- lines ----------------------------------------------------------------------------------------


LINES = [cells[4] for cells in HONEST.rows()]
SNIPPETS = [
    '"',
    "\\",
    ",",
    "{",
    "}",
    "[",
    "]",
    " ",
    '\\"',
    "\\u0041",
    "ä",
    "\x7f",
    "1",
    "01",
    "1.0",
]
SNIPPETS += [
    '"at":',
    ',"at":"',
    ',"seq":',
    '},"seq":1',
    '],"delta":null',
    "NaN",
    '"key":"x",',
    "\n",
]


@given(data=st.data())
@settings(max_examples=400)
def test_a_line_that_is_read_is_canonical(data):
    line = data.draw(st.sampled_from(LINES))
    for _ in range(data.draw(st.integers(1, 2))):
        start = data.draw(st.integers(0, len(line)))
        end = data.draw(st.integers(start, min(start + 3, len(line))))
        line = line[:start] + data.draw(st.sampled_from(SNIPPETS)) + line[end:]
    if not isinstance(parse_entry(line), UnreadableEntry):
        assert canonical(json.loads(line)) == line


@pytest.mark.parametrize("kind", ["charge", "start", "release"])
def test_a_line_in_another_shape_is_refused(kind):
    line = next(line for line in LINES if f'"kind":"{kind}"' in line)
    changes = [('"key":"a"', f'"key":"{key}"') for key in ("\x7f", "\t", "é", "\\u0061", '"', "  ")]
    changes += [('"seq":', '"seq":0'), ('"seq":', '"seq":-'), ('"format":1', '"format":1.0')]
    changes += [('"attempt":', '"attempt":0'), ('"size":', '"size":0'), ('"scope":{', '"scope":{ ')]
    changes += [("T03:", "T3:"), ('"body":"', '"body":"A'), ('"account":"', '"account":"/')]
    changes += [('"delta":null', '"delta":NaN'), ('"boxes":[', '"boxes":[,'), ("}", "} ")]
    for old, new in changes:
        if old in line:
            assert isinstance(parse_entry(line.replace(old, new)), UnreadableEntry), new


def test_columns_called_as_fields_are_read():
    chain = Chain()
    scope = Box({name: equals('],"delta":null,"seq":1') for name in ("at", "delta", "seq", "tree")})
    chain.ask("a", scope=scope)
    assert verify(chain.rows()).problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nul",
        "NaN",
        "[NaN]",
        "Infinity",
        "1.5",
        "1e5",
        " 1",
        "1 ",
        '{"b":1,"a":1}',
        "é",
        '"é"',
        '"\\u0041"',
        '"\\/"',
        "-0",
        "01",
        "[" * 100000,
        "[" * 500 + "]" * 499,
        "1" * 5000,
        "\ud800",
    ],
)
def test_what_is_not_canonical_is_refused(text):
    assert read_canonical(text) is None


# --- garbage --------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just("0" * 64),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
ANYTHING = JSON | st.binary(max_size=5)


@given(rows=st.lists(st.tuples(*[ANYTHING] * 7) | ANYTHING, max_size=4))
@settings(max_examples=100)
def test_any_rows_are_survived(rows):
    assert not verify(rows).ok


@given(data=st.data())
@settings(max_examples=100)
def test_any_values_in_any_place_are_survived(data):
    chain = honest()
    entry = data.draw(st.sampled_from(chain.entries))
    place = entry
    key = data.draw(st.sampled_from(sorted(entry)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(
            st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
        )
    if data.draw(st.booleans()) or isinstance(place, list):
        place[key] = data.draw(JSON)
    else:
        place[data.draw(st.text(max_size=3))] = place.pop(key)
    rows = chain.rows()
    assert rows == HONEST.rows() or not verify(rows, receipts=[LAST]).ok


def test_problems_are_listed_up_to_a_number():
    report = verify([(7, "x", None, None, "{}", "", None)] * 1000)
    assert (len(report.problems), report.entries) == (MOST, 1000)
    assert "at least 100 problems" in str(report)
    with pytest.raises(Tampered, match="at least 99 more"):
        report.raise_if_bad()


def test_no_value_is_told():
    poison = "xyzzy-4711"
    chain = Chain(Budget(epsilon=1))
    chain.charge(poison, Pure(epsilon=3), scope=Box({poison: equals(poison)}), question=poison)
    chain.start(poison, 3)
    chain.release(poison, poison.encode())
    chain.add("account", account=f"data/none/{poison}x", budget={poison: poison}, by=poison)
    chain.answers[3] = f"{poison}!".encode()
    chain.entries[1]["boxes"][0]["columns"][poison][poison] = poison
    rows = [*chain.rows(), (poison, poison, poison, poison, f'{{"{poison}":1}}', poison, b"")]
    report = verify(rows, receipts=[poison, f"{NAME}:1:{'0' * 64}"])
    assert {"charge", "start", "answer", "account", "budget", "line", "chain", "receipt"} <= {
        problem.kind for problem in report.problems
    }
    said = [*map(str, report.problems), *map(repr, report.problems)]
    with pytest.raises(Tampered) as caught:
        report.raise_if_bad()
    assert poison not in "".join([*said, str(caught.value)])
