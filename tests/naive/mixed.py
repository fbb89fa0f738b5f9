"""Annealing by exact loss, from its description: every change is a difference of losses counted from records."""

from collections import Counter

import numpy as np

from naive.annealing import Annealing


def weighted_median(values, weights, lower):
    order = sorted(range(len(values)), key=lambda i: values[i])
    total = sum(weights)
    summed, low, high = 0.0, None, None
    for i in order:
        summed += weights[i] / total
        if low is None and summed >= 0.5 - 1e-9:
            low = values[i]
        if high is None and summed > 0.5 + 1e-9:
            high = values[i]
    high = values[order[-1]] if high is None else high
    return low if lower else low / 2 + high / 2


def number_loss(recode, values, weights, ordinal):
    """The squared error to the representative of one column of numbers."""
    if recode == "median":
        centre = weighted_median(values, weights, ordinal)
    elif recode in {"range", "midrange"}:
        centre = min(values) / 2 + max(values) / 2
    elif recode == "min":
        centre = min(values)
    elif recode == "max":
        centre = max(values)
    elif recode == "suppress":
        centre = values[0] if min(values) == max(values) else 0.0
    else:
        centre = sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)
    return sum(w * (x - centre) ** 2 for w, x in zip(weights, values, strict=True))


def category_loss(cost, values, weights):
    """The weight of the cells of one column of categories that are wrong."""
    distinct = set(values)
    if len(distinct) == 1:
        return 0.0
    if cost.recode == "suppress":
        return sum(weights)
    if cost.recode == "set":
        return sum(weights) * (1 - 1 / len(distinct))
    if cost.recode == "hierarchy":
        for level, nodes in enumerate(cost.ancestors):
            if len({nodes[int(value)] for value in values}) == 1:
                return sum(weights) * (1 - 1 / cost.options[level][int(values[0])])
    found = Counter()
    for value, weight in zip(values, weights, strict=True):
        found[value] += weight
    return sum(weights) - max(found.values())


def group_loss(mixed, nominal, costs, prices, weights, members, observed=None):
    """The reported loss of one group, times the weights of the columns; numbers are scaled by these already.

    Missing cells cost nothing; known ones of a column that is emptied because others are missing cost all they can.
    """
    if not members:
        return 0.0
    total = 0.0
    for j, cost in enumerate(costs):
        known = [i for i in members if observed is None or observed[i, j]]
        if not known:
            continue
        inside = [float(weights[i]) for i in known]
        values = [float(mixed[i, j]) for i in known]
        if cost.emptied and len(known) < len(members):
            wrong = [1.0 if nominal[j] else value**2 for value in values]
            total += (float(prices[j]) if nominal[j] else 1.0) * sum(w * x for w, x in zip(inside, wrong, strict=True))
        elif nominal[j]:
            total += float(prices[j]) * category_loss(cost, values, inside)
        else:
            total += number_loss(cost.recode, values, inside, cost.ordinal)
    return total


class MixedAnnealing(Annealing):
    """The moves of annealing without the pull, with the exact loss; an exchange is two moves.

    Groups are ``allowed`` or not, and those of up to ``most`` records may be dissolved.
    """

    def __init__(self, loss, groups, k, near, unit, unused, *, allowed=None, most=None, largest=None):
        super().__init__(np.zeros((sum(map(len, groups)), 1)), groups, k, near, None, unit, unused)
        self.loss, self.allowed, self.most = loss, allowed or (lambda _: True), most or k
        self.largest = largest or self.largest

    def fits(self, *groups):
        return all(self.allowed(self.groups[g]) for g in groups if self.groups[g])

    def fits_after(self, *moves):
        groups = {g: list(members) for g, members in self.groups.items()}
        touched = {target for _, target in moves} | {self.group(i) for i, _ in moves}
        for i, target in moves:
            next(members for members in groups.values() if i in members).remove(i)
            groups[target].append(i)
        return all(self.allowed(groups[g]) for g in touched)

    def cost(self, *groups):
        return sum(self.loss(self.groups[g]) for g in groups if self.groups.get(g))

    def dissolve(self, a, limit):
        moved, before = [], self.cost(*self.groups)
        for i in list(self.groups[a]):
            targets = [b for b in self.near[i] if b != a and 0 < len(self.groups.get(b, [])) < self.largest]
            if not targets:
                self.undo(moved)
                return
            self.move(i, min(targets, key=lambda b: self.loss([*self.groups[b], i]) - self.loss(self.groups[b])))
            moved.append((i, a))
        if self.cost(*self.groups) - before < limit and self.fits(*self.groups):
            self.unused.append(a)
        else:
            self.undo(moved)

    def exchange(self, i, b, limit):
        a = self.group(i)
        partners = [y for y in list(self.groups[b]) if self.fits_after((i, b), (y, a))]
        changes = [(self.change_of((a, b), (i, b), (y, a)), y) for y in partners]
        best, y = min(changes, key=lambda change: change[0], default=(limit, None))
        if best >= limit:
            return False
        self.move(y, a)
        self.move(i, b)
        return True

    def sweep(self, bits, exponentials, temperature, rare=1311):
        for i in range(len(self.points)):
            drawn = bits()
            a = self.group(i)
            m = len(self.groups[a])
            limit = temperature * self.unit[i] * exponentials[drawn & 1023]
            choice = (drawn >> 10) & 0xFFFF
            if choice < rare and m <= self.most:
                self.dissolve(a, limit)
            elif rare <= choice < 2 * rare and m > self.k:
                self.found(i, limit)
            else:
                u = (drawn >> 26) & 0xFFFF
                self.visit(i, a, (4 * u * u) >> 32, limit)

    def visit(self, i, a, q, limit):
        b = self.near[i, q]
        l = len(self.groups.get(b, []))
        if b == a or l == 0:
            return
        free = len(self.groups[a]) > self.k and l < self.largest
        if free and self.change_of((a, b), (i, b)) < limit and self.fits_after((i, b)):
            self.move(i, b)
            self.near[i, q] = a
        elif self.exchange(i, b, limit):
            self.near[i, q] = a
