"""Public names: what ``__all__`` says is what can be imported."""

import ast
import importlib
import pkgutil

import pytest

import discreet
from tests.house.pages import modules

PACKAGES = ["discreet"] + [
    f"discreet.{found.name}"
    for found in pkgutil.iter_modules(discreet.__path__)
    if found.ispkg and not found.name.startswith("_")
]
MODULES = modules()


def bound_by(body):
    """Return the public names of ours that a module binds, also those it loads late."""
    bound = set()
    for node in body:
        match node:
            case ast.ImportFrom(module="discreet.doors"):
                pass
            case ast.ImportFrom(module=module, names=names) if module.startswith("discreet"):
                bound |= {item.asname or item.name for item in names}
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=late):
                bound |= bound_by(late)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Assign(targets=targets):
                bound |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                bound.add(name)
            case _:
                pass
    return {name for name in bound if not name.startswith("_")}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_exports_exactly_what_it_binds(package):
    module = importlib.import_module(package)
    tree = ast.parse(MODULES[package].read_text(encoding="utf-8"))
    public = {name for name in module.__all__ if not name.startswith("_")}
    assert public == bound_by(tree.body)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_how_far_it_is_trusted_and_its_names_resolve(name):
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert len(exported) == len(set(exported))
    assert [item for item in exported if not hasattr(module, item)] == []
    docstring = ast.get_docstring(ast.parse(MODULES[name].read_text(encoding="utf-8"))) or ""
    opening = "\n".join(docstring.splitlines()[:4])
    assert ("Trust: kernel" in opening) != ("Trust: public" in opening)


def test_a_star_import_works():
    namespace = {}
    exec("from discreet import *", namespace)  # noqa: S102
    assert set(discreet.__all__) <= set(namespace)
