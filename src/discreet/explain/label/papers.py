"""A label as the papers that others ask for: NIST's questions, an impact assessment, a registry.

Trust: public.  Every number is one of the label; what only people know comes from ``[about]``, and
is marked where that does not say it.

``nist`` follows the pyramid of NIST SP 800-226: how strong the promise is, what can undermine it,
and how the data is collected.  ``dpia`` is a paragraph for a data protection impact assessment.
``registry`` is a draft of an entry of tier 3 for the OpenDP registry of deployments, in JSON, which
is YAML as well.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from discreet.explain.label.rendering import label_lines
from discreet.explain.words import rounded_up

TO_WRITE: Final = "TO BE WRITTEN"
"""Marks what only a person can say."""
_WIDTH: Final = 100
_VARIANTS: Final = {
    frozenset({"epsilon"}): "Pure DP",
    frozenset({"epsilon", "delta"}): "Approximate DP",
    frozenset({"rho"}): "Zero-concentrated DP",
}
_PART: Final = re.compile(r"(epsilon|conversion delta|delta|rho) ([0-9.e+-]+)")
_TIMING: Final = "a server answers in ticks of a fixed length; in Python, timing is not hidden"


def nist_text(content: Mapping[str, Any]) -> str:
    """Return a label by the sections of NIST SP 800-226."""
    return _wrapped(f"Evaluation by NIST SP 800-226: {_title(content)}", _nist(content))


def _nist(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    said, how, evidence = content["said"], content["how"], content["evidence"]
    told: dict[str, str] = {}
    for name, value in label_lines(content):
        told[name] = f"{told[name]} {value}" if name in told else value
    yield "Unit of privacy", f"{told['Protects']}. {_unit_words(content)}."
    yield "Privacy parameters", f"spent {told['Spent']}; left: {told.get('Left') or 'not told'}."
    meaning = told.get("So far", told.get("This answer", ""))
    end = f" In the end: {told['In the end']}." if "In the end" in told else ""
    yield "What they mean", f"{meaning}.{end}"
    composed = ", ".join(how["composition"]) or "a single release"
    yield "Composition", f"{composed}. The ledger adds up all answers and is never reset."
    mechanisms = ", ".join(how["mechanisms"]) or "none yet"
    yield "Mechanisms", f"{mechanisms}; each is recorded with the answer it was used for."
    yield "Utility and bias", told.get("Accuracy", "no answer with a number is recorded yet")
    yield (
        "Limits",
        (
            f"Rows beyond the limits and values outside the bounds are left out or clipped, which "
            f"biases totals. {said.get('limits', '')}".rstrip()
        ),
    )
    yield "Not protected", told["Not hidden"]
    yield (
        "Implementation",
        (f"{evidence['software']}; noise is {how['noise']}; randomness {how['randomness']}."),
    )
    yield "Side channels", f"{_TIMING}; errors and logs name no value of a private table."
    yield (
        "Trust model",
        (
            f"central: {said.get('curator', TO_WRITE)} holds the exact data and is trusted with "
            f"it. Actors: {said.get('actors', TO_WRITE)}."
        ),
    )
    yield (
        "Access control",
        (
            f"Exact data: {told['Sees exact data']}. Answers: {told['Sees answers']}. "
            "The policy lists who may ask; the ledger records every answer, and its entries "
            "are chained by hashes."
        ),
    )
    yield (
        "Data collection",
        (
            f"Purpose: {told['Purpose']}. Region: {said.get('region', TO_WRITE)}. Source: "
            f"{said.get('data_source', TO_WRITE)}. Differential privacy protects answers, not the "
            "collected data: how it is collected, stored and deleted has to be described here."
        ),
    )
    yield "Tuning", said.get("tuning", TO_WRITE)
    yield "Justification", said.get("justification", TO_WRITE)
    yield (
        "Evidence",
        (
            f"ledger {evidence['ledger']}, entry {evidence['entries']}, head {evidence['head']}; "
            "`discreet label --verify` recomputes every number of the label in JSON."
        ),
    )


def dpia_text(content: Mapping[str, Any]) -> str:
    """Return a paragraph for a data protection impact assessment."""
    said, odds = content["said"], content["odds"]["odds"]
    promise = content["promise"]
    most = odds if promise is None else promise
    unit, strength, evidence = content["unit"], content["strength"], content["evidence"]
    within = min(100, -int(-most["with_of_100"] // 1))
    when = "so far" if promise is None else "once the whole budget is spent"
    count = "1 answer" if content["releases"] == 1 else f"{content['releases']} answers"
    replaced = content["odds"]["question"] == "version"
    guess = "which of two versions" if replaced else "whether everything"
    guess = f"{guess} of one {unit['name']} is in the data"
    raw = ", ".join(said.get("raw_access", ())) or TO_WRITE
    text = (
        f"{said.get('curator', TO_WRITE)} publishes statistics about {_title(content)} for this "
        f"purpose: {said.get('purpose', TO_WRITE)}. All of them are differentially private: each "
        f"is computed with noise, so that it hardly depends on any one {unit['name']}. "
        f"{_unit_words(content)}. Released so far: {count}, at a total price of "
        f"{strength['spent']}; left: {strength['left'] or 'not told'}. For the person this means: "
        f"an outsider who knows everything else, and whose guess {guess} would be right in 50 of "
        f"100 cases, is right in at most {within} of 100 cases {when}. This residual risk "
        f"holds whatever else the outsider knows, or learns later. The exact data remains "
        f"personal data: {raw} can see it, and all obligations for it continue. What holds about "
        "many people at once is not hidden, and "
        "neither is what is published elsewhere. Price, mechanisms and answers are recorded in "
        f"the ledger {evidence['ledger']} (entry {evidence['entries']}), from which this risk can "
        f"be recomputed. Why the budget is acceptable: {said.get('justification', TO_WRITE)}."
    )
    return "\n".join(textwrap.wrap(text.replace("..", "."), _WIDTH)) + "\n"


def registry_text(content: Mapping[str, Any]) -> str:
    """Return a draft of an entry of the registry of deployments, in JSON."""
    return json.dumps(_registry_entry(content), indent=2, ensure_ascii=False) + "\n"


def _registry_entry(content: Mapping[str, Any]) -> dict[str, Any]:
    said, evidence, how = content["said"], content["evidence"], content["how"]
    date = said.get("published") or str(evidence["published"] or TO_WRITE)[:10]
    named = " ".join((said.get("title", ""), said.get("curator", ""), date[:4])).lower()
    raw = ", ".join(said.get("raw_access", ()))
    seen = f"exact data: {raw}; answers: {said.get('released_to', 'whoever may ask')}"
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", named).strip("-") or "untitled",
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
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "one program reads the data, answers and records",
                "actors": said.get("actors") or (seen if raw else TO_WRITE),
                "release_type": "Many releases",
                "release_type_details": "a ledger adds up all answers; it is never reset",
                "data_source_type": said.get("data_source", TO_WRITE),
                "access_type": "Interactive",
                "access_type_details": "one budget for all analysts together, so nothing is "
                "assumed about collusion; accounts below it may limit single analysts further",
            },
            "accounting": {
                "post_processing": "intervals, numbers moved to possible values, combined draws",
                "composition": ", ".join(how["composition"]) or "a single release",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": said.get("tuning", TO_WRITE),
                "mechanisms": f"{', '.join(how['mechanisms']) or 'none yet'}; library: "
                f"{evidence['software']}; floating point: noise is {how['noise']}; randomness "
                f"{how['randomness']}; timing: {_TIMING}; access: the policy names who may ask",
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
    given: dict[str, float] = {}
    for name, number in _PART.findall(strength["spent"]):
        key = name.removeprefix("conversion ")
        given[key] = given.get(key, 0.0) + float(number)  # chances of failure add up
    curve = ", ".join(f"({epsilon:g}, {rounded_up(delta)})" for epsilon, delta in strength["curve"])
    return {
        "dp_variant": {
            "variant_name": _VARIANTS.get(frozenset(given), "Custom"),
            "data_domain": "tables whose bounds and categories a public policy declares, with any "
            "number of rows",
            "unprotected_quantities": "\n".join(f"- {fact}" for fact in content["not_hidden"]),
        },
        "privacy_loss": {
            "privacy_unit": f"{said.get('entity', unit['name'])}, "
            f"{said.get('period', 'all of the data')}",
            "privacy_unit_details": _unit_words(content),
            "privacy_parameters": given or {"epsilon": 0.0},
            "privacy_parameters_details": f"spent so far: {strength['spent']}; left: "
            f"{strength['left'] or 'not told'}; (epsilon, delta) on the curve: {curve}",
        },
    }


def _unit_words(content: Mapping[str, Any]) -> str:
    unit = content["unit"]
    columns = " and ".join(unit["columns"])
    rows = f"all rows with one value of {columns}" if columns else "one row"
    return f"The unit is {rows}; neighbors differ by one unit under {unit['relation']}"


def _title(content: Mapping[str, Any]) -> str:
    return str(content["said"].get("title", "untitled data"))


def _wrapped(title: str, sections: Iterator[tuple[str, str]]) -> str:
    lines = [title]
    for name, text in sections:
        lines += ["", name, *textwrap.wrap(text.replace("..", "."), _WIDTH)]
    return "\n".join(lines) + "\n"
