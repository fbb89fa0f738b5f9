"""Misuses of the Python functions: a correct call of each function, and wrong values for each argument by its name.

The same argument has the same name and meaning in all functions, so one list of wrong values serves them all. Every
cell of the tables is unique, so that a test can search for cells in the texts of errors.
"""

import inspect
import pickle
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import shoal

from attacks.bad_commands import PEOPLE

NAN = float("nan")
NAMES = [5, [5], [None], [["age"]], ["nowhere"], "nowhere", b"age", {"age": 1}, True, object()]
TEXTS = [5, "zzz", ["age"], b"age", {}, True]
CHOICES = [5, "zzz", [], b"x", True, ""]
NUMBERS = ["x", NAN, [2], True, None, {}, 1j]
FLAGS = ["yes", 2, [], {}]
TABLES = [5, None, [], {}, "none.csv", "", b"people.csv", object(), [1, 2], {"age": [1, 2]}, np.zeros(3), PEOPLE["age"]]
PATHS = [5, None, [], b"x", "", "no/such/folder/x.csv", "x\0.csv", object()]
ARRAYS = [
    None,
    5,
    "abc",
    [],
    [[]],
    [["a"]],
    [[1, 2], [3]],
    [[NAN], [1]],
    [[float("inf")], [1]],
    np.zeros((2, 2, 2)),
    {},
]


def returning(labels):
    """Return a method that returns these labels for any table."""
    return lambda points, k: labels  # noqa: ARG005


VALUES = {
    "data": TABLES,
    "original": TABLES,
    "released": TABLES,
    "control": [value for value in TABLES if value is not None],
    "population": [value for value in TABLES if value is not None],
    "table": [5, None, [], "people.csv", PEOPLE],
    "k": ["3", None, 1, 0, -1, 1.5, True, [3], 10**30, NAN, {}, b"3"],
    "quasi": NAMES,
    "confidential": NAMES,
    "identifiers": NAMES,
    "strata": NAMES,
    "other": NAMES,
    "unnamed": CHOICES,
    "columns": NAMES,
    "method": ["mdv", 5, None, [], "", b"mdav", lambda: 0, lambda points: points, returning("abc"),
               returning([0]), returning(None), returning(np.zeros((12, 2))), returning(np.arange(12)),
               returning([NAN] * 12)],
    "methods": [5, [5], ["mdv"], [], {}, [[]], b"mdav"],
    "schema": [5, [], {}, object(), "none.toml", "x = = 1", b"x", True],
    "kinds": [5, "numeric", ["age"], {"age": 5}, {"age": "zzz"}, {5: "numeric"}, {"nowhere": "numeric"}, {"age": None}],
    "orders": [5, "age", ["age"], {"sex": 5}, {"sex": "abc"}, {"sex": ["a", "a"]}, {"nowhere": ["a"]}, {"sex": []},
               {"sex": [[1]]}, {"sex": None}],
    "column_weights": [5, "age", ["age"], {"age": "x"}, {"age": None}, {"age": -1}, {"age": NAN}, {"age": [1]},
                       {"nowhere": 1}, {"age": True}, {"age": 1e400}],
    "sampling_weight": [*TEXTS, ""],
    "missing": CHOICES,
    "recode": [5, "zzz", {"age": 5}, {"nowhere": "mean"}, ["mean"], {"age": None}, b"mean", True, ""],
    "hierarchies": [5, "flat", ["sex"], {"sex": 5}, {"sex": [1]}, {"nowhere": "flat"}, {"sex": "none.csv"},
                    {"sex": True}, {"sex": b"flat"}, {"sex": {}}],
    "before": [5, "top 9", ["age"], {"age": 5}, {"age": "zzz"}, {"nowhere": "top 9"}, {"age": None}, {"age": [5]},
               {"age": "band month"}, {"age": "map none.csv"}, {"age": b"top 9"}, {"age": "outliers 1e-9 within 1%"}],
    "after": [5, "round 9", {"age": 5}, {"age": "top 9%"}, {"nowhere": "round 9"}, {"age": "rare 5"}],
    "keep": [5, "age", ["age <= nowhere"], [5], {"age": "income"}, ["age < age"], "age <= income <= age"],
    "shuffle": FLAGS,
    "steps": [5, "x", {}],
    "least": ["x", 0, 1.5, None, True],
    "global_recoding": FLAGS,
    "contributions": FLAGS,
    "standardise": FLAGS,
    "public": FLAGS,
    "decimals": [-1, 16, "zzz", None, 1.5, True, [1], b"full"],
    "sums": CHOICES,
    "max_size": ["5", 2, 1.5, True, [5], -1, NAN],
    "l": ["x", 0, [2], NAN, True, -1, 1e400, {}, 2.5],
    "l_kind": CHOICES,
    "c": ["x", 0, NAN, [1], True, 3],
    "p": ["x", 0, 1.5, True, [2]],
    "alpha": ["x", 0, 2, NAN, True, [0.5]],
    "t": ["x", -1, 2, NAN, True, {}],
    "beta": ["x", 0, -1, NAN, True, [1]],
    "delta": ["x", 0, -1, NAN, True],
    "m": ["x", 0, -1, 1.5, True, [2]],
    "seed": [-1, "x", None, 1.5, True, [1], 2**64, NAN],
    "effort": [5, "zzz", [], True, ""],
    "time_limit": ["abc", -1, 0, [], NAN, {}, "", True],
    "options": [5, "x", ["a"], {"zzz": 1}, {5: 1}, {"passes": object()}],
    "read_options": [5, "x", {"zzz": 1}, {"delimiter": 5}, {"encoding": 5}, {"decimal": "x"}, {"na_values": 5},
                     {"na_values": [5]}, {"delimiter": ";;"}, {"encoding": "utf-99"}, [("delimiter", ";")]],
    "progress": [5, "x", None, print, object()],
    "threshold": ["x", -1, 2, NAN, None, [0.2], True],
    "width": ["x", -1, NAN, None, [0.2], 0],
    "sample": ["x", -1, 0, 1.5, NAN, [5], True],
    "target": [5, "nowhere", ["age"], b"age", True],
    "confidential_as": CHOICES,
    "missing_semantics": CHOICES,
    "points": ARRAYS,
    "path": PATHS,
    "report": [5, [], "x.pdf", "no/such/folder/x.html", b"x.html"],
    "public_report": [5, [], "x.pdf", "no/such/folder/x.html"],
    "manifest": [5, [], "no/such/folder/x.json"],
    "encoding": [5, None, "x", {}],
    "prepared": [5, None, "x", {}],
    "grouped": [5, None, "x", {}],
    "recoded": [5, None, "x", {}],
    "plan": [5, None, "x", {}],
    "requirements": [5, None, "x", {}],
    "call": [5, "mdav", {}],
    "epsilon": ["x", 0, -1, NAN, float("inf"), True, None, [1]],
    "mechanism": [5, "zzz", None, [], ""],
    "bounds": [5, "x", {"age": 5}, {"age": (9, 3)}, {"age": (1,)}, {"age": ("a", "b")}, {"nowhere": (0, 1)},
               {"age": (NAN, 1)}, {"age": (0, float("inf"))}, {"sex": (0, 1)}, ["age"]],
    "categories": [5, "x", {"sex": 5}, {"sex": []}, {"nowhere": ["a"]}, {"sex": ["a", "a"]}, ["sex"]],
    "missing_share": ["x", -1, 2, NAN],
    "n": ["x", -1, 1.5, True, None],
    "d": ["x", -1, 1.5, True, None],
    "name": [5, None, "", "nowhere", [], b"x"],
    "labels": ["abc", [], [0], [[0, 1]], [0.5] * len(PEOPLE), {}],
    "values": [None, "abc", [[1, 2]], [NAN, 1], ["a"], {}],
    "delimiter": [5, ";;", "", "\n", b";"],
    "paths": [5, "abc", [], [5], {}, None, [[]], [()]],
    "tree": [5, "abc", [], {}, None],
}  # fmt: skip


@dataclass(frozen=True)
class Misuse:
    """One call with one wrong argument."""

    name: str
    function: Any
    arguments: dict

    def call(self):
        return self.function(**self.arguments)


ROLES = {
    "quasi": ["age", "sex", "income"], "confidential": ["diagnosis"], "identifiers": ["name"],
    "sampling_weight": "weight",
}  # fmt: skip
MEASURED = {"quasi": ["age", "sex"], "confidential": ["diagnosis"]}
COUNTED = {**MEASURED, "unnamed": "other"}
POINTS = np.arange(24.0).reshape(12, 2) ** 1.5


@cache
def stages():
    """Return the values of all stages for one table."""
    table, schema = shoal.load_table(PEOPLE, **ROLES)
    encoding = shoal.fit_encoding(table, schema)
    prepared = shoal.prepare(table, encoding)
    plan = shoal.Plan(schema, shoal.Requirements(k=3), shoal.MethodCall("mdav"))
    grouped = shoal.group_records(prepared, plan.requirements, plan.method)
    recoded = shoal.recode_table(prepared, grouped)
    return {"table": table, "schema": schema, "encoding": encoding, "prepared": prepared, "plan": plan,
            "grouped": grouped, "recoded": recoded}  # fmt: skip


def calls(folder):
    """Return functions with the arguments of a correct call."""
    from shoal.sklearn import Microaggregator

    made = stages()
    release = shoal.protect(PEOPLE, 3, **ROLES, method="mdav")
    released = release.data
    saved = folder / "encoding.json"
    made["encoding"].save(saved)
    tree = folder / "tree.csv"
    tree.write_text("a;X\nb;X\n")

    def estimator(k=3, method="mdav", seed=0, points=POINTS):
        return Microaggregator(k, method=method, seed=seed).fit_transform(points)

    return {
        shoal.protect: {"data": PEOPLE, "k": 3, **ROLES, "method": "mdav"},
        shoal.compare: {"data": PEOPLE, "k": [3], "methods": ["mdav"], **ROLES},
        shoal.verify: {"data": released, "k": 3, **COUNTED},
        shoal.assess: {"data": released, **COUNTED},
        shoal.evaluate_release: {"original": PEOPLE, "released": released, **COUNTED},
        shoal.risk: {"original": PEOPLE, "released": released, **MEASURED},
        shoal.utility: {"original": PEOPLE, "released": released, "columns": ["age", "income"]},
        shoal.group: {"points": POINTS, "k": 3, "method": "mdav"},
        shoal.load_table: {"data": PEOPLE, **ROLES},
        shoal.apply_steps: {"table": made["table"], "schema": made["schema"]},
        shoal.fit_encoding: {"table": made["table"], "schema": made["schema"]},
        shoal.prepare: {"table": made["table"], "encoding": made["encoding"]},
        shoal.group_records: {"prepared": made["prepared"], "requirements": made["plan"].requirements},
        shoal.recode_table: {"prepared": made["prepared"], "grouped": made["grouped"]},
        shoal.release_table: {key: made[key] for key in ("plan", "prepared", "grouped", "recoded")},
        shoal.run_plan: {"table": made["table"], "plan": made["plan"]},
        shoal.read_hierarchy: {"path": tree},
        shoal.Hierarchy: {"paths": [("a", "X"), ("b", "X")]},
        shoal.Hierarchy.from_nested: {"tree": {"X": ["a", "b"]}},
        shoal.get_method: {"name": "mdav"},
        shoal.Requirements: {"k": 3},
        shoal.MethodCall: {"seed": 0},
        shoal.Encoding.load: {"path": saved},
        release.write: {"path": folder / "out.csv"},
        release.report: {"path": folder / "out.html"},
        made["encoding"].save: {"path": folder / "again.json"},
        shoal.datasets.patients: {"n": 10},
        shoal.datasets.simu: {"n": 10},
        shoal.datasets.load: {"name": "census"},
        shoal.dp.release: {"data": PEOPLE, "epsilon": 1.0, "bounds": {"age": (0, 10_000), "income": (0, 10**7)}},
        estimator: {"points": POINTS},
    }


def arguments_of(function):
    """Return the names of the arguments that a function has."""
    names = [name for name, part in inspect.signature(function).parameters.items() if part.kind is not part.VAR_KEYWORD]
    if function is shoal.compare or function is shoal.load_table:
        names += ["quasi", "confidential", "identifiers", "kinds", "orders", "column_weights", "strata",
                  "sampling_weight", "missing", "recode", "hierarchies"]  # fmt: skip
    return [name for name in names if name != "self"]


def is_list(value):
    return isinstance(value, list)


def always(value):
    return True


def is_lazy(value):
    """Whether a hierarchy is only found to be wrong when it is used."""
    return value in ({"sex": "none.csv"}, {"sex": {}})


ALLOWED = {
    (shoal.compare, "k"): lambda value: isinstance(value, list) or value == 10**30,  # a combination that fails
    (shoal.compare, "l"): is_list,
    (shoal.verify, "identifiers"): lambda value: value in (["nowhere"], "nowhere"),  # a release lacks them
    (shoal.assess, "identifiers"): lambda value: value in (["nowhere"], "nowhere"),
    (shoal.assess, "k"): lambda value: value == 10**30,  # no value is shown
    (shoal.evaluate_release, "k"): lambda value: value == 10**30,
    (shoal.risk, "k"): lambda value: value == 10**30,
    (shoal.prepare, "k"): lambda value: value is None,  # the default
    (shoal.verify, "original"): lambda value: value is None,  # the default: rows are counted
    (shoal.assess, "original"): lambda value: value is None,
    (shoal.verify, "hierarchies"): is_lazy,
    (shoal.assess, "hierarchies"): is_lazy,
    (shoal.evaluate_release, "hierarchies"): is_lazy,
    (shoal.load_table, "hierarchies"): is_lazy,
    (shoal.recode_table, "data"): always,  # arrays of the stages
    (shoal.get_method, "data"): always,
    (shoal.MethodCall, "name"): lambda value: value == "nowhere",  # found when the method is looked up
    (shoal.MethodCall, "options"): lambda value: isinstance(value, dict) and 5 not in value,
    (shoal.Requirements, "k"): lambda value: value == 10**30,
    "report": lambda value: value is None,  # the release has its original
    "estimator": callable,  # groups that are too small are joined
}
"""Values that a function accepts for an argument of this name."""


def misuses(folder):
    """Yield calls with one wrong argument each."""
    for function, correct in calls(folder).items():
        name = function.__qualname__
        for argument in arguments_of(function):
            for position, value in enumerate(VALUES.get(argument, [])):
                by_name = function.__name__ if argument in {"original", "method"} else ""
                accepted = ALLOWED.get((function, argument), ALLOWED.get(by_name))
                if accepted is not None and accepted(value):
                    continue
                title = f"{name}({argument}={shown(value)}) {position}"
                yield Misuse(title, function, {**correct, argument: value})
        if hasattr(function, "__wrapped__"):  # its arguments are checked by name
            yield Misuse(f"{name}(no_such_argument=1)", function, {**correct, "no_such_argument": 1})
    for name, call in further_misuses(folder).items():
        yield Misuse(name, call, {})


def further_misuses(folder):
    """Return calls that are wrong in another way than by one argument."""
    import pandas as pd

    from shoal import Column, Grouping, Kind, Role, Schema
    from shoal.sklearn import Microaggregator

    made = stages()
    other = shoal.load_table(PEOPLE.head(6), **ROLES)[0]
    return {
        "run_method text": lambda: shoal.run_method("mdav", [["Qsex7100x"] * 2] * 4, 2),
        "run_method ragged": lambda: shoal.run_method("mdav", [[1, 2], [3]], 2),
        "run_method none": lambda: shoal.run_method("mdav", None, 2),
        "run_method 3d": lambda: shoal.run_method("mdav", np.zeros((4, 2, 2)), 2),
        "run_method nan": lambda: shoal.run_method("mdav", np.full((4, 2), np.nan), 2),
        "run_method k": lambda: shoal.run_method("mdav", np.zeros((4, 2)), "2"),
        "run_method few": lambda: shoal.run_method("mdav", np.zeros((1, 2)), 2),
        "run_method name": lambda: shoal.run_method("mdv", np.zeros((4, 2)), 2),
        "run_method option": lambda: shoal.run_method("mdav", np.zeros((4, 2)), 2, zzz=1),
        "run_method seed": lambda: shoal.run_method("mdav", np.zeros((4, 2)), 2, seed=-1),
        "run_method time": lambda: shoal.run_method("mdav", np.zeros((4, 2)), 2, time_limit="x"),
        "run_method max": lambda: shoal.run_method("optimal-1d", np.zeros((4, 1)), 2, max_size="x"),
        "run_method progress": lambda: shoal.run_method("mdav", np.zeros((4, 2)), 2, progress=5),
        "run_method codes": lambda: shoal.run_method("safe", np.array([["a"], ["b"]]), 2),
        "run_method codes negative": lambda: shoal.run_method("nominal-mdav", np.array([[-5], [1], [1], [2]]), 2),
        "run_method codes huge": lambda: shoal.run_method("nominal-mdav", np.array([[2**40], [1], [1], [2]]), 2),
        "run_method weights": lambda: shoal.run_method("mdav", np.zeros((4, 2)), 2, column_weights=[1]),
        "run_method weights text": lambda: shoal.run_method("mdav", np.zeros((4, 2)), 2, column_weights="x"),
        "optimal_1d text": lambda: shoal.optimal_1d(["Qsex7100x"] * 4, 2),
        "optimal_1d nan": lambda: shoal.optimal_1d([np.nan] * 4, 2),
        "optimal_1d k": lambda: shoal.optimal_1d([1.0, 2.0, 3.0], 5),
        "optimal_1d cost": lambda: shoal.optimal_1d([1.0, 2.0, 3.0], 2, cost="zzz"),
        "optimal_1d 2d": lambda: shoal.optimal_1d(np.zeros((4, 2)), 2),
        "refine labels": lambda: shoal.refine(POINTS, [0] * 3, 3),
        "refine text": lambda: shoal.refine([["a"]] * 6, [0] * 6, 3),
        "refine label text": lambda: shoal.refine(POINTS, ["a"] * 12, 3),
        "refine small": lambda: shoal.refine(POINTS, range(12), 3),
        "refine k": lambda: shoal.refine(POINTS, [0] * 12, "3"),
        "Grouping text": lambda: Grouping(["a", "b"], 2),
        "Grouping none": lambda: Grouping(None, 2),
        "Grouping 2d": lambda: Grouping([[0, 0], [1, 1]], 2),
        "Grouping float": lambda: Grouping([0.5, 0.5], 2),
        "Grouping small": lambda: Grouping([0, 1, 1], 2),
        "Grouping k": lambda: Grouping([0, 0], "2"),
        "Grouping ragged": lambda: Grouping([[0], [1, 2]], 2),
        "Grouping empty": lambda: Grouping([], 2),
        "Column role": lambda: Column("a", "zzz", Kind.NUMERIC),
        "Column role5": lambda: Column("a", 5, Kind.NUMERIC),
        "Column kind": lambda: Column("a", Role.QUASI, "zzz"),
        "Column name": lambda: Column(5, Role.QUASI, Kind.NUMERIC),
        "Column weight": lambda: Column("a", Role.QUASI, Kind.NUMERIC, weight="x"),
        "Column weight none": lambda: Column("a", Role.QUASI, Kind.NUMERIC, weight=None),
        "Column order": lambda: Column("a", Role.QUASI, Kind.ORDINAL, order=5),
        "Column order text": lambda: Column("a", Role.QUASI, Kind.ORDINAL, order="abc"),
        "Column recode": lambda: Column("a", Role.QUASI, Kind.NUMERIC, recode="zzz"),
        "Column missing": lambda: Column("a", Role.QUASI, Kind.NUMERIC, missing="zzz"),
        "Schema 5": lambda: Schema(5),
        "Schema texts": lambda: Schema(("a", "b")),
        "Schema twice": lambda: Schema((Column("a", Role.QUASI, Kind.NUMERIC),) * 2),
        "Schema strata": lambda: Schema((Column("a", Role.QUASI, Kind.NUMERIC),), strata=5),
        "Schema strata name": lambda: Schema((Column("a", Role.QUASI, Kind.NUMERIC),), strata=("b",)),
        "Schema weight": lambda: Schema((Column("a", Role.QUASI, Kind.NUMERIC),), sampling_weight=5),
        "Schema missing": lambda: Schema((Column("a", Role.QUASI, Kind.NUMERIC),), missing="zzz"),
        "Schema getitem": lambda: made["schema"]["nowhere"],
        "Schema getitem 5": lambda: made["schema"][5],
        "Schema getitem list": lambda: made["schema"][[1]],
        "Schema updated": lambda: made["schema"].updated(quasi=5),
        "Schema updated kinds": lambda: made["schema"].updated(kinds=5),
        "Schema table": lambda: made["schema"].table("zzz"),
        "Schema table 5": lambda: made["schema"].table(5),
        "prepare other": lambda: shoal.prepare(
            shoal.load_table(pl.DataFrame({"a": [1, 2, 3]}), quasi=["a"])[0], made["encoding"]
        ),
        "recode other": lambda: shoal.recode_table(
            shoal.prepare(other, shoal.fit_encoding(other, made["schema"])), made["grouped"]
        ),
        "group k large": lambda: shoal.group_records(made["prepared"], shoal.Requirements(k=50)),
        "satisfy other": lambda: shoal.satisfy_requirements(made["prepared"], 5, None),
        "Plan": lambda: shoal.Plan(5, shoal.Requirements(k=3)),
        "Plan decimals": lambda: shoal.Plan(made["schema"], shoal.Requirements(k=3), decimals=[1]),
        "estimator text": lambda: Microaggregator(2).fit([["Qsex7100x"]] * 4),
        "estimator transform": lambda: Microaggregator(2).transform([[1.0]]),
        "estimator columns": lambda: Microaggregator(2).fit([[1.0]] * 4).transform([[1.0, 2.0]]),
        "estimator options": lambda: Microaggregator(2, options=5).fit([[1.0]] * 4),
        "estimator codes": lambda: Microaggregator(2, method="safe").fit([[1.0]] * 4),
        "estimator few": lambda: Microaggregator(5).fit([[1.0]] * 4),
        "risk attack": lambda: shoal.protect(PEOPLE, 3, **ROLES, method="mdav").risk.attack("zzz"),
        "comparison write": lambda: shoal.compare(PEOPLE, [3], methods=["mdav"], **ROLES).write("x.xyz"),
        "comparison write 5": lambda: shoal.compare(PEOPLE, [3], methods=["mdav"], **ROLES).write(5),
        "hierarchy cca": lambda: shoal.Hierarchy([("a", "X")]).cca(["Qsex7100x"]),
        "hierarchy cca none": lambda: shoal.Hierarchy([("a", "X")]).cca([]),
        "hierarchy cca 5": lambda: shoal.Hierarchy([("a", "X")]).cca(5),
        "hierarchy size": lambda: shoal.Hierarchy([("a", "X")]).size("zzz"),
        "hierarchy size 5": lambda: shoal.Hierarchy([("a", "X")]).size(5),
        "datasets load": lambda: shoal.datasets.load("nowhere"),
        "adult n": lambda: shoal.datasets.adult_categories("x"),
        "category_codes": lambda: shoal.datasets.category_codes(5),
        "matching_instance": lambda: shoal.datasets.matching_instance("x", []),
        "dp accountant": lambda: shoal.dp.Accountant("x"),
        "dp accountant 0": lambda: shoal.dp.Accountant(0),
        "dp spend": lambda: shoal.dp.Accountant(1.0).spend("q", 5.0),
        "nan int": lambda: shoal.protect(PEOPLE.with_columns(age=pl.lit(None)), 3, **ROLES),
        "pandas dup": lambda: shoal.protect(pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]), 2, quasi=["a"]),
        "pandas int names": lambda: shoal.protect(pd.DataFrame([[1, 2]] * 4, columns=[0, 1]), 2, quasi=[0]),
        "pandas objects": lambda: shoal.protect(pd.DataFrame({"a": [object()] * 4}), 2, quasi=["a"]),
        "pandas mixed": lambda: shoal.protect(pd.DataFrame({"a": [1, "Qsex7100x", None, b"x"]}), 2, quasi=["a"]),
        "lists": lambda: shoal.protect(pl.DataFrame({"a": [[1]] * 4}), 2, quasi=["a"]),
        "structs": lambda: shoal.protect(pl.DataFrame({"a": [{"x": 1}] * 4}), 2, quasi=["a"]),
        "objects": lambda: shoal.protect(
            pl.DataFrame({"a": pl.Series([object()] * 4, dtype=pl.Object)}), 2, quasi=["a"]
        ),
        "Encoding.load text": lambda: shoal.Encoding.load("/etc/hostname"),
        "Encoding.load dir": lambda: shoal.Encoding.load("/tmp"),
        "method": lambda: shoal.get_method(lambda: 0),
        "missing argument": lambda: shoal.protect(PEOPLE),
        "too many arguments": lambda: shoal.protect(PEOPLE, 3, ["age"]),
        "argument twice": lambda: shoal.verify(PEOPLE, 3, k=3),
        "no records": lambda: shoal.protect(PEOPLE.head(0), 3, **ROLES),
        "no columns": lambda: shoal.protect(pl.DataFrame(), 3, quasi=["age"]),
        "unpickled release without original": lambda: (
            pickle.loads(pickle.dumps(shoal.protect(PEOPLE, 3, **ROLES, method="mdav"))).risk
        ),
        "folder as a table": lambda: shoal.protect(folder, 3, quasi=["age"]),
    }


def shown(value):
    return ascii(value)[:40] if not callable(value) else "function"
