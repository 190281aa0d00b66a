"""``discreet learn``, notebooks, and the blocks of all pages in an install without extras."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import UnknownName, WrongKind
from discreet.teach import write_notebooks
from discreet.teach.gallery_pages import SCRIPT, moving_page, text, titles
from discreet.teach.notebooks import notebook
from tests.house.pages import GALLERY, GALLERY_PAGES, ROOT, blocks

NEEDS = re.compile(r'Needs the extra `(\w+)`: `pip install "discreet\[\1\]"`\.\n\n```python\n')
BARE = """
import json, sys
core = set(json.loads(sys.argv[1]))
homes = json.loads(sys.argv[2])

class OnlyCore:
    def find_spec(self, name, path=None, target=None):
        names = set(homes.get(name.partition(".")[0], ()))
        if names and not names & core:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyCore())
failed = {}
for number, (page, code) in enumerate(json.load(sys.stdin)):
    try:
        exec(compile(code, page, "exec"), {"__name__": page})
    except Exception as error:
        failed[number] = f"{type(error).__name__}: {error}"
print("\\n" + json.dumps(failed))
"""


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def core():
    """Return what an install without extras brings along."""
    found, pending = set(), ["discreet"]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another system
            continue
        pending += [
            plain(re.match(r"[\w.-]+", need)[0]) for need in needs if "extra ==" not in need
        ]
    return found


CORE = core()
HOMES = {
    module: [plain(home) for home in homes]
    for module, homes in metadata.packages_distributions().items()
}


def learn(*arguments, **more):
    return CliRunner().invoke(app, ["learn", *arguments], **more)


def bare_run(programs):
    done = subprocess.run(
        [sys.executable, "-c", BARE, json.dumps(sorted(CORE)), json.dumps(HOMES)],
        cwd=ROOT,
        input=json.dumps(programs),
        capture_output=True,
        check=True,
        text=True,
    )
    return {int(at): words for at, words in json.loads(done.stdout.splitlines()[-1]).items()}


def needing():
    """Return the blocks that say which extra they need, with its name."""
    found = []
    for page in GALLERY_PAGES:
        source = page.read_text(encoding="utf-8")
        for match in NEEDS.finditer(source):
            end = source.index("\n```\n", match.end())
            found.append((page.stem, source[match.end() : end], match[1]))
    return found


def test_a_block_that_needs_an_extra_says_so_and_fails_with_its_name_without_it():
    found = needing()
    assert found
    failed = bare_run([(page, code) for page, code, _ in found])
    assert sorted(failed) == list(range(len(found)))
    for number, (_, _, extra) in enumerate(found):
        assert f"discreet[{extra}]" in failed[number]


def test_every_import_of_an_extra_is_announced():
    """Modules that pages import by name, checked without running anything."""
    standard = sys.stdlib_module_names | {"discreet", "discreet_audit"}
    announced = {code for _, code, _ in needing()}
    for page in GALLERY_PAGES:
        for code, _ in blocks(page):
            names = set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)) - standard
            bare = code.strip("\n")
            outside = {name for name in names if not set(HOMES.get(name, [name])) & CORE}
            assert not outside or bare in announced, (page.stem, outside)


def test_all_blocks_of_the_gallery_run_in_a_bare_install_but_those_that_say_so():
    announced = {code for _, code, _ in needing()}
    programs = [(page.stem, code) for page in GALLERY_PAGES for code, _ in blocks(page)]
    failed = bare_run(programs)
    wrong = {n: w for n, w in failed.items() if programs[n][1].strip("\n") not in announced}
    assert wrong == {}
    assert len(failed) == len(announced)


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
    assert "180 000" in learn("--exercise", "L5").stdout
    assert "Score: 100" in learn("--puzzle", "no-data", input="refute [] [1]\n").stdout
    assert "1 of 11" in learn("--quiz", input="").stdout
    assert learn("--puzzle", "nobody").exit_code != 0


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
