"""A notebook of marimo: ``marimo edit examples/notebook.py``.

Plans and answers are shown as tables; there is no magic. For Jupyter see docs/notebooks.
"""

# mypy: disable-error-code="no-untyped-def"

import marimo

app = marimo.App()


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import discreet as dp

    policy = """
        format = 1
        unit = "patient"
        [limits]
        max_rows = 4
        max_groups = 1
        [tables.visits]
        size = { people = 1500, rows = 5000 }
        [tables.visits.columns]
        patient = { type = "integer" }
        ward = { type = "text", categories = ["A", "B", "C"], nullable = false }
    """
    folder = Path(tempfile.mkdtemp())
    rows = [f"{visit % 1500},{'AABC'[visit % 4]}" for visit in range(5000)]
    (folder / "visits.csv").write_text("\n".join(["patient,ward", *rows]))
    clinic = dp.open(
        folder / "visits.csv",
        policy=policy,
        budget=dp.Budget(epsilon=1),
        ledger=folder / "clinic.ledger",
    )
    question = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
    return clinic, question


@app.cell
def _(clinic, question):
    clinic.plan(question, epsilon=0.5)  # free


@app.cell
def _(clinic, question):
    clinic.ask(question, epsilon=0.5)  # again, it is free: the answer is on record


if __name__ == "__main__":
    shown = app.run()[0]
    print(*(each for each in shown if each is not None), sep="\n\n")
