"""A draft for the public registry of deployments, filled as far as software can fill it.

Trust: public.

The fields are those of a tier-3 entry of the OpenDP deployments registry.  What only a human can
write, and the policy's table ``[about]`` does not say, is marked so that nobody mistakes the draft
for an entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

TO_WRITE: Final = "TO BE WRITTEN"
"""What stands where only a human can say something."""
_VARIANTS: Final = {"rho": "zCDP", "mu": "Custom", "epsilon": "Pure"}


def registry_entry(content: Mapping[str, Any]) -> str:
    """Return the draft as YAML."""
    return "\n".join(_yaml(_entry(content), 0)) + "\n"


def _entry(content: Mapping[str, Any]) -> dict[str, Any]:
    said, unit, evidence = content["said"], content["unit"], content["evidence"]
    spent = content["strength"]["spent"]
    return {
        "url_slug": said.get("title", "untitled").lower().replace(" ", "-"),
        "status": "Draft",
        "tier": 3,
        "basic": {
            "name": said.get("title", TO_WRITE),
            "data_curators": [said.get("curator", TO_WRITE)],
            "intended_use": said.get("purpose", TO_WRITE),
            "data_product_type": "SQL queries",
            "data_product_region": said.get("region", TO_WRITE),
            "description": said.get("purpose", TO_WRITE),
            "publication_date": said.get("published") or evidence["published"] or TO_WRITE,
            "sector": said.get("sector", TO_WRITE),
        },
        "dp_variant": {
            "variant_name": _variant(spent),
            "data_domain": "tables whose bounds and categories a public policy declares",
            "unprotected_quantities": list(content["not_hidden"]),
        },
        "privacy_loss": {
            "privacy_unit": f"{unit['name']} ({', '.join(unit['columns']) or 'each row'})",
            "privacy_unit_details": f"neighbors under {unit['relation']}, distance 1",
            "privacy_parameters": spent,
            "details": f"profile as (epsilon, delta): {content['strength']['curve']}",
        },
        "deployment_model": {
            "model_name": "Central",
            "details": "one counter answers and records; nobody else reads the data",
            "actors_and_trust": ", ".join(said.get("raw_access", ())) or TO_WRITE,
            "release_type": "many",
            "data_source_type": "static",
            "access_type": "interactive",
            "budget_split": "one ledger for all analysts; collusion changes nothing",
        },
        "accounting": {
            "post_processing": "intervals, clipping to possible values, combination of draws",
            "composition": ", ".join(content["how"]["composition"]),
        },
        "implementation": {
            "preprocessing": said.get("tuning", TO_WRITE),
            "mechanisms": (
                f"{', '.join(content['how']['mechanisms'])}; {evidence['software']}; noise "
                f"{content['how']['noise']}, no floating point; randomness "
                f"{content['how']['randomness']}; timing is not hidden"
            ),
            "justification": said.get("justification", TO_WRITE),
        },
        "administrative": {
            "sources": [f"ledger {evidence['ledger']}, entry {evidence['entries']}"],
            "notes": said.get("limits", ""),
            "registry_authors": list(said.get("authors", ())) or [TO_WRITE],
        },
    }


def _variant(spent: str) -> str:
    if "epsilon" in spent and "delta" in spent:
        return "Approx"
    return next((name for word, name in _VARIANTS.items() if word in spent), "Custom")


def _yaml(value: object, depth: int) -> Iterator[str]:
    """Write plain values as YAML; texts are quoted as JSON, which YAML reads."""
    pad = "  " * depth
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, Mapping | list) and inner:
                yield f"{pad}{name}:"
                yield from _yaml(inner, depth + 1)
            else:
                yield f"{pad}{name}: {json.dumps(inner, ensure_ascii=False)}"
    elif isinstance(value, list):
        for inner in value:
            yield f"{pad}- {json.dumps(inner, ensure_ascii=False)}"
