"""The holder's record: the confidential half of the evidence for a release, kept by the data holder.

The manifest travels with the table and states nothing that confirms the original. What the holder needs later is in a
second file, Parquet with mode 0600:

- the full plan with orders and hierarchies, the exact loss and the exact diagnostics of the method;
- 256 random bits, drawn anew for every record and stored nowhere else, and an HMAC of the input under this key;
- for each record its group, its row in the released table, and keyed hashes by which it is found again in a later table
  (:mod:`shoal.flow.record_identity`); and the released values of each group, as an Arrow file in the cells of a column.

``protect --previous`` starts from it, and the rows of a released table that were shuffled can be put back in order with
it. Because of the key no two records are equal, so the record is the only output of a run that is not reproducible.
"""

from __future__ import annotations

import hmac
import io
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.errors import FileProblem
from shoal.flow.manifest import exact_loss
from shoal.flow.prepare import Integers
from shoal.flow.record_identity import Words, record_hashes
from shoal.schema.columns import Schema
from shoal.schema.plan import JsonDict, Plan, plain_value
from shoal.schema.requirements import Of
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.flow.released import Released

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


def plan_changes(earlier: Mapping[str, object], now: Mapping[str, object], path: str = "") -> list[str]:
    """Return the entries of two plans that differ, by their place, without values of lists.

    Examples
    --------
    >>> plan_changes({"method": {"seed": 0, "name": "mdav"}}, {"method": {"seed": 1, "name": "mdav"}})
    ['method.seed']
    """
    changes = []
    for name in dict.fromkeys([*earlier, *now]):
        one, two, place = earlier.get(name), now.get(name), f"{path}{name}"
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            changes += plan_changes(one, two, f"{place}.")
        elif one != two:
            changes.append(place)
    return changes
