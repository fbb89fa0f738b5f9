"""Random tables with random treatments, and a recount of the release in plain Python.

A case is drawn from any object with the methods of :class:`random.Random`, so that a seed gives a case, and hypothesis
can draw and shrink one.
"""

import datetime as dt
import decimal
import math
from collections import Counter, defaultdict

import polars as pl

import shoal
from shoal.schema.columns import ALLOWED_RECODES, Kind, Missing, Recode

KINDS = ("small", "integer", "large", "float", "zero", "tiny", "offset", "text", "blank", "flag", "date", "time",
         "enum", "category", "decimal", "constant", "unsigned")  # fmt: skip
CHEAP = ("mdav", "mdav", "mdav", "mdav", "mondrian", "mondrian-v", "v-mdav", "mona", "rank-sum", "random", "auto",
         "nominal-mdav", "k-member", "lloyd", "max-distance", "pcl", "tfrp", "density", "projection", "optimal-1d",
         "ona", "mondrian-nominal", "prepartition", "c-modes")  # fmt: skip
WORDS = [
    "a",
    "b",
    "A",
    " a",
    "a ",
    "",
    "0",
    "-0",
    "NA",
    "ä",
    "*",
    "nan",
    "x" * 40,
    "1e5",
    "None",
    "true",
    "'",
    '"',
    ",",
]


def values(source, kind, n):
    """Return n values of a kind."""
    draw = {
        "small": lambda: source.randint(0, 3),
        "integer": lambda: source.randint(-1000, 1000),
        "large": lambda: source.choice([-1, 1]) * (2 ** source.randint(40, 62) + source.randint(0, 9)),
        "float": lambda: source.choice([source.uniform(-9, 9), round(source.uniform(-9, 9), 1)]),
        "zero": lambda: source.choice([0.0, -0.0, 0.0, 1e-300, -1.0, 1.0]),
        "tiny": lambda: source.uniform(0, 1) * 10.0 ** source.randint(-30, 30),
        "offset": lambda: 1e12 + source.randint(0, 5) / 8,
        "text": lambda: source.choice(WORDS),
        "blank": lambda: source.choice([" ", "", "  ", "\t"]),
        "flag": lambda: source.random() < 0.5,
        "date": lambda: dt.date(2020, 1, 1) + dt.timedelta(days=source.randint(-40_000, 40_000)),
        "time": lambda: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=source.randint(0, 10**7)),
        "enum": lambda: source.choice(["low", "mid", "high"]),
        "category": lambda: source.choice(["p", "q", "r"]),
        "decimal": lambda: decimal.Decimal(source.randint(-999, 999)) / 100,
        "constant": lambda: 7,
        "unsigned": lambda: source.randint(0, 255),
    }[kind]
    types = {
        "enum": pl.Enum(["low", "mid", "high"]), "category": pl.Categorical, "decimal": pl.Decimal(10, 2),
        "unsigned": pl.UInt8,
    }  # fmt: skip
    holes = source.choice([0.0, 0.0, 0.0, 0.2, 1.0 if source.random() < 0.1 else 0.5])
    return pl.Series([None if source.random() < holes else draw() for _ in range(n)], dtype=types.get(kind))


def case(source):
    """Return a table and the arguments of protect."""
    n = source.randint(2, 14)
    count = source.randint(1, 3)
    columns = {f"q{i}": values(source, source.choice(KINDS), n) for i in range(count)}
    arguments = {"quasi": list(columns), "k": source.randint(2, min(n, 4)), "method": source.choice(CHEAP)}
    columns["id"] = pl.Series([f"person{i}" for i in range(n)])
    columns["c"] = pl.Series([source.choice("xyz") for _ in range(n)])
    arguments |= {"identifiers": ["id"], "confidential": ["c"], "seed": source.randint(0, 3)}
    if source.random() < 0.25:
        kind = source.choice(["small", "text", "zero", "flag", "date", "category"])
        columns["s"] = values(source, kind, n).fill_null(strategy="max")
        arguments["strata"] = ["s"]
    if source.random() < 0.2:
        columns["w"] = pl.Series([source.choice([0.01, 1.0, 2.5, 1000.0]) for _ in range(n)])
        arguments["sampling_weight"] = "w"
    policies = [str(policy) for policy in Missing]
    arguments["missing"] = source.choice(policies if source.random() < 0.1 else policies[1:])
    if source.random() < 0.5:
        wild = source.random() < 0.1
        arguments["recode"] = {
            name: str(source.choice(list(Recode) if wild else fitting(columns[name])))
            for name in arguments["quasi"]
            if source.random() < 0.7
        }
    for name, chance, choices in (
        ("global_recoding", 0.15, [True]), ("l", 0.1, [2]), ("t", 0.05, [0.3, 0.6]), ("alpha", 0.05, [0.7]),
        ("p", 0.05, [2]), ("decimals", 0.2, ["full", 0, 2]), ("max_size", 0.05, [9]), ("sums", 0.2, ["exact"]),
        ("column_weights", 0.1, [{"q0": 0.0}, {"q0": 9.0}]),
    ):  # fmt: skip
        if source.random() < chance:
            arguments[name] = source.choice(choices)
    return pl.DataFrame(columns), arguments


def fitting(series):
    """Return the representatives that fit a column."""
    kind = Kind.ORDINAL if series.dtype == pl.Enum else Kind.NOMINAL
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        kind = Kind.NUMERIC
    return sorted(ALLOWED_RECODES[kind] - {Recode.FREQUENCIES})


def key(value):
    """Return what a reader of a text file sees in a cell; all missing cells are equal."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return repr(value)


def complaints(original, released, arguments):
    """Return what is wrong with a released table, counted without code of Shoal."""
    found = []
    names = [*arguments["quasi"], *arguments.get("strata", [])]
    rows = released.to_dicts()
    if len(rows) != original.height:
        found.append("records are lost")
    if "id" in released.columns or set(released.columns) != set(original.columns) - {"id"}:
        found.append("columns are wrong")
        return found
    if released["c"].to_list() != original["c"].to_list():
        found.append("confidential values moved")
    classes = Counter(tuple(key(row[name]) for name in names) for row in rows)
    if min(classes.values()) < arguments["k"]:
        found.append(f"k is {min(classes.values())}")
    inside = defaultdict(Counter)
    for row in rows:
        inside[tuple(key(row[name]) for name in names)][row["c"]] += 1
    least = max(arguments.get("l", 1), arguments.get("p", 1))
    if min(map(len, inside.values())) < least:
        found.append("l or p is violated")
    largest = max(max(counts.values()) / counts.total() for counts in inside.values())
    if largest > arguments.get("alpha", 1) + 1e-9:
        found.append("alpha is violated")
    return found


def protect(frame, arguments):
    """Return the release of a case, or None for a refusal in one sentence."""
    given = dict(arguments)
    try:
        return shoal.protect(frame, given.pop("k"), accept_loss=True, **given)
    except shoal.errors.ShoalError as problem:
        text = str(problem)
        assert text.isprintable(), text
        assert "person" not in text, text
        return None
