"""What the suite found, for people: a table, a page with pictures, a document.

Trust: public.
"""

from discreet_audit.report.document import document
from discreet_audit.report.page import claimed_and_measured, page, reconstruction_curve
from discreet_audit.report.tables import tables

__all__ = ["claimed_and_measured", "document", "page", "reconstruction_curve", "tables"]
