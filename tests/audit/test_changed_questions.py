"""Texts that were never meant to be questions, made by a fixed stream of coins.

Questions that nobody would write: known ones, changed a little by a fixed stream of coins.

A16: texts that were never meant to be questions.

Known questions are changed a little, again and again.  Each result is planned: it is refused in
words, or it is a question, which can be answered and shown.  Then its loss may not be above its
price, and a higher price may not make it smaller.
"""

import re
from fractions import Fraction

from discreet.errors import DiscreetError
from discreet.noise import KeyedEntropy
from discreet.query.functions import AGGREGATES as AGGREGATE_FUNCTIONS
from discreet.query.functions import FUNCTIONS, WINDOWS
from discreet.query.sql.tokens import RESERVED
from tests.audit.clinic import AGGREGATES, ONE_AGGREGATE, QUESTIONS, rehearsed, visits

SEEDS = (
    *QUESTIONS,
    *map(ONE_AGGREGATE.format, AGGREGATES),
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    (
        "SELECT ward, city, AVG(age) AS a FROM visits WHERE day > DATE '2025-01-02' GROUP BY ward, "
        "city HAVING a > 3 ORDER BY a DESC LIMIT 3"
    ),
    (
        "SELECT COUNT(*) AS n FROM (SELECT patient, ward, COUNT(*) AS k FROM visits "
        "GROUP BY patient, ward) AS t WHERE k > 1"
    ),
    (
        "SELECT k, COUNT(*) AS n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient "
        "ORDER BY age) AS k FROM visits) AS t WHERE k IN (1, 2) GROUP BY k"
    ),
    "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient = b.patient",
    "WITH old AS (SELECT * FROM visits WHERE age > 60) SELECT SUM(cost) AS s FROM old",
    "SELECT COUNT(*) AS n FROM (SELECT ward FROM visits UNION ALL SELECT city FROM visits) AS t",
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) ward, "
        "SUM(age, contribution_bounds_per_group => (0, 9)) AS s FROM visits GROUP BY ward"
    ),
    (
        "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS who, COUNT(*) AS n FROM visits "
        "GROUP BY who"
    ),
)
"""Texts to start from."""

_WORDS = (
    *sorted(RESERVED),
    *(name for name in (*FUNCTIONS, *AGGREGATE_FUNCTIONS, *WINDOWS) if name.isidentifier()),
    *("OVER", "FILTER", "OPTIONS", "DIFFERENTIAL_PRIVACY", "contribution_bounds_per_row"),
    *("patient", "ward", "city", "cost", "age", "note", "day", "visits", "t", "`x y`"),
    *"()[],.=<>+-*/%;",
    *("<>", "<=", "=>", "||", "::", "1", "0", "-1", "2.5", "1e999", "'text'", "''", "NULL"),
    *('"', "'", "`", "\\", "@x", "?", "--", "/*", "*/", "\n", "\0", "é", "\ud800", "9" * 40),
)
_KINDS = (
    ("patient", "ward", "city", "cost", "age", "note", "day"),
    ("0", "1", "2", "40", "-5", "2.5", "1000000", "9223372036854775807"),
    ("SUM", "AVG", "COUNT", "MEDIAN", "MIN", "MAX", "STDDEV", "VAR_POP"),
    ("UPPER", "LOWER", "LENGTH", "ABS", "TRIM", "FLOOR", "SQRT", "SIGN"),
    ("<", ">", "=", "+", "-", "*", "/"),
    ("AND", "OR"),
)
_LIKE = {word: kind for kind in _KINDS for word in kind}
"""Words that stand where others of their kind do."""
_PIECES = re.compile(r"'[^']*'|\w+|\S")


def changed(count, *, label, seeds=SEEDS):
    """Yield texts, the same for the same label.

    >>> list(changed(2, label="one")) == list(changed(2, label="one"))
    True
    """
    coins = KeyedEntropy(key=bytes(32), label=f"texts {label}")

    def below(most):
        return coins.bits(32) % max(most, 1)

    for _ in range(count):
        words = _PIECES.findall(seeds[below(len(seeds))])
        for _ in range(1 + below(3)):
            place = below(len(words))
            match below(12):
                case 0:
                    del words[place : place + 1]
                case 1:
                    words[place:place] = words[place : place + 1 + below(6)]
                case 2 if words:
                    to = below(len(words))
                    words[place], words[to] = words[to], words[place]
                case 3:
                    words.insert(place, _WORDS[below(len(_WORDS))])
                case 4:
                    other = _PIECES.findall(seeds[below(len(seeds))])
                    begin = below(len(other))
                    words[place:place] = other[begin : begin + 1 + below(12)]
                case _:
                    _exchange(words, below)
        yield " ".join(words)


def _exchange(words, below):
    """Put another word of its kind in the place of one."""
    places = [place for place, word in enumerate(words) if word in _LIKE]
    if places:
        place = places[below(len(places))]
        kind = _LIKE[words[place]]
        words[place] = kind[below(len(kind))]


_DELTA = Fraction(1, 10**9)
_ROUNDING = Fraction(1, 10**9)
_SHOWN = 400


def test_changed_texts_are_refused_or_priced(found, quick):
    """Random changes of questions give a refusal or a plan whose loss is at most its price."""
    n, some = (300, 8) if quick else (10_000, 20)
    accepted = judged = 0
    wrong = []
    with rehearsed(visits(8)) as session:
        for text in changed(n, label="fuzz"):
            try:
                plan = session.plan(text, epsilon=1, delta=_DELTA)
            except DiscreetError:
                continue
            except Exception as error:  # noqa: BLE001  (what is looked for)
                wrong.append(f"{type(error).__name__} escapes from {text[:_SHOWN]!r}")
                continue
            accepted += 1
            wrong += _answered(session, text, plan)
            if accepted % some == 0:
                judged += 1
                wrong += _priced(session, text, plan)
    found.attack(
        f"{n} texts, {accepted} of them questions, {judged} priced again",
        wrong,
        not_covered="texts that start from other questions",
    )


def _answered(session, text, plan):
    """Show a plan, carry it out, and show the answer."""
    try:
        str(plan), str(session.ask(plan))
    except DiscreetError as error:
        return [f"{text[:_SHOWN]!r} is planned, and then refused: {error.what}"]
    except Exception as error:  # noqa: BLE001  (what is looked for)
        return [f"{type(error).__name__} escapes from {text[:_SHOWN]!r}"]
    return []


def _priced(session, text, plan):
    """Compare the loss of a plan with its price, and with that of a dearer one."""
    wrong = []
    asked = Fraction(1) if plan.price.epsilon is None else plan.price.epsilon
    here = Fraction(plan.loss.epsilon(delta=_DELTA))
    if here > asked * (1 + _ROUNDING):
        wrong.append(f"{text[:_SHOWN]!r} costs {float(asked):g} and loses {float(here):g}")
    dearer = session.plan(text, epsilon=2, delta=_DELTA)
    if Fraction(dearer.loss.epsilon(delta=_DELTA)) < here:
        wrong.append(f"{text[:_SHOWN]!r} loses less at a higher price")
    return wrong
