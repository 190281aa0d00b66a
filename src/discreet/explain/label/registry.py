"""A draft for the public registry of deployments, filled as far as software can fill it.

Trust: public.

The fields are those of a tier-3 entry of the OpenDP deployments registry.  What only a human can
write is asked for in the policy's table ``[about]``; what that does not say is marked, so that
nobody mistakes the draft for an entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from discreet.explain.words import rounded_up

TO_WRITE: Final = "TO BE WRITTEN"
"""What stands where only a human can say something."""
_VARIANTS: Final = {
    frozenset({"epsilon"}): "Pure DP",
    frozenset({"epsilon", "delta"}): "Approximate DP",
    frozenset({"rho"}): "Zero-concentrated DP",
}
_PART: Final = re.compile(r"(epsilon|conversion delta|delta|rho) ([0-9.e+-]+)")


def registry_draft(content: Mapping[str, Any]) -> str:
    """Return the draft as YAML."""
    return "\n".join(_yaml(registry_entry(content), 0)) + "\n"


def registry_entry(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the draft of an entry as plain values, from the content of a label."""
    said, evidence = content["said"], content["evidence"]
    date = said.get("published") or str(evidence["published"] or TO_WRITE)[:10]
    return {
        "url_slug": _slug(said.get("title", ""), said.get("curator", ""), date[:4]),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": said.get("title", TO_WRITE),
                "data_curators": [said.get("curator", TO_WRITE)],
                "intended_use": said.get("purpose", TO_WRITE),
                "data_product_type": "SQL queries",
                "data_product_region": said.get("region", TO_WRITE),
                "description": said.get("description", TO_WRITE),
                "publication_date": date,
                "data_product_sector": said.get("sector", TO_WRITE),
            },
            **_protection(content),
            "deployment_model": _model(content),
            "accounting": {
                "post_processing": "intervals, numbers moved to possible values, combined draws",
                "composition": ", ".join(content["how"]["composition"]),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": said.get("tuning", TO_WRITE),
                "mechanisms": _mechanisms(content),
                "justification": said.get("justification", TO_WRITE),
            },
            "administrative": {
                "sources": [
                    *said.get("sources", ()),
                    f"ledger {evidence['ledger']}, entry {evidence['entries']}",
                ],
                "notes": said.get("limits", ""),
                "registry_authors": list(said.get("authors", ())) or [TO_WRITE],
            },
        },
    }


def _protection(content: Mapping[str, Any]) -> dict[str, Any]:
    said, unit, strength = content["said"], content["unit"], content["strength"]
    given = _parameters(strength["spent"])
    entity, period = said.get("entity", unit["name"]), said.get("period", "all of the data")
    columns = ", ".join(unit["columns"])
    named = f"all rows with one value of {columns}" if columns else "one row"
    return {
        "dp_variant": {
            "variant_name": _VARIANTS.get(frozenset(given), "Custom"),
            "data_domain": "tables whose bounds and categories a public policy declares, "
            "any number of rows",
            "unprotected_quantities": "\n".join(f"- {fact}" for fact in content["not_hidden"]),
        },
        "privacy_loss": {
            "privacy_unit": f"{entity}-level, {period}",
            "privacy_unit_details": f"{named}; adjacent tables differ by one such unit under "
            f"{unit['relation']}; the distance is the number of units, and 1 between neighbors",
            "privacy_parameters": given,
            "privacy_parameters_details": f"spent so far: {strength['spent']}; "
            f"left: {strength['left'] or 'not told'}; (epsilon, delta) on the curve: "
            + ", ".join(
                f"({epsilon:g}, {rounded_up(delta)})" for epsilon, delta in strength["curve"]
            ),
        },
    }


def _model(content: Mapping[str, Any]) -> dict[str, Any]:
    said = content["said"]
    raw = ", ".join(said.get("raw_access", ()))
    seen = f"exact data: {raw}; answers: {said.get('released_to', 'whoever may ask')}"
    return {
        "model_name": "Central",
        "model_name_details": "one program answers and records; nobody else reads the data for it",
        "actors": said.get("actors") or (seen if raw else TO_WRITE),
        "release_type": "Many releases",
        "release_type_details": "a ledger adds up all answers; its budget is never reset",
        "data_source_type": said.get("data_source", TO_WRITE),
        "access_type": "Interactive",
        "access_type_details": "one budget for all analysts together, so that nothing is assumed "
        "about collusion; accounts below it may limit single analysts further",
    }


def _mechanisms(content: Mapping[str, Any]) -> str:
    how, evidence = content["how"], content["evidence"]
    return (
        f"{', '.join(how['mechanisms']) or 'none yet'}; library: {evidence['software']}; floating "
        f"point: noise is {how['noise']}; randomness {how['randomness']}; timing: not hidden; "
        "platform: answers have a fixed shape and errors name no data; access: the policy names "
        "who may ask, and the ledger records every answer"
    )


def _parameters(spent: str) -> dict[str, float]:
    """Read the numbers of what was spent; chances of failure add up."""
    given: dict[str, float] = {}
    for name, number in _PART.findall(spent):
        key = name.removeprefix("conversion ")
        given[key] = given.get(key, 0.0) + float(number)
    return given or ({"epsilon": 0.0} if spent == "nothing" else {})


def _slug(*words: str) -> str:
    """Name an entry in the way of addresses.

    >>> _slug("Visits & more", "The Clinic", "2026")
    'visits-more-the-clinic-2026'
    """
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-") or "untitled"


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
