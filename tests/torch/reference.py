"""A clipped sum in NumPy, of lines that are contributions as they are."""

import numpy as np


def squared_norms(lines):
    with np.errstate(all="ignore"):
        return np.einsum("ij,ij->i", lines, lines) * (1 + 2.0**-40) + 2.0**-900


def clipped_sum(clipping, lines):
    squares = squared_norms(lines)
    with np.errstate(all="ignore"):
        scales = clipping.scales(squares, np.sqrt(squares) * (1 + 2.0**-40))
    return scales @ np.where(scales[:, None] == 0, 0.0, lines)
