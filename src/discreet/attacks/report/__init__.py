"""What the suite found, for people: a table, a page with pictures, a document.

Trust: public.
"""

from discreet.attacks.report.document import document
from discreet.attacks.report.page import page
from discreet.attacks.report.pictures import claimed_and_measured, reconstruction_curve
from discreet.attacks.report.tables import tables

__all__ = ["claimed_and_measured", "document", "page", "reconstruction_curve", "tables"]
