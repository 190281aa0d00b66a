"""``discreet learn``, notebooks, and which blocks of the pages need an extra."""

import ast
import importlib
import json
import re
import sys

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import UnknownName, WrongKind
from discreet_course import write_notebooks
from discreet_course.gallery_pages import SCRIPT, moving_page, terminal_text, text, titles
from discreet_course.notebooks import notebook
from tests.gallery.bare import bare_run, core, homes, needing
from tests.house.pages import GALLERY, GALLERY_PAGES, blocks


def learn(*arguments, **more):
    return CliRunner().invoke(app, ["learn", *arguments], **more)


def test_a_block_that_needs_an_extra_says_so_and_fails_with_its_name_without_it():
    found = needing()
    assert found
    failed, _ = bare_run([(page, code) for page, code, _ in found])
    assert len(failed) == len(found)
    for (_, _, extra), words in zip(found, failed, strict=True):
        assert f"discreet[{extra}]" in words


def test_every_import_of_an_extra_is_announced():
    """Modules that pages import by name, checked without running anything."""
    standard = sys.stdlib_module_names | {"discreet", "discreet_course"}
    announced = {code for _, code, _ in needing()}
    for page in GALLERY_PAGES:
        for code, _ in blocks(page):
            names = set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)) - standard
            bare = code.strip("\n")
            outside = {name for name in names if not set(homes().get(name, [name])) & core()}
            assert not outside or bare in announced, (page.stem, outside)


def test_pages_are_listed_and_shown():
    listed = learn()
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in titles())
    shown = learn("ten-rows")
    assert "Ten rows" in shown.stdout
    assert learn("nothing").exit_code != 0
    with pytest.raises(UnknownName):
        text("../secret")


def test_exercises_quiz_and_puzzles_by_command():
    assert "right" in learn("--exercise", "L5", "--answer", "180000").stdout
    assert "not yet" in learn("--exercise", "L5", "--answer", "200000").stdout
    assert "sensitivity of their total" in learn("--exercise", "L5").stdout
    assert "180 000" in learn("--exercise", "L5", "--solution").stdout
    assert "Score: 100" in learn("--puzzle", "no-data", input="refute [] [1]\n").stdout
    assert "1 of 15" in learn("--quiz", input="").stdout
    assert learn("--puzzle", "nobody").exit_code != 0


def test_programs_are_handed_in_as_files(tmp_path):
    asked = learn("--exercise", "D3").stdout
    assert "program(data, entropy)" in asked
    assert "bits(2)" not in asked  # the solution is not told
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("def program(bit, entropy):\n    return bit ^ (entropy.bits(2) == 0)\n")
    bad.write_text("x = 1\n")
    assert "right" in learn("--exercise", "D3", "--answer", str(good)).stdout
    assert "no function named program" in learn("--exercise", "D3", "--answer", str(bad)).stdout
    assert learn("--exercise", "D3", "--answer", "nowhere.py").exit_code != 0
    assert "right" in learn("--exercise", "D4", "--answer", "inf").stdout


def test_the_list_names_the_exercises_and_the_key_is_written_once(tmp_path):
    listed = learn().stdout
    assert "(D1 D2 D3 D4)" in listed
    assert "--exercise" in listed
    path = tmp_path / "key.md"
    assert learn("--answer-key", str(path)).exit_code == 0
    assert path.read_text(encoding="utf-8").startswith("# Answer key")
    assert learn("--answer-key", str(path)).exit_code != 0


def test_a_course_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "discreet_course", None)
    told = learn()
    assert told.exit_code != 0
    assert "pip install discreet-course" in told.stderr


@pytest.mark.parametrize("name", titles())
def test_a_terminal_shows_no_formula_of_latex(name):
    words = re.sub(r"^```.*?^```$", "", terminal_text(name), flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"\\[a-zA-Z,;]", words)
    assert "{admonition}" not in words
    assert not re.search(r"(?<!\d)\$(?!\d)", re.sub(r"`[^`]*`", "", words))


def test_an_erratum_keeps_its_title_in_a_terminal():
    assert "> **Erratum of the course**" in terminal_text("properties")
    assert "Erratum of the course" in learn("properties").stdout


def test_the_course_uses_public_names_of_the_library_alone():
    """Rooms and what they list; mechanisms of textbooks are built like those of the kernel."""
    textbook = {
        "counters",
        "counting",
        "heavy_hitters",
        "hierarchy",
        "optimal",
        "permute_and_flip",
        "refined_tree",
        "textbook",
    }
    for path in SCRIPT.parents[1].rglob("*.py"):
        if path.stem in textbook:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet."):
                room = importlib.import_module(node.module)
                assert node.module.count(".") <= 2, (path.name, node.module)
                assert {each.name for each in node.names} <= set(room.__all__), path.name


def test_the_moving_page_is_written_once(tmp_path):
    path = tmp_path / "moving.html"
    assert learn("--pictures", str(path)).exit_code == 0
    assert path.read_text(encoding="utf-8") == moving_page()
    assert learn("--pictures", str(path)).exit_code != 0


def test_notebooks_hold_every_block_of_every_page_in_order(tmp_path):
    made = write_notebooks(tmp_path / "course")
    assert len(made) == len(GALLERY_PAGES) == len(titles())
    for path in made:
        page = GALLERY / f"{path.stem[3:]}.md"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert codes == [code.strip("\n") for code, _ in blocks(page)]
        shown = "".join("".join(cell["source"]) for cell in cells)
        for picture in re.findall(r"\(pictures/([^)]+)\)", shown):
            assert (tmp_path / "course" / "pictures" / picture).is_file()
        assert "{admonition}" not in shown
        assert "<figure" not in shown
    with pytest.raises(WrongKind):
        write_notebooks(tmp_path / "course")


def test_a_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "notebook"}
    for cell in notebook("properties")["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "notebook", "exec"), names)  # noqa: S102
    assert "textbook 6.31" in capsys.readouterr().out


def test_moving_pictures_of_pages_are_known_and_each_is_on_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in GALLERY_PAGES)
    shown = re.findall(r'<figure class="moving" data-picture="([a-z-]+)"></figure>', pages)
    assert sorted(shown) == sorted(re.findall(r'data-picture="([a-z-]+)"', moving_page()))


def test_the_script_needs_nothing_from_elsewhere():
    source = SCRIPT.read_text(encoding="utf-8")
    assert not re.search(r"\b(import|fetch|XMLHttpRequest|WebSocket|eval)\b", source)
    assert set(re.findall(r"https?://[^\"']+", source)) == {"http://www.w3.org/2000/svg"}
