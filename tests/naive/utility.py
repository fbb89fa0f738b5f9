"""Reference implementations of utility measures: one value after the other."""

import math
import statistics
from collections import Counter


def il1s(original, released):
    deviation = statistics.stdev(original)
    return sum(abs(a - b) for a, b in zip(original, released, strict=True)) / (math.sqrt(2) * deviation * len(original))


def total_variation(before, after):
    counts, others = Counter(before), Counter(after)
    return sum(abs(counts[key] / len(before) - others[key] / len(after)) for key in counts | others) / 2


def mutual_information(values, labels):
    """Entropy of the values less the mean entropy inside groups, base 2."""

    def entropy(items):
        return -sum(count / len(items) * math.log2(count / len(items)) for count in Counter(items).values())

    inside = 0.0
    for label in set(labels):
        members = [value for value, other in zip(values, labels, strict=True) if other == label]
        inside += len(members) / len(values) * entropy(members)
    return entropy(list(values)) - inside


def interval_overlap(left, right):
    """Karr et al. 2006: the mean of the shares of both intervals that they have in common, at least 0."""
    shared = max(0.0, min(left[1], right[1]) - max(left[0], right[0]))
    return (shared / (left[1] - left[0]) + shared / (right[1] - right[0])) / 2
