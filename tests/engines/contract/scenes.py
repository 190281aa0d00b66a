"""What is done in a process with a Spark session of its own; each scene gets that session first."""

import warnings
from functools import partial

import pyarrow as pa

import discreet as dp
from discreet.engines.dispatch import engine_for
from tests.engines.answers import flat
from tests.engines.contract.cases import CROWD, OWN, PORTABLE, ask
from tests.engines.contract.checks import secret
from tests.engines.contract.places import SparkPlace, arrow_tables
from tests.engines.contract.slow_rows import slowly

TASKS = 2
QUOTED = "a value that Spark quotes"
EVENTS = ask("slow").types["events"]
QUESTION = "SELECT k, COUNT(*) AS n FROM events GROUP BY k"
WARDS = [f"ward {number}" for number in range(9)]
PRIVATE_KEYS = """
format = 1
[limits]
max_rows = 10
max_groups = 9
delta_per_question = "1e-12"
[tables.events.columns]
u = {type = "integer"}
k = {type = "text"}
"""
PUBLIC_KEYS = PRIVATE_KEYS.replace(
    'k = {type = "text"}', f'k = {{type = "text", categories = [{", ".join(map(repr, WARDS))}]}}'
)


def answers(session, cases, order=PORTABLE):
    """Return the answers of cases."""
    place = SparkPlace(session)
    return [place.answer(asked, order) for asked in cases]


def slow_frame(session, folder, seconds):
    """Return rows that take their time: every task that reads them waits first."""
    place = SparkPlace(session)
    frame = place.frame(arrow_tables(ask("slow"))["events"], EVENTS).repartition(TASKS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of pandas
        return frame.mapInArrow(partial(slowly, folder=folder, seconds=seconds), frame.schema)


def slow_answer(session, folder, seconds):
    """Return the numbers of a plain question about slow rows."""
    asked = ask("slow")
    with engine_for({"events": slow_frame(session, folder, seconds)}) as engine:
        engine.learn_schema(asked.schema)
        return flat(engine.run(asked.request, order=PORTABLE))


def asked_once(session, folder, seconds, times=1):
    """Ask through a session with a ledger, at a price that leaves no noise to speak of."""
    with opened(session, folder, seconds, PUBLIC_KEYS) as clinic:
        return told(
            clinic, [clinic.ask(QUESTION, epsilon=6000, confirm=True) for _ in range(times)]
        )


def opened(session, folder, seconds, policy):
    """Open slow rows, with a ledger in a folder."""
    return dp.open(
        {"events": slow_frame(session, folder, seconds)},
        unit=dp.person("u"),
        budget=dp.Budget(epsilon=9000, delta=1e-9),
        ledger=f"{folder}/events.ledger",
        policy=policy,
    )


def told(clinic, answers):
    """Return what answers say, and what the ledger says about them."""
    return {
        "answers": [
            answer.to_arrow().select(["k", "n"]).sort_by("k").to_pydict() for answer in answers
        ],
        "replayed": [answer.replayed for answer in answers],
        "kinds": [
            entry["kind"] for entry in clinic.ledger.entries() if entry["kind"] != "describe"
        ],
        "left": str(clinic.remaining),
    }


def counted():
    """Return the answer that everything must give."""
    rows = [row["k"] for row in CROWD["events"]]
    return {"k": WARDS, "n": [rows.count(ward) for ward in WARDS]}


def secret_answer(session):
    """Answer a question about secrets, and return what is shown of all that is involved."""
    place, asked = SparkPlace(session), secret()
    with place.opened(asked) as engine:
        engine.learn_schema(asked.schema)
        raw = engine.run(asked.request, order=OWN)
        return raw.keys[0].to_pylist(), [repr(engine), repr(raw), repr(engine.tables())]


def failing_rows(session):
    """Ask about rows that fail to be computed, with a value in the message."""
    texts = pa.table({"u": list(range(9)), "k": [*"12345678", QUOTED]})
    apart = session.createDataFrame(texts).repartition(2)  # so that it is not computed by planning
    rows = apart.selectExpr("u", "CAST(CAST(k AS INT) AS STRING) AS k")
    with dp.open(
        {"events": rows}, policy=PUBLIC_KEYS, unit=dp.person("u"), test_mode=True
    ) as opened:
        opened.ask(QUESTION, epsilon=1)


def close_engine_early(session):
    """Close an engine, and ask it all the same."""
    asked = ask("closed")
    engine = SparkPlace(session).opened(asked)
    engine.learn_schema(asked.schema)
    engine.close()
    engine.close()
    engine.run(asked.request, order=OWN)
