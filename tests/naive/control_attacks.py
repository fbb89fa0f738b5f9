"""Reference implementations of attacks with a control table: one person after the other."""


def matches(table, columns, signs, values):
    """How many rows satisfy a predicate."""
    tests = {1: lambda x, v: x >= v, -1: lambda x, v: x <= v, 0: lambda x, v: x == v}
    return sum(all(tests[s](row[c], v) for c, s, v in zip(columns, signs, values, strict=True)) for row in table)


def area(members, others):
    """The probability that a member has the smaller distance, ties counted half."""
    wins = sum((m < o) + (m == o) / 2 for m in members for o in others)
    return wins / (len(members) * len(others))


def linked(person, classes, sizes, sets, rows):
    """Whether the nearest classes by two sets of columns share one; all columns are standardised numbers."""
    near = []
    for columns in sets:
        distance = [sum((person[c] - shown[c]) ** 2 for c in columns) for shown in classes]
        found, held = set(), 0
        for number in sorted(range(len(classes)), key=lambda each: (distance[each], each)):
            if held >= rows:
                break
            found.add(number)
            held += sizes[number]
        near.append(found)
    return bool(near[0] & near[1])
