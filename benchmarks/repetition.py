"""How often does the source repeat itself?

    python benchmarks/repetition.py [--root DIRECTORY] [--lines 6] [--show 10]

A run is a sequence of six or more consecutive lines (blank lines left out, indentation ignored) that occurs at two
places and cannot be made longer at either end. Two counts are printed: ``pairs`` counts every pair of places, so a text
that occurs at ten places counts 45 times; ``copies`` counts the stretches of source that would vanish if each repeated
line were written once. A run counts as imports if any of its lines is one, else as docstrings if any of its lines
belongs to one, else as code. ``--root`` counts another checkout with the same script.
"""

import argparse
import ast
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

KINDS = ("imports", "docstrings", "code")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Line:
    """A line that is not blank: its text, its number in the file, and what it belongs to."""

    text: str
    number: int
    kind: str


def read_lines(file):
    """The lines of a file without blank ones."""
    source = file.read_text(encoding="utf-8")
    texts = source.splitlines()
    kinds = ["code"] * len(texts)
    for node in ast.walk(ast.parse(source)):
        part, kind = node, "imports"
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            part, kind = node.body[0], "docstrings"
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for index in range(part.lineno - 1, part.end_lineno):
            kinds[index] = kind
    stripped = [
        Line(text.strip(), number, kind) for number, (text, kind) in enumerate(zip(texts, kinds, strict=True), 1)
    ]
    return [line for line in stripped if line.text]


def places_by_window(files, length):
    """For each window of so many lines that occurs twice or more, the places (file, position) where it starts."""
    places = defaultdict(list)
    for file, lines in files.items():
        for start in range(len(lines) - length + 1):
            places[tuple(line.text for line in lines[start : start + length])].append((file, start))
    return [found for found in places.values() if len(found) > 1]


def kind_of(lines):
    """What a run counts as."""
    present = {line.kind for line in lines}
    return next(kind for kind in KINDS if kind in present)


def pairs_of_runs(files, windows, length):
    """Every pair of places that show the same run, with the length of the run."""
    found = []
    for places in windows:
        for (one, i), (other, j) in combinations(places, 2):
            first, second = files[one], files[other]
            if i and j and first[i - 1].text == second[j - 1].text:
                continue  # the run started earlier
            longest = min(len(first) - i, len(second) - j)
            same = next((n for n in range(length, longest) if first[i + n].text != second[j + n].text), longest)
            found.append((same, one, i, other, j))
    return found


def copies(files, windows, length):
    """The stretches of lines that repeat what stands earlier, as (file, start, stop)."""
    repeated = {place for places in windows for place in places[1:]}
    for file, start in sorted(repeated):
        if (file, start - 1) not in repeated:
            stop = start
            while (file, stop) in repeated:
                stop += 1
            yield file, start, min(stop + length - 1, len(files[file]))


def counted(kinds):
    counts = Counter(kinds)
    return "".join(f"{counts[kind]:12,}" for kind in KINDS) + f"{counts.total():12,}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    arguments.add_argument("--lines", type=int, default=6, help="the shortest run that counts")
    arguments.add_argument("--show", type=int, default=0, help="list so many of the longest runs of code")
    chosen = arguments.parse_args()
    source = chosen.root / "src"
    files = {str(file.relative_to(source)): read_lines(file) for file in sorted(source.rglob("*.py"))}
    windows = places_by_window(files, chosen.lines)
    runs = pairs_of_runs(files, windows, chosen.lines)
    print(f"{len(files)} files, {sum(map(len, files.values())):,} lines that are not blank")
    print(
        f"{'runs of ' + str(chosen.lines) + ' lines or more':28}" + "".join(f"{kind:>12}" for kind in (*KINDS, "total"))
    )
    print(f"{'pairs of places':28}" + counted(kind_of(files[one][i : i + n]) for n, one, i, _, _ in runs))
    print(f"{'copies':28}" + counted(kind_of(files[file][a:b]) for file, a, b in copies(files, windows, chosen.lines)))
    code = [run for run in runs if kind_of(files[run[1]][run[2] : run[2] + run[0]]) == "code"]
    for n, one, i, other, j in sorted(code, reverse=True)[: chosen.show]:
        print(f"{n:4} lines  {one}:{files[one][i].number}  {other}:{files[other][j].number}")


if __name__ == "__main__":
    main()
