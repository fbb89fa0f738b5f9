"""Tables of databases: a table or a query in, a table out, all or nothing.

A database is named by a URI: ``sqlite:///people.db?table=people`` (four slashes for an absolute path),
``duckdb:///people.duckdb?table=people`` or ``postgresql://host/name?table=people``. SQLite and PostgreSQL are reached
through ADBC, DuckDB through its own Arrow interface. A release is written into a staging table, read back and recounted
inside one transaction, then renamed; a failure rolls everything back. The user, the password and the options of a URI
appear in no error, manifest or record.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from shoal.errors import DataError, FileProblem, MissingExtra, ParameterError, ShoalError
from shoal.tables.table import Table, to_arrow

_ALL_ROWS = "1000000000"  # types of SQLite are inferred from so many rows


@dataclass(frozen=True)
class Database:
    """A database and a table in it.

    Examples
    --------
    >>> Database.of("postgresql://ann:secret@example.org/people?table=patients")
    <postgresql://example.org/people, table patients>
    """

    kind: str
    shown: str
    address: str = field(repr=False)
    table: str | None = None

    def __repr__(self) -> str:
        return f"<{self.shown}{'' if self.table is None else f', table {self.table}'}>"

    @classmethod
    def of(cls, uri: str) -> Database:
        """Return the database that a URI names."""
        try:
            parts = urlsplit(uri)
            host = parts.hostname or ""
        except ValueError:
            raise ParameterError("the URI of the database cannot be read; check its brackets and its port") from None
        kind = "postgresql" if parts.scheme.startswith("postgres") else parts.scheme
        options = parse_qsl(parts.query, keep_blank_values=True)
        table = next((value for name, value in options if name == "table"), None) or None
        if kind == "postgresql":
            rest = urlencode([pair for pair in options if pair[0] != "table"])
            address = uri.partition("?")[0] + (f"?{rest}" if rest else "")
            return cls(kind, f"{kind}://{host}{parts.path}", address, table)
        path = unquote(parts.path.removeprefix("/"))
        if not path or host:
            raise ParameterError(
                f"write {kind}:///people.db for a file, or {kind}:////data/people.db with its full path"
            )
        return cls(kind, f"{kind}:///{path}", path, table)

    @property
    def digest(self) -> str:
        """The SHA-256 of database and table, by which an output is compared with the input."""
        return sha256(f"{self.kind} {self.name} {self.address}".encode()).hexdigest()

    @property
    def name(self) -> str:
        """The table, which an output must name."""
        if self.table is None:
            raise ParameterError(f"{self.shown}: name the table, for example {self.shown}?table=people")
        return self.table


def read_database(
    uri: str, *, query: str | None = None, rows: int | None = None, unread: Collection[str] = ()
) -> Table:
    """Read a table or the result of a query; ``unread`` columns of a table come back empty."""
    import pyarrow as pa

    database = Database.of(uri)
    if query is not None and database.table is not None:
        raise ParameterError("the URI names a table and there is a query; give one of them")
    source = _quoted(database.name) if query is None else f"({query.strip().rstrip(';')}) AS shoal_input"
    with _connected(database, writes=False) as connection:
        names = connection.read(f"SELECT * FROM {source} LIMIT 0").column_names  # noqa: S608 - the user's own query
        kept = [name for name in names if name not in set(unread)]
        columns = "*" if kept == names else ", ".join(map(_quoted, kept))
        limit = "" if rows is None else f" LIMIT {int(rows)}"
        whole = query is not None and columns == "*" and rows is None  # a query keeps its ORDER BY
        found = connection.read(query if whole and query else f"SELECT {columns} FROM {source}{limit}")  # noqa: S608
    if not found.num_rows:
        raise DataError(f"{database.shown}: the table or query has no records")
    if database.kind == "sqlite":
        found = _with_dates(found)
    ordered = [found.column(name) if name in set(kept) else pa.nulls(found.num_rows) for name in names]
    table = Table.from_native(pa.table(ordered, names=names))
    empty = tuple(name for name in names if name not in set(kept))
    return Table(table.frame, unread=empty, origin=None if query else database.digest)


def check_database(uri: str, *, overwrite: bool) -> Database:
    """Return the database of an output; raises if its table exists and may not be replaced."""
    database = Database.of(uri)
    if database.name and (database.kind == "postgresql" or Path(database.address).exists()):
        with _connected(database, writes=True) as connection:
            _check_free(connection, database, overwrite=overwrite)
    return database


def write_database(
    table: Table,
    uri: str,
    *,
    overwrite: bool,
    check: Callable[[Any], None],
    finish: Callable[[Callable[[], None]], None],
) -> None:
    """Write a table into a database, all or nothing.

    Parameters
    ----------
    table
        The table.
    uri
        The database and the table.
    overwrite
        Whether a table that exists is replaced.
    check
        Receives what the database holds, as a pyarrow Table, before it becomes visible; raises if it must not.
    finish
        Receives the function that makes the table visible, and calls it when everything else is ready.
    """
    database = Database.of(uri)
    native = _storable(to_arrow(table), database)
    staging = f"shoal_staging_{secrets.token_hex(8)}"
    with _connected(database, writes=True) as connection:
        _check_free(connection, database, overwrite=overwrite)
        connection.insert(staging, native)
        names = ", ".join(map(_quoted, native.column_names))
        check(connection.read(f"SELECT {names} FROM {_quoted(staging)}"))  # noqa: S608 - quoted names
        if overwrite:
            connection.run(f"DROP TABLE IF EXISTS {_quoted(database.name)}")
        connection.run(f"ALTER TABLE {_quoted(staging)} RENAME TO {_quoted(database.name)}")
        finish(connection.commit)


class _Connection:
    """A connection with a transaction that was begun; errors are raised without texts of the database."""

    def __init__(self, database: Database, native: Any) -> None:
        self.database, self.native, self.committed = database, native, False

    def _guarded(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (ShoalError, MemoryError):
            raise
        except Exception:  # noqa: BLE001 - of any driver; its text may quote values or the address
            raise FileProblem(f"{self.database.shown}: {what}; nothing was written") from None

    def read(self, statement: str) -> Any:
        """Return the result of a statement as a pyarrow Table."""
        return self._guarded(
            "the table or query cannot be read; check its names and your rights", lambda: self._fetch(statement)
        )

    def _fetch(self, statement: str) -> Any:
        if self.database.kind == "duckdb":
            return self.native.sql(statement).to_arrow_table()
        with self.native.cursor() as cursor:
            if self.database.kind == "sqlite":
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": _ALL_ROWS})
            cursor.execute(statement)
            return cursor.fetch_arrow_table()

    def run(self, statement: str) -> None:
        """Run a statement without a result."""
        if self.database.kind == "duckdb":
            self._guarded("the table cannot be replaced", lambda: self.native.execute(statement))
            return

        def call() -> None:
            with self.native.cursor() as cursor:
                cursor.execute(statement)

        self._guarded("the table cannot be replaced", call)

    def insert(self, name: str, native: Any) -> None:
        """Create a table with the records of a pyarrow Table."""

        def call() -> None:
            if self.database.kind == "duckdb":
                self.native.register("shoal_records", native)
                self.native.execute(f"CREATE TABLE {_quoted(name)} AS SELECT * FROM shoal_records")  # noqa: S608
                self.native.unregister("shoal_records")
                return
            with self.native.cursor() as cursor:
                cursor.adbc_ingest(name, native, mode="create")

        self._guarded("the table cannot be stored; a type or name does not fit, or the disk is full", call)

    def has(self, name: str) -> bool:
        """Return whether there is a table of this name."""
        try:
            self.read(f"SELECT 1 FROM {_quoted(name)} LIMIT 0")  # noqa: S608 - a quoted name
        except FileProblem:
            self.native.rollback()
            if self.database.kind == "duckdb":
                self.native.begin()
            return False
        return True

    def commit(self) -> None:
        """Make everything visible."""
        self._guarded("the table cannot be committed", self.native.commit)
        self.committed = True


@contextmanager
def _connected(database: Database, *, writes: bool) -> Iterator[_Connection]:
    """Connect and begin a transaction, which is rolled back unless it was committed."""
    if database.kind != "postgresql" and not writes and not Path(database.address).is_file():
        raise FileProblem(f"{database.shown} does not exist")
    file = None if database.kind == "postgresql" else Path(database.address)
    new = file is not None and not file.exists()
    try:
        native = _connect(database, writes=writes)
    except (ImportError, ModuleNotFoundError):
        raise MissingExtra(
            'databases need their ADBC drivers or duckdb; install them with: pip install "shoal[sql]"'
        ) from None
    except Exception:  # noqa: BLE001 - its text may hold the address
        raise FileProblem(
            f"{database.shown} cannot be opened; check that it exists, is no other file, and that you may"
        ) from None
    connection = _Connection(database, native)
    try:
        yield connection
    finally:
        with suppress(Exception):  # nothing to roll back after a commit
            native.rollback()
        native.close()
        if file is not None and new and not connection.committed:
            for left in (file, file.with_name(f"{file.name}.wal"), file.with_name(f"{file.name}-journal")):
                left.unlink(missing_ok=True)


def _connect(database: Database, *, writes: bool) -> Any:
    if database.kind == "duckdb":
        import duckdb

        native = duckdb.connect(database.address, read_only=not writes)
        native.begin()
        return native
    if database.kind == "sqlite":
        from adbc_driver_sqlite import dbapi as sqlite

        mode = "rwc" if writes else "ro"
        return sqlite.connect(f"file:{quote(database.address)}?mode={mode}")
    from adbc_driver_postgresql import dbapi as postgresql

    return postgresql.connect(database.address)


def _check_free(connection: _Connection, database: Database, *, overwrite: bool) -> None:
    if connection.has(database.name) and not overwrite:
        raise FileProblem(
            f'{database.shown}: the table "{database.name}" exists; choose another name, or replace it with --force '
            f"(Python: overwrite=True)"
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _storable(native: Any, database: Database) -> Any:
    """Return a pyarrow Table in types that the database stores: texts without dictionaries, numbers of 64 bits."""
    import pyarrow as pa

    def storable(kind: Any) -> Any:
        types = pa.types
        if types.is_dictionary(kind):
            return storable(kind.value_type)
        if types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
            return pa.string()
        if types.is_unsigned_integer(kind):
            return pa.int64()
        if types.is_decimal(kind) and database.kind == "sqlite":
            return pa.float64()
        return kind

    for number, column in enumerate(native.schema):
        wanted = storable(column.type)
        if pa.types.is_nested(wanted):
            raise DataError(
                f'{database.shown}: column "{column.name}" is nested ({column.type}), which is not stored; drop it'
            )
        if wanted != column.type:
            try:
                native = native.set_column(number, column.name, native.column(number).cast(wanted))
            except pa.ArrowInvalid:
                raise DataError(
                    f'{database.shown}: column "{column.name}" has numbers that do not fit into 64 bits'
                ) from None
    return native


def _with_dates(native: Any) -> Any:
    """Return a pyarrow Table in which texts that are all ISO dates are dates; SQLite has no type for them."""
    import polars as pl
    import pyarrow as pa

    from shoal.tables.text_columns import typed_series

    for number, column in enumerate(native.schema):
        if pa.types.is_string(column.type) and native.column(number).null_count < native.num_rows:
            series = pl.Series(column.name, pl.from_arrow(native.column(number)))
            typed = typed_series(series, decimal=".", na_values=())
            if typed.dtype.is_temporal():
                native = native.set_column(number, column.name, typed.to_arrow())
    return native


def class_counts(native: Any, names: Sequence[str]) -> Any:
    """Return the sizes of the equivalence classes of named columns in what a database holds, numbers by their bits."""
    import polars as pl

    from shoal.core.key_hashes import class_sizes, new_hashes
    from shoal.tables.written import _add

    hashes = new_hashes(native.num_rows)
    for name in names:
        _add(hashes, pl.Series(name, pl.from_arrow(native.column(name))))
    return class_sizes(*hashes)
