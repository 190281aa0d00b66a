"""The cookbook: each recipe answers, in SQL as in Python, and the page holds them all."""

import runpy

import pytest

import discreet as dp
from tests.house.pages import ROOT

COOKBOOK = runpy.run_path(str(ROOT / "docs" / "write_cookbook.py"))
RECIPES = COOKBOOK["recipes"]()


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Return a session on tables like those of the page, with a hundred patients."""
    folder = tmp_path_factory.mktemp("cookbook")
    kinds, events = ("chol", "hdl", "smoke"), ("nafld", "htn")
    rows = {
        "patients": ["rownames,id,age,male,weight,height,bmi,case.id,futime,status"]
        + [f"{n},{n},{20 + n % 70},{n % 2},80.5,,{20 + n % 9}.5,,100,0" for n in range(100)],
        "tests": ["rownames,id,days,test,value"]
        + [f"{n},{n % 100},{n % 50},{kinds[n % 3]},{n % 90}.0" for n in range(900)],
        "events": ["rownames,id,days,event"]
        + [f"{n},{n % 100},-5,{events[n % 2]}" for n in range(200)],
    }
    for name, lines in rows.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    with dp.open(
        {name: str(folder / f"{name}.csv") for name in rows},
        policy=COOKBOOK["POLICY"],
        budget=dp.Budget(epsilon=10, delta="1e-6"),
        ledger=folder / "ledger",
    ) as session:
        yield session


def test_there_are_twelve_recipes_and_the_page_has_them():
    page = (ROOT / "docs" / "cookbook" / "index.md").read_text(encoding="utf-8")
    assert len(RECIPES) == 12
    for recipe in RECIPES:
        assert f"## {recipe.title}\n" in page
        assert recipe.sql in page
        assert recipe.python in page


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_python_asks_what_sql_asks(clinic, recipe):
    answer = clinic.ask(recipe.sql, epsilon=recipe.epsilon)
    again = eval(recipe.python, {"clinic": clinic}).ask(epsilon=recipe.epsilon)  # noqa: S307
    assert again.replayed
    assert again.rows() == answer.rows()
