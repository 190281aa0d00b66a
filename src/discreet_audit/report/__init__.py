"""What the suite found, for people and programs: tables, a page, a document, data, a receipt.

Trust: public.
"""

from discreet_audit.report.document import document
from discreet_audit.report.form import form
from discreet_audit.report.page import page
from discreet_audit.report.pictures import claimed_and_measured, reconstruction_curve
from discreet_audit.report.provenance import Provenance, provenance
from discreet_audit.report.receipt import check_key, check_receipt
from discreet_audit.report.tables import tables
from discreet_audit.report.verdicts import headline

__all__ = [
    "Provenance",
    "check_key",
    "check_receipt",
    "claimed_and_measured",
    "document",
    "form",
    "headline",
    "page",
    "provenance",
    "reconstruction_curve",
    "tables",
]
