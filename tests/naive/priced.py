"""What groups lack, and the changes of an objective with a price, the obvious way: everything is counted anew."""

import numpy as np

from naive import privacy
from naive.persons import units_per_group


def squared_error(points, labels):
    """The squared error of all groups."""
    return sum(
        float(((points[labels == group] - points[labels == group].mean(axis=0)) ** 2).sum()) for group in set(labels)
    )


def missing_units(labels, units, k):
    """How many units all groups lack."""
    return sum(max(0, k - count) for count in units_per_group(labels, units).values())


def lacking_values(labels, codes, l):
    """How many different values all groups lack, for distinct l."""
    return sum(max(0, l - len(set(codes[labels == group].tolist()))) for group in set(labels.tolist()))


def excess_of_closeness(labels, codes, t, ground):
    """About how many records all groups must change for t-closeness: the excess of the distance times the size."""
    totals = np.bincount(codes).tolist()
    found = 0.0
    for group in set(labels.tolist()):
        inside = codes[labels == group].tolist()
        shares = np.bincount(inside, minlength=len(totals)) / len(inside)
        found += max(0.0, privacy.earth_mover(shares, np.array(totals) / codes.size, ground) - t) * len(inside)
    return found


def objective(points, labels, units, k, price):
    """Squared error, and the price of all missing units."""
    return squared_error(points, labels) + price * missing_units(labels, units, k)


def best_move(points, labels, units, k, price, row, smallest):
    """The lowest objective that passing on or exchanging one row achieves, over all groups and all partners."""
    best = objective(points, labels, units, k, price)
    own = labels[row]
    for group in set(labels.tolist()) - {int(own)}:
        if (labels == own).sum() > smallest:
            trial = labels.copy()
            trial[row] = group
            best = min(best, objective(points, trial, units, k, price))
        for partner in np.flatnonzero(labels == group):
            trial = labels.copy()
            trial[row], trial[partner] = group, own
            best = min(best, objective(points, trial, units, k, price))
    return best
