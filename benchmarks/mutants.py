"""How many small faults in the code that guards the guarantees do the tests find?

Each mutant is one small change of one file: a comparison with the next one, a sum with a difference, a constant plus
one, a condition negated, a statement left out. For a random choice of mutants of each package the tests of that package
run in a child process that imports the changed file; a mutant that no test finds survives and is listed. A mutant that
makes the tests run longer than the limit counts as found.

    python benchmarks/mutants.py --mutants 60                  # of each package
    python benchmarks/mutants.py --packages privacy --mutants 200
    python benchmarks/mutants.py --only privacy/l_diversity.py # all mutants of one file
    python benchmarks/mutants.py --again                       # the survivors of docs/mutants.json once more

With ``--docs`` the figures are written to docs/mutants.json and docs/mutation-testing.md. Loops that are compiled are
compiled anew in a folder of their own, which takes long; their mutants are a part of the choice all the same.
"""

import argparse
import ast
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "shoal"
RESULTS = ROOT / "docs" / "mutants.json"
PAGE = ROOT / "docs" / "mutation-testing.md"
sys.path.insert(0, str(ROOT / "docs"))

from kept import write_tables  # noqa: E402 - found through the path above

PACKAGES = {
    "privacy": (["privacy"], ["tests/privacy", "tests/flow", "tests/api"]),
    "recoding": (["recoding"], ["tests/recoding", "tests/flow", "tests/api", "tests/tables", "tests/evaluate"]),
    "groups": (["core/grouping.py", "core/row_classes.py"], ["tests/core", "tests/flow", "tests/privacy"]),
    "verification": (
        ["flow/released.py", "flow/recount_file.py", "flow/satisfy.py", "flow/person_requirements.py", "api/checks.py"],
        ["tests/flow", "tests/api", "tests/attacks", "tests/privacy"],
    ),
    "requirements": (["schema/requirements.py"], ["tests/schema", "tests/api", "tests/privacy", "tests/flow"]),
    "dp": (["dp"], ["tests/dp", "tests/attacks/test_dp_side_channels.py"]),
}
SECONDS = 150  # of processor time for the tests of one mutant
COMPILED_SECONDS = 400
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
         "ceil": "floor", "floor": "ceil", "argmin": "argmax", "argmax": "argmin"}  # fmt: skip


class Places(ast.NodeVisitor):
    """Collect the changes that are possible, outside of docstrings, annotations, error texts and constant texts."""

    def __init__(self):
        self.found = []

    def add(self, node, name):
        self.found.append((len(self.found), node, name))

    def visit_FunctionDef(self, node):
        if node.name in {"__repr__", "_repr_html_", "__str__"}:
            return
        for default in [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node):
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node):
        self.add(node, "an error left out")

    def visit_JoinedStr(self, node):
        pass

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        if "progress" not in ast.unparse(node):
            self.add(node, "a statement left out")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if type(node.op) in ARITHMETIC:
            self.add(node, "another operation")
        self.generic_visit(node)

    def visit_Compare(self, node):
        self.add(node, "another comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node):
        texts = any(
            isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
            for part in (node.left, node.right)
        )
        if type(node.op) in ARITHMETIC and not texts:
            self.add(node, "another operation")
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        self.add(node, "and exchanged with or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        self.add(node, "a sign or a negation left out")
        self.generic_visit(node)

    def visit_If(self, node):
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.add(node, "a condition that never holds")
            self.generic_visit(node)

    def visit_IfExp(self, node):
        self.add(node, "a choice that is always the second")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.add(node, "true exchanged with false")
        elif isinstance(node.value, int | float):
            self.add(node, "another number")

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in NAMES:
            self.add(node, "smallest exchanged with largest")
        if name in {"method", "field", "TypeVar", "cast"}:
            return
        self.generic_visit(node)


def change(node):
    """Change a node in place; return what replaces a statement, or None."""
    match node:
        case ast.Raise() | ast.Expr():
            return ast.copy_location(ast.Pass(), node)
        case ast.Compare():
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        case ast.BinOp() | ast.AugAssign():
            node.op = ARITHMETIC[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.If() | ast.IfExp():
            node.test = ast.copy_location(ast.Constant(False), node.test)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant():
            node.value = node.value + 1
        case ast.Call(func=ast.Attribute()):
            node.func.attr = NAMES[node.func.attr]
        case ast.Call():
            node.func.id = NAMES[node.func.id]
    return None


class Replace(ast.NodeTransformer):
    """Put another node in the place of one."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def places(text):
    """The places of a file that can be changed."""
    tree = ast.parse(text)
    collected = Places()
    for statement in tree.body:
        collected.visit(statement)
    return tree, collected.found


def mutated(text, number):
    """The syntax tree of a file with one change, and where and what it is."""
    tree, found = places(text)
    _, node, name = found[number]
    line, before = node.lineno, ast.unparse(node).splitlines()[0]
    if isinstance(node, ast.UnaryOp):
        tree = Replace(node, node.operand).visit(tree)
        after = ast.unparse(node.operand)
    else:
        other = change(node)
        if other is not None:
            tree = Replace(node, other).visit(tree)
        after = ast.unparse(other if other is not None else node).splitlines()[0]
    return ast.fix_missing_locations(tree), {"line": line, "change": name, "before": before[:90], "after": after[:90]}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from a changed syntax tree."""

    def __init__(self, module, file, tree):
        self.module, self.file, self.tree = module, file, tree

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002 - the signature of the library
        return importlib.util.spec_from_file_location(name, self.file, loader=self) if name == self.module else None

    def create_module(self, spec):  # noqa: ARG002
        return None

    def exec_module(self, module):
        exec(compile(self.tree, str(self.file), "exec"), module.__dict__)


def tests_of(file, directories):
    """The tests of a file first, then those of its package."""
    named = sorted(ROOT.glob(f"tests/**/test_{file.stem}.py"))
    return list(dict.fromkeys([*(str(path.relative_to(ROOT)) for path in named), *directories]))


def run_child(file, number, directories):
    """Run the tests on one mutant in a child process; return how it ended."""
    import pytest

    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text) if number is None else mutated(text, number)[0]
    module = ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
    sys.meta_path.insert(0, Finder(module, file, tree))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *tests_of(file, directories)]
    os._exit(1 if pytest.main(arguments) else 0)


def try_mutant(job):
    """Return how the tests ended on one mutant: found, survived or too long."""
    file, number, directories = job
    text = file.read_text(encoding="utf-8")
    description = {} if number is None else mutated(text, number)[1]
    compiled = "core.compiled import" in text
    limit = COMPILED_SECONDS if compiled else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
            if compiled:
                os.environ["SHOAL_CACHE"] = folder
            try:
                run_child(file, number, directories)
            except BaseException:  # noqa: BLE001 - a fault of this script, not of the mutant
                traceback.print_exc()
            os._exit(3)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = {0: "survived", 3: "not run", -signal.SIGXCPU: "too long"}.get(code, "found")
    return {"file": str(file.relative_to(SOURCE)), "number": number, "ended": ended, **description}


def files_of(parts):
    for part in parts:
        path = SOURCE / part
        yield from sorted(path.glob("*.py")) if path.is_dir() else [path]


def chosen_jobs(arguments):
    """The mutants to try, by package."""
    if arguments.again:
        survivors = [row for row in json.loads(RESULTS.read_text()) if row["ended"] == "survived"]
        return [
            (row["package"], (SOURCE / row["file"], row["number"], PACKAGES[row["package"]][1])) for row in survivors
        ]
    jobs = []
    for package in arguments.packages.split(","):
        parts, directories = PACKAGES[package]
        every = [
            (file, number, directories)
            for file in files_of(parts)
            if file.name != "__init__.py" and arguments.only in {None, str(file.relative_to(SOURCE))}
            for number, *_ in places(file.read_text(encoding="utf-8"))[1]
        ]
        random.Random(arguments.seed).shuffle(every)
        jobs += [(package, job) for job in every[: None if arguments.only else arguments.mutants]]
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", default=",".join(PACKAGES))
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--docs", action="store_true")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    for library in ("numba", "polars", "pyarrow.parquet", "pandas", "scipy.optimize", "narwhals"):
        importlib.import_module(library)  # once, in the parent of all children
    jobs = chosen_jobs(arguments)
    check_unchanged(dict.fromkeys(package for package, _ in jobs))
    rows = []
    with ThreadPoolExecutor(arguments.processes) as pool:
        for (package, _), row in zip(jobs, pool.map(try_mutant, [job for _, job in jobs]), strict=True):
            rows.append({"package": package, **row})
            if row["ended"] != "found":
                what = f"{row['change']}: {row['before']} -> {row['after']}"
                print(f"{row['ended']:9} {row['file']}:{row['line']} {what}", flush=True)
    if arguments.docs:
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        tried = {(row["file"], row["number"]) for row in rows}
        rows += [row for row in kept if arguments.again and (row["file"], row["number"]) not in tried]
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        write_tables(PAGE, {"score": score(rows)})
    print("\n".join(score(rows)))


def check_unchanged(packages):
    """Without a change all tests must pass; otherwise every mutant would count as found."""
    for package in packages:
        parts, directories = PACKAGES[package]
        ended = try_mutant((next(files_of(parts)), None, directories))["ended"]
        if ended != "survived":
            sys.exit(f"the tests of {package} do not pass on the code as it is: {ended}")


def score(rows):
    """The share of mutants that the tests find, by package."""
    lines = ["| package | mutants tried | found | share |", "|---|--:|--:|--:|"]
    for package in [*dict.fromkeys(row["package"] for row in rows), None]:
        own = [row for row in rows if package in {row["package"], None}]
        found = sum(row["ended"] != "survived" for row in own)
        lines.append(f"| {package or 'all'} | {len(own)} | {found} | {100 * found / len(own):.0f} % |")
    return lines


if __name__ == "__main__":
    main()
