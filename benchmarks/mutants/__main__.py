"""How many small faults in the code that guards the guarantees do the tests find?

Each mutant is one small change of one file: a comparison with the next one, a sum with a difference, a constant plus
one, a condition that never holds, a statement left out. Of each file a random part of its mutants is tried
(``--share``, with ``--seed``, at least three). For each mutant the tests run that reach the changed line, the shortest
first, until one fails; a mutant that no test finds survives and is listed. A mutant that makes the tests run longer
than the limit counts as found.

    python benchmarks/mutants --lines                          # write down which test reaches which line, once
    python benchmarks/mutants --lines --tests tests/privacy    # renew what is written down about some tests
    python benchmarks/mutants                                  # the mutants of all packages
    python benchmarks/mutants --packages privacy --share 0.3
    python benchmarks/mutants --only privacy/l_diversity.py    # all mutants of one file
    python benchmarks/mutants --go-on                          # what earlier runs, and docs/mutants.json, do not have
    python benchmarks/mutants --go-on --only-known --docs      # write what was tried so far, without running anything
    python benchmarks/mutants --again                          # the survivors of docs/mutants.json once more
    python benchmarks/mutants --go-on --interpreted            # compile nothing: changed loops run as plain Python

With ``--docs`` the figures are written to docs/mutants.json and docs/mutation-testing.md. Survivors that have no effect
on any result are listed with the reason in docs/equivalent-mutants.toml.
"""

import argparse
import ast
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCE = ROOT / "src" / "shoal"
RESULTS = ROOT / "docs" / "mutants.json"
EQUIVALENT = ROOT / "docs" / "equivalent-mutants.toml"
PAGE = ROOT / "docs" / "mutation-testing.md"
LINES = ROOT / "build" / "covered-lines.json"
TRIED = ROOT / "build" / "tried-mutants.jsonl"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs"), str(HERE)]

from changed_code import enclosing  # noqa: E402 - found through the path above
from changes import mutated  # noqa: E402
from changes import places as places_of  # noqa: E402
from covered_lines import FILES, FOLDER, merged  # noqa: E402
from kept import write_tables  # noqa: E402
from trials import SECONDS, run_trials  # noqa: E402

PACKAGES = {
    "privacy": ["privacy"],
    "recoding": ["recoding"],
    "groups": ["core/grouping.py", "core/row_classes.py", "core/requirement_violation.py"],
    "verification": [
        "flow/released.py", "flow/recount_file.py", "flow/satisfy.py", "flow/person_requirements.py", "api/checks.py",
    ],
    "requirements": ["schema/requirements.py"],
    "dp": ["dp"],
}  # fmt: skip
SHARE = 0.08
TESTS = [
    *("tests/" + name for name in ("privacy", "recoding", "core", "schema", "dp", "flow", "api", "attacks")),
    "tests/engines/test_recount_parts.py",
    "tests/methods/nominal/test_required_search.py",
    *("src/shoal/" + name for name in ("privacy", "recoding", "core", "dp")),
]


places = cache(places_of)  # these trees are only read


def files_of(package):
    """The files of a package that are mutated."""
    for part in PACKAGES[package]:
        path = SOURCE / part
        yield from (
            file for file in (sorted(path.glob("*.py")) if path.is_dir() else [path]) if file.name != "__init__.py"
        )


def write_lines(tests, processes):
    """Run some tests once, and write down which lines each of them reaches; what is known about others stays."""
    files = [str(file) for package in PACKAGES for file in files_of(package)]
    known = json.loads(LINES.read_text(encoding="utf-8")) if LINES.exists() else {"seconds": {}, "reached": {}}
    with tempfile.TemporaryDirectory() as folder:
        paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {FOLDER: folder, FILES: os.pathsep.join(files), "PYTHONPATH": paths}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "covered_lines", "-p", "no:cacheprovider"]
        split = ["-n", str(processes)] if processes > 1 else []
        subprocess.run([*command, *split, *tests], env=environment, check=False, cwd=ROOT)
        LINES.parent.mkdir(exist_ok=True)
        LINES.write_text(json.dumps(renewed(known, merged(folder, SOURCE), tests)), encoding="utf-8")


def renewed(known, found, tests):
    """What was written down before, with everything about some paths of tests replaced."""

    def kept(name):
        return not name.startswith(tuple(tests))

    seconds = {name: value for name, value in known["seconds"].items() if kept(name)} | found["seconds"]
    reached = {}
    for each, old in ((known, True), (found, False)):
        for file, lines in each["reached"].items():
            for line, names in lines.items():
                chosen = [name for name in names if kept(name)] if old else names
                reached.setdefault(file, {}).setdefault(line, []).extend(chosen)
    return {"seconds": seconds, "reached": reached}


def is_compiled(text, node):
    """Whether a node is part of a compiled loop."""
    return any(
        isinstance(statement, ast.FunctionDef)
        and any(name in ast.unparse(each) for each in statement.decorator_list for name in ("compiled", "inner"))
        and statement.lineno <= node.lineno <= statement.end_lineno
        for statement in places(text)[0].body
    )


def tests_of(file, text, number, lines):
    """The tests that reach a change, the shortest first, up to the limit of processor time for one mutant."""
    tree, found = places(text)
    node = found[number][1]
    reached = lines["reached"].get(str(file.relative_to(SOURCE)), {})
    first = node.test if isinstance(node, ast.If) else node
    names = enclosing(tree, node)
    numbers = range(first.lineno, first.end_lineno + 1) if names else map(int, reached)
    tests = {test for line in numbers for test in reached.get(str(line), ())}
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda name: (lines["seconds"][name], name)):
        total += lines["seconds"][test]
        if total > SECONDS / 2:
            break
        chosen.append(test)
    return chosen


def chosen_mutants(arguments):
    """The files and numbers of the mutants to try, by package."""
    if arguments.again:
        rows = [row for row in json.loads(RESULTS.read_text()) if row["ended"] == "survived"]
        return [(row["package"], *found_again(row)) for row in rows]
    chosen = []
    for package in arguments.packages.split(","):
        for file in files_of(package):
            name = str(file.relative_to(SOURCE))
            numbers = list(range(len(places(file.read_text(encoding="utf-8"))[1])))
            if arguments.only is None:
                random.Random(f"{arguments.seed}:{name}").shuffle(numbers)
                numbers = sorted(numbers[: number_drawn(file, arguments.share)])
            chosen += [(package, file, number) for number in numbers if arguments.only in {None, name}]
    return chosen


def code_digest(text):
    """A digest of code without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [each for each in body if not is_text(each)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def digest_of(name):
    return code_digest((SOURCE / name).read_text(encoding="utf-8"))


def digest_when_recorded(name):
    """The digest of a file in the commit that last changed docs/mutants.json; None if it is not known."""
    log = ["git", "log", "-1", "--format=%H", "--", str(RESULTS)]
    commit = subprocess.run(log, capture_output=True, text=True, check=False, cwd=ROOT).stdout.strip()
    show = ["git", "show", f"{commit}:{(SOURCE / name).relative_to(ROOT)}"]
    found = subprocess.run(show, capture_output=True, text=True, check=False, cwd=ROOT)
    return code_digest(found.stdout) if found.returncode == 0 else None


def tried_before(jobs, *, again):
    """What runs before found: runs that were stopped, and docs/mutants.json, for code that has not changed.

    Comments and docstrings may have changed since the record was committed. With ``again`` without the survivors that
    another number of tests reaches now, unless they are listed as changes without effect.
    """
    wanted = {(job["file"], job["number"]): job for job in jobs}
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    entries = [{"code": None, "row": row} for row in kept]
    entries += [json.loads(line) for line in TRIED.read_text(encoding="utf-8").splitlines()] if TRIED.exists() else []
    found, digests = {}, {}
    for entry in entries:
        row, code = entry["row"], entry["code"]
        job = wanted.get((row["file"], row["number"]))
        if job is None or any(row[name] != job[name] for name in ("change", "before", "after")):
            continue
        now, recorded = digests.setdefault(row["file"], (digest_of(row["file"]), digest_when_recorded(row["file"])))
        if now != (code or recorded):
            continue
        row |= {"line": job["line"]}
        found[row["file"], row["number"]] = row
        open_one = row["ended"] == "survived" and row["tests"] != len(job["tests"]) and reason_of(row) is None
        if again and open_one:
            del found[row["file"], row["number"]]
    return list(found.values())


def found_again(row):
    """The file and number of a mutant of an earlier run, which may have moved by some lines."""
    file = SOURCE / row["file"]
    text = file.read_text(encoding="utf-8")
    same = []
    for number, *_ in places(text)[1]:
        described = mutated(text, number)[1]
        if (described["before"], described["after"]) == (row["before"], row["after"]):
            same.append((abs(described["line"] - row["line"]), number))
    if not same:
        sys.exit(f"{row['file']} has changed; run its mutants again: {row['before']}")
    return file, min(same)[1]


def jobs_of(chosen, lines):
    """What a child needs for each mutant."""
    for package, file, number in chosen:
        text = file.read_text(encoding="utf-8")
        yield {
            "package": package,
            "file": str(file.relative_to(SOURCE)),
            "number": number,
            "compiled": is_compiled(text, places(text)[1][number][1]),
            "tests": tests_of(file, text, number, lines),
            **mutated(text, number)[1],
        }


def files_with_tests(jobs):
    """The files that hold the tests of some mutants; only these are collected."""
    return sorted({test.partition("::")[0] for job in jobs for test in job["tests"]})


def unchanged_jobs(jobs, count):
    """For some mutants the same tests on the code as it is; they must pass, or every mutant would count as found."""
    longest = sorted(jobs, key=lambda job: -len(job["tests"]))[:count]
    return [{**job, "number": None, "compiled": False, "package": "unchanged"} for job in longest]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--tests", default=",".join(TESTS))
    parser.add_argument("--packages", default=",".join(PACKAGES))
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--unchanged", type=int, default=3, help="mutants whose tests run on the code as it is, too")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--interpreted", action="store_true", help="run changed loops as plain Python")
    parser.add_argument("--go-on", action="store_true")
    parser.add_argument("--only-known", action="store_true")
    parser.add_argument("--docs", action="store_true")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.lines or not LINES.exists():
        write_lines(arguments.tests.split(","), arguments.processes)
        if arguments.lines:
            return
    lines = json.loads(LINES.read_text(encoding="utf-8"))
    jobs = list(jobs_of(chosen_mutants(arguments), lines))
    jobs.sort(key=lambda job: (job["compiled"], sum(lines["seconds"][test] for test in job["tests"])))
    rows = tried_before(jobs, again=not arguments.only_known) if arguments.go_on else []
    known = {(row["file"], row["number"]) for row in rows}
    if arguments.interpreted:
        jobs = [job | {"interpreted": True} if job["compiled"] else job for job in jobs]
    jobs = [] if arguments.only_known else [job for job in jobs if (job["file"], job["number"]) not in known]

    def report(job, ended, test):
        if job["package"] == "unchanged" and ended != "survived":
            print(f"the tests of {job['file']} do not pass on the code as it is: {ended} {test}", flush=True)
            os._exit(1)
        row = {name: value for name, value in job.items() if name != "tests"} | {"ended": ended, "test": test}
        rows.append(row | {"tests": len(job["tests"])})
        if job["package"] != "unchanged":
            with TRIED.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"code": digest_of(job["file"]), "row": rows[-1]}) + "\n")
        if ended not in {"found", "too long"} and job["package"] != "unchanged":
            what = f"{job['change']}: {job['before']} -> {job['after']} ({len(job['tests'])} tests)"
            print(f"{ended:9} {job['file']}:{job['line']} {what}", flush=True)

    if jobs:
        with tempfile.TemporaryDirectory() as folder:
            run_trials(
                [*unchanged_jobs(jobs, arguments.unchanged), *jobs], SOURCE, folder, arguments.processes, report,
                files_with_tests(jobs),
            )  # fmt: skip
    rows = [row for row in rows if row["package"] != "unchanged"]
    if arguments.docs:
        rows = written(rows, arguments)
    print("\n".join(score(rows)))


def key(row):
    return row["file"], row["before"], row["after"], row["line"]


def written(rows, arguments):
    """Write the results; those of an earlier run stay where only a part was tried."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    partly = arguments.again or arguments.packages != ",".join(PACKAGES)
    tried = {key(row) for row in rows}
    packages = set(arguments.packages.split(","))
    rows += [
        row for row in kept if partly and key(row) not in tried and (arguments.again or row["package"] not in packages)
    ]
    rows.sort(key=lambda row: (list(PACKAGES).index(row["package"]), row["file"], row["number"]))
    RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    write_tables(PAGE, {"score": score(rows), "left": left(rows), "survivors": survivors(rows)})
    return rows


def reason_of(row):
    """Why a mutant has no effect on any result, as docs/equivalent-mutants.toml states it; None if it may have one."""
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", ())
    line = (SOURCE / row["file"]).read_text(encoding="utf-8").splitlines()[row["line"] - 1 :][:1]
    for entry in listed:
        same = all(entry[name] == row[name] for name in ("file", "before", "after"))
        if same and line and entry["code"] in line[0]:
            return entry["reason"]
    return None


def number_drawn(file, share=SHARE):
    """How many mutants of a file are tried."""
    possible = len(places(file.read_text(encoding="utf-8"))[1])
    return min(possible, max(3, math.ceil(share * possible)))


def score(rows):
    """The share of mutants that the tests find, by package."""
    lines = ["| package | mutants drawn | tried | found | no effect | survived | found of those with an effect |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|"]
    drawn = {package: sum(map(number_drawn, files_of(package))) for package in PACKAGES}
    for package in [*PACKAGES, None]:
        own = [row for row in rows if package in {row["package"], None}]
        found = sum(row["ended"] in {"found", "too long"} for row in own)
        same = sum(row["ended"] == "survived" and reason_of(row) is not None for row in own)
        share = 100 * found / max(1, len(own) - same)
        left = len(own) - found - same
        of_all = drawn[package] if package else sum(drawn.values())
        lines.append(f"| {package or 'all'} | {of_all} | {len(own)} | {found} | {same} | {left} | {share:.1f} % |")
    return lines


def left(rows):
    """How many mutants of each file were drawn, but not tried."""
    counts = {}
    for file in (file for package in PACKAGES for file in files_of(package)):
        name = str(file.relative_to(SOURCE))
        counts[name] = number_drawn(file) - sum(row["file"] == name for row in rows)
    names = [f"`{name}` {count}" for name, count in counts.items() if count]
    plain = sum(row.get("interpreted", False) for row in rows)
    tried = f"Not tried: {', '.join(names)}." if names else "Every mutant that was drawn was tried."
    return [tried + (f" Of the changed loops {plain} ran as plain Python." if plain else "")]


def survivors(rows):
    """The mutants that no test finds, with the reason where they have no effect."""
    lines = ["| place | change | reason |", "|---|---|---|"]
    for row in rows:
        if row["ended"] not in {"found", "too long"}:
            change = f"`{row['before']}` → `{row['after']}`".replace("|", "\\|")
            lines.append(f"| `{row['file']}:{row['line']}` | {change} | {reason_of(row) or 'not found by a test'} |")
    return lines


if __name__ == "__main__":
    main()
