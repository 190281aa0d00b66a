"""Doors load a name when it is first asked for, once, and say what they do not have."""

import importlib
import subprocess
import sys

import pytest

from discreet.doors import open_door


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A package with one file, one module that is a name of its own, and a name of its own."""
    folder = tmp_path / "inn"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from discreet.doors import open_door\n"
        "if TYPE_CHECKING:\n"
        "    from inn import cellar\n"
        "    from inn.rooms.first import bed, chair\n"
        "lamp = 1\n"
        "__all__, __getattr__, __dir__ = open_door(__name__, __file__, also=('lamp',))\n"
    )
    (folder / "cellar.py").write_text("wine = 3\n")
    (folder / "rooms").mkdir()
    (folder / "rooms" / "__init__.py").write_text("")
    (folder / "rooms" / "first.py").write_text("bed = object()\nchair = None\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("inn")
    for name in [name for name in sys.modules if name.partition(".")[0] == "inn"]:
        del sys.modules[name]


def test_a_file_is_loaded_when_a_name_of_it_is_first_used(room):
    assert "inn.rooms.first" not in sys.modules
    bed = room.bed
    assert bed is sys.modules["inn.rooms.first"].bed


def test_a_name_is_looked_up_once(room):
    assert "bed" not in vars(room)
    bed = room.bed
    assert vars(room)["bed"] is bed
    assert "chair" not in vars(room)


def test_a_name_may_be_none(room):
    assert room.chair is None


def test_a_module_is_a_name_of_its_own(room):
    assert room.cellar.wine == 3
    assert room.cellar is sys.modules["inn.cellar"]


def test_what_is_not_there_is_said_as_python_says_it(room):
    with pytest.raises(AttributeError, match=r"^module 'inn' has no attribute 'stable'$"):
        _ = room.stable
    with pytest.raises(ImportError, match="cannot import name 'stable' from 'inn'"):
        exec("from inn import stable", {})  # noqa: S102


def test_files_are_no_names(room):
    with pytest.raises(AttributeError, match="first"):
        _ = room.first


def test_a_door_lists_its_names_before_they_are_loaded(room):
    assert dir(room) == room.__all__ == ["bed", "cellar", "chair", "lamp"]
    assert "inn.rooms.first" not in sys.modules


@pytest.mark.parametrize(
    ("line", "error", "name"),
    [
        ("from inn.no_such_file import bed", ModuleNotFoundError, "no_such_file"),
        ("from inn.cellar import beer", AttributeError, "beer"),
    ],
)
def test_what_cannot_be_loaded_fails_with_its_own_error(room, tmp_path, line, error, name):
    door = tmp_path / "door.py"
    door.write_text(f"if TYPE_CHECKING:\n    {line}\n")
    names, load, _ = open_door("inn", str(door))
    with pytest.raises(error, match=name):
        load(names[0])


def test_importing_the_package_loads_no_scipy_and_no_engine():
    program = (
        "import sys, discreet; print(*sorted({'scipy', 'duckdb', 'pyspark'} & {*sys.modules}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == ""


def test_no_file_hides_the_name_that_it_defines():
    """Loading a file puts it into its room, where a function of the same name would be hidden."""
    program = """
import importlib, pkgutil, discreet
for room in pkgutil.iter_modules(discreet.__path__, "discreet."):
    if room.ispkg:
        door = importlib.import_module(room.name)
        for file in pkgutil.iter_modules(door.__path__):
            if file.name in getattr(door, "__all__", ()):
                inner = importlib.import_module(f"{room.name}.{file.name}")
                if getattr(inner, file.name, None) not in (None, getattr(door, file.name)):
                    print(inner.__name__)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
