"""From evidence to a model: free, deterministic, and at any time.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.errors import WrongKind
from discreet.synthetic.constraints import impossible
from discreet.synthetic.evidence import Evidence
from discreet.synthetic.inference.inference import Model
from discreet.synthetic.methods.aim import AIM
from discreet.synthetic.methods.dual_query import DualQuery
from discreet.synthetic.methods.method import Method
from discreet.synthetic.methods.mst import MST
from discreet.synthetic.methods.mwem import MWEM
from discreet.synthetic.methods.product import Independent

METHODS: Final[dict[str, type[Method]]] = {
    "aim": AIM,
    "dual_query": DualQuery,
    "mst": MST,
    "mwem": MWEM,
    "product": Independent,
}
"""All methods, by the name under which evidence holds them."""


def method_of(evidence: Evidence) -> Method:
    """Return the method that made some evidence."""
    parameters = {name: value for name, value in evidence.method.items() if name != "name"}
    made = METHODS.get(str(evidence.method.get("name")))
    if made is None:
        raise WrongKind(
            what=f"there is no method {evidence.method.get('name')} here.",
            why="the evidence was made by another version of this package.",
            do="read it with the version that wrote it.",
        )
    return made(**parameters)


def model_of(evidence: Evidence) -> Model:
    """Fit a model to evidence, by the inference of its method."""
    zeros = impossible(evidence.domain, evidence.constraints)
    return method_of(evidence).model(evidence, zeros)
