"""What the repository may and may not contain."""

import ast
import importlib
import re
import tomllib
from functools import cache

import pytest

import discreet
from tests.house.pages import ROOT, text_files

# The patterns are put together here, so that this file does not match itself.
DOT = r"\."
REGISTRY_HOSTS = re.compile(
    "|".join(
        DOT.join(words)
        for words in (
            ("pypi", "org"),
            ("python" + "hosted", "org"),
            ("npmjs", "(com|org)"),
            ("crates", "io"),
            ("anaconda", "org"),
        )
    )
    + "|--(extra-)?index-"
    + "url",
    re.IGNORECASE,
)
MACHINE_PATHS = re.compile(
    r"(?<![\w.:/-])/("
    + "|".join(["ho" + "me", "ro" + "ot", "wo" + "rk", "Us" + "ers", "mn" + "t"])
    + r")/\w"
    "|file:" + "//|[A-Z]:" + r"\\\\",
)


@cache
def contents():
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in text_files()}


def lines_that_match(pattern):
    return [
        f"{path}:{number}"
        for path, text in contents().items()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_the_patterns_see_what_they_look_for():
    assert REGISTRY_HOSTS.search("https://files.python" + "hosted.org/packages")
    assert MACHINE_PATHS.search("# in /" + "home/someone/discreet")
    assert not MACHINE_PATHS.search("see docs/" + "work/in-progress")


def test_no_file_names_a_registry():
    assert lines_that_match(REGISTRY_HOSTS) == []


def test_no_file_names_a_path_of_one_machine():
    assert lines_that_match(MACHINE_PATHS) == []


def test_the_files_are_found():
    assert {"run", "README.md", "requirements/dev.txt"} <= {str(path) for path in contents()}


@pytest.mark.parametrize(
    "name", ["bench-accounting", "bench-noise", "clients", "demo", "dev", "docs"]
)
def test_every_requirement_is_pinned_and_hashed(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    joined = text.replace("\\\n", " ")
    entries = [line for line in joined.splitlines() if line and not line.startswith("#")]
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==[\w.]+ ", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_a_demo_has_the_pins_of_the_tests():
    """What ``./run demo`` installs, ``./run test`` neither replaces nor removes."""
    pins = [
        set(re.findall(r"^[a-z0-9-]+==\S+", path.read_text("utf-8"), re.MULTILINE))
        for path in (ROOT / "requirements/demo.txt", ROOT / "requirements/dev.txt")
    ]
    assert pins[0] < pins[1]


def test_every_direct_dependency_is_pinned_and_explained():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = "".join(path.read_text("utf-8") for path in (ROOT / "requirements").glob("*.txt"))
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    extras = project["optional-dependencies"].values()
    for entry in [*project["dependencies"], *(entry for extra in extras for entry in extra)]:
        name = re.match(r"[\w-]+", entry).group()
        if name == "discreet":
            continue
        assert re.search(rf"^{name}==", pinned, re.MULTILINE), f"{name}: ./run lock"
        assert re.search(rf"^\|.*\b{name}\b.*\|.*\|$", explained, re.MULTILINE), name


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {discreet.__version__}" in text


def test_news_fragments_follow_the_convention():
    kinds = "added|changed|removed|fixed|privacy"
    for path in (ROOT / "changelog.d").iterdir():
        if path.name != "README.md":
            assert re.fullmatch(rf"[a-z0-9-]+\.({kinds})\.md", path.name), path.name
            assert 0 < len(path.read_text(encoding="utf-8").split()) <= 100, path.name


def test_scripts_import_what_there_is():
    """Benchmarks and chaos run by hand alone, so that a moved module would not be noticed."""
    scripts = [path for name in ("benchmarks", "chaos") for path in (ROOT / name).rglob("*.py")]
    missing = []
    for path in scripts:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
                try:
                    module = importlib.import_module(node.module)
                    missing += [
                        f"{path.name}: {node.module}.{name.name}"
                        for name in node.names
                        if not hasattr(module, name.name)
                    ]
                except ModuleNotFoundError as error:
                    missing.append(f"{path.name}: {error}")
    assert scripts
    assert missing == []
