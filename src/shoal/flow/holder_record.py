"""The holder's record: the confidential half of the evidence for a release, kept by the data holder.

The manifest travels with the table and states nothing that confirms the original. What the holder needs later is in a
second file, Parquet with mode 0600:

- the full plan with orders and hierarchies, the exact loss and the exact diagnostics of the method;
- 256 random bits, drawn anew for every record and stored nowhere else, and an HMAC of the input under this key;
- for each record its group, its row in the released table, and keyed hashes by which it is found again in a later table
  (:func:`record_hashes`); and the released values of each group, as an Arrow file in the cells of a column.

``protect --previous`` starts from it, and the rows of a released table that were shuffled can be put back in order with
it. Because of the key no two records are equal, so the record is the only output of a run that is not reproducible.
"""

from __future__ import annotations

import hmac
import io
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, shake_256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.key_hashes import add_multilinear
from shoal.errors import FileProblem
from shoal.flow.manifest import exact_loss
from shoal.flow.prepare import Integers
from shoal.schema.columns import Schema
from shoal.schema.plan import JsonDict, Plan, plain_value
from shoal.schema.requirements import Of
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.flow.released import Released


Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
_HALF = np.uint64(32)
_EXACT = 2**53  # integers below are exact floats
RECORD_VERSION = 1
_RELEASED = "released_values"
_ROWS = 131_072  # per row group, so that the writer needs little memory
_PART = 2**26  # bytes of released values in one cell
_METADATA = b"shoal_holder_record"
_NOTICE = (
    "Confidential: this file can confirm guesses of original records. Keep it with the original table, "
    "never with the released one. Its key is random, so the file differs in every run."
)


@dataclass(frozen=True, eq=False, repr=False)
class HolderRecord:
    """The holder's record of a release.

    Parameters
    ----------
    header
        Plan, exact loss, key and fingerprint of the input, and the columns that were hashed.
    rows
        One row per record of the original: ``group``, ``released_row`` and the hashes, and ``person_group`` and
        ``household_group`` where whole persons and households were grouped.
    representatives
        The released values of the quasi-identifiers, one row per group.

    Examples
    --------
    >>> import shoal
    >>> release = shoal.protect(pl.DataFrame({"age": [30, 32, 60, 62]}), k=2, quasi=["age"], method="mdav")
    >>> record = holder_record(release.released, Table.from_native(pl.DataFrame({"age": [30, 32, 60, 62]})))
    >>> record
    <HolderRecord: 4 records in 2 groups; confidential>
    >>> record.groups.tolist()
    [0, 0, 1, 1]
    """

    header: JsonDict
    rows: pl.DataFrame
    representatives: pl.DataFrame = field(default_factory=pl.DataFrame)

    def __repr__(self) -> str:  # never the key
        groups = int(self.groups.max()) + 1 if self.rows.height else 0
        return f"<HolderRecord: {self.rows.height:,} records in {groups:,} groups; confidential>"

    @property
    def key(self) -> bytes:
        """The 256 random bits."""
        return bytes.fromhex(str(self.header["key"]))

    @property
    def groups(self) -> Integers:
        """The group of each record, numbered by first appearance; -1 for a record that is not released."""
        return self.rows["group"].to_numpy().astype(np.int64)

    @property
    def person_groups(self) -> Integers | None:
        """The group of whole persons of each record, where persons were grouped; -1 where no row of one is released."""
        return self._groups_of("person_group")

    @property
    def household_groups(self) -> Integers | None:
        """The group of whole households of each record, where columns stay constant within them and within persons."""
        return self._groups_of("household_group")

    def _groups_of(self, name: str) -> Integers | None:
        return self.rows[name].to_numpy().astype(np.int64) if name in self.rows.columns else None

    @property
    def released_rows(self) -> Integers:
        """The row of each record in the released table; -1 for a record that is not released."""
        return self.rows["released_row"].to_numpy().astype(np.int64)

    def is_input(self, table: Table) -> bool:
        """Return whether a table is the one that was protected: the same records in the same order."""
        content = record_hashes(table, table.names, self.key)
        return hmac.compare_digest(str(self.header["input"]["fingerprint"]), _fingerprint(table, content, self.key))

    def write(self, path: Path) -> None:
        """Write the record to a file with mode 0600, which it has before the first byte is written."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path.touch(mode=0o600)
        path.chmod(0o600)  # a file that existed before keeps its old mode otherwise
        buffer = io.BytesIO()
        self.representatives.write_ipc(buffer, compression="lz4")
        content = buffer.getbuffer()  # no copy
        ends = np.full(self.rows.height + 1, len(content))
        starts = np.arange(0, len(content), _PART)
        ends[: starts.size] = starts
        filled = np.zeros(self.rows.height, bool)
        filled[: starts.size] = True
        known = np.packbits(filled, bitorder="little")
        # an array that pyarrow makes of bytes would import pandas
        buffers = [pa.py_buffer(known), pa.py_buffer(ends), pa.py_buffer(content)]
        cells = pa.Array.from_buffers(pa.large_binary(), self.rows.height, buffers)
        table = self.rows.to_arrow().append_column(_RELEASED, cells)
        table = table.replace_schema_metadata({_METADATA: json.dumps(self.header).encode()})
        pq.write_table(
            table, path, compression="none", use_dictionary=False, write_statistics=False, row_group_size=_ROWS,
            column_encoding={"group": "DELTA_BINARY_PACKED", "released_row": "DELTA_BINARY_PACKED"},
        )  # fmt: skip

    @classmethod
    def read(cls, path: str | Path) -> HolderRecord:
        """Read a record that a release wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = Path(path)
        if not path.exists():
            raise FileProblem(f"{path}: the holder's record was not found")
        try:
            table = pq.read_table(path)
            header = json.loads((table.schema.metadata or {})[_METADATA])
            content = b"".join(table.column(_RELEASED).drop_null().to_pylist())
        except (KeyError, ValueError, OSError, pa.ArrowException):
            raise FileProblem(
                f"{path} is not a holder's record; name the file that protect wrote beside the release, such as "
                "safe.holder.parquet"
            ) from None
        if header.get("record_version") != RECORD_VERSION:
            raise FileProblem(f"{path} is a holder's record of another version of Shoal; read it with that version")
        rows = pl.DataFrame(pl.from_arrow(table.drop_columns([_RELEASED])))
        return cls(header, rows, pl.read_ipc(io.BytesIO(content)))


def holder_record(
    released: Released, original: Table, *, written: Mapping[str, object] | None = None, key: bytes | None = None
) -> HolderRecord:
    """Return the holder's record of a release.

    Parameters
    ----------
    released
        The release.
    original
        The table that was protected.
    written
        Name, size and digest of the file that the release was written to.
    key
        256 bits; drawn at random if not given. Give one in tests only.

    Returns
    -------
    record
        O(n) for each column.
    """
    order = released.order
    key = (secrets.token_bytes(32) if order is None else order.key) if key is None else key
    schema, labels = released.schema, released.grouping.labels
    rows = np.arange(labels.size) if order is None else order.released_rows
    hashed = hashed_columns(schema, original)
    hashes: dict[tuple[str, ...], Words] = {}  # tables without further columns need one pass only
    for names in (*hashed.values(), tuple(original.names)):
        if tuple(sorted(names)) not in hashes:
            hashes[tuple(sorted(names))] = record_hashes(original, names, key)
    header: JsonDict = {
        "record_version": RECORD_VERSION,
        "notice": _NOTICE,
        "deterministic": False,
        "shoal": released.manifest["shoal"],
        "key": key.hex(),
        "input": {
            "records": original.n_rows,
            "columns": len(original.names),
            "fingerprint": _fingerprint(original, hashes[tuple(sorted(original.names))], key),
        },
        "output": released.manifest["output"] | dict(written or {}),
        "hashed": {name: list(names) for name, names in hashed.items()},
        "plan": full_plan(released.stated_plan, original),
        "plan_digest": released.stated_plan.digest(),
        "recodes": {
            entry["name"]: entry["recode"] for entry in released.manifest["schema"]["columns"] if "recode" in entry
        },
        "method": released.manifest["method"] | {"diagnostics": plain_value(released.outcome.diagnostics)},
        "loss": exact_loss(released.loss),
        "steps": None if released.steps is None else released.steps.keys(),
        "second_release": None if released.second is None else released.second.to_dict(),
    }
    in_rows = labels if order is None else labels[rows]
    columns = {
        "group": pl.Series(np.where(rows < 0, -1, in_rows).astype(np.int32 if labels.size < 2**31 else np.int64)),
        "released_row": pl.Series(rows),
        **{name: pl.Series(hashes[tuple(sorted(names))]) for name, names in hashed.items()},
    }
    columns |= {name: pl.Series(groups) for name, groups in _groups_around(released, original, rows).items()}
    first = _first_records(labels)
    values = {column.name: released.table.column(column.name).to_polars().gather(first) for column in schema.quasi}
    return HolderRecord(header, pl.DataFrame(columns), pl.DataFrame(values))


def _groups_around(released: Released, original: Table, rows: Integers) -> dict[str, Integers]:
    """Return the groups of whole persons and households of each row of the original, also of rows not released.

    -1 for a person of whom no row is released.
    """
    if released.person_groups is None:
        return {}
    from shoal.flow.units import read_units

    units = read_units(original, released.schema, ordered=False)
    assert units is not None
    owners = units.unit if released.plan.of == Of.HISTORIES else units.owners(released.schema)
    around = {"person_group": (owners, released.person_groups)}
    if released.household_groups is not None and units.household is not None:
        around["household_group"] = units.household, released.household_groups
    found = {}
    for name, (whose, labels) in around.items():
        groups = np.full(int(whose.max()) + 1, -1, np.int64)
        groups[whose[rows >= 0]] = labels[rows[rows >= 0]]
        found[name] = np.asarray(groups[whose])
    return found


def hashed_columns(schema: Schema, table: Table) -> dict[str, tuple[str, ...]]:
    """Return the columns of each hash of a record.

    ``identity`` finds a record again: its direct identifiers, unit, household and time, or its quasi-identifiers where
    there are none of these. ``values``
    shows whether it changed: quasi-identifiers, strata and sampling weight, all that its group and its representative
    depend on. ``content`` decides between records that are equal in these: all columns. A hash is left out where it
    would equal another one.
    """
    weight = [] if schema.sampling_weight is None else [schema.sampling_weight]
    values = tuple(dict.fromkeys([*schema.protected, *weight]))
    identifiers = tuple(schema.dropped)
    hashed = {"identity": identifiers, "values": values} if identifiers else {"identity": values}
    if set(table.names) != set(values):
        hashed["content"] = tuple(table.names)
    return hashed


def full_plan(plan: Plan, original: Table) -> JsonDict:
    """Return a plan with the hierarchies that it names, whether they were given as a file, a word or a tree."""
    stated: JsonDict = plan.to_dict()
    for entry, column in zip(stated["schema"]["columns"], plan.schema.columns, strict=True):
        if column.hierarchy is not None:
            from shoal.schema.hierarchy_sources import hierarchy_of

            entry["hierarchy_tree"] = plain_value(hierarchy_of(column, original))
    return stated


def _first_records(labels: Integers) -> Integers:
    """Return the first record of each group."""
    first = np.empty(int(labels.max(initial=-1)) + 1, np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    return first


def _fingerprint(table: Table, content: Words, key: bytes) -> str:
    """Return an HMAC of all records in their order, and of the names of the columns."""
    names = "\0".join(table.names).encode("utf-8", "surrogatepass")
    code = hmac.new(key, f"{table.n_rows}\0".encode() + names + b"\0", "sha256")
    code.update(content.astype("<u8", copy=False).tobytes())
    return f"hmac-sha256:{code.hexdigest()}"


def record_hashes(table: Table, names: Sequence[str], key: bytes) -> Words:
    """Return a keyed 64-bit hash of some columns for each record, by which it is found in a later table.

    A record is hashed by multilinear hashing (Lemire and Kaser 2014, section 3): each cell is a 64-bit word of two
    halves, and the hash is the upper half of ``sum of coefficient * half``, twice with other coefficients. Coefficients
    come from the key by SHAKE-256, one set for each column name, so the order of columns does not matter. The
    probability that two different records share a hash is 2**-64, whatever their values. The hash hides nothing from a
    reader who has the key, which is part of the same confidential file.

    A value has the same word in every library and format: 34, 34.0 and the text "34" of an unchanged column of a CSV
    file are equal, "034" is another value. A missing value and NaN are equal. O(n) for each column.

    Parameters
    ----------
    table
        The table.
    names
        The columns; their order does not matter.
    key
        256 random bits.

    Examples
    --------
    >>> one = Table.from_native(pl.DataFrame({"age": [34, 51], "name": ["Ann", "Bob"]}))
    >>> two = Table.from_native(pl.DataFrame({"name": ["Bob", "Ann"], "age": [51.0, 34.0]}))
    >>> first, second = (record_hashes(table, ["age", "name"], bytes(32)).tolist() for table in (one, two))
    >>> first == second[::-1]
    True
    """
    start = np.frombuffer(shake_256(key + b"start").digest(16), "<u8").astype(np.uint64)
    first, second = (np.full(table.n_rows, value) for value in start)
    for name in names:
        label = name.encode("utf-8", "surrogatepass")
        coefficients = np.frombuffer(shake_256(key + b"column" + label).digest(48), "<u8").astype(np.uint64)
        words, missing = _words(table.column(name).to_polars(), key)
        add_multilinear(first, second, words, coefficients)
        if missing is not None:
            first[missing] += coefficients[2]
            second[missing] += coefficients[5]
    first >>= _HALF  # in place: a million records have 8 MB of each
    first <<= _HALF
    second >>= _HALF
    first |= second
    return first


def _words(column: pl.Series, key: bytes) -> tuple[Words, NDArray[np.bool_] | None]:
    """Return a word for each value, 0 where it is missing, and where that is."""
    dtype = column.dtype
    if dtype.is_float() or dtype.is_decimal():
        column = column.cast(pl.Float64).fill_nan(None)
    elif isinstance(dtype, pl.Date | pl.Datetime):
        column = column.cast(pl.Datetime("us")).to_physical()
    elif dtype.is_temporal():
        column = column.to_physical()
    elif dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    elif not dtype.is_integer():
        return _text_words(column, key)
    missing = column.is_null().to_numpy() if column.null_count() else None
    values = column.fill_null(0).to_numpy() if missing is not None else column.to_numpy()
    return _number_words(values), missing


def _number_words(values: Floats | Integers | Words) -> Words:
    """Return numbers as the bits of floats, and integers that are no exact floats as they are."""
    if values.dtype.kind == "f":
        return (values.astype(np.float64, copy=False) + 0.0).view(np.uint64)  # one zero instead of two
    words = values.astype(np.float64).view(np.uint64)
    if values.dtype.itemsize == 8 and values.size and (int(values.max()) >= _EXACT or int(values.min()) <= -_EXACT):
        large = np.abs(words.view(np.float64)) >= _EXACT
        words[large] = values[large].astype(np.uint64)
    return words


def _text_words(column: pl.Series, key: bytes) -> tuple[Words, NDArray[np.bool_] | None]:
    """Return words of texts: an integer as a number, any other text by its keyed digest."""
    if not isinstance(column.dtype, pl.String):
        plain = isinstance(column.dtype, pl.Categorical | pl.Enum)
        column = column.cast(pl.String) if plain else pl.Series(map(_text, column), dtype=pl.String)
    missing = column.is_null().to_numpy() if column.null_count() else None
    distinct = column.unique()
    numbers = distinct.cast(pl.Int64, strict=False)
    whole = ((numbers.cast(pl.String) == distinct) & (numbers.abs() < _EXACT)).fill_null(value=False).to_numpy()
    words = _number_words(numbers.fill_null(0).to_numpy())
    digests = b"".join(
        blake2b((text or "").encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
        for text in distinct.filter(pl.Series(~whole))
    )
    words[~whole] = np.frombuffer(digests, "<u8")
    table = pl.DataFrame({"text": distinct, "word": words})
    found = column.rename("text").to_frame().join(table, on="text", how="left", nulls_equal=True, maintain_order="left")
    of_rows = found["word"].to_numpy().copy()
    if missing is not None:
        of_rows[missing] = 0
    return of_rows, missing


def _text(value: object) -> str | None:
    return None if value is None else repr(value)
