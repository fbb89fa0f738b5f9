"""Planted values: nothing of the original is in what is released, searched byte by byte.

Values that occur nowhere else are planted in every cell that is replaced, suppressed or dropped, under missing cells,
in rows outside of a slice, in an index, in attributes, metadata, notes, labels and categories without a record. Each
table is protected and written in every format; then all bytes are searched, also the decompressed ones, those of
pickles and copies, and every buffer in full.
"""

import copy
import datetime as dt
import gzip
import pickle
import struct
import zipfile
from dataclasses import replace
from itertools import product

import narwhals as nw
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import feather, parquet

import shoal
from shoal.flow import generalised_columns
from shoal.flow import released as released_module
from shoal.report import column_distributions
from shoal.schema.columns import ALLOWED_RECODES, Kind, Recode
from shoal.tables import Table, arrow_files, column_labels, stats_files, write_table
from shoal.tables.replacing import with_missing
from shoal.tables.value_codes import missing_mask

from attacks.byte_search import file_contents, object_contents

ROWS, BEFORE, AFTER, K = 24, 5, 7, 3
KINDS = {"age": Kind.NUMERIC, "wage": Kind.NUMERIC, "born": Kind.NUMERIC, "day": Kind.NUMERIC, "town": Kind.NOMINAL}
ROLES = {"quasi": [*KINDS, "level"], "confidential": ["diagnosis", "visits"], "identifiers": ["person", "number"]}
LEVELS = ["level-never-asked-qz", "level-low-qz", "level-middle-qz", "level-high-qz"]
OUTPUTS = ("csv", "csv.gz", "csv.zst", "tsv", "parquet", "arrow", "feather", "ipc", "sav", "zsav", "dta", "xpt", "xlsx")
ABOUT = "planted-about-the-file-qz"


class Planted:
    """A table with planted values, and how each of them would look in bytes."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        n = BEFORE + ROWS + AFTER
        tokens = [f"qz{value:014x}" for value in rng.integers(0, 2**55, 4 * n)]
        micro = rng.integers(10**14, 15 * 10**14, n) * 1_000_003 % (15 * 10**14)
        towns = [*tokens[n : n + 6], *(token[:9] for token in tokens[n + 6 : n + 10])]
        self.columns = {
            "person": tokens[:n],
            "number": rng.integers(2**44, 2**45, n).tolist(),
            "age": rng.integers(2**45, 2**46, n).tolist(),
            "wage": (rng.integers(2**33, 2**40, n) / 2**24).tolist(),
            "born": [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(m) // 1000 * 1000) for m in micro],
            "day": [dt.date(1901, 1, 1) + dt.timedelta(days=int(day)) for day in rng.permutation(40_000)[:n]],
            "town": [towns[code] for code in rng.integers(0, len(towns), n)],
            "level": [LEVELS[code] for code in rng.integers(2, 4, n)],
            "diagnosis": tokens[2 * n : 3 * n],
        }
        self.searched = [value for column in self.columns.values() for value in column]
        self.columns["visits"] = rng.integers(1, 4, n).tolist()
        self.columns["level"][BEFORE + 1] = LEVELS[1]  # one record; the median or the mode does not have it
        self.under = {BEFORE + 3: tokens[3 * n], BEFORE + 8: tokens[3 * n + 1]}  # under missing cells of the diagnosis
        self.index = [f"index-{value:012x}-qz" for value in rng.integers(0, 2**47, n)]
        self.searched += [*self.under.values(), *self.index, ABOUT, *LEVELS, *towns]

    def sliced(self, part):
        """Return the columns with or without the rows that a slice cuts off."""
        rows = slice(0, None) if part else slice(BEFORE, BEFORE + ROWS)
        return {name: column[rows] for name, column in self.columns.items()}

    def hidden(self, part):
        """Return the rows of the diagnosis under whose missing cell a value stands."""
        shift = 0 if part else BEFORE
        return {row - shift: value for row, value in self.under.items()}


PLANTED = Planted()


def forms(value):
    """Return how a value looks in bytes, in any format."""
    if isinstance(value, str):
        return [value.encode(), value.encode("utf-16-le")]
    if isinstance(value, int):
        return [str(value).encode(), struct.pack("<q", value), struct.pack("<d", value), of_sas(value)]
    if isinstance(value, float):
        return [repr(value).encode(), struct.pack("<d", value), of_sas(value)]
    if isinstance(value, dt.datetime):
        micro = (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
        whole = [struct.pack("<q", number) for number in (micro, micro * 1000, micro // 1000)]
        spss, stata, sas = micro / 1e6 + 12_219_379_200, micro / 1e3 + 315_619_200_000, micro / 1e6 + 315_619_200
        times = [struct.pack("<d", near) for time in (spss, stata) for near in neighbours(time)]
        excel = [repr(float(near)).encode() for near in neighbours(openpyxl.utils.datetime.to_excel(value))]
        return [str(value).encode(), value.isoformat().encode(), *whole, *times, *map(of_sas, neighbours(sas)), *excel]
    return [str(value).encode()]


def neighbours(number):
    """Return a number and those that differ in the last digit."""
    return [np.nextafter(number, -np.inf), number, np.nextafter(number, np.inf)]


def of_sas(number):
    """Return a positive number as SAS transport files store it: base 16, largest byte first."""
    exponent = 0
    while number >= 1:
        number, exponent = number / 16, exponent + 1
    while number < 1 / 16:
        number, exponent = number * 16, exponent - 1
    return struct.pack(">Q", (exponent + 64 << 56) | int(number * 2**56))


def found_in(contents, shown):
    """Return the planted values that occur in some bytes although the release does not show them."""
    text = " ".join(map(str, shown))
    visible = {value for value in shown if not isinstance(value, str)}
    together = b"\xff\xfe\xfd".join(contents)
    leaked = []
    for value in PLANTED.searched:
        allowed = str(value) in text or value in visible or _part_of_text(value, text)
        if not allowed and any(form in together for form in forms(value)):
            leaked.append(value)
    return leaked, len(together)


def _part_of_text(value, text):
    """Return whether a text of the release, such as a range, a set or a time in short form, shows the value."""
    return isinstance(value, dt.datetime) and str(value)[:19] in text


# inputs: each returns a table with planted values beside what it shows


def with_hidden(part):
    """Return a pyarrow array of the diagnosis in which values stand under missing cells."""
    texts = PLANTED.sliced(part)["diagnosis"]
    hidden = PLANTED.hidden(part)
    texts = [hidden.get(row, text) for row, text in enumerate(texts)]
    validity = pa.array([row not in hidden for row in range(len(texts))]).buffers()[1]
    array = pa.array(texts)
    return pa.Array.from_buffers(pa.string(), len(texts), [validity, *array.buffers()[1:]])


def arrow(part, *, view=False):
    columns = {name: pa.array(column) for name, column in PLANTED.sliced(part).items()}
    columns["diagnosis"] = with_hidden(part)
    if view:
        columns |= {name: columns[name].cast(pa.string_view()) for name in ("person", "town", "diagnosis")}
    else:
        columns["town"] = columns["town"].dictionary_encode()
    codes = pa.array([LEVELS.index(level) for level in PLANTED.sliced(part)["level"]], pa.int8())
    columns["level"] = pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=True)
    fields = [pa.field(name, column.type, metadata={"note": ABOUT}) for name, column in columns.items()]
    table = pa.table(list(columns.values()), schema=pa.schema(fields, {"note": ABOUT}))
    return table.slice(BEFORE, ROWS) if part else table


def pandas(part, *, dtypes=None):
    columns = PLANTED.sliced(part)
    hidden = PLANTED.hidden(part)
    columns["diagnosis"] = [None if row in hidden else text for row, text in enumerate(columns["diagnosis"])]
    frame = pd.DataFrame(columns, index=pd.Index(PLANTED.index[: len(columns["age"])], name="key"))
    frame["born"] = pd.to_datetime(frame["born"])
    frame["day"] = pd.to_datetime(frame["day"])
    frame = frame.convert_dtypes(dtype_backend=dtypes) if dtypes else frame
    frame["town"] = frame["town"].astype("category")
    frame["level"] = pd.Categorical(frame["level"], categories=LEVELS, ordered=True)
    frame.attrs["note"] = ABOUT
    return frame.iloc[BEFORE : BEFORE + ROWS] if part else frame


def polars(part, *, categories=True):
    frame = pl.DataFrame(PLANTED.sliced(part))
    keep = pl.Series([row not in PLANTED.hidden(part) for row in range(frame.height)])
    frame = frame.with_columns(pl.when(keep).then(pl.col("diagnosis")), pl.col("level").cast(pl.Enum(LEVELS)))
    frame = frame.with_columns(pl.col("town").cast(pl.Categorical)) if categories else frame
    return frame[BEFORE : BEFORE + ROWS] if part else frame


FRAMES = {
    "pandas": pandas,
    "pandas nullable": lambda part: pandas(part, dtypes="numpy_nullable"),
    "pandas arrow": lambda part: pandas(part, dtypes="pyarrow"),
    "polars": polars,
    "polars text": lambda part: polars(part, categories=False),
    "pyarrow": arrow,
    "pyarrow views": lambda part: arrow(part, view=True),
}


def text_file(path):
    frame = polars(part=False).with_columns(pl.col("born").dt.to_string("%Y-%m-%d %H:%M:%S%.6f"))
    content = frame.write_csv(separator="\t" if ".tsv" in path.name else ",").encode()
    packed = {".gz": gzip.compress, ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True)}
    path.write_bytes(packed.get(path.suffix, bytes)(content))


def arrow_file(path):
    table = arrow(part=False)
    if path.suffix == ".parquet":
        table = table.replace_schema_metadata(pa.Table.from_pandas(pandas(part=False)).schema.metadata)
        parquet.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, path, compression="lz4" if path.suffix == ".feather" else "uncompressed")


def statistics_file(path):
    frame = polars(part=False, categories=False).with_columns(pl.col("level").cast(pl.String))
    options = {"file_label": ABOUT, "column_labels": {"age": "Age in days"}}
    labels = {"visits": {1: "one visit", 77: ABOUT}}
    if path.suffix == ".xpt":
        pyreadstat.write_xport(frame, path, **options)
        return
    if path.suffix == ".dta":  # Stata labels integers only
        visits = pl.col("visits").cast(pl.Int32)
        pyreadstat.write_dta(frame.with_columns(visits), path, variable_value_labels=labels, **options)
        return
    labels["town"] = {text: f"label of {text}" for text in [*frame["town"].unique(), ABOUT]}
    pyreadstat.write_sav(
        frame, path, variable_value_labels=labels, note=ABOUT, missing_ranges={"town": [ABOUT[:8]]},
        compress=path.suffix == ".zsav", **options,
    )  # fmt: skip


def excel_file(path):
    frame = polars(part=False, categories=False).with_columns(pl.col("level").cast(pl.String))
    write_table(Table.from_native(frame), path)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    empty = b"<dc:creator></dc:creator>"
    assert empty in parts["docProps/core.xml"]
    parts["docProps/core.xml"] = parts["docProps/core.xml"].replace(empty, f"<dc:creator>{ABOUT}</dc:creator>".encode())
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace(b'name="Sheet1"', f'name="{ABOUT}"'.encode())
    with zipfile.ZipFile(path, "w") as book:
        for name, content in parts.items():
            book.writestr(name, content)


FILES = {
    "xlsx": excel_file,
    **dict.fromkeys(("csv", "csv.gz", "csv.zst", "tsv"), text_file),
    **dict.fromkeys(("parquet", "arrow", "feather", "ipc"), arrow_file),
    **dict.fromkeys(("sav", "zsav", "dta", "xpt"), statistics_file),
}
INPUTS = [(name, part) for name in FRAMES for part in (False, True)] + [(ending, None) for ending in FILES]


def original(name, part, folder):
    """Return a table with planted values, or the path of one."""
    if part is not None:
        return FRAMES[name](part)
    path = folder / f"original.{name}"
    FILES[name](path)
    return path


def protected(data, recode, method="mdav"):
    """Return the release of a table by a representative, for all columns that allow it."""
    kinds = KINDS | {"level": Kind.ORDINAL}
    recodes = {name: recode for name, kind in kinds.items() if Recode(recode) in ALLOWED_RECODES[kind]}
    return shoal.protect(
        data,
        K,
        method=method,
        recode=recodes,
        orders={"level": LEVELS},
        kinds={"town": "nominal"},
        accept_loss=True,
        **ROLES,
    )


def shown_values(release):
    """Return all values that a release shows."""
    frame = release.table.frame
    return [value for name in frame.columns for value in frame.get_column(name).to_list() if value is not None]


def searched(release, folder, endings):
    """Search everything that a release gives away; return what leaked by place, and the number of bytes."""
    shown = shown_values(release)
    leaks, size = {}, 0
    for ending in endings:
        target = folder / f"safe.{ending}"
        private = folder / "holder.parquet"  # confidential, mode 0600; it stays with the original
        written = release.write(target, public_report=folder / "public.html", holder_record=private, overwrite=True)
        contents = [content for path in written if path != private for content in file_contents(path)]
        leaks[ending], found = found_in(contents, shown)
        size += found
    parts = {
        "pickle": [pickle.dumps(release)],
        "pickled data": [pickle.dumps(release.data)],
        "unpickled": object_contents(pickle.loads(pickle.dumps(release))),
        "data": object_contents(release.data),
        "copy": object_contents(copy.copy(release)),
        "deep copy": object_contents(copy.deepcopy(release)),
    }
    for where, contents in parts.items():
        leaks[where], found = found_in(contents, shown)
        size += found
    return {where: values for where, values in leaks.items() if values}, size


@pytest.mark.parametrize(("name", "part"), INPUTS)
def test_nothing_of_the_original_is_in_a_release(name, part, tmp_path, record, repetitions):
    recodes = [*Recode]
    runs, size = 0, 0
    place = INPUTS.index((name, part))
    pairs = [*product(range(len(recodes)), range(len(OUTPUTS)))]
    chosen = repetitions(10, attacks=len(pairs))
    by_recode = {}
    for number in range(chosen):  # a part of the pairs, another one for each input
        recode, output = pairs[(number * 13 + place * 29) % len(pairs)]
        by_recode.setdefault(recodes[recode], []).append(OUTPUTS[output])
    data = original(name, part, tmp_path)
    for recode, endings in {Recode.SUPPRESS: [OUTPUTS[place % len(OUTPUTS)]], **by_recode}.items():
        leaks, found = searched(protected(data, recode), tmp_path, endings)
        assert leaks == {}, recode
        runs, size = runs + len(endings), size + found
    record("files searched", runs)
    record("bytes searched", size)


@pytest.mark.parametrize(
    ("name", "part"), [("pandas nullable", True), ("polars text", True), ("pyarrow", True), ("sav", None)]
)
def test_nothing_of_the_original_is_in_a_release_of_the_default_method(name, part, tmp_path, record):
    """Groups are searched by moves of records, whose start, lists and diagnostics a release could hold as well."""
    runs, size = 0, 0
    for recode, method, selected in (("mean", "auto", "mixed-annealing"), ("suppress", "annealing", "annealing")):
        release = protected(original(name, part, tmp_path), recode, method=method)
        assert [entry["name"] for entry in release.manifest["method"]["resolved"]] == [selected]
        leaks, found = searched(release, tmp_path, ["csv", "parquet", "arrow"])
        assert leaks == {}, recode
        runs, size = runs + 3, size + found
    record("files searched", runs)
    record("bytes searched", size)


@pytest.mark.parametrize("recode", ["mean", "suppress", "range"])
def test_nothing_of_the_original_is_in_a_release_in_parts(recode, tmp_path, record):
    """The rows of a folder of Parquet files wait in private files before they are released."""
    source, target = tmp_path / "original", tmp_path / "safe"
    source.mkdir()
    for number in range(2):
        FILES["parquet"](source / f"{number}.parquet")
    kinds = KINDS | {"level": Kind.ORDINAL}
    shoal.protect(
        source, K, recode={name: recode for name, kind in kinds.items() if Recode(recode) in ALLOWED_RECODES[kind]},
        orders={"level": LEVELS}, kinds={"town": "nominal"}, accept_loss=True, engine="disk", output=target, **ROLES,
    )  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {"original", "safe"}  # the private files are gone
    released = pl.read_parquet(target / "*.parquet")
    shown = [value for column in released for value in column.to_list() if value is not None]
    contents = [content for path in target.iterdir() for content in file_contents(path)]
    leaked, size = found_in(contents, shown)
    assert leaked == []
    unprotected, _ = found_in([*contents, *file_contents(source / "0.parquet")], shown)
    assert set(PLANTED.columns["person"][BEFORE : BEFORE + ROWS]) <= set(unprotected)  # found in the original
    record("files searched", len(contents))
    record("bytes searched", size)


# the search finds what the release must not hold


@pytest.mark.parametrize("ending", OUTPUTS)
def test_the_search_finds_values_of_every_type_in_every_format(ending, tmp_path):
    path = original(ending, None, tmp_path)
    leaked, _ = found_in(file_contents(path), shown=[])
    for name in ("person", "number", "age", "wage", "born"):
        assert set(PLANTED.columns[name][BEFORE : BEFORE + ROWS]) <= set(leaked), name


def leaks_of(name, part, recode, endings, folder):
    return searched(protected(original(name, part, folder), recode), folder, endings)[0]


def test_the_search_finds_values_under_missing_cells(monkeypatch, tmp_path):
    """The wrong version: cells of the original column are marked as missing."""
    suppressed = generalised_columns._suppressed

    def marked(task):
        released, loss = suppressed(task)
        return with_missing(task.series, missing_mask(released)), loss

    monkeypatch.setattr(generalised_columns, "_suppressed", marked)
    monkeypatch.setattr(released_module, "clean_copy", lambda table, _original: table)
    for name in ("pyarrow", "pandas nullable", "parquet"):
        leaks = leaks_of(name, None if name == "parquet" else False, "suppress", ["arrow", "feather"], tmp_path)
        for where in ("arrow", "feather", "pickle", "data", "copy", "deep copy"):
            assert set(PLANTED.columns["age"]) & set(leaks[where]), (name, where)
    leaks = leaks_of("polars text", False, "suppress", ["arrow"], tmp_path)
    assert {PLANTED.columns["diagnosis"][row] for row in PLANTED.under} <= set(leaks["pickle"])


@pytest.mark.parametrize("name", FRAMES)
def test_the_search_finds_rows_outside_of_a_slice(name, monkeypatch, tmp_path):
    monkeypatch.setattr(released_module, "clean_copy", lambda table, _original: table)
    leaks = leaks_of(name, True, "mean", [], tmp_path)
    assert set(PLANTED.columns["diagnosis"][:BEFORE]) <= set(leaks["data"])


def test_the_search_finds_an_index_and_attributes(monkeypatch, tmp_path):
    monkeypatch.setattr(released_module, "clean_copy", lambda table, _original: table)
    leaks = leaks_of("pandas", False, "mean", [], tmp_path)
    for where in ("pickle", "data", "deep copy"):
        assert {ABOUT, *PLANTED.index[:ROWS]} <= set(leaks[where])


def test_the_search_finds_metadata(monkeypatch, tmp_path):
    def described(table, _original):
        schema = table.native.schema.with_metadata({"note": ABOUT})
        return replace(table, frame=nw.from_native(table.native.cast(schema), eager_only=True))

    monkeypatch.setattr(released_module, "clean_copy", described)
    leaks = leaks_of("pyarrow", False, "mean", ["parquet", "arrow", "feather"], tmp_path)
    assert set(leaks) >= {"pickle", "data"}
    assert not {"parquet", "arrow", "feather"} & {where for where, values in leaks.items() if ABOUT in values}
    monkeypatch.setattr(arrow_files, "_without_metadata", lambda native: native)
    leaks = leaks_of("pyarrow", False, "mean", ["parquet", "arrow", "feather"], tmp_path)
    assert all(ABOUT in leaks[where] for where in ("parquet", "arrow", "feather"))


def test_the_search_finds_categories_without_a_record(monkeypatch, tmp_path):
    monkeypatch.setattr(released_module, "clean_copy", lambda table, _original: table)
    for name in ("pandas", "polars", "pyarrow"):
        leaks = leaks_of(name, False, "median", ["parquet", "arrow"], tmp_path)
        assert LEVELS[0] in leaks["data"]
        assert name == "pandas" or LEVELS[0] in leaks["arrow"]  # pandas categories are converted for the file


def test_the_search_finds_categories_in_the_plan_of_a_pickle(monkeypatch, tmp_path):
    monkeypatch.delattr(released_module.Released, "__getstate__")
    leaks = leaks_of("polars", False, "median", [], tmp_path)
    assert LEVELS[0] in leaks["pickle"]
    assert LEVELS[0] in leaks["unpickled"]


def test_the_search_finds_labels_and_notes(monkeypatch, tmp_path):
    monkeypatch.setattr(column_labels.Labels, "reduced", lambda labels, _: labels)
    for name in ("sav", "zsav"):
        assert set(leaks_of(name, None, "mode", ["sav"], tmp_path)["sav"]) & {ABOUT, *PLANTED.columns["town"]}
    write = pyreadstat.write_sav
    monkeypatch.setattr(stats_files, "_check_complete", lambda *_: None)
    monkeypatch.setattr(pyreadstat, "write_sav", lambda *given, **options: write(*given, note=ABOUT, **options))
    assert ABOUT in leaks_of("csv", None, "mode", ["sav"], tmp_path)["sav"]


def test_the_search_finds_categories_in_the_public_report(monkeypatch, tmp_path):
    counts = column_distributions._counts
    never = dict.fromkeys(LEVELS, 0)
    monkeypatch.setattr(column_distributions, "_counts", lambda *given: never | counts(*given))
    assert LEVELS[0] in leaks_of("polars", False, "median", ["csv"], tmp_path)["csv"]
