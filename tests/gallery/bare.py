"""The blocks of the gallery in an install without extras: which need one, and what all print."""

import json
import re
import subprocess
import sys
from functools import cache
from importlib import metadata

from tests.house.pages import GALLERY_PAGES, ROOT

NEEDS = re.compile(r'Needs the extra `(\w+)`: `pip install "discreet\[\1\]"`\.\n\n```python\n')
BARE = """
import contextlib, io, json, sys
core = set(json.loads(sys.argv[1]))
homes = json.loads(sys.argv[2])

class OnlyCore:
    def find_spec(self, name, path=None, target=None):
        names = set(homes.get(name.partition(".")[0], ()))
        if names and not names & core:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyCore())
failed, printed = [], []
for page, code in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(compile(code, page, "exec"), {"__name__": page})
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}")
        else:
            failed.append(None)
    printed.append(out.getvalue())
print("\\n" + json.dumps([failed, printed]))
"""


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
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


@cache
def homes():
    """Return which distributions each module comes from; it takes a second to read."""
    found = metadata.packages_distributions().items()
    return {module: [plain(home) for home in names] for module, names in found}


def bare_run(programs):
    """Run blocks one after another; return how each failed, if it did, and what each printed."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            BARE,
            json.dumps(sorted(core())),
            json.dumps(homes()),
        ],
        cwd=ROOT,
        input=json.dumps(programs),
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def needing():
    """Return the blocks that say which extra they need, with its name."""
    found = []
    for page in GALLERY_PAGES:
        source = page.read_text(encoding="utf-8")
        for match in NEEDS.finditer(source):
            end = source.index("\n```\n", match.end())
            found.append((page.stem, source[match.end() : end], match[1]))
    return found
