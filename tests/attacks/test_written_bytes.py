"""k counted on the bytes of every format, by code that shares nothing with Shoal but the libraries that read files."""

import csv
import gzip
import hashlib
import io
import json
import struct
from collections import Counter

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pyreadstat
import pytest

import shoal
from shoal.core.key_hashes import TextKeys, class_sizes
from shoal.errors import FileProblem, GroupTooSmall, RequirementNotMet
from shoal.flow import recount_file
from shoal.privacy.k_anonymity import count_classes
from shoal.tables import Table

NAMES = ["safe.csv", "safe.tsv", "safe.csv.gz", "safe.parquet", "safe.arrow", "safe.feather", "safe.sav", "safe.zsav",
         "safe.dta", "safe.xpt", "safe.xlsx", "safe.csv.zst"]  # fmt: skip
K = 3


def written_keys(path, names):
    """Return the key of each record as another program reads it: text as text, numbers by their bits."""
    if path.suffix in {".csv", ".tsv", ".gz", ".zst"}:
        unpack = {
            ".gz": gzip.decompress,
            ".zst": lambda data: pa.CompressedInputStream(io.BytesIO(data), "zstd").read(),
        }
        content = unpack.get(path.suffix, bytes)(path.read_bytes())
        text = io.StringIO(content.decode(), newline="")
        rows = list(csv.DictReader(text, delimiter="\t" if path.suffix == ".tsv" else ","))
        return [tuple(row[name] for name in names) for row in rows]
    if path.suffix == ".xlsx":
        header, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        return [tuple(bits(row[header.index(name)]) for name in names) for row in rows]
    if path.suffix == ".parquet":
        table = pyarrow.parquet.ParquetFile(path).read()
    elif path.suffix in {".arrow", ".feather"}:
        table = pa.ipc.open_file(path).read_all()
    else:
        read = {".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}.get(path.suffix, pyreadstat.read_sav)
        options = {} if path.suffix == ".xpt" else {"user_missing": True}
        frame = read(path, output_format="dict", **options)[0]
        return list(zip(*([bits(value) for value in frame[name]] for name in names), strict=True))
    return list(zip(*([bits(value) for value in table[name].to_pylist()] for name in names), strict=True))


def bits(value):
    return struct.pack("<d", value) if isinstance(value, float) else repr(value)


def recounted(path, names):
    return min(Counter(written_keys(path, names)).values())


def strange_table(seed, make):
    """Strata and quasi-identifiers with two zeros, NaN beside missing values, and texts that programs cut or strip."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 90))
    values = [0.0, -0.0, 1.5, float("nan"), None] if make is not pd.DataFrame else [0.0, -0.0, 1.5]
    zeros = rng.choice(values, n)
    zeros[: K * len(values)] = values * K  # a stratum of fewer than k records would be refused
    texts = rng.choice(["a", "a ", "A", "ä", "a\u0308", 'q"', "x,y", "l" * 300], n).tolist()
    return make(
        {
            "zero": [None if value is None else float(value) for value in zeros],
            "text": texts,
            "age": rng.integers(-3, 60, n).tolist(),
            "income": (rng.normal(size=n) * rng.choice([1e-9, 1.0, 1e9])).tolist(),
            "half": rng.choice([-0.0, 0.0, -0.5], n).tolist(),
            "diagnosis": rng.choice(["A", "B", "C"], n).tolist(),
        }
    )


MAKERS = [pl.DataFrame, pd.DataFrame, pa.table]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", MAKERS)
def test_the_bytes_of_every_format_satisfy_k(tmp_path, name, make, repetitions, record):
    runs = repetitions(20, attacks=60)
    for seed in range(runs):
        roles = {"quasi": ["age", "income", "half"], "strata": ["zero"], "confidential": ["diagnosis", "text"]}
        release = shoal.protect(strange_table(seed, make), K, method="mdav", **roles)
        path = release.write(tmp_path / name, overwrite=True)[0]
        assert recounted(path, [*roles["quasi"], "zero"]) >= K
    record("files recounted", runs)


@pytest.mark.parametrize("name", NAMES)
def test_texts_as_strata_satisfy_k_in_every_format(tmp_path, name):
    rng = np.random.default_rng(1)
    texts = np.repeat(["a", "a ", "A", "ä", "a\u0308", 'q"', "x,y", "l" * 300, "l" * 299 + "m"], 4)
    table = pl.DataFrame({"text": texts, "age": rng.integers(0, 50, texts.size)})
    path = shoal.protect(table, K, quasi=["age"], strata=["text"], method="mdav").write(tmp_path / name)[0]
    assert recounted(path, ["age", "text"]) >= K


@pytest.mark.parametrize("name", NAMES)
def test_a_file_whose_bytes_violate_k_never_becomes_visible(tmp_path, name, monkeypatch):
    """Two zeros in a stratum are equal in memory and different in most formats; SPSS and SAS have one zero."""
    table = pl.DataFrame({"zero": [0.0, -0.0, 0.0, -0.0] * 3, "age": [30.5] * 12})
    release = shoal.protect(table, 3, quasi=["age"], strata=["zero"], method="mdav")
    two_zeros = not name.endswith(("sav", ".xpt"))
    wrong = Table.from_native(release.data.with_columns(zero=pl.Series([-0.0 if two_zeros else 1.0, *[0.0] * 11])))
    object.__setattr__(release.released, "table", wrong)
    assert (count_classes(wrong, ["age", "zero"]).k >= 3) == two_zeros  # what is in memory seems to satisfy k
    with pytest.raises(GroupTooSmall, match=r"as written, 1 of 12 records are in classes of fewer than k=3"):
        release.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []

    monkeypatch.setattr(recount_file, "require_k", lambda *_: None)
    release.write(tmp_path / name)  # without the recount from bytes the file is released
    assert recounted(tmp_path / name, ["age", "zero"]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_requirements_beyond_k_are_counted_on_the_file(tmp_path, name):
    table = pl.DataFrame({"age": [30, 30, 30, 30], "diagnosis": ["A", "B", "A", "B"]})
    release = shoal.protect(table, 2, quasi=["age"], confidential=["diagnosis"], l=2, method="mdav")
    release.write(tmp_path / name)
    wrong = Table.from_native(table.with_columns(diagnosis=pl.lit("A")))
    object.__setattr__(release.released, "table", wrong)
    with pytest.raises(RequirementNotMet, match="l=2 is violated"):
        release.write(tmp_path / f"second-{name}")
    assert not (tmp_path / f"second-{name}").exists()


@pytest.mark.parametrize("name", NAMES)
def test_the_manifest_names_the_bytes_of_the_file(tmp_path, name):
    table = pl.DataFrame({"age": [30, 31, 40, 42], "diagnosis": ["A", "B", "A", "B"]})
    release = shoal.protect(table, 2, quasi=["age"], confidential=["diagnosis"])
    path, manifest, _ = release.write(tmp_path / name)
    content = path.read_bytes()
    output = json.loads(manifest.read_text())["output"]
    assert output["file"] == name
    assert output["bytes"] == len(content)
    assert output["sha256"] == hashlib.sha256(content).hexdigest()
    assert (output["records"], output["columns"]) == (4, 2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-4],
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"age", b"agf"),
        lambda content: content[:0],
    ],
)
@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith((".dta", ".xpt", "sav"))])
def test_a_file_that_does_not_read_back_never_becomes_visible(tmp_path, name, damage, monkeypatch):
    from shoal.tables import files

    def damaged(table, path, *, target):
        files.write_directly(table, path, target=target)
        path.write_bytes(damage(path.read_bytes()))

    release = shoal.protect(pl.DataFrame({"age": [30, 31, 40, 42]}), 2, quasi=["age"])
    monkeypatch.setattr(shoal.api.release, "write_directly", damaged)
    if damage(b"age") == b"agf" and not name.endswith(("csv", "tsv", ".arrow", ".feather", ".parquet")):
        pytest.skip("the name is not in the compressed bytes")
    with pytest.raises(FileProblem, match="does not read back as the table"):
        release.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def naive_sizes(text, keys, delimiter):
    """Return the class sizes of a delimited text by splitting it into raw fields, one character after the other."""
    rows, row, field, inside = [], [], "", False
    for character in text:
        if character == '"':
            inside = not inside
        if character in {delimiter, "\n"} and not inside:
            row.append(field)
            field = ""
            if character == "\n":
                rows.append(tuple(value for value, key in zip(row, keys, strict=True) if key))
                row = []
        else:
            field += character
    return sorted(Counter(rows[1:]).values())


def test_the_compiled_reader_counts_as_the_naive_one(repetitions):
    for seed in range(repetitions(300)):
        rng = np.random.default_rng(seed)
        columns, rows = int(rng.integers(1, 5)), int(rng.integers(1, 30))
        values = ["", "a", "b", "1.0", "1", "x,y", 'q"r', "l\nm", "r\rs", "ä", "0" * 7, "0" * 8, "0" * 14]
        frame = pl.DataFrame(
            {f"c{j}": rng.choice(values[: int(rng.integers(1, 14))], rows).tolist() for j in range(columns)}
        )
        frame = frame.select(pl.when(pl.col(name) == "b").then(None).otherwise(pl.col(name)).alias(name)
                             for name in frame.columns)  # fmt: skip
        keys = rng.random(columns) < 0.7
        ending = "\r\n" if seed % 2 else "\n"
        content = frame.write_csv(line_terminator=ending).encode()
        reader = TextKeys(rows, keys, ",")
        cuts = sorted(rng.integers(0, len(content), 3))
        for start, stop in zip([0, *cuts], [*cuts, len(content)], strict=True):
            reader.add(content[start:stop])
        reader.finish()
        plain = content.decode().replace("\r\n", "\n")
        assert sorted(class_sizes(*reader.hashes).tolist()) == naive_sizes(plain, keys, ",")
