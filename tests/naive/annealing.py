"""Annealing of records, written from the description of the moves: every change is a difference of squared errors."""

from itertools import pairwise

import numpy as np

MASK = (1 << 64) - 1


def squared_error(points, members):
    inside = points[members]
    return float(((inside - inside.mean(axis=0)) ** 2).sum())


def components(first, second):
    """Sets of records that are connected by sharing a group in one of two groupings."""
    parent = list(range(len(first)))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for labels in (first, second):
        for g in set(labels.tolist()):
            for i, j in pairwise(np.flatnonzero(labels == g).tolist()):
                parent[root(i)] = root(j)
    found = {}
    for i in range(len(first)):
        found.setdefault(root(i), []).append(i)
    return list(found.values())


class RandomBits:
    """SplitMix64."""

    def __init__(self, state):
        self.state = int(state)

    def __call__(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


class Annealing:
    """Groups as lists of records; the order in a list follows the rules of the moves."""

    def __init__(self, points, groups, k, near, near_groups, unit, unused):
        self.points, self.k, self.largest = points, k, 2 * k - 1
        self.groups = {g: list(members) for g, members in enumerate(groups)}
        self.unused = list(unused)
        self.near, self.near_groups, self.unit = near.copy(), near_groups, unit

    def group(self, i):
        return next(g for g, members in self.groups.items() if i in members)

    def cost(self, *groups):
        return sum(squared_error(self.points, self.groups[g]) for g in groups if self.groups.get(g))

    def fits(self, *groups):
        return bool(groups)

    def leave(self, i):
        members = self.groups[self.group(i)]
        members[members.index(i)] = members[-1]
        members.pop()

    def change_of(self, groups, *moves):
        """How much the squared error of these groups changes when records go to other groups; nothing is kept."""
        kept = {g: list(self.groups.get(g, [])) for g in groups}
        before = self.cost(*groups)
        for i, target in moves:
            self.leave(i)
            self.groups.setdefault(target, []).append(i)
        change = self.cost(*groups) - before
        self.groups.update(kept)
        return change

    def move(self, i, target):
        self.leave(i)
        self.groups.setdefault(target, []).append(i)

    def undo(self, moved):
        for i, origin in reversed(moved):
            self.move(i, origin)

    def dissolve(self, a, limit):
        moved = []
        change = -self.cost(a)
        for i in list(self.groups[a]):
            rises = []
            for b in self.near[i]:
                if b != a and 0 < len(self.groups.get(b, [])) < self.largest:
                    joined = squared_error(self.points, [*self.groups[b], i]) - self.cost(b)
                    rises.append((joined, b))
            best = min(rises, key=lambda rise: rise[0], default=None)
            if best is None or change + best[0] >= limit:
                self.undo(moved)
                return
            change += best[0]
            self.move(i, best[1])
            moved.append((i, a))
        self.unused.append(a)

    def found(self, i, limit):
        if not self.unused:
            return
        before = self.cost(*self.groups)
        own, new = self.group(i), self.unused[-1]
        self.groups[new] = []
        self.move(i, new)
        moved = [(i, own)]
        while len(self.groups[new]) < self.k:
            rises = []
            for c in (own, *self.near[i]):
                if c != new and len(self.groups.get(c, [])) > self.k:
                    rises += [(self.change_of((c, new), (z, new)), z) for z in list(self.groups[c])]
            if not rises:
                self.undo(moved)
                return
            z = min(rises, key=lambda rise: rise[0])[1]
            moved.append((z, self.group(z)))
            self.move(z, new)
        if self.cost(*self.groups) - before < limit and self.fits(new, *(origin for _, origin in moved)):
            self.unused.pop()
        else:
            self.undo(moved)

    def exchange(self, i, b, limit):
        a = self.group(i)
        changes = [(self.change_of((a, b), (i, b), (y, a)), y) for y in list(self.groups[b])]
        best, y = min(changes, key=lambda change: change[0])
        if best >= limit:
            return False
        first, second = self.groups[a], self.groups[b]
        p, q = first.index(i), second.index(y)
        first[p], second[q] = y, i
        return True

    def sweep(self, bits, exponentials, temperature, rare=1311):
        for i in range(len(self.points)):
            drawn = bits()
            a = self.group(i)
            m = len(self.groups[a])
            limit = temperature * self.unit[i] * exponentials[drawn & 1023]
            choice = (drawn >> 10) & 0xFFFF
            if choice < rare and m == self.k:
                self.dissolve(a, limit)
                continue
            if rare <= choice < 2 * rare and m > self.k:
                self.found(i, limit)
                continue
            u = (drawn >> 26) & 0xFFFF
            q = (u * u) >> 30
            b = self.near[i, q]
            l = len(self.groups.get(b, []))
            if b == a or l == 0:
                continue
            if m > self.k and l < self.largest and self.change_of((a, b), (i, b)) < limit:
                self.move(i, b)
                self.near[i, q] = a
            elif l < self.largest and (drawn >> 42) & 3 == 0:
                self.pull(i, a, b, self.near_groups[a, (drawn >> 44) & 7], q, limit)
            elif self.exchange(i, b, limit):
                self.near[i, q] = a

    def pull(self, i, a, b, c, q, limit):
        if c in (a, b) or len(self.groups.get(c, [])) <= self.k:
            return
        changes = [(self.change_of((a, b, c), (i, b), (y, a)), y) for y in list(self.groups[c])]
        best, y = min(changes, key=lambda change: change[0])
        if best < limit:
            self.move(i, b)
            self.move(y, a)
            self.near[i, q] = a
