import subprocess
import sys

import polars as pl
import pytest

import shoal
from shoal.core import memory
from shoal.core.memory import check_memory, control_group_memory, free_memory, memory_for
from shoal.errors import DataError


def test_a_table_larger_than_memory_raises_an_error_that_states_what_would_fit():
    with pytest.raises(DataError, match="about 9,500,000 records would fit"):
        check_memory(10**8, 10, 5, available=1_600_000_000)
    check_memory(9_500_000, 10, 5, available=1_600_000_000)
    check_memory(10**8, 10, 5, available=memory_for(10**8, 10, 5))


def test_memory_stays_below_three_tables():
    for d in (6, 10, 50):
        assert memory_for(10**7, d, 5) <= 3 * 8 * 10**7 * d


def test_float32_needs_less():
    assert memory_for(10**7, 10, 5, bytes_per_number=4) < memory_for(10**7, 10, 5)


def test_a_table_that_is_present_needs_less_free_memory():
    with pytest.raises(DataError, match="storage=float32"):
        check_memory(10**7, 10, 5, available=10**9)
    check_memory(10**7, 10, 5, available=10**9, present=True)
    with pytest.raises(DataError, match="attributes, or a larger machine"):
        check_memory(10**8, 10, 5, available=10**9, bytes_per_number=4)


def test_free_memory_is_positive_where_the_system_reports_it():
    free = free_memory()
    assert free is None or free > 0


def test_protect_and_group_raise_an_error_for_a_table_that_does_not_fit(monkeypatch):
    people = pl.DataFrame({"a": range(1000), "b": range(1000)})
    monkeypatch.setattr(memory, "free_memory", lambda: 20_000)
    monkeypatch.setattr("shoal.flow.prepare.CHECKED_BYTES", 0)  # small matrices are not checked otherwise
    for call in (
        lambda: shoal.protect(people, 5, quasi=["a", "b"], method="mona-plus"),
        lambda: shoal.group(people.to_numpy(), 5),
    ):
        with pytest.raises(DataError, match=r"need about .* GB of memory, .* records would fit"):
            call()


def write_groups(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_limits_of_control_groups_are_read_in_both_versions_and_nested(tmp_path):
    member = tmp_path / "member"
    member.write_text("0::/job/step\n")
    assert control_group_memory(str(tmp_path), str(member)) is None
    write_groups(tmp_path, {"job/step/memory.max": "max\n", "job/step/memory.current": "100\n"})
    assert control_group_memory(str(tmp_path), str(member)) is None
    write_groups(tmp_path, {
        "job/memory.max": "5000\n", "job/memory.current": "1500\n", "job/memory.stat": "anon 9\ninactive_file 500\n",
    })  # fmt: skip
    assert control_group_memory(str(tmp_path), str(member)) == 4000
    write_groups(tmp_path, {"job/step/memory.max": "1000\n"})
    assert control_group_memory(str(tmp_path), str(member)) == 900


def test_limits_of_version_1_are_read(tmp_path):
    member = tmp_path / "member"
    member.write_text("5:cpu:/\n4:memory:/box\n0::/\n")
    write_groups(tmp_path, {
        "memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "77\n",
    })  # fmt: skip
    assert control_group_memory(str(tmp_path), str(member)) is None
    write_groups(tmp_path, {
        "memory/box/memory.limit_in_bytes": "3000\n", "memory/box/memory.usage_in_bytes": "1000\n",
    })  # fmt: skip
    assert control_group_memory(str(tmp_path), str(member)) == 2000


def test_the_limit_of_the_address_space_counts():
    code = (
        "import resource; from shoal.core.memory import free_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9)); print(free_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 2 * 10**9
