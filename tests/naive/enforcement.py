"""Groups repaired until they satisfy requirements, the obvious way: lists of records, every cost counted anew."""

import numpy as np

ROUNDING = 1e-10  # a violation up to this is none
CANDIDATES = 24  # records of a group that are considered for an exchange with one neighbour
LARGE = 64  # larger groups are only merged
STEPS = 16  # of one group in one round
NEIGHBOURS = 7  # with the group itself
COLUMNS = 8  # in which neighbours are searched
SPARE = 5  # records that a group may have more in one round, less one
CUTS = 9
PASSES = 3


def error(points, rows):
    """The squared error of one group."""
    inside = points[rows]
    return float(((inside - inside.mean(axis=0)) ** 2).sum())


class State:
    """Groups as lists of records; ``violation`` is a function of the records of a group."""

    def __init__(self, points, labels, violation):
        self.points, self.violation_of = points, violation
        self.rebuild(labels)

    def rebuild(self, labels):
        """Number the groups without gaps, and order their records."""
        self.rows = [np.flatnonzero(labels == name).tolist() for name in np.unique(labels)]
        self.room = [len(rows) + SPARE for rows in self.rows]
        self.recount()

    def recount(self):
        self.centres = [self.points[rows].mean(axis=0) for rows in self.rows]
        self.violation = [self.violation_of(rows) for rows in self.rows]

    def labels(self):
        found = np.empty(len(self.points), np.int64)
        for group, rows in enumerate(self.rows):
            found[rows] = group
        return found

    def violating(self):
        return [group for group, amount in enumerate(self.violation) if amount > ROUNDING]

    def around(self, group, among=None):
        """The groups with the nearest centroids, without the group itself."""
        centres = np.array(self.centres)
        columns = np.argsort(-centres.var(axis=0), kind="stable")[:COLUMNS]
        candidates = range(len(self.rows)) if among is None else among
        far = {other: ((centres[other] - centres[group])[columns] ** 2).sum() for other in candidates}
        nearest = sorted(far, key=far.get)[:NEIGHBOURS]
        return [other for other in nearest if other != group]


def candidates(points, rows, direction):
    """The records of a group that lie farthest in a direction; all records of a small group."""
    if len(rows) <= CANDIDATES:
        return rows
    return sorted(rows, key=lambda row: -float(points[row] @ direction))[:CANDIDATES]


def without(rows, record):
    return [row for row in rows if row != record]


def best_step(state, g, near, k, refining):
    """The best step of a group with one of its neighbours: partner, leaving and coming record, or None to merge."""
    points, rows, violation = state.points, state.rows, state.violation
    best, found = (-1e-9 if refining else np.inf), None
    for h in near:
        if not rows[h] or (refining and violation[h] > ROUNDING):
            continue
        toward = points[rows[h]].mean(axis=0) - points[rows[g]].mean(axis=0)
        before = error(points, rows[g]) + error(points, rows[h])
        together = violation[g] + violation[h]
        if max(len(rows[g]), len(rows[h])) <= LARGE:
            leaving, coming = candidates(points, rows[g], toward), candidates(points, rows[h], -toward)
            take = len(rows[h]) > k and len(rows[g]) + 1 < state.room[g]
            give = len(rows[g]) > k and len(rows[h]) + 1 < state.room[h]
            steps = [(None, y) for y in coming] if take else []
            for x in leaving:
                steps += ([(x, None)] if give else []) + [(x, y) for y in coming]
            for x, y in steps:
                own = without(rows[g], x) + ([] if y is None else [y])
                other = without(rows[h], y) + ([] if x is None else [x])
                left, right = state.violation_of(own), state.violation_of(other)
                if right > max(violation[h], ROUNDING):
                    continue
                if left > ROUNDING if refining else left + right > together - 1e-9:
                    continue
                cost, gain = error(points, own) + error(points, other) - before, together - left - right
                score = cost if refining else cost / gain if cost > 0 else cost * gain
                if score < best:
                    best, found = score, (h, x, y)
        if not refining:
            cost = error(points, rows[g] + rows[h]) - before
            gain = together - state.violation_of(rows[g] + rows[h])
            if gain > 1e-9 and cost / gain < best:
                best, found = cost / gain, (h, None, None)
    return found


def exchange(state, queue, near, k, refining):
    """Take the best steps of each group of a queue; return their number, and with what each group is to be merged."""
    steps, merge = 0, {}
    for g, others in zip(queue, near, strict=True):
        for _ in range(STEPS):
            size = len(state.rows[g])
            if (state.violation[g] <= ROUNDING) != refining or (refining and size > LARGE):
                break
            found = best_step(state, g, others, k, refining)
            if found is None or found[1:] == (None, None):
                if not refining:
                    merge[g] = None if found is None else found[0]
                break
            h, x, y = found
            steps += 1
            for source, target, record in ((g, h, x), (h, g, y)):
                if record is not None:
                    rows = state.rows[source]
                    rows[rows.index(record)] = rows[-1]
                    rows.pop()
                    state.rows[target].append(record)
            for group in (g, h):
                state.centres[group] = state.points[state.rows[group]].mean(axis=0)
                state.violation[group] = state.violation_of(state.rows[group])
    return steps, merge


def repair(state, k):
    """Exchange and merge until no group violates a requirement; return the numbers of exchanges and merges."""
    exchanges = merges = 0
    while queue := state.violating():
        satisfied = [group for group in range(len(state.rows)) if group not in queue]
        near = [list(dict.fromkeys(state.around(g) + state.around(g, satisfied))) for g in queue]
        steps, merge = exchange(state, queue, near, k, refining=False)
        pairs = []
        for g, others in zip(queue, near, strict=True):
            if state.violation[g] > ROUNDING and g in merge:
                h = merge[g] if merge[g] is not None else others[0] if others else g
                both = error(state.points, state.rows[g] + state.rows[h]) if g != h else 0.0
                pairs.append((both - error(state.points, state.rows[g]) - error(state.points, state.rows[h]), g, h))
        used, labels, joined = set(), state.labels(), 0
        for _, g, h in sorted(pairs, key=lambda pair: pair[0]):
            if g != h and not {g, h} & used:
                used |= {g, h}
                labels[labels == g] = h
                joined += 1
        if not steps and not joined:
            break
        exchanges, merges = exchanges + steps, merges + joined
        state.rebuild(labels)
    return exchanges, merges


def cut_of(state, rows, k):
    """The two parts of a group after the best allowed cut on the line between two distant records; None without one."""
    points = state.points[rows]
    first = points[np.argmax(((points - points.mean(axis=0)) ** 2).sum(axis=1))]
    second = points[np.argmax(((points - first) ** 2).sum(axis=1))]
    order = [rows[i] for i in np.argsort(points @ (second - first), kind="stable")]
    best, found = -1.0, None
    for number in range(CUTS):
        at = round(k + (len(rows) - 2 * k) * number / (CUTS - 1))
        parts = order[:at], order[at:]
        if max(map(state.violation_of, parts)) <= ROUNDING:
            gain = error(state.points, rows) - sum(error(state.points, part) for part in parts)
            if gain > best:
                best, found = gain, parts
    return found


def split(state, k):
    """Split groups of 2k or more where both parts satisfy the requirements; return labels and the number of splits."""
    groups = [sorted(rows) for rows in state.rows]
    waiting = [g for g, rows in enumerate(groups) if len(rows) >= 2 * k]
    splits = 0
    while waiting:
        again = []
        for g in list(waiting):
            parts = cut_of(state, groups[g], k)
            if parts is not None:
                groups[g] = sorted(parts[0])
                groups.append(sorted(parts[1]))
                splits += 1
                again += [number for number in (g, len(groups) - 1) if len(groups[number]) >= 2 * k]
        waiting = sorted(again)
    labels = np.empty(len(state.points), np.int64)
    for g, rows in enumerate(groups):
        labels[rows] = g
    return labels, splits


def refine(state, k):
    """Split and exchange while that helps; return the numbers of exchanges and splits."""
    exchanges = splits = 0
    for _ in range(PASSES):
        labels, cuts = split(state, k)
        if cuts:
            state.rebuild(labels)
        queue = list(range(len(state.rows)))
        steps, _ = exchange(state, queue, [state.around(g) for g in queue], k, refining=True)
        exchanges, splits = exchanges + steps, splits + cuts
        state.rebuild(state.labels())
        if not steps and not cuts:
            break
    return exchanges, splits


def satisfy(points, labels, k, violation):
    """Labels, and the numbers of exchanges, merges and splits."""
    state = State(points, labels, violation)
    if not state.violating():
        return state.labels(), (0, 0, 0)
    exchanges, merges = repair(state, k)
    more, splits = refine(state, k)
    return state.labels(), (exchanges + more, merges, splits)


def repair_near(points, labels, k, violation):
    """The repair that reads groups near the violating ones only, more and more of them until it succeeds."""
    state = State(points, labels, violation)
    labels, exchanges, merges = state.labels(), 0, 0
    violating, every = set(state.violating()), set(range(len(state.rows)))
    reached = set(violating)
    while violating:
        if reached != every:
            wider = set(reached)
            for among in (None, sorted(every - violating)):
                wider |= {other for g in reached for other in state.around(g, among)}
            reached = wider if wider > reached else every
        rows = np.flatnonzero(np.isin(labels, sorted(reached)))
        part = State(points[rows], labels[rows], lambda own, rows=rows: violation(rows[own].tolist()))
        steps, joined = repair(part, k)
        exchanges, merges = exchanges + steps, merges + joined
        if reached == every or not part.violating():
            labels[rows] = part.labels() + labels.size
            break
    return labels, (exchanges, merges)


def merge_whole(points, labels, violation):
    """Violating groups merged with the group of the nearest centroid, each group once in a pass."""
    state, merges = State(points, labels, violation), 0
    while (queue := state.violating()) and len(state.rows) > 1:
        used, labels = set(), state.labels()
        for g in queue:
            h = state.around(g)[0]
            if not {g, h} & used:
                used |= {g, h}
                labels[labels == g] = h
                merges += 1
        state.rebuild(labels)
    return state.labels(), merges
