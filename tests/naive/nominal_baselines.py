"""Reference implementations of the baselines for nominal records: V-MDAV, k-member, c-modes, Castro's rounding."""

from itertools import combinations

from naive.nominal_partition import distance


def mode(codes, members):
    columns = zip(*(codes[i] for i in members), strict=True)
    return [min(set(column), key=lambda value: (-column.count(value), value)) for column in columns]


def labels_of(n, groups):
    labels = [0] * n
    for number, members in enumerate(groups):
        for i in members:
            labels[i] = number
    return labels


def join_nearest(codes, groups, free):
    """Put each free row into the group of its nearest row."""
    taken = sorted(i for members in groups for i in members)
    nearest = {i: min(taken, key=lambda l: (distance(codes[i], codes[l]), l)) for i in free}
    joined = [members + [i for i in free if nearest[i] in members] for members in groups]
    return labels_of(len(codes), joined)


def v_mdav(codes, k, gamma):
    centre, free, groups = mode(codes, range(len(codes))), list(range(len(codes))), []
    while len(free) >= k:
        seed = max(free, key=lambda i: (distance(codes[i], centre), -i))
        group = sorted(free, key=lambda i: (i != seed, distance(codes[i], codes[seed]), i))[:k]
        free = [i for i in free if i not in group]
        while len(group) < 2 * k - 1 and len(free) > 1:
            apart = {i: min(distance(codes[i], codes[l]) for l in group) for i in free}
            nearest = min(free, key=lambda i: (apart[i], i))
            others = min(distance(codes[nearest], codes[l]) for l in free if l != nearest)
            if not apart[nearest] < gamma * others:
                break
            group.append(nearest)
            free.remove(nearest)
        groups.append(group)
    return join_nearest(codes, groups, free)


def k_member(codes, k, first):
    free, groups, last = list(range(len(codes))), [], first
    while len(free) >= k:
        last = max(free, key=lambda i: (distance(codes[i], codes[last]), -i))
        group = [last]
        free.remove(last)
        while len(group) < k:
            apart = {i: [distance(codes[i], codes[l]) for l in group] for i in free}
            group.append(min(free, key=lambda i: (max(apart[i]), sum(apart[i]), i)))
            free.remove(group[-1])
        groups.append(group)
    return join_nearest(codes, groups, free)


def c_modes(codes, k, first, passes):
    modes, clusters = [codes[i] for i in first], None
    for _ in range(passes):
        before, clusters = clusters, [[] for _ in modes]
        for i, row in enumerate(codes):
            clusters[min(range(len(modes)), key=lambda c: (distance(row, modes[c]), c))].append(i)
        if clusters == before:
            break
        modes = [mode(codes, members) if members else modes[c] for c, members in enumerate(clusters)]
    groups = sorted(members for members in clusters if members)
    while min(map(len, groups)) < k:
        smallest = min(groups, key=lambda members: (len(members), members[0]))
        groups.remove(smallest)
        centre = mode(codes, smallest)
        target = min(groups, key=lambda members: (distance(mode(codes, members), centre), members[0]))
        groups = sorted(sorted(members + smallest) if members is target else members for members in groups)
    return labels_of(len(codes), groups)


def whole_columns(shares):
    """Rounding (a): the columns in order of decreasing share that overlap none before; shares are pairs."""
    taken = []
    for members, share in sorted(shares, key=lambda share: -share[1]):
        if share > 1e-9 and not any(set(members) & set(other) for other in taken):
            taken.append(members)
    return taken


def merged_edges(codes, k, shares):
    """Rounding (b): rows are merged along the edges of the largest values; groups below k are left as they are."""
    n = len(codes)
    value = {
        edge: sum(share for members, share in shares if set(edge) <= set(members)) for edge in combinations(range(n), 2)
    }
    groups = {i: [i] for i in range(n)}
    of = dict(groups)
    for edge in sorted((e for e in value if value[e] > 1e-9), key=lambda e: (-round(value[e], 9), e)):
        a, b = of[edge[0]], of[edge[1]]
        if a is not b and len(a) + len(b) <= 2 * k - 1:
            a.extend(b)
            of.update(dict.fromkeys(b, a))
    return sorted(sorted(members) for members in {id(group): group for group in of.values()}.values())
