"""Make the files that a later version must still open, verify and replay.

Run as ``python -m tests.earlier.make FOLDER`` with the version that is to be remembered; the files
beside this one were made by version 0.1.0 before its rooms were divided.
"""

import json
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings

import discreet as dp
from discreet.accounting import account, encode
from tests.accounting.random_trees import trees

HERE = Path(__file__).parent
POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "60"
delta = "1e-6"
[limits]
max_groups = 3
max_rows = 5
delta_per_question = "1e-7"
[tables.visits.columns]
patient = {type = "integer"}
ward = {type = "text", categories = ["A", "B", "C"]}
city = {type = "text"}
cost = {type = "float", low = 0, high = 100}
age = {type = "integer", low = 0, high = 120}
born = {type = "integer", constant = true}
"""
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a FROM visits GROUP BY ward",
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "SELECT COUNT(DISTINCT patient) AS n FROM visits WHERE born > 1960",
    "SELECT MEDIAN(age) AS m, MAX(cost) AS x FROM visits",
    "SELECT VAR_SAMP(cost) AS v FROM visits WHERE ward = 'A'",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 5",
    (
        "SELECT COUNT(*) AS n FROM (SELECT patient, SUM(cost) AS c FROM visits GROUP BY patient) "
        "WHERE c > 50"
    ),
    "SELECT COUNT(*) AS n FROM visits v JOIN visits w ON v.patient = w.patient AND v.age < w.age",
)
PRICES = ({"epsilon": "0.5"}, {"epsilon": "0.25", "delta": "1e-9"}, {"rho": "0.01"})


def rows():
    """Return the lines of a small table."""
    yield "patient,ward,city,cost,age,born"
    for at in range(300):
        who = at % 97
        yield f"{who},{'ABC'[at % 3]},{'xyz'[who % 3]},{at % 101}.5,{20 + at % 60},{1930 + who}"


def asked(session):
    """Ask all questions at all prices that they have; return what was told."""
    found = []
    for question in QUESTIONS:
        for price in PRICES:
            try:
                told = session.ask(question, **price)
            except dp.errors.DiscreetError as error:
                found.append([question, price, error.code, None])
            else:
                found.append([question, price, None, told.to_arrow().to_pydict()])
    return found


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "visits.csv").write_text("\n".join(rows()) + "\n")
    (folder / "policy.toml").write_text(POLICY)
    place = folder / "clinic.ledger"
    with dp.open(
        {"visits": str(folder / "visits.csv")}, policy=str(folder / "policy.toml"), ledger=place
    ) as session:
        told = asked(session)
        session.ledger.export(folder / "clinic.jsonl")
    (folder / "told.json").write_text(json.dumps(told, indent=1, default=str))
    (folder / "trees.json").write_text(json.dumps(forms(), indent=0))


def forms():
    """Return stored forms of many trees, each with what an account says it costs."""
    found = []

    @settings(
        max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(trees)
    def collect(tree):
        try:
            price = str(account(tree, relation="add_remove").epsilon(delta="1e-6"))
        except dp.errors.DiscreetError as error:
            price = error.code
        found.append([encode(tree), price])

    collect()
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
