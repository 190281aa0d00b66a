"""The papers that a label fills in: every section and field is there, with the label's numbers."""

import json

import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.accounting import Leaf
from discreet.cli.app import app
from discreet.explain import label_of
from discreet.explain.label.papers import TO_WRITE
from discreet.ledger import Ledger
from discreet.plan.policy.policy import About

ABOUT = About(
    title="Visits",
    entity="patient",
    period="2026",
    curator="the clinic",
    purpose="planning of wards",
    description="visits by ward",
    region="Example City",
    sector="Health",
    data_source="Static",
    raw_access=("the research team",),
    released_to="the public",
    actors="the clinic holds the data",
    tuning="nobody looked at the data",
    justification="decided by the board",
    authors=("Ana",),
)
SECTIONS = (
    "Unit of privacy",
    "Privacy parameters",
    "What they mean",
    "Mechanisms",
    "Utility and bias",
    "Side channels",
    "Trust model",
    "Access control",
    "Data collection",
)
VARIANTS = {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"}
FIELDS = {
    "basic": {
        "name": None,
        "data_curators": None,
        "intended_use": None,
        "data_product_type": {
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        },
        "data_product_region": None,
        "description": None,
        "publication_date": None,
    },
    "dp_variant": {"variant_name": VARIANTS, "data_domain": None, "unprotected_quantities": None},
    "privacy_loss": {
        "privacy_unit": None,
        "privacy_unit_details": None,
        "privacy_parameters": None,
        "privacy_parameters_details": None,
    },
    "deployment_model": {
        "model_name": {"Central", "Local", "Shuffle", "Federated"},
        "actors": None,
        "release_type": {"One release", "Many releases"},
        "data_source_type": {"Static", "Dynamic"},
        "access_type": {"Interactive", "Non-interactive"},
    },
    "accounting": {"post_processing": None, "composition": None},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning": None,
        "mechanisms": None,
        "justification": None,
    },
    "administrative": {"sources": None, "registry_authors": None},
}
"""The fields of an entry of tier 3, and the words that some of them allow."""


@pytest.fixture
def ledger(tmp_path):
    unit, budget = dp.person("patient"), dp.Budget(epsilon=2)
    with Ledger.open(tmp_path / "clinic.ledger", unit=unit, budget=budget) as opened:
        opened.charge(Leaf(dp.mechanisms.Laplace(scale=4), unit=unit), key="one")
        opened.start("one")
        opened.release("one", b"12")
        yield opened


def test_every_section_of_the_evaluation_is_filled_from_the_ledger(ledger):
    text = label_of(ledger, about=ABOUT).to_nist()
    lines = text.splitlines()
    assert [name for name in SECTIONS if name not in lines] == []
    for fact in ("epsilon 0.25", "patient", "Laplace", "the research team", ledger.receipt.head):
        assert fact in text
    assert TO_WRITE not in text
    assert TO_WRITE in label_of(ledger).to_nist()


def test_the_assessment_names_the_residual_risk_of_the_whole_budget(ledger):
    text = " ".join(label_of(ledger, about=ABOUT).to_dpia().split())
    assert "at most 89 of 100 cases once the whole budget is spent" in text  # e^2 / (1 + e^2)
    assert "epsilon 0.25" in text
    assert "remains personal data: the research team can see it" in text
    assert TO_WRITE not in text


def test_the_draft_has_all_fields_of_the_registry(ledger):
    entry = json.loads(label_of(ledger, about=ABOUT).to_registry())
    assert (entry["url_slug"], entry["status"], entry["tier"]) == (
        f"visits-the-clinic-{entry['deployment']['basic']['publication_date'][:4]}",
        "Draft",
        3,
    )
    assert set(entry["deployment"]) == set(FIELDS)
    for block, fields in FIELDS.items():
        for name, allowed in fields.items():
            value = entry["deployment"][block][name]
            assert value
            assert allowed is None or value in allowed
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.25}
    assert TO_WRITE not in json.dumps(entry)
    unsaid = json.loads(label_of(ledger).to_registry())["deployment"]
    assert unsaid["basic"]["name"] == unsaid["implementation"]["justification"] == TO_WRITE


@pytest.mark.parametrize("form", ["nist", "dpia", "registry"])
def test_the_command_line_prints_each_paper(ledger, tmp_path, form):
    text = getattr(label_of(ledger), f"to_{form}")()
    path = str(tmp_path / "clinic.ledger")
    result = CliRunner().invoke(app, ["label", "--format", form, "--ledger", path])
    assert result.exit_code == 0
    assert result.output == text
