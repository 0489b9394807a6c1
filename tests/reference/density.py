"""The paper's probability that a label is wrong, by scipy's kernel densities and in the plainest way."""
import numpy as np
from scipy.stats import gaussian_kde


def reflected(values):
    """Density of the values, reflected at the largest."""
    kde, right = gaussian_kde(values), values.max()  # Scott's rule is its default
    return lambda x: np.where(x <= right, kde(x) + kde(2 * right - x), 0)


def probability(chi, flipped, eta):
    """p(mistake | chi) [N] from the ratios of the labels as they are and of labels drawn from the others."""
    p = np.minimum(1, eta * reflected(flipped)(chi) / reflected(chi)(chi))
    p[chi >= chi[p == p.max()].min()] = p.max()
    return p


def flip(E, y, other):
    """Ratios [N] of the errors E [C, N] under the labels `other` in place of y."""
    rest = E.astype(float)
    own = rest[other, np.arange(len(y))].copy()
    rest[other, np.arange(len(y))] = np.inf
    return own / rest.min(0)
