"""How many persons do two releases leave with fewer than k candidates, with and without the earlier groups?

Each reference table is protected by the default method, some records are removed at random, and the rest is protected
again: with groups formed anew, from the earlier groups (``previous``), and from earlier groups of at least k + 1
records. The candidates of a person are those who share both its groups. Prints the share of the persons of both
releases with fewer than k candidates, of these the share that a second release could have avoided, and the loss of the
first release. Needs SHOAL_DATA.

    python benchmarks/second_releases.py [--tables census,adult,credit_card] [--k 5]
"""

import argparse

import numpy as np

import shoal
from shoal.datasets import load
from shoal.flow.holder_record import holder_record
from shoal.tables import Table

WIDTHS = (9, 10, 10, 11, 9, 9, 10)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="census,adult,credit_card")
    parser.add_argument("--k", type=int, default=5)
    given = parser.parse_args()
    print(f"k={given.k}, auto; share of persons with fewer than {given.k} candidates\n")
    headings = zip(["removed", "anew", "previous", "avoidable", "k + 1", "loss", "loss k+1"], WIDTHS, strict=True)
    print(f"{'table':<14}" + "".join(f"{heading:>{width}}" for heading, width in headings))
    for name in given.tables.split(","):
        compare(name, given.k)


def compare(name, k):
    """Print the rows of one table."""
    for removed, found in exposures(load(name), k):
        texts = [f"{removed:,}", *(f"{100 * share:.2f} %" for share in found.values())]
        cells = zip(texts, WIDTHS, strict=True)
        print(f"{name:<14}" + "".join(f"{text:>{width}}" for text, width in cells), flush=True)


def exposures(people, k):
    """Yield how many records are removed, and the shares of persons below k and losses that follow."""
    n = people.height
    first = {size: protect(people, size) for size in (k, k + 1)}
    records = {size: holder_record(release.released, Table.from_native(people)) for size, release in first.items()}
    losses = [release.loss.information_loss for release in first.values()]
    for removed in (1, max(2, round(n / 1000)), round(n / 100)):
        kept = np.sort(np.random.default_rng(removed).choice(n, n - removed, replace=False))
        later = people[kept]
        before = first[k].grouping.labels[kept]
        anew = below(before, protect(later, k).grouping.labels, k)
        second = protect(later, k, previous=records[k]).released.second
        reserve = protect(later, k, previous=records[k + 1]).released.second
        avoidable = (second.below_k - second.unavoidable) / kept.size
        shares = (anew, second.share_below_k, avoidable, reserve.share_below_k, *losses)
        names = ("anew", "previous", "avoidable", "reserve", "loss", "loss of k + 1")
        yield removed, dict(zip(names, map(float, shares), strict=True))


def protect(people, k, **further):
    return shoal.protect(people, k, quasi=people.columns, **further)


def below(before, after, k):
    """Return the share of persons that share both their groups with fewer than k."""
    _, which, counts = np.unique(np.column_stack([before, after]), axis=0, return_inverse=True, return_counts=True)
    return float((counts[which.reshape(-1)] < k).mean())


if __name__ == "__main__":
    main()
