import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.core import memory
from shoal.errors import DataError
from shoal.flow.needed_memory import needed_memory

ROOT = Path(__file__).parents[2]
REFUSED = r"records of \d+ quasi-identifiers need about .* GB of memory, .* GB are free; about .* records would fit"


def benchmark():
    spec = spec_from_file_location("memory_benchmark", ROOT / "benchmarks" / "memory.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def people(n=6_000, categories=3):
    random = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "income": random.normal(size=n),
            "city": [f"city {code}" for code in random.permutation(np.arange(n) % categories)],
            "illness": random.integers(0, 9, n),
        }
    )


def estimate(table, method="auto", *, quasi=("income", "city"), options=None, recode=None, **requirements):
    quasi = list(quasi)
    read, schema = shoal.load_table(table, quasi=quasi, unnamed="other", recode=recode)
    if requirements:
        read, schema = shoal.load_table(table, quasi=quasi, confidential=["illness"], unnamed="other")
    plan = shoal.Plan(schema, shoal.Requirements(k=5, **requirements), shoal.MethodCall(method, options or {}))
    return needed_memory(shoal.prepare(read, shoal.fit_encoding(read, schema)), plan)


@pytest.mark.skipif(sys.platform != "linux", reason="the benchmark reads /proc")
@pytest.mark.parametrize("shape", ["mixed", "5,000 categories", "mdav, medoids"])
def test_the_estimate_is_within_the_band_of_the_measured_peak(shape):
    module = benchmark()
    found = module.measure(shape)
    assert 1 / module.BAND <= found["estimate"] / found["peak"] <= module.BAND


def test_the_estimate_counts_what_each_choice_takes():
    table = people()
    plain = estimate(table)
    assert estimate(people(categories=500), "mdav").grouping > 10 * 6_000 * 500  # one coordinate for each category
    assert estimate(table, "mdav").grouping > estimate(table, "mona").grouping
    assert estimate(table, l=2).release > plain.release
    assert estimate(table, recode="medoid").release > plain.release
    cities = {"method": "mondrian", "quasi": ["city"]}
    assert estimate(table, recode="set", **cities).release > estimate(table, **cities).release
    assert plain.peak == max(plain.grouping, plain.release) > plain.table


def test_many_categories_are_not_counted_as_coordinates():
    many = people(categories=1_500)
    assert estimate(many).grouping < 8 * 6_000 * 1_500 + estimate(people()).grouping


@pytest.mark.parametrize(
    ("categories", "method", "first"),
    [(3, "auto", "points"), (3, "mdav", "points"), (1_500, "auto", "mixed"), (1_500, "mixed-blocks", "mixed")],
)
def test_a_run_that_cannot_fit_stops_before_anything_is_encoded(monkeypatch, categories, method, first):
    def encoded(*arguments, **options):
        raise AssertionError("encoded before the check")

    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000)
    monkeypatch.setattr("shoal.flow.prepare.CHECKED_BYTES", 0)  # small tables are not checked otherwise
    monkeypatch.setattr(f"shoal.flow.prepare.MethodData.{first}", encoded)
    with pytest.raises(DataError, match=REFUSED):
        shoal.protect(people(categories=categories), 5, quasi=["income", "city"], other=["illness"], method=method)


def test_a_categories_only_run_that_cannot_fit_stops(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000)
    monkeypatch.setattr("shoal.flow.prepare.CHECKED_BYTES", 0)
    with pytest.raises(DataError, match=REFUSED):
        shoal.protect(people(), 5, quasi=["city"], other=["illness", "income"])


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of the address space is enforced on Linux")
def test_the_command_line_says_so_in_one_sentence_with_exit_code_2(tmp_path):
    source, target = tmp_path / "people.csv", tmp_path / "safe.csv"
    people(150_000, categories=500).write_csv(source)
    limited = (
        "import resource, sys, os\n"
        "import shoal.api.protect, shoal.cli.application, shoal.core.memory\n"
        "shoal.core.memory.check_address_space = lambda: None\n"  # all libraries are loaded before the limit is set
        "import polars as pl; pl.DataFrame({'a': [1]}).group_by('a').len()\n"  # threads reserve addresses
        "used = int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE')\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 900_000_000,) * 2)\n"
        "sys.argv = ['shoal', *sys.argv[1:]]; shoal.cli.application.main()\n"
    )
    call = [sys.executable, "-c", limited, "protect", source, "-k", "5", "--quasi", "income,city", "--other", "illness",
            "--method", "mdav"]  # fmt: skip
    done = subprocess.run([*call, "-o", target], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "GB of memory" in done.stderr
    assert "records would fit" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not target.exists()
