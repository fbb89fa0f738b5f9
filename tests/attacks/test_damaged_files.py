"""Damaged and random files of every format: read, or refused in one sentence."""

import gzip
import io
import random

import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.tables import Table, write_table

from attacks.bad_commands import PEOPLE

PARTS = 2
PIECES = [
    b'"', b",", b";", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"1e999", b"-0", b"nan", b"",
    b"  ", b"9" * 20, "ä".encode(), "ä".encode("latin-1"), b"'", b"\\", b"2020-02-30", b"x" * 70_000,
]  # fmt: skip


def sav_bytes(folder):
    import pyreadstat

    path = folder / "people.sav"
    pyreadstat.write_sav(PEOPLE.to_pandas(), path)
    return path.read_bytes()


def dta_bytes(folder):
    import pyreadstat

    path = folder / "people.dta"
    pyreadstat.write_dta(PEOPLE.to_pandas(), path)
    return path.read_bytes()


def frame_bytes(write):
    stream = io.BytesIO()
    getattr(PEOPLE, write)(stream)
    return stream.getvalue()


def xlsx_bytes(folder):
    write_table(Table.from_native(PEOPLE), folder / "people.xlsx")
    return (folder / "people.xlsx").read_bytes()


FORMATS = {
    "csv": lambda _: PEOPLE.write_csv().encode(),
    "semicolons.csv": lambda _: PEOPLE.write_csv(separator=";").encode(),
    "latin.csv": lambda _: PEOPLE.write_csv().replace("sex", "säx").encode("latin-1"),
    "utf16.csv": lambda _: PEOPLE.write_csv().encode("utf-16"),
    "csv.gz": lambda _: gzip.compress(PEOPLE.write_csv().encode(), mtime=0),
    "csv.zst": lambda _: pa.Codec("zstd").compress(PEOPLE.write_csv().encode(), asbytes=True),
    "parquet": lambda _: frame_bytes("write_parquet"),
    "arrow": lambda _: frame_bytes("write_ipc"),
    "xlsx": xlsx_bytes,
    "sav": sav_bytes,
    "dta": dta_bytes,
}


def damaged(source, content):
    """Return bytes with some of them changed, removed, repeated or inserted."""
    data = bytearray(content)
    for _ in range(source.choice([1, 1, 2, 5, 20])):
        place = source.randrange(len(data)) if data else 0
        what = source.choice(["flip", "flip", "cut", "remove", "repeat", "insert", "zero"])
        length = source.choice([1, 2, 8, 64])
        if what == "flip" and data:
            data[place] ^= 1 << source.randrange(8)
        elif what == "cut":
            del data[place:]
        elif what == "remove":
            del data[place : place + length]
        elif what == "repeat":
            data[place:place] = data[place : place + length] * source.choice([1, 3])
        elif what == "insert":
            data[place:place] = source.choice(PIECES)
        elif what == "zero":
            data[place : place + length] = bytes(min(length, len(data) - place))
    return bytes(data)


def random_csv(source):
    """Return a text file of random cells, delimiters and quotes."""
    delimiter, quote = source.choice([b",", b";", b"\t", b"|"]), source.choice([b"", b"", b'"'])
    lines, wild = [], source.random() < 0.5
    for row in range(source.randint(0, 12)):
        odd = 0.3 if wild else 0.02
        width = source.choice([2, 3, 3, 3, 4]) if wild else 3
        cells = [source.choice(PIECES[:-1] if source.random() < odd else [b"a", b"7", b"1.5"]) for _ in range(width)]
        if row == 0:
            cells = [b"a", b"b", b"c"][: len(cells)]
        lines.append(delimiter.join(quote + cell + quote for cell in cells))
    return source.choice([b"\n", b"\r\n"]).join(lines)


def attacked(path, roles):
    """Protect a file; returns whether it was read. Any error but one of Shoal is a failure."""
    try:
        release = shoal.protect(path, 2, **roles, method="mdav", unnamed="other")
    except shoal.errors.ShoalError as problem:
        assert str(problem).isprintable()  # noqa: PT017 - most files are refused, some are read
        return False
    counted = release.data.group_by(roles["quasi"]).len()["len"] if isinstance(release.data, pl.DataFrame) else [2]
    assert min(counted) >= 2
    return True


FOUND_BEFORE = [b"\x08\n\x0c", b"a\n\x0c\n"]
"""Text files that once ended in an internal error."""


@pytest.mark.parametrize("content", FOUND_BEFORE, ids=ascii)
def test_files_that_once_failed_are_read_or_refused(content, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    attacked(path, {"quasi": ["a"]})


@pytest.mark.parametrize("compressed", [False, True])
def test_a_line_of_a_gigabyte_is_refused_without_reading_it_all(tmp_path, compressed, record):
    path = tmp_path / ("long.csv.gz" if compressed else "long.csv")
    if compressed:  # a small file that is large when it is read
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(64):
                file.write(b"x" * 2**22)
    else:
        with path.open("wb") as file:
            file.truncate(2**30)  # a file with a gap takes no space
    with pytest.raises(shoal.errors.FileProblem, match=r"first line has more than|is not a text table|zero byte"):
        shoal.protect(path, 2, quasi=["a"])
    record("lines of a gigabyte refused", 1)


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_refused(name, tmp_path, repetitions, record):
    content = FORMATS[name](tmp_path)
    number = repetitions(60, attacks=1_500)
    path = tmp_path / f"damaged.{name.rpartition('.')[2] if not name.endswith(('.gz', '.zst')) else name}"
    for seed in range(number):
        path.write_bytes(damaged(random.Random(f"{name} {seed}"), content))
        attacked(path, {"quasi": ["age"]})
    record("damaged files read or refused in one sentence", number)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_random_text_file_is_read_or_refused(part, tmp_path, repetitions, record):
    path = tmp_path / "random.csv"
    seeds = range(part, PARTS * repetitions(150, attacks=2_500), PARTS)
    read = 0
    for seed in seeds:
        path.write_bytes(random_csv(random.Random(seed)))
        read += attacked(path, {"quasi": ["a"], "missing": "by-pattern"})
    assert read > 0
    record("random text files read or refused in one sentence", len(seeds))
