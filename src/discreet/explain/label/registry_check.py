"""Is a draft for the registry of deployments complete?  Which fields are missing, wrong, unwritten?

Trust: public.

The rules are those of a tier-3 entry: fields that must be there, and the words that are allowed in
some of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from discreet.explain.label.registry import TO_WRITE

_TEXT: Final = re.compile(r"(?s).*\S.*")
_DATE: Final = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]")
_SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PARAMETERS: Final = frozenset({"epsilon", "delta", "rho"})


def _one_of(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


_TOP: Final[dict[str, re.Pattern[str]]] = {
    "url_slug": _SLUG,
    "status": _one_of("Draft", "Pending", "Changes Required", "Approved"),
    "tier": _one_of("1", "2", "3"),
}
FIELDS: Final[dict[str, dict[str, re.Pattern[str]]]] = {
    "basic": {
        "name": _TEXT,
        "data_curators": _TEXT,
        "intended_use": _TEXT,
        "data_product_type": _one_of(
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ),
        "data_product_region": _TEXT,
        "description": _TEXT,
        "publication_date": _DATE,
        "data_product_sector": _TEXT,
    },
    "dp_variant": {
        "variant_name": _one_of(
            "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"
        ),
        "data_domain": _TEXT,
        "unprotected_quantities": _TEXT,
    },
    "privacy_loss": {
        "privacy_unit": _TEXT,
        "privacy_unit_details": _TEXT,
        "privacy_parameters_details": _TEXT,
    },
    "deployment_model": {
        "model_name": _one_of("Central", "Local", "Shuffle", "Federated"),
        "model_name_details": _TEXT,
        "actors": _TEXT,
        "release_type": _one_of("One release", "Many releases"),
        "release_type_details": _TEXT,
        "data_source_type": _one_of("Static", "Dynamic"),
        "access_type": _one_of("Interactive", "Non-interactive"),
        "access_type_details": _TEXT,
    },
    "accounting": {"post_processing": _TEXT, "composition": _TEXT},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning": _TEXT,
        "mechanisms": _TEXT,
        "justification": _TEXT,
    },
    "administrative": {"sources": _TEXT, "registry_authors": _TEXT},
}
"""What every block of a tier-3 entry holds, and what may stand there."""
WRITTEN_IN: Final = {
    "name": "title",
    "data_curators": "curator",
    "intended_use": "purpose",
    "data_product_region": "region",
    "description": "description",
    "publication_date": "published",
    "data_product_sector": "sector",
    "actors": "actors",
    "data_source_type": "data_source",
    "preprocessing_and_hyperparameter_tuning": "tuning",
    "justification": "justification",
    "registry_authors": "authors",
}
"""The key of ``[about]`` that fills a field which only a human can write."""


def registry_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an entry lacks, one field at a time; a complete one yields nothing.

    >>> next(registry_faults({"status": "Draft", "tier": 3}))
    'url_slug: missing'
    """
    yield from _block_faults("", _TOP, entry)
    deployment = entry.get("deployment", {})
    for name, fields in FIELDS.items():
        yield from _block_faults(f"{name}.", fields, deployment.get(name, {}))
    given = deployment.get("privacy_loss", {}).get("privacy_parameters")
    if not isinstance(given, Mapping):
        yield "privacy_loss.privacy_parameters: missing"
    elif given.keys() - _PARAMETERS or not all(
        isinstance(number, int | float) for number in given.values()
    ):
        yield "privacy_loss.privacy_parameters: numbers for epsilon, delta and rho alone"


def _block_faults(
    place: str, fields: Mapping[str, re.Pattern[str]], block: Mapping[str, Any]
) -> Iterator[str]:
    for name, allowed in fields.items():
        value = block.get(name)
        texts = value if isinstance(value, list) else [value]
        if not texts or None in texts:
            yield f"{place}{name}: missing"
        elif TO_WRITE in texts:
            yield f"{place}{name}: to be written, as {WRITTEN_IN[name]} in [about] of the policy"
        elif not all(allowed.fullmatch(str(text)) for text in texts):
            yield f"{place}{name}: none of the allowed values"
