"""What all tests share: named sets of tests, the reference data, and compiled loops that are never stale.

``pytest`` runs the default set, which takes a few minutes. ``pytest -m long`` runs the tests that ``long_tests.txt``
lists, and the random tests with ten times as many inputs or more; ``pytest -m slow`` those that take minutes each,
``pytest -m everyday`` the whole job on public tables, ``pytest -m browser`` those that need Chromium, ``pytest -m
spark`` those that need Java and pyspark. A test that is named on the command line (``file.py::test``) runs in any case.
``pytest --attacks FILE tests/attacks`` runs the attack suite with as many inputs as each test allows, and writes the
figures that the tests record to FILE.
"""

import hashlib
import json
import os
import re
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

SOURCE = Path(__file__).parent.parent / "src" / "shoal"
LONG_TESTS = Path(__file__).parent / "long_tests.txt"
NOT_BY_DEFAULT = ("long", "slow", "everyday", "browser", "spark")

settings.register_profile("shoal", max_examples=10, deadline=None, derandomize=True, print_blob=True)
EXAMPLES = int(os.environ.get("SHOAL_LONG_EXAMPLES", "400"))
"""How many random inputs a test of the long set tries, unless the test says so itself."""
settings.register_profile("thorough", settings.get_profile("shoal"), max_examples=EXAMPLES)
settings.load_profile("shoal")
FIGURES = pytest.StashKey()


def pytest_addoption(parser):
    parser.addoption("--attacks", metavar="FILE", help="run attacks with all their inputs and write figures to FILE")


def is_attack(config):
    """Whether the longest form of the attack suite was asked for."""
    return config.getoption("--attacks") is not None


def is_thorough(config):
    """Whether the long set was asked for, in which random tests try more inputs."""
    return is_attack(config) or config.option.markexpr.strip() == "long"


def pytest_configure(config):
    """Choose the effort of random tests, and drop machine code of kernels that changed.

    numba compares the file of the caller, not that of the callee, with what it has cached. Each worker gets a part of
    the files, so that few loops are compiled in both.
    """
    os.environ["SHOAL_LANGUAGE"] = "en"  # whatever the locale of the machine is
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "worksteal"
    config.stash[FIGURES] = {}
    if is_thorough(config):
        settings.load_profile("thorough")
    if hasattr(config, "workerinput"):
        return
    stamp = SOURCE / "methods" / "__pycache__" / "kernels.json"
    before = json.loads(stamp.read_text()) if stamp.exists() else {}
    now = compiled_digests()
    for name, digest in now.items():
        if before.get(name) != digest:
            file = SOURCE / name
            for cached in [*file.parent.glob(f"__pycache__/{file.stem}.*.nb[ic]")]:
                cached.unlink(missing_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(json.dumps(now))


def compiled_digests():
    """Return for each file with compiled loops a digest of it and of all files that it reaches by imports."""
    texts = {file: file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py")}
    marked = re.compile(r"core\.compiled import .*\b(compiled|inner)\b")
    imported = re.compile(r"^from shoal\.([\w.]+) import", re.MULTILINE)

    def reached(file):
        known, waiting = set(), [file]
        while waiting:
            file = waiting.pop()
            if file in texts and file not in known:
                known.add(file)
                names = imported.findall(texts[file])
                waiting += [SOURCE.joinpath(*name.split(".")).with_suffix(".py") for name in names]
        return sorted(known)

    return {
        str(file.relative_to(SOURCE)): hashlib.sha256(
            "".join(texts[other] for other in reached(file)).encode()
        ).hexdigest()
        for file, text in texts.items()
        if marked.search(text)
    }


def long_patterns():
    """Return the patterns of ``long_tests.txt`` by file; of each, the default set keeps 0 or 1 case of so many.

    A pattern that is there twice, with 1 of 3 and 1 of 2, keeps 1 of 6.
    """
    lines = [line.partition("#")[0].strip() for line in LONG_TESTS.read_text(encoding="utf-8").splitlines()]
    found = [re.fullmatch(r"(?:1 of (\d+): )?(.+)", line) for line in lines if line]
    patterns = {}
    for match in found:
        of_file = patterns.setdefault(match[2].partition("::")[0], {})
        of_file[match[2]] = of_file.get(match[2], 1) * int(match[1] or 0)
    return patterns


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the long tests; without an expression (-m) keep only the default set."""
    patterns = long_patterns()
    seen = {pattern: 0 for of_file in patterns.values() for pattern in of_file}
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        is_long = is_thorough(config) and tries_more(item)
        if not config.option.markexpr and not is_attack(config):
            try_fewer(item)
        for pattern, step in patterns.get(name.partition("::")[0], {}).items():
            if fnmatchcase(name, pattern.replace("[", "[[]", 1)):
                is_long |= not step or seen[pattern] % step > 0
                seen[pattern] += 1
        if is_long and not any(item.get_closest_marker(name) for name in NOT_BY_DEFAULT):
            item.add_marker("long")
    unused = [pattern for pattern, number in seen.items() if not number]
    everything = config.args == config.getini("testpaths")
    if everything and unused:
        raise pytest.UsageError(f"no test matches the lines of {LONG_TESTS.name}: {', '.join(unused)}")
    if is_attack(config) or config.option.markexpr or any("::" in argument for argument in config.args):
        return
    kept = [item for item in items if not any(item.get_closest_marker(name) for name in NOT_BY_DEFAULT)]
    if len(kept) < len(items):
        chosen = set(map(id, kept))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
        items[:] = kept


def tries_more(item):
    """Whether a test tries more random inputs in the long set, by hypothesis or in a loop of its own."""
    if (own := own_settings(item)) is not None:
        return own.max_examples > settings.get_profile("shoal").max_examples
    return "repetitions" in getattr(item, "fixturenames", ())


def own_settings(item):
    """Return the settings of a test of hypothesis; None for another test."""
    function = getattr(item, "obj", None)
    if not getattr(function, "is_hypothesis_test", False):
        return None
    return getattr(function, "_hypothesis_internal_use_settings", settings.default)


def try_fewer(item):
    """Let a test that asks for more random inputs than others try the common number; the long set tries them all."""
    own, common = own_settings(item), settings.get_profile("shoal").max_examples
    if own is not None and own.max_examples > common:
        function = getattr(item.obj, "__func__", item.obj)
        function._hypothesis_internal_use_settings = settings(own, max_examples=common)


@pytest.fixture
def repetitions(request):
    """A function that returns how many random inputs to try: a tenth of the number, all of them in the long set.

    ``repetitions(300, attacks=20_000)`` tries 20,000 inputs when the attack suite runs in its longest form.
    """

    def number_of_inputs(number, attacks=None):
        if is_attack(request.config) and attacks is not None:
            return attacks
        return number if is_thorough(request.config) else max(1, number // 10)

    return number_of_inputs


@pytest.fixture
def record(request):
    """A function that adds a number to a figure of this module: ``record("tables protected", 400)``.

    Call it after the assertions. ``--attacks FILE`` writes the sums over all tests and all processes to FILE, from
    which docs/reliability.py writes its page; the first line of the module's docstring is the heading there.
    """
    figures = request.config.stash[FIGURES].setdefault(request.module.__name__.rpartition(".")[2], {})

    def add(name, number):
        figures[name] = figures.get(name, 0) + int(number)

    return add


def add_figures(config, further):
    """Add the figures of another process to those of this one."""
    for module, figures in further.items():
        sums = config.stash[FIGURES].setdefault(module, {})
        for name, number in figures.items():
            sums[name] = sums.get(name, 0) + number


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Receive the figures of a process of xdist."""
    add_figures(node.config, getattr(node, "workeroutput", {}).get("figures", {}))


def pytest_sessionfinish(session):
    """Pass the figures of this process on, or write the figures of all processes."""
    config = session.config
    if hasattr(config, "workerinput"):
        config.workeroutput["figures"] = config.stash[FIGURES]
    elif is_attack(config):
        file = Path(config.getoption("--attacks"))
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}  # of modules that did not run
        ordered = {
            module: dict(sorted(part.items())) for module, part in sorted((kept | config.stash[FIGURES]).items())
        }
        file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


@pytest.fixture
def rng():
    return np.random.default_rng(20211)
