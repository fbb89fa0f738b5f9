"""Tables in and out: files and DataFrames, with every row, the column order, the types and the labels kept.

Only this room and the command line touch files. ``read_table`` and ``Table.from_native`` let a table in,
``write_table`` and ``Table.native`` let it out again in the shape it came in; ``write_files`` makes several files
appear together or not at all. Importing this package is cheap: narwhals, polars, pyarrow, pandas and pyreadstat are
imported by the first call that needs them.
"""

from shoal.tables.atomic import check_output, write_files
from shoal.tables.column_labels import Labels
from shoal.tables.dialect import Dialect
from shoal.tables.files import read_head, read_table, write_table
from shoal.tables.table import Table

__all__ = [
    "Dialect",
    "Labels",
    "Table",
    "check_output",
    "read_head",
    "read_table",
    "write_files",
    "write_table",
]
