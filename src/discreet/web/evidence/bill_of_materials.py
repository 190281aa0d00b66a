"""The software bill of materials: every package that this server can import, with its version.

Trust: public.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distributions
from typing import Any, Final, final

_LONGEST: Final = 40


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One installed package."""

    name: str
    version: str
    license: str

    @property
    def url(self) -> str:
        """The package URL that names it.

        >>> Component(name="Jinja2", version="3.1", license="").url
        'pkg:pypi/jinja2@3.1'
        """
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


@cache
def components() -> tuple[Component, ...]:
    """Return what is installed beside this package, by name, and Python itself first.

    >>> components()[0].name, "jinja2" in {each.name.lower() for each in components()}
    ('Python', True)
    """
    python = Component(name="Python", version=platform.python_version(), license="PSF-2.0")
    found = {each.name.lower(): each for each in map(_component, distributions()) if each.name}
    return (python, *(found[name] for name in sorted(found)))


def _component(found: Distribution) -> Component:
    about = found.metadata.json
    said = str(about.get("license_expression") or about.get("license") or "")
    first = said.strip().splitlines()[0] if said.strip() else ""
    return Component(
        name=str(about.get("name") or ""),
        version=str(about.get("version") or ""),
        license=first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…",
    )


def bill_of_materials() -> Mapping[str, Any]:
    """Return all of it as CycloneDX 1.5, which scanners for known weaknesses read.

    >>> bill = bill_of_materials()
    >>> bill["bomFormat"], bill["components"][0]["purl"].startswith("pkg:pypi/")
    ('CycloneDX', True)
    """
    python, *packages = components()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "name": "discreet", "bom-ref": "discreet"},
            "properties": [
                {"name": "python", "value": python.version},
                {"name": "platform", "value": f"{platform.system()} {platform.machine()}"},
            ],
        },
        "components": [
            {
                "type": "library",
                "bom-ref": each.url,
                "name": each.name,
                "version": each.version,
                "purl": each.url,
            }
            for each in packages
        ],
    }
